"""Rows with their columns, between Python, Arrow and the names of Spark's types."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from tests.worlds.tables import Row
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total

_ARROW: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}


@dataclass(frozen=True, slots=True)
class UserRows:
    """Implements `vde_dagster.ports.engine.UserFrame`: rows under the names of their columns."""

    frame: Frame

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; see the port."""
        return tuple(each.name for each in self.frame.columns)

    def collect(self) -> tuple[Row, ...]:
        """All rows; see the port."""
        return self.frame.rows

    def toArrow(self) -> pa.Table:  # noqa: N802 - the name that Spark's DataFrame has
        """All rows in Arrow's memory; see the port."""
        return self.frame.arrow()


class Frame:
    """Rows with their columns."""

    def __init__(self, columns: Sequence[Column], rows: Iterable[Row]) -> None:
        self.columns = tuple(columns)
        self.rows = tuple(rows)

    @classmethod
    def of(cls, table: pa.Table) -> Frame:
        """The rows of an Arrow table.

        Raises:
            EvaluationFailed: A column has no type.
        """
        columns = [Column(name=each.name, type=_spark_type(each.type)) for each in table.schema]
        arrays = [array.to_pylist() for array in table.columns]
        return cls(columns, [tuple(each) for each in zip(*arrays, strict=True)])

    def arrow(self) -> pa.Table:
        """These rows in Arrow's types.

        Raises:
            EvaluationFailed: A column is of a type that the engine in memory does not have.
        """
        arrays = [
            pa.array([row[position] for row in self.rows], type=_arrow_type(column.type))
            for position, column in enumerate(self.columns)
        ]
        return pa.table(arrays, names=[each.name for each in self.columns])

    def values(self, column: str) -> list[object]:
        """The values of a column, whose name may be in any case."""
        position = [each.name.lower() for each in self.columns].index(column.lower())
        return [row[position] for row in self.rows]

    def selected(self, names: Sequence[str]) -> Frame:
        """Some of the columns, in another order."""
        known = [each.name.lower() for each in self.columns]
        order = [known.index(name.lower()) for name in names]
        return Frame(
            [self.columns[position] for position in order],
            [tuple(row[position] for position in order) for row in self.rows],
        )

    def declared(self, columns: Sequence[Column]) -> Frame:
        """These rows with exactly the declared columns and types.

        Raises:
            EvaluationFailed: There are other columns.
        """
        _same_columns(self.columns, columns, "declared are")
        ordered = self.selected([each.name for each in columns]).arrow()
        schema = pa.schema([(each.name, _arrow_type(each.type)) for each in columns])
        return Frame(columns, Frame.of(ordered.cast(schema)).rows)

    def fitted(self, columns: Sequence[Column], table: str) -> Frame:
        """These rows in the order of a table's columns.

        Raises:
            EvaluationFailed: The table has other columns.
        """
        _same_columns(self.columns, columns, f"the table {table} has")
        return Frame(columns, self.selected([each.name for each in columns]).rows)


def sum_of(rows: Iterable[Row]) -> RowSum:
    """The sum of rows; it differs from Spark's, since the two are never compared."""
    return total(map(_row_sum, rows))


def _row_sum(row: Row) -> RowSum:
    digest = hashlib.sha256(repr(tuple(map(_canonical, row))).encode()).digest()
    return RowSum(rows=1, sum=int.from_bytes(digest[:16], "big"))


def _same_columns(found: Sequence[Column], wanted: Sequence[Column], reported: str) -> None:
    if sorted(each.name.lower() for each in found) != sorted(each.name.lower() for each in wanted):
        raise EvaluationFailed(
            f"the result has the columns {', '.join(each.name for each in found)}; {reported} "
            f"{', '.join(each.name for each in wanted)}"
        )


def _canonical(value: Any) -> object:
    match value:
        case float():
            return "nan" if math.isnan(value) else value + 0.0
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case Decimal():
            return ("decimal", str(value))
        case dict():
            return ("struct", tuple((key, _canonical(each)) for key, each in value.items()))
        case list():
            return ("list", tuple(map(_canonical, value)))
        case _:
            return value


def _arrow_type(spark: str) -> pa.DataType:
    name = spark.strip().lower()
    if name in _ARROW:
        return _ARROW[name]
    parsed = exp.DataType.build(name, dialect="spark")
    if parsed.is_type("decimal"):
        sizes = [int(each.name) for each in parsed.expressions] or [10]
        return pa.decimal128(sizes[0], sizes[1] if len(sizes) > 1 else 0)
    if parsed.is_type("array"):
        return pa.list_(_arrow_type(parsed.expressions[0].sql("spark")))
    if parsed.is_type("struct"):
        return pa.struct(
            [
                (each.name, _arrow_type(each.args["kind"].sql("spark")))
                for each in parsed.expressions
            ]
        )
    if parsed.is_type("char", "varchar", "text"):
        return pa.string()
    raise EvaluationFailed(f"the engine in memory has no type {spark}")


def _spark_type(arrow: pa.DataType) -> str:
    for name, known in _ARROW.items():
        if known == arrow:
            return name
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    if pa.types.is_timestamp(arrow):
        return "timestamp" if arrow.tz else "timestamp_ntz"
    if pa.types.is_list(arrow):
        return f"array<{_spark_type(arrow.value_type)}>"
    if pa.types.is_struct(arrow):
        return f"struct<{','.join(f'{each.name}:{_spark_type(each.type)}' for each in arrow)}>"
    if pa.types.is_null(arrow):
        raise EvaluationFailed("a column is NULL without a type", advice="cast it")
    return str(arrow)
