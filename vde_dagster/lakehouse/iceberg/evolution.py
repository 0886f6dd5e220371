"""Changing a table's columns, comments and properties, without touching rows and without a JVM.

An Iceberg schema belongs to the table and not to a branch, so only changes that lose nothing are
made here (rule R11). If another process commits meanwhile, the change is decided again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import assert_never

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.table import Table
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnWidened, InPlace
from vde_dagster.core.ledger.stored_types import fits, is_widening, same_type
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.iceberg_types import iceberg_type, spark_type
from vde_dagster.lakehouse.iceberg.publish import until_done
from vde_dagster.lakehouse.iceberg.tables import property_changes
from vde_dagster.ports.catalog import TableText


def evolve(catalog: PyIcebergCatalog, name: TableName, changes: Sequence[InPlace]) -> None:
    """Add columns to a table and widen others; those that are so already stay as they are.

    A struct gets the fields that it lacks behind its own ones; it keeps those that it has.

    Raises:
        Refused: A column exists with another type, or has a type that Iceberg cannot store.
        Conflict: The table was dropped, or is being changed all the time.
        OutcomeUnknown: The answer was lost; retrying is safe.
    """

    def change(table: Table) -> None:
        edits = _schema_edits(table, name, changes)
        if edits:
            with table.update_schema(case_sensitive=False) as update:
                for edit in edits:
                    edit(update)

    until_done(catalog, name, change, what=f"a change of the columns of {name}")


def describe(catalog: PyIcebergCatalog, name: TableName, text: TableText) -> None:
    """Give a table and its columns the descriptions of its model, and the properties it asks for.

    Raises:
        Conflict: The table was dropped, or is being changed all the time.
        OutcomeUnknown: The answer was lost; retrying is safe.
    """
    until_done(catalog, name, lambda table: _describe(table, text), what=f"a description of {name}")


_Edit = Callable[[UpdateSchema], object]


def _schema_edits(table: Table, name: TableName, changes: Iterable[InPlace]) -> list[_Edit]:
    there = {field.name.lower(): field for field in table.schema().fields}
    edits: list[_Edit] = []
    for each in changes:
        field = there.get(each.column.lower())
        match each:
            case ColumnAdded(column=column, type=type_):
                if field is None:
                    edits.append(_addition((column,), iceberg_type(type_)))
                elif not same_type(present := spark_type(field.field_type), type_):
                    raise _refused(name, column, present, f"it cannot be added as {type_}")
            case ColumnWidened(column=column, after=after) if field is not None:
                present = spark_type(field.field_type)
                if not field.field_type.is_primitive and not fits(present, after):
                    raise _refused(name, column, present, f"it cannot become {after}")
                edits += _growth((field.name,), field.field_type, iceberg_type(after))
            case ColumnWidened():
                pass  # the table lacks it: it is added when rows are analysed
            case unreachable:
                assert_never(unreachable)
    return edits


def _refused(table: TableName, column: str, present: str, why: str) -> Refused:
    return Refused(
        f"{table} already has the column {column} of type {present}, so {why}",
        advice="give it another name. Nothing was changed",
    )


def _growth(path: tuple[str, ...], present: IcebergType, wanted: IcebergType) -> Iterator[_Edit]:
    """What makes a column, or what is inside of one, hold values of another type that it fits."""
    match present, wanted:
        case StructType(), StructType():
            there = {each.name.lower(): each for each in present.fields}
            for new in wanted.fields:
                field = there.get(new.name.lower())
                if field is None:
                    yield _addition((*path, new.name), new.field_type)
                else:
                    yield from _growth((*path, field.name), field.field_type, new.field_type)
        case ListType(), ListType():
            yield from _growth((*path, "element"), present.element_type, wanted.element_type)
        case MapType(), MapType():
            yield from _growth((*path, "value"), present.value_type, wanted.value_type)
        case _ if is_widening(spark_type(present), spark_type(wanted)):
            yield lambda update: update.update_column(path, field_type=wanted)
        case _:
            pass  # it is as wide already


def _addition(path: tuple[str, ...], type_: IcebergType) -> _Edit:
    return lambda update: update.add_column(path, type_)


def _describe(table: Table, text: TableText) -> None:
    present = table.properties
    set_, removed = property_changes(present, text.storage)
    if text.comment != present.get("comment", ""):
        if text.comment:
            set_["comment"] = text.comment
        else:
            removed = (*removed, "comment")
    docs = {
        field.name: wanted
        for field in table.schema().fields
        if (wanted := text.columns.get(field.name.lower(), "")) != (field.doc or "")
    }
    if not (set_ or removed or docs):
        return
    with table.transaction() as transaction:
        if set_:
            transaction.set_properties(set_)
        if removed:
            transaction.remove_properties(*removed)
        if docs:
            with transaction.update_schema() as update:
                for column, doc in docs.items():
                    update.update_column(column, doc=doc)
