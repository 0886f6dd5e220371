"""How the columns of a table change under a version that is kept (rule R11).

An Iceberg schema belongs to the table and not to a branch, so only what loses nothing may be done
in place: columns are added, and types are widened as Iceberg promotes them. A rename is an added
column, and a dropped one leaves the views only.
"""

from __future__ import annotations

from dataclasses import dataclass


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
