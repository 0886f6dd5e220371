"""How the columns of a table change under a version that is kept (rule R11).

An Iceberg schema belongs to the table and not to a branch, so only what loses nothing may be done
in place: columns are added, and types are widened as Iceberg promotes them. A rename is an added
column, and a dropped one leaves the views only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from vde_dagster.core.columns import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAdded:
    """A column that the table does not have yet; earlier rows have NULL there."""

    column: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnWidened:
    """A column whose type becomes one that holds all of its values."""

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


def is_widening(before: str, after: str) -> bool:
    """Whether a type of Spark becomes another one that holds all of its values, in place."""
    return _holds(_stored_type(after), _stored_type(before)) and not same_type(before, after)


def same_type(one: str, other: str) -> bool:
    """Whether Iceberg stores two types of Spark as one."""
    return _stored_type(one) == _stored_type(other)


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
            if all(_only_grew(before, each) for before in every if before is not each)
        ),
        every[0],
    )


def _only_grew(before: Sequence[Column], after: Sequence[Column]) -> bool:
    return all(
        isinstance(change, ColumnAdded | ColumnWidened) for change in schema_changes(before, after)
    )


def _retyped(before: Column, after: Column) -> list[SchemaChange]:
    old, new = _stored_type(before.type), _stored_type(after.type)
    if old == new or _UNKNOWN in (old, new):
        return []
    if _holds(new, old):
        return [ColumnWidened(column=before.name, before=before.type, after=after.type)]
    return [ColumnIncompatible(column=before.name, before=before.type, after=after.type)]


_UNKNOWN: Final = "unknown"
_PROMOTIONS: Final = (("int", "bigint"), ("float", "double"))
"""What Iceberg's format version 2 promotes, apart from decimals of more digits (specification,
*Schema Evolution*)."""
_STORED_AS: Final = {
    "tinyint": "int",
    "byte": "int",
    "smallint": "int",
    "short": "int",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "": _UNKNOWN,
}
"""Types of Spark that Iceberg stores as another one."""
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_TEXT: Final = re.compile(r"(var)?char\(\d+\)")


def _stored_type(written: str) -> str:
    """A type of Spark as Iceberg has it, without white space."""
    name = "".join(written.lower().split())
    if _TEXT.fullmatch(name):
        return "string"
    if name == "decimal":
        return "decimal(10,0)"
    return _STORED_AS.get(name, name)


def _holds(wide: str, narrow: str) -> bool:
    """Whether Iceberg turns one type into the other in place, without losing a value."""
    if (narrow, wide) in _PROMOTIONS:
        return True
    new, old = _DECIMAL.fullmatch(wide), _DECIMAL.fullmatch(narrow)
    return new is not None and old is not None and new[2] == old[2] and int(new[1]) >= int(old[1])
