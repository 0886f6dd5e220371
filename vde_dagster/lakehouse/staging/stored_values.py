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
from vde_dagster.lakehouse.iceberg.tables import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


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


def present_columns_sql(columns: Sequence[PresentColumn]) -> str:
    """What to select of a table at an Iceberg snapshot, so that it has its present columns.

    Args:
        columns: What they are now, see `present_columns`; all as they are if there are none.
    """
    values = (
        _value(None if each.former is None else quoted(each.former), each) for each in columns
    )
    named = (f"{value} AS {quoted(each.name)}" for value, each in zip(values, columns, strict=True))
    return ", ".join(named) or "*"


def _value(former: str | None, wanted: PresentColumn, depth: int = 0) -> str:
    """The value of a column or of a field inside of one; its default where it was missing.

    ``depth`` counts the lambdas around it.
    """
    inner = f"x{depth}"
    if former is None:
        return f"CAST({_default(wanted.default)} AS {wanted.type})"
    if not wanted.fields:
        return f"CAST({former} AS {wanted.type})"
    if wanted.type.startswith("array<"):
        (element,) = wanted.fields
        return f"transform({former}, {inner} -> {_value(inner, element, depth + 1)})"
    if wanted.type.startswith("map<"):
        _, value = wanted.fields  # the fields of a key never change
        of = _value(inner, value, depth + 1)
        return f"transform_values({former}, (key{depth}, {inner}) -> {of})"
    fields = ", ".join(
        f"{literal(each.name)}, {_value(_field(former, each), each, depth)}"
        for each in wanted.fields
    )
    return f"CASE WHEN {former} IS NOT NULL THEN named_struct({fields}) END"


def _field(struct: str, wanted: PresentColumn) -> str | None:
    """What was a field of a struct."""
    return None if wanted.former is None else f"{struct}[{literal(wanted.former)}]"


def _default(value: object) -> str:
    """A default that Iceberg gives a column, before it is cast to the column's type."""
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return "NULL" if value is None else literal(str(value))
