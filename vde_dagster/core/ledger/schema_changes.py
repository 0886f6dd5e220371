"""How the columns of a table change under a version that is kept (rule R11).

An Iceberg schema belongs to the table and not to a branch, so only what loses nothing may be done
in place: columns are added, types are widened as Iceberg promotes them, and structs get fields, at
any depth. A rename is an added column, and a dropped one leaves the views only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.stored_types import holds, is_known, same_type


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAdded:
    """A column that the table does not have yet; earlier rows have NULL there."""

    column: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnWidened:
    """A column whose type becomes one that holds all of its values, or whose structs get fields."""

    column: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDropped:
    """A column that views show no more; the table keeps it for a while."""

    column: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnIncompatible:
    """A column whose new type does not hold all of its values. It cannot be done in place."""

    column: str
    before: str
    after: str


SchemaChange = ColumnAdded | ColumnWidened | ColumnDropped | ColumnIncompatible


InPlace = ColumnAdded | ColumnWidened
"""What can be done to a table that stays."""


def described(change: SchemaChange) -> str:
    """A change of a table's schema, for people."""
    match change:
        case ColumnAdded(column=column, type=type_):
            return f"adds {column} ({type_})"
        case ColumnDropped(column=column, type=type_):
            return f"drops {column} ({type_})"
        case ColumnWidened(column=column, before=before, after=after):
            return f"widens {column} from {before} to {after}"
        case ColumnIncompatible(column=column, before=before, after=after):
            return f"changes {column} from {before} to {after}"
        case unreachable:
            assert_never(unreachable)


def schema_changes(before: Sequence[Column], after: Sequence[Column]) -> tuple[SchemaChange, ...]:
    """What has to be done to a table of ``before`` so that it takes rows of ``after``.

    Those of the columns that there are first, then those that are added. Names are compared
    without case. Nothing is said of a column whose type is not known on both sides, and a
    description or an order is no change.

    Args:
        before: The columns of the table, with types as Spark writes them.
        after: Those of the rows.
    """
    wanted = {column.name.lower(): column for column in after}
    known = {column.name.lower() for column in before}
    changes: list[SchemaChange] = []
    for column in before:
        new = wanted.get(column.name.lower())
        if new is None:
            changes.append(ColumnDropped(column=column.name, type=column.type))
        else:
            changes += _retyped(column, new)
    changes += [
        ColumnAdded(column=each.name, type=each.type)
        for each in after
        if each.name.lower() not in known
    ]
    return tuple(changes)


def newest_columns(schemas: Iterable[Sequence[Column]]) -> tuple[Column, ...]:
    """The one of a table's schemas, each changed into another in place, that holds all others.

    Of those that differ by their words alone it is the last one.

    Args:
        schemas: At least one, in any order.
    """
    # the many entries of a ledger have few schemas
    every = list(dict.fromkeys(tuple(each) for each in reversed(list(schemas))))
    return next(
        (
            each
            for each in every
            if all(
                isinstance(change, ColumnAdded | ColumnWidened)
                for before in every
                if before is not each
                for change in schema_changes(before, each)
            )
        ),
        every[0],
    )


def _retyped(before: Column, after: Column) -> list[SchemaChange]:
    old, new = before.type, after.type
    if not (is_known(old) and is_known(new)) or same_type(old, new):
        return []
    if holds(new, old):
        return [ColumnWidened(column=before.name, before=old, after=new)]
    return [ColumnIncompatible(column=before.name, before=old, after=new)]
