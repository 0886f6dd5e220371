"""Iceberg's types under the names that Spark gives them, and schemas with their fields' ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from pyiceberg import types
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.earlier_schemas import (
    SAME,
    EarlierSchemas,
    SchemaField,
    earlier_schemas,
)
from vde_dagster.core.sql.spark.type_spelling import field_name

_NAMED: Final[Mapping[str, types.IcebergType]] = {
    "boolean": types.BooleanType(),
    "tinyint": types.IntegerType(),
    "smallint": types.IntegerType(),
    "int": types.IntegerType(),
    "bigint": types.LongType(),
    "float": types.FloatType(),
    "double": types.DoubleType(),
    "date": types.DateType(),
    "timestamp_ntz": types.TimestampType(),
    "timestamp": types.TimestamptzType(),
    "char": types.StringType(),
    "varchar": types.StringType(),
    "string": types.StringType(),
    "binary": types.BinaryType(),
}
"""What each of Spark's types is stored as; of several the last one is what is read."""
_ATOMIC: Final[Mapping[type[types.IcebergType], str]] = {
    **{type(stored): name for name, stored in _NAMED.items()},
    types.UUIDType: "string",
    types.FixedType: "binary",
}


def iceberg_type(written: str) -> types.IcebergType:
    """The Iceberg type that a Spark type is stored as. Nested fields have no ids of a table yet.

    Raises:
        Refused: Iceberg has none for it.
    """
    return _from_tree(exp.DataType.build(written, dialect="spark"), written)


def _from_tree(of: exp.DataType, written: str) -> types.IcebergType:
    inner = of.expressions
    if of.is_type("decimal"):
        digits = [int(each.name) for each in inner]
        precision, scale = (*digits, 10, 0)[:2] if len(digits) != 1 else (digits[0], 0)
        return types.DecimalType(precision, scale)
    if of.is_type("array"):
        return types.ListType(1, _from_tree(inner[0], written), element_required=False)
    if of.is_type("map"):
        key, value = (_from_tree(each, written) for each in inner)
        return types.MapType(1, key, 2, value, value_required=False)
    if of.is_type("struct"):
        return types.StructType(
            *[
                types.NestedField(
                    number, each.name, _from_tree(each.args["kind"], written), required=False
                )
                for number, each in enumerate(inner, start=1)
            ]
        )
    found = _NAMED.get(of.sql("spark").lower().partition("(")[0])
    if found is None:
        raise Refused(
            f"Iceberg has no type for {written}",
            advice="cast the column to a type that Iceberg has",
        )
    return found


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """The columns of an Iceberg schema, in order."""
    return tuple(
        Column(name=field.name, type=spark_type(field.field_type), description=field.doc or "")
        for field in schema.fields
    )


def spark_type(of: types.IcebergType) -> str:
    """The simple name that Spark gives a type; Iceberg's own name if Spark has none.

    Names of fields are in backquotes where Spark's SQL does not read them without.
    """
    match of:
        case types.DecimalType():
            return f"decimal({of.precision},{of.scale})"
        case types.StructType():
            fields = (
                f"{field_name(each.name)}:{spark_type(each.field_type)}" for each in of.fields
            )
            return f"struct<{','.join(fields)}>"
        case types.ListType():
            return f"array<{spark_type(of.element_type)}>"
        case types.MapType():
            return f"map<{spark_type(of.key_type)},{spark_type(of.value_type)}>"
        case _:
            return _ATOMIC.get(type(of), str(of))


def schemas_of(table: Table) -> EarlierSchemas:
    """How the Iceberg snapshots of a table are read with its present columns.

    Nothing is compared if it has had one schema only.
    """
    metadata = table.metadata
    if len(metadata.schemas) == 1:
        return SAME
    return earlier_schemas(
        fields_of(table.schema().fields),
        {each.schema_id: fields_of(each.fields) for each in metadata.schemas},
        ((each.snapshot_id, each.schema_id) for each in metadata.snapshots),
    )


def fields_of(fields: Sequence[NestedField]) -> tuple[SchemaField, ...]:
    """Fields of Iceberg's as values that know their ids."""
    return tuple(
        SchemaField(
            id=each.field_id,
            name=each.name,
            type=spark_type(each.field_type),
            fields=fields_of(_inside(each.field_type)),
            default=_value(each.initial_default),
        )
        for each in fields
    )


def _inside(of: IcebergType) -> Sequence[NestedField]:
    match of:
        case StructType():
            return of.fields
        case ListType():
            return (of.element_field,)
        case MapType():
            return (of.key_field, of.value_field)
        case _:
            return ()


def _value(default: object) -> object:
    return str(default) if isinstance(default, UUID) else default
