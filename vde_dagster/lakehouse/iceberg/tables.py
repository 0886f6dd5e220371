"""The Iceberg table of a version: how it is created, laid out and described.

Texts and names reach Spark as quoted identifiers and literals only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.damage import SHALLOW_COPY
from vde_dagster.core.ledger.unit_of_work import Staging
from vde_dagster.core.model.storage import PartitionField, Storage, Transform
from vde_dagster.core.sql.spark.type_spelling import field_name
from vde_dagster.ports.physical_layer import STATE

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql.types import DataType, StructType

OWN_PROPERTIES: Final = "vde.physical-properties"
"""The names of the properties that the model asked for, so that later removals are found."""
_PROPERTIES: Final = {
    "format-version": "2",
    # One task, and so one file, per partition; within a task rows are sorted by partition.
    "write.distribution-mode": "hash",
    # What a commit changed is found from the files that it exchanged, whatever a catalog's default.
    "write.delete.mode": "copy-on-write",
    "write.merge.mode": "copy-on-write",
    "write.update.mode": "copy-on-write",
    # As Spark adds to tables that it creates.
    "write.parquet.compression-codec": "zstd",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
    # What is needed is in the state (ADR 22): Iceberg's procedure, and platforms that follow
    # these, expire nothing.
    "history.expire.max-snapshot-age-ms": str(2**63 - 1),
    "history.expire.min-snapshots-to-keep": str(2**31 - 1),
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "25",
}
_FORMAT: Final = "write.format.default"
_GC: Final = "gc.enabled"


def order_statements(table: str, storage: Storage, found: Table) -> Iterator[str]:
    """The statements that make a table sort its files as a model says; none if it does already.

    Rows are sorted within a task only (seed 001 does not specify it): for an order over all files
    Spark would compute the query twice, once to sample it.

    Args:
        table: Its quoted name.
        storage: The layout that the model asks for.
        found: The table as it is.
    """
    if _sorted_by(found) == tuple(name.lower() for name in storage.clustered_by):
        return
    distributed = " DISTRIBUTED BY PARTITION" if found.spec().fields else ""
    columns = ", ".join(map(quoted, storage.clustered_by))
    ordered = f"LOCALLY ORDERED BY {columns}" if columns else "UNORDERED"
    yield f"ALTER TABLE {table} WRITE{distributed if columns else ''} {ordered}"
    mode = dict(storage.properties).get("write.distribution-mode", "hash")
    yield f"ALTER TABLE {table} SET TBLPROPERTIES ('write.distribution-mode' = {literal(mode)})"


def _sorted_by(found: Table) -> tuple[str, ...]:
    schema = found.schema()
    return tuple(
        schema.find_column_name(each.source_id).lower()  # type: ignore[union-attr]
        for each in found.sort_order().fields
    )


def partitions_of(found: Table) -> tuple[PartitionField, ...]:
    """How all files of a table are partitioned, whatever its model has declared since.

    Nothing is known of a table whose partitions were others once: its files may have either.
    """
    schema = found.schema()
    fields: list[PartitionField] = []
    if len(found.specs()) > 1:
        return ()
    for each in found.spec().fields:
        name, _, argument = str(each.transform).partition("[")
        transform = _TRANSFORMS.get(name)
        column = schema.find_column_name(each.source_id)
        if transform is not None and column is not None:
            fields.append(
                PartitionField(
                    column=column,
                    transform=transform,
                    argument=int(argument.rstrip("]")) if argument else None,
                )
            )
    return tuple(fields)


_TRANSFORMS: Final = {each.value.removesuffix("s"): each for each in Transform}
"""Iceberg's names of transforms, as pyiceberg writes them."""


def storage_properties(storage: Storage) -> dict[str, str]:
    """The table properties that a model asks for, and a property that lists their names."""
    wanted = dict(storage.properties)
    if storage.storage_format:
        wanted[_FORMAT] = storage.storage_format
    return {**wanted, OWN_PROPERTIES: ",".join(sorted(wanted))} if wanted else {}


def property_changes(
    present: Mapping[str, str], storage: Storage
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The properties to set on a table to match its model, and those to remove.

    What others set stays; what the model no longer asks for goes back to its default.
    """
    wanted = storage_properties(storage)
    if SHALLOW_COPY in present:
        wanted.pop(_GC, None)  # others' files would be deleted
    before = present.get(OWN_PROPERTIES, "").split(",")
    gone = [each for each in (*before, OWN_PROPERTIES) if each in present and each not in wanted]
    defaults = {each: _PROPERTIES[each] for each in gone if each in _PROPERTIES}
    different = {key: text for key, text in wanted.items() if present.get(key) != text}
    return {**defaults, **different}, tuple(each for each in gone if each not in defaults)


def columns_of(schema: StructType) -> tuple[Column, ...]:
    """The columns of a Spark schema."""
    return tuple(
        Column(
            name=each.name,
            type=simple_name(each.dataType),
            description=(each.metadata or {}).get("comment", ""),
        )
        for each in schema.fields
    )


def simple_name(of: DataType) -> str:
    """Spark's simple name of a type, with the names of fields as its SQL reads them."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    match of:
        case StructType():
            fields = (f"{field_name(each.name)}:{simple_name(each.dataType)}" for each in of.fields)
            return f"struct<{','.join(fields)}>"
        case ArrayType():
            return f"array<{simple_name(of.elementType)}>"
        case MapType():
            return f"map<{simple_name(of.keyType)},{simple_name(of.valueType)}>"
        case _:
            return of.simpleString()


def quoted(name: str) -> str:
    """A column's name for Spark."""
    return exp.to_identifier(name, quoted=True).sql("spark")


def table_properties(staging: Staging) -> dict[str, str]:
    """The properties of a table that a unit of work creates."""
    return {
        **_PROPERTIES,
        **storage_properties(staging.storage),
        "vde.model": str(staging.target.model),
        "vde.version": staging.target.version,
        **({STATE: staging.state} if staging.state else {}),
    }


def made_by(state: str) -> str:
    """The clause of a view's definition that says which state made it; empty for no id."""
    return f" TBLPROPERTIES ({_listed({STATE: state})})" if state else ""


def _listed(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(key)} = {literal(text)}" for key, text in properties.items())


def literal(text: str) -> str:
    """A text for Spark."""
    return exp.Literal.string(text).sql("spark")
