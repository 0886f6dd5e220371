"""Rows of a CSV text, typed by declared columns. An empty cell is NULL."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from vde_dagster.core.dsha import Column
from vde_dagster.core.errors import EvaluationFailed

Cell = bool | int | float | Decimal | date | datetime | str | None

_RANGES: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_ALIASES: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "text": "string",
    "timestamp_ltz": "timestamp",
    "decimal": "decimal(10,0)",
    "numeric": "decimal(10,0)",
}
_DECIMAL: Final = re.compile(r"(?:decimal|numeric)\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_TEXT: Final = re.compile(r"string|(?:var)?char\(\s*\d+\s*\)")
_TRUTH: Final = {"true": True, "t": True, "yes": True, "y": True, "1": True} | {
    "false": False, "f": False, "no": False, "n": False, "0": False
}  # fmt: skip


def seed_columns(text: str) -> tuple[Column, ...]:
    """The columns that a CSV text without declared columns has: its header's names, as text."""
    header = next(csv.reader(io.StringIO(text)), [])
    return tuple(Column(name=name.strip(), type="string") for name in header)


def seed_rows(text: str, columns: Sequence[Column]) -> list[tuple[Cell, ...]]:
    """The typed rows of a CSV text with a header, in the order of ``columns``.

    Header names are compared without case. A timestamp without an offset is UTC.

    Raises:
        EvaluationFailed: The header has not exactly these columns, a line has another number of
            cells, or a cell does not fit its column; the text names line and column.
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    rows: list[tuple[Cell, ...]] = []
    line = 1
    try:
        order = _order(next(reader, []), columns)
        parsers = [_parser(column) for column in columns]
        line = reader.line_num + 1
        for cells in reader:
            if cells:
                if len(cells) != len(columns):
                    raise EvaluationFailed(
                        f"line {line} has {len(cells)} cells, the header has {len(columns)}"
                    )
                rows.append(
                    tuple(
                        _cell(cells[position], parse, column, line)
                        for position, parse, column in zip(order, parsers, columns, strict=True)
                    )
                )
            line = reader.line_num + 1
    except csv.Error as error:
        raise EvaluationFailed(f"line {line} is no CSV: {error}") from error
    return rows


def _order(header: Sequence[str], columns: Sequence[Column]) -> list[int]:
    """Where each declared column stands in the lines."""
    names = [name.strip().lower() for name in header]
    wanted = [column.name.lower() for column in columns]
    missing = [name for name in wanted if name not in names]
    extra = [name for name in names if name not in wanted]
    if missing or extra or len(names) != len(wanted):
        raise EvaluationFailed(
            f"line 1: the header has {', '.join(names) or 'no columns'}; "
            f"declared are {', '.join(wanted)}"
        )
    return [names.index(name) for name in wanted]


def _cell(text: str, parse: Callable[[str], Cell], column: Column, line: int) -> Cell:
    if text == "":
        return None
    try:
        return parse(text)
    except (ValueError, InvalidOperation, KeyError) as error:
        raise EvaluationFailed(
            f"line {line}, column {column.name}: {text!r} is no {column.type}"
        ) from error


def _parser(column: Column) -> Callable[[str], Cell]:
    spelled = column.type.strip().lower()
    name = _ALIASES.get(spelled, spelled)
    if bits := _RANGES.get(name):
        return lambda text: _integer(text, bits)
    if decimal := _DECIMAL.fullmatch(name):
        precision, scale = int(decimal[1]), int(decimal[2] or 0)
        return lambda text: _decimal(text, precision, scale)
    if _TEXT.fullmatch(name):
        return str
    plain: dict[str, Callable[[str], Cell]] = {
        "boolean": lambda text: _TRUTH[text.strip().lower()],
        "float": lambda text: float(text.strip()),
        "double": lambda text: float(text.strip()),
        "date": lambda text: date.fromisoformat(text.strip()),
        "timestamp": _instant,
        "timestamp_ntz": _wall_clock,
    }
    if name not in plain:
        raise EvaluationFailed(
            f"column {column.name}: a CSV cell cannot be read as {column.type}; declare a number, "
            "boolean, date, timestamp or string"
        )
    return plain[name]


def _integer(text: str, bits: int) -> int:
    value = int(text.strip())
    if "_" in text or not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(text)
    return value


def _decimal(text: str, precision: int, scale: int) -> Decimal:
    value = Decimal(text.strip())
    if not value.is_finite():
        raise ValueError(text)
    exact = value.quantize(Decimal(1).scaleb(-scale))
    if exact != value or len(exact.as_tuple().digits) > precision:
        raise ValueError(text)
    return exact


def _instant(text: str) -> datetime:
    value = datetime.fromisoformat(text.strip())
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _wall_clock(text: str) -> datetime:
    value = datetime.fromisoformat(text.strip())
    if value.tzinfo is not None:
        raise ValueError(text)
    return value
