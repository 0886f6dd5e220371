"""Changing a table's columns, comments and properties, without touching rows and without a JVM.

An Iceberg schema belongs to the table and not to a branch, so only changes that lose nothing are
made here (rule R11). If somebody else commits meanwhile, the change is decided again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import Table, Transaction
from pyiceberg.types import PrimitiveType

from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused
from vde_dagster.core.ledger.schema_changes import (
    ColumnAdded,
    ColumnWidened,
    InPlace,
    is_widening,
    same_type,
)
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg_types import iceberg_type, spark_type
from vde_dagster.lakehouse.loading_tables import LOST, load
from vde_dagster.lakehouse.tables import property_changes
from vde_dagster.ports.catalog import TableText

_ATTEMPTS = 6
_PAUSE = 0.05

_Change = Callable[[Transaction], None]


def evolve(catalog: PyIcebergCatalog, name: TableName, changes: Sequence[InPlace]) -> None:
    """Add columns to a table and widen others; those that are so already stay as they are.

    Raises:
        Refused: A column exists with another type, or has a type that Iceberg cannot store.
        Conflict: The table is gone, or is being changed all the time.
        OutcomeUnknown: The answer was lost; doing it again is safe.
    """
    _commit(catalog, name, lambda table: _schema_change(table, name, changes))


def describe(catalog: PyIcebergCatalog, name: TableName, text: TableText) -> None:
    """Give a table and its columns the descriptions of its model, and the properties it asks for.

    Raises:
        Conflict: The table is gone, or is being changed all the time.
        OutcomeUnknown: The answer was lost; doing it again is safe.
    """
    _commit(catalog, name, lambda table: _text_change(table, text))


def _schema_change(table: Table, name: TableName, changes: Iterable[InPlace]) -> _Change | None:
    there = {field.name.lower(): field for field in table.schema().fields}
    added: list[ColumnAdded] = []
    widened: list[ColumnWidened] = []
    for each in changes:
        field = there.get(each.column.lower())
        present = spark_type(field.field_type) if field is not None else None
        match each:
            case ColumnAdded():
                if present is None:
                    added.append(each)
                elif not same_type(present, each.type):
                    raise Refused(
                        f"{name} has the column {each.column} already, of type {present}, so it "
                        f"cannot be added as {each.type}",
                        advice="give it another name. Nothing was changed",
                    )
            case ColumnWidened():
                if present is not None and is_widening(present, each.after):
                    widened.append(each)
            case unreachable:
                assert_never(unreachable)
    if not added and not widened:
        return None

    def change(transaction: Transaction) -> None:
        with transaction.update_schema(case_sensitive=False) as update:
            for new in added:
                update.add_column(new.column, iceberg_type(new.type))
            for wide in widened:
                wanted = iceberg_type(wide.after)
                assert isinstance(wanted, PrimitiveType), "Iceberg widens numbers alone"
                update.update_column(there[wide.column.lower()].name, field_type=wanted)

    return change


def _text_change(table: Table, text: TableText) -> _Change | None:
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
        if (wanted := _doc(text.columns, field.name)) != (field.doc or "")
    }
    if not (set_ or removed or docs):
        return None

    def change(transaction: Transaction) -> None:
        if set_:
            transaction.set_properties(set_)
        if removed:
            transaction.remove_properties(*removed)
        if docs:
            with transaction.update_schema() as update:
                for column, doc in docs.items():
                    update.update_column(column, doc=doc)

    return change


def _doc(columns: Mapping[str, str], name: str) -> str:
    return columns.get(name.lower(), "")


def _commit(
    catalog: PyIcebergCatalog, name: TableName, decide: Callable[[Table], _Change | None]
) -> None:
    """Decide on the newest metadata and commit, until it is done."""
    lost: Exception | None = None
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * 2**attempt)
        try:
            table = load(catalog, name)
            change = decide(table)
            if change is None:
                return
            with table.transaction() as transaction:
                change(transaction)
        except NoSuchTableError as error:
            if lost is not None:  # it may have been done before the table was dropped
                break
            raise Conflict(f"{name} does not exist any more") from error
        except CommitFailedException:  # not committed; somebody else was
            continue
        except LOST as error:
            lost = error
        else:
            return
    if lost is None:
        raise Conflict(f"{name} is being changed by others all the time; nothing was done")
    raise OutcomeUnknown(f"the answer to a change of {name} was lost ({lost})") from lost
