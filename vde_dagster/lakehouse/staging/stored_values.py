"""Values as another type, in which structs have other fields, or theirs in another order.

Spark casts a struct by the places of its fields, and to one of as many fields only. Iceberg adds a
field behind those that there are (rule R11), so fields are matched by their names here.

In rows of a source at an earlier Iceberg snapshot, columns are matched by what Iceberg knows them
by, and not by their names, as it reads files itself (`vde_dagster.core.ledger.earlier_schemas`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from vde_dagster.core.ledger.earlier_schemas import PresentColumn
from vde_dagster.lakehouse.iceberg.tables import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def with_columns_of(rows: DataFrame, now: StructType) -> DataFrame:
    """Rows of a table with the columns that it has now; columns added later are NULL."""
    if is_alike(rows, now):
        return rows
    there = {each.name.lower(): each for each in rows.schema.fields}
    chosen = []
    for field in now.fields:
        own = there.get(field.name.lower())
        value = (
            F.lit(None).cast(field.dataType)
            if own is None
            else as_type(rows[quoted(own.name)], own.dataType, field.dataType)
        )
        chosen.append(value.alias(field.name))
    return rows.select(*chosen)


def is_alike(rows: DataFrame, wanted: StructType) -> bool:
    """Whether rows have these columns already: to select them again takes calls for each one."""
    there, named = (
        [(each.name, each.dataType) for each in schema.fields] for schema in (rows.schema, wanted)
    )
    return there == named


def rows_at(spark: SparkSession, table: str, snapshot_id: int | None) -> DataFrame:
    """A table's rows at an Iceberg snapshot, with its present columns; no rows for None."""
    now = spark.table(table)
    if snapshot_id is None:
        return now.where(F.lit(False))
    pinned = spark.read.option("versionAsOf", str(snapshot_id)).table(table)
    return with_columns_of(pinned, now.schema)


def rows_between(spark: SparkSession, table: str, after: int, until: int | None) -> DataFrame:
    """The rows that were appended to a table after an Iceberg snapshot, up to another one."""
    if after == until:
        return spark.table(table).where(F.lit(False))
    return (
        spark.read.format("iceberg")
        .option("start-snapshot-id", str(after))
        .option("end-snapshot-id", str(until))
        .load(table)
    )


def inside(of: DataType) -> list[tuple[str, DataType]]:
    """The parts of a type, by their names."""
    match of:
        case StructType():
            return [(each.name, each.dataType) for each in of.fields]
        case ArrayType():
            return [("element", of.elementType)]
        case MapType():
            return [("key", of.keyType), ("value", of.valueType)]
        case _:
            return []


def contains(of: DataType, *kinds: type[DataType]) -> bool:
    """Whether a type is one of some kinds, or has one inside, at any depth."""
    return isinstance(of, kinds) or any(contains(part, *kinds) for _, part in inside(of))


def as_type(value: Column, found: DataType, wanted: DataType) -> Column:
    """A value of one type as another one.

    Args:
        value: The value.
        found: Its type.
        wanted: The other one: a field that only this one has is NULL, and one that it lacks goes.
    """
    if found == wanted:
        return value
    if _names(found) == _names(wanted):
        return value.cast(wanted)
    match found, wanted:
        case StructType(), StructType():
            there = {each.name.lower(): each for each in found.fields}
            parts = [
                F.lit(None).cast(field.dataType)
                if (own := there.get(field.name.lower())) is None
                else as_type(value.getField(own.name), own.dataType, field.dataType)
                for field in wanted.fields
            ]
            named = zip(parts, wanted.fields, strict=True)
            whole = F.struct(*[part.alias(field.name) for part, field in named])
            return F.when(value.isNotNull(), whole)
        case ArrayType(elementType=old), ArrayType(elementType=new):
            return F.transform(value, lambda each: as_type(each, old, new))
        case MapType(valueType=old), MapType(valueType=new):
            inside = F.transform_values(value, lambda _, each: as_type(each, old, new))
            return inside.cast(wanted)  # the fields of a key never change
        case _:
            return value.cast(wanted)


def _names(of: DataType) -> object:
    """The names of all fields in a type, by which Spark's cast matches what it does by places."""
    return [(name.lower(), _names(part)) for name, part in inside(of)]


def with_present_columns(rows: DataFrame, columns: Sequence[PresentColumn]) -> DataFrame:
    """Rows with these columns, in their order; as they are if there are none.

    Args:
        rows: All columns of a table at an Iceberg snapshot.
        columns: What they are now, see `present_columns`.
    """
    if not columns:
        return rows
    return rows.select(
        *[
            _value(None if each.former is None else rows[quoted(each.former)], each).alias(
                each.name
            )
            for each in columns
        ]
    )


def _value(former: Column | None, wanted: PresentColumn) -> Column:
    """The value of a column or of a field inside of one; its default where it was not there."""
    if former is None:
        return F.lit(wanted.default).cast(wanted.type)
    if not wanted.fields:
        return former.cast(wanted.type)
    if wanted.type.startswith("array<"):
        (element,) = wanted.fields
        return F.transform(former, lambda each: _value(each, element))
    if wanted.type.startswith("map<"):
        _, value = wanted.fields  # the fields of a key never change
        return F.transform_values(former, lambda _, each: _value(each, value))
    return F.when(former.isNotNull(), F.struct(*[_field(former, each) for each in wanted.fields]))


def _field(struct: Column, wanted: PresentColumn) -> Column:
    """A field of a struct under its present name."""
    former = None if wanted.former is None else struct.getField(wanted.former)
    return _value(former, wanted).alias(wanted.name)
