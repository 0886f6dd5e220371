"""The Iceberg table of a version: its definition, from the schema of its first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from vde_dagster.core.dsha import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model import PartitionField, Transform
from vde_dagster.core.work import Staging

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_PROPERTIES: Final = {
    "format-version": "2",
    # One task, and so one file, per partition; within a task rows are sorted by partition.
    "write.distribution-mode": "hash",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "25",
}


def table_definition(table: str, staging: Staging, schema: StructType) -> str:
    """The statement that makes the table of a version where there is none.

    Args:
        table: Its quoted name.
        staging: The unit of work that writes its first rows.
        schema: The schema of these rows.

    Raises:
        EvaluationFailed: A column has no type.
    """
    from pyspark.sql.types import StructField, StructType

    _refuse_untyped(schema)
    described = {name.lower(): text for name, text in staging.descriptions.items()}
    fields = []
    for each in schema.fields:
        comment = described.get(each.name.lower())
        metadata = {"comment": comment} if comment else {}
        fields.append(StructField(each.name, each.dataType, nullable=True, metadata=metadata))
    partitions = ", ".join(map(_partition, staging.storage.partitioned_by))
    partitioned = f" PARTITIONED BY ({partitions})" if partitions else ""
    comment = f" COMMENT {_literal(staging.comment)}" if staging.comment else ""
    properties = ", ".join(
        f"{_literal(key)} = {_literal(text)}" for key, text in _properties(staging).items()
    )
    return (
        f"CREATE TABLE IF NOT EXISTS {table} ({StructType(fields).toDDL()}) USING iceberg"
        f"{partitioned}{comment} TBLPROPERTIES ({properties})"
    )


def fitting(frame: DataFrame, schema: StructType, table: str) -> DataFrame:
    """A frame's columns in the table's order.

    Raises:
        EvaluationFailed: It has other columns than the table.
    """
    there = {name.lower() for name in frame.columns}
    wanted = [each.name.lower() for each in schema.fields]
    if there != set(wanted) or len(frame.columns) != len(wanted):
        raise EvaluationFailed(
            f"the result has the columns {', '.join(frame.columns)}, but the table "
            f"{table} has {', '.join(wanted)}"
        )
    return frame.select(*[frame[quoted(name)] for name in wanted])


def columns_of(schema: StructType) -> tuple[Column, ...]:
    """The columns of a Spark schema."""
    return tuple(
        Column(
            name=each.name,
            type=each.dataType.simpleString(),
            description=(each.metadata or {}).get("comment", ""),
        )
        for each in schema.fields
    )


def quoted(name: str) -> str:
    """A column's name for Spark."""
    return exp.to_identifier(name, quoted=True).sql("spark")


def _refuse_untyped(schema: StructType) -> None:
    untyped = [each.name for each in schema.fields if each.dataType.typeName() == "void"]
    if untyped:
        raise EvaluationFailed(
            f"column {', '.join(untyped)} is NULL without a type; cast it, as in "
            "CAST(NULL AS STRING)"
        )


def _properties(staging: Staging) -> dict[str, str]:
    storage = staging.storage
    wanted = {"write.format.default": storage.storage_format} if storage.storage_format else {}
    return {
        **_PROPERTIES,
        **wanted,
        **dict(storage.properties),
        "vde.model": str(staging.target.model),
        "vde.version": staging.target.version,
    }


def _partition(field: PartitionField) -> str:
    column = quoted(field.column)
    if field.transform is Transform.IDENTITY:
        return column
    inner = column if field.argument is None else f"{field.argument}, {column}"
    return f"{field.transform.value}({inner})"


def _literal(text: str) -> str:
    return exp.Literal.string(text).sql("spark")
