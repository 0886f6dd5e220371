"""The types of Spark's values that DuckDB computes with as Spark does, and how they widen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

MOST_DIGITS: Final = 38
"""The precision of decimals in both engines."""


class NotTheSame(Exception):
    """Something that is not known to mean the same in both engines; the text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkType:
    """A type by Spark's simple name; precision and scale are those of a decimal."""

    name: str
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return f"{self.name}({self.precision},{self.scale})" if self.is_decimal else self.name

    @property
    def is_decimal(self) -> bool:
        """Whether it is a decimal."""
        return self.name == "decimal"

    @property
    def is_integer(self) -> bool:
        """Whether it is a whole number of fixed width."""
        return self.name in _DIGITS

    @property
    def is_exact(self) -> bool:
        """Whether it is a number without rounding errors."""
        return self.is_integer or self.is_decimal

    @property
    def is_time(self) -> bool:
        """Whether it is a point in time: an instant or a local time, in UTC one and the same."""
        return self.name in ("timestamp", "timestamp_ntz")

    @property
    def in_duckdb(self) -> exp.DataType:
        """The type that values of it have in DuckDB. Instants are local times in UTC there."""
        if self.is_decimal:
            return exp.DataType.build(f"DECIMAL({self.precision}, {self.scale})", dialect="duckdb")
        return exp.DataType.build(_IN_DUCKDB[self.name], dialect="duckdb")


_IN_DUCKDB: Final = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP",
    "void": "NULL",
}
_DIGITS: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""Whole numbers, from the narrowest, with the precision that Spark takes for them as decimals."""

BOOLEAN: Final = SparkType(name="boolean")
INT: Final = SparkType(name="int")
BIGINT: Final = SparkType(name="bigint")
DOUBLE: Final = SparkType(name="double")
STRING: Final = SparkType(name="string")
DATE: Final = SparkType(name="date")
TIMESTAMP: Final = SparkType(name="timestamp")
VOID: Final = SparkType(name="void")

_NUMBER: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def type_named(written: str) -> SparkType:
    """The type of a name as a catalog or Spark writes it.

    Raises:
        NotTheSame: Values of the type are left to Spark.
    """
    name = _ALIASES.get(written.lower().strip(), written.lower().strip())
    if found := _NUMBER.fullmatch(name):
        return decimal(int(found[1]), int(found[2]))
    if name not in _IN_DUCKDB or name == "void":
        raise NotTheSame(f"the type {written} is left to Spark")
    return SparkType(name=name)


_ALIASES: Final = {"timestampntz": "timestamp_ntz", "long": "bigint", "integer": "int"}


def decimal(precision: int, scale: int) -> SparkType:
    """A decimal.

    Raises:
        NotTheSame: It has more digits than there are, so that Spark would leave some out.
    """
    if not 0 <= scale <= precision <= MOST_DIGITS or precision == 0:
        raise NotTheSame(f"a decimal of {precision} digits is rounded by rules of Spark's own")
    return SparkType(name="decimal", precision=precision, scale=scale)


def as_decimal(kind: SparkType) -> SparkType:
    """The decimal that Spark makes of an exact number."""
    return kind if kind.is_decimal else decimal(_DIGITS[kind.name], 0)


def common(kinds: Iterable[SparkType]) -> SparkType:
    """The type to which Spark widens values that meet, such as in a comparison or in COALESCE.

    Raises:
        NotTheSame: It has none, or one by rules that are left to Spark.
    """
    found = VOID
    for kind in kinds:
        found = _wider(found, kind)
    return found


def _wider(one: SparkType, other: SparkType) -> SparkType:
    if other in (one, VOID):
        return one
    if one == VOID:
        return other
    names = {one.name, other.name}
    if one.is_integer and other.is_integer:
        order = [*_DIGITS]
        return max(one, other, key=lambda each: order.index(each.name))
    if one.is_exact and other.is_exact:
        return _wider_decimal(as_decimal(one), as_decimal(other))
    if DOUBLE in (one, other) and (one.is_exact or other.is_exact):
        return DOUBLE
    if "date" in names and (one.is_time or other.is_time):
        return one if one.is_time else other
    raise NotTheSame(f"a {one} meets a {other}")


def _wider_decimal(one: SparkType, other: SparkType) -> SparkType:
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return decimal(whole + scale, scale)
