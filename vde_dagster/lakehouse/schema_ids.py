"""The fields of a table's schemas with their ids, from metadata that is loaded already."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from pyiceberg.table import Table
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from vde_dagster.core.ledger.earlier_schemas import (
    SAME,
    EarlierSchemas,
    SchemaField,
    earlier_schemas,
)
from vde_dagster.lakehouse.iceberg_types import spark_type


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
