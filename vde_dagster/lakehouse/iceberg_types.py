"""Iceberg's types under the names that Spark gives them."""

from __future__ import annotations

from pyiceberg import types
from pyiceberg.schema import Schema

from vde_dagster.core.dsha import Column

_ATOMIC: dict[type[types.IcebergType], str] = {
    types.BooleanType: "boolean",
    types.IntegerType: "int",
    types.LongType: "bigint",
    types.FloatType: "float",
    types.DoubleType: "double",
    types.DateType: "date",
    types.TimestampType: "timestamp_ntz",
    types.TimestamptzType: "timestamp",
    types.StringType: "string",
    types.UUIDType: "string",
    types.BinaryType: "binary",
    types.FixedType: "binary",
}


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """The columns of an Iceberg schema, in order."""
    return tuple(
        Column(name=field.name, type=spark_type(field.field_type), description=field.doc or "")
        for field in schema.fields
    )


def spark_type(of: types.IcebergType) -> str:
    """The simple name that Spark gives a type; Iceberg's own name where Spark has none."""
    match of:
        case types.DecimalType():
            return f"decimal({of.precision},{of.scale})"
        case types.StructType():
            fields = ",".join(f"{each.name}:{spark_type(each.field_type)}" for each in of.fields)
            return f"struct<{fields}>"
        case types.ListType():
            return f"array<{spark_type(of.element_type)}>"
        case types.MapType():
            return f"map<{spark_type(of.key_type)},{spark_type(of.value_type)}>"
        case _:
            return _ATOMIC.get(type(of), str(of))
