"""Values as another type, in which structs have other fields, or theirs in another order.

Spark casts a struct by the places of its fields, and to one of as many fields only. Iceberg adds a
field behind those that there are (rule R11), so fields are matched by their names here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from vde_dagster.lakehouse.tables import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_columns_of(rows: DataFrame, now: StructType) -> DataFrame:
    """Rows of a table with the columns that it has now; columns added later are NULL."""
    if rows.schema == now:
        return rows
    there = {each.name: each.dataType for each in rows.schema.fields}
    return rows.select(
        *[
            (
                as_type(rows[quoted(each.name)], there[each.name], each.dataType)
                if each.name in there
                else F.lit(None).cast(each.dataType)
            ).alias(each.name)
            for each in now.fields
        ]
    )


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
    match of:
        case StructType():
            return [(each.name.lower(), _names(each.dataType)) for each in of.fields]
        case ArrayType():
            return [_names(of.elementType)]
        case MapType():
            return [_names(of.keyType), _names(of.valueType)]
        case _:
            return None
