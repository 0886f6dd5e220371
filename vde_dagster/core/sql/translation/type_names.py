"""The names of types in each translated dialect, for advice that names one."""

from __future__ import annotations

from typing import Final

_DOUBLES: Final = {
    "bigquery": "FLOAT64",
    "postgres": "DOUBLE PRECISION",
    "redshift": "DOUBLE PRECISION",
    "tsql": "FLOAT",
}
_WHOLE_NUMBERS: Final = {"bigquery": "INT64", "mysql": "SIGNED"}
_TEXTS: Final = {"bigquery": "STRING", "mysql": "CHAR", "tsql": "VARCHAR(40)"}
_TIMES: Final = {"mysql": "DATETIME", "tsql": "DATETIME2"}


def double_in(source: str) -> str:
    """A number of 64 bits with a fraction."""
    return _DOUBLES.get(source, "DOUBLE")


def whole_number_in(source: str) -> str:
    """A whole number of 64 bits."""
    return _WHOLE_NUMBERS.get(source, "BIGINT")


def text_type_in(source: str) -> str:
    """A text."""
    return _TEXTS.get(source, "VARCHAR")


def advised_type(source: str) -> str:
    """Advice if types inside of a part are not known."""
    name = whole_number_in(source)
    return f"Cast each part of it whose type is not known to its own, as in CAST(f(x) AS {name})"


def time_in(source: str) -> str:
    """A day with a time."""
    return _TIMES.get(source, "TIMESTAMP")
