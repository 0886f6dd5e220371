"""The columns that a model's kind and layout name, which its query must return."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import assert_never

import sqlglot
from sqlglot import exp

from vde_dagster.core.errors import Finding
from vde_dagster.core.model.history import EVERY_COLUMN
from vde_dagster.core.model.kinds import (
    Embedded,
    External,
    Full,
    IncrementalByPartition,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    Kind,
    Managed,
    ScdType2,
    ScdType2ByColumn,
    ScdType2ByTime,
    Seed,
    View,
)
from vde_dagster.core.model.storage import Storage


def missing_columns(
    kind: Kind, storage: Storage, names: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The columns that a model names and does not have, each with what it is to the model.

    A layout may name those that the kind adds, too.

    Args:
        kind: The model's kind.
        storage: The model's layout.
        names: The columns that its query returns, in lower case.
    """
    own = dict.fromkeys(_named_columns(kind))
    yield from (each for each in own if each[1] not in names)
    added = added_columns(kind)
    laid_out = dict.fromkeys(_laid_out_by(storage))
    yield from (each for each in laid_out if each[1] not in names and each[1] not in added)


def clashing_columns(kind: Kind, names: Collection[str]) -> Iterator[Finding]:
    """The columns of a query that have the names of columns that the kind adds."""
    for column, option in added_columns(kind).items():
        if column in names:
            yield Finding(
                message=f"the query returns {column!r}, which {kind.keyword} adds itself",
                advice=f"Rename that column, or set {option}.",
            )


def added_columns(kind: Kind) -> dict[str, str]:
    """Columns that a kind adds to those of the query, with the options that name them."""
    return {column.name: option for option, column in kind.added_columns.items()}


def key_columns(kind: IncrementalByUniqueKey | ScdType2) -> set[str]:
    """The columns that a unique key is made of."""
    return {column for _, column in _columns_of_key(kind.unique_key)}


def _laid_out_by(storage: Storage) -> Iterator[tuple[str, str]]:
    for field in storage.partitioned_by:
        yield "partitioned_by column", field.column
    for column in storage.clustered_by:
        yield "clustered_by column", column


def _named_columns(kind: Kind) -> Iterator[tuple[str, str]]:
    match kind:
        case IncrementalByTimeRange(time_column=column):
            if column:  # none could be read
                yield "time column", column
        case IncrementalByUniqueKey(unique_key=keys, when_matched=whens, merge_filter=condition):
            yield from _columns_of_key(keys)
            yield from _columns_of_sides("when_matched", whens)
            if condition is not None:
                yield from _columns_of_sides("merge_filter", (condition,))
            yield from _columns_of_order(kind)
        case ScdType2ByTime(unique_key=keys, updated_at_name=column):
            yield from _columns_of_key(keys)
            yield from _columns_of_order(kind, column)
        case ScdType2ByColumn(unique_key=keys, columns=columns, updated_at_name=updated_at):
            yield from _columns_of_key(keys)
            for column in columns:
                if column != EVERY_COLUMN:
                    yield "compared column", column
            yield from _columns_of_order(kind, updated_at)
        case IncrementalByPartition() | IncrementalUnmanaged():
            return
        case Full() | View() | Embedded() | Seed() | External() | Managed():
            return
        case unreachable:
            assert_never(unreachable)


def _columns_of_key(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The columns of keys in Spark's dialect, each key a column or an expression."""
    for key in keys:
        for column in sqlglot.parse_one(key, dialect="spark").find_all(exp.Column):
            yield "unique_key column", column.parts[0].name.lower()  # its field may follow


def _columns_of_order(
    kind: IncrementalByUniqueKey | ScdType2, updated_at: str | None = None
) -> Iterator[tuple[str, str]]:
    """The columns that say which change is later; that of the time, where there is no order."""
    if updated_at is not None and not kind.sequence_by:
        yield "updated_at column", updated_at
    yield from (("sequence_by column", each) for each in kind.sequence_by)
    if kind.delete_when is not None:
        yield "delete_when column", kind.delete_when.column


def _columns_of_sides(option: str, parts: Iterable[exp.Expr]) -> Iterator[tuple[str, str]]:
    """The columns of clauses about source and target, which both have those of the model."""
    for part in parts:
        for column in part.find_all(exp.Column):
            if not isinstance(column.this, exp.Star):
                yield f"{option} column", column.name.lower()
