"""To which partition of an Iceberg table a row belongs (Iceberg's specification, *Transforms*)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyiceberg.transforms import parse_transform
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)
from sqlglot import exp

from tests.worlds.frames import Frame
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.storage import PartitionField, Transform

_TYPES: Final[dict[str, IcebergType]] = {
    "tinyint": IntegerType(),
    "smallint": IntegerType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "string": StringType(),
    "binary": BinaryType(),
    "date": DateType(),
    "timestamp": TimestamptzType(),
    "timestamp_ntz": TimestampType(),
}
Partition = tuple[object, ...]


def partitions_of(frame: Frame, layout: Sequence[PartitionField]) -> list[Partition]:
    """The partition of each row; the same for all if the table is not partitioned.

    Raises:
        EvaluationFailed: A column's type has no such transform.
    """
    fields = [_values(frame, field) for field in layout]
    return list(zip(*fields, strict=True)) if fields else [()] * len(frame.rows)


def _values(frame: Frame, field: PartitionField) -> list[object]:
    values = frame.values(field.column)
    if field.transform is Transform.IDENTITY:
        return values
    types = {each.name.lower(): each.type for each in frame.columns}
    try:
        source = _iceberg_type(types[field.column.lower()])
        transformed = parse_transform(_written(field)).transform(source)
    except ValueError as error:
        raise EvaluationFailed(f"the table cannot be partitioned by {field}: {error}") from error
    return [transformed(value) for value in values]


def _written(field: PartitionField) -> str:
    """A transform as Iceberg's metadata writes it."""
    if field.argument is not None:
        return f"{field.transform.value}[{field.argument}]"
    return field.transform.value.removesuffix("s")


def _iceberg_type(spark: str) -> IcebergType:
    if spark in _TYPES:
        return _TYPES[spark]
    parsed = exp.DataType.build(spark, dialect="spark")
    if parsed.is_type("decimal"):
        precision, scale = (int(each.name) for each in parsed.expressions)
        return DecimalType(precision, scale)
    raise ValueError(f"{spark} has no transforms")
