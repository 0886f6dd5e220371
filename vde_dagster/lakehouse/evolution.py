"""Changing a table's columns, comments and properties, without touching rows and without a JVM.

An Iceberg schema belongs to the table and not to a branch, so only changes that lose nothing are
made here (rule R11). If somebody else commits meanwhile, the change is decided again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import Table, Transaction
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnWidened, InPlace
from vde_dagster.core.ledger.stored_types import fits, is_widening, same_type
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg_types import iceberg_type, spark_type
from vde_dagster.lakehouse.publish import LOST, load
from vde_dagster.lakehouse.tables import property_changes
from vde_dagster.ports.catalog import TableText

_ATTEMPTS = 6
_PAUSE = 0.05

_Change = Callable[[Transaction], None]


def evolve(catalog: PyIcebergCatalog, name: TableName, changes: Sequence[InPlace]) -> None:
    """Add columns to a table and widen others; those that are so already stay as they are.

    A struct gets the fields that it lacks behind its own ones; it keeps those that it has.

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


_Edit = Callable[[UpdateSchema], object]


def _schema_change(table: Table, name: TableName, changes: Iterable[InPlace]) -> _Change | None:
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
    if not edits:
        return None

    def change(transaction: Transaction) -> None:
        with transaction.update_schema(case_sensitive=False) as update:
            for edit in edits:
                edit(update)

    return change


def _refused(table: TableName, column: str, present: str, why: str) -> Refused:
    return Refused(
        f"{table} has the column {column} already, of type {present}, so {why}",
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
