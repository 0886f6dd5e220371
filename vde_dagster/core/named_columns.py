"""The columns that a model's kind and layout name, which its query must return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import sqlglot
from sqlglot import exp

from vde_dagster.core.kind import (
    EVERY_COLUMN,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    Kind,
    ScdType2ByColumn,
    ScdType2ByTime,
)
from vde_dagster.core.model import Storage


def columns_named(kind: Kind, storage: Storage) -> Iterator[tuple[str, str]]:
    """Each column with what it is to the model, for people; in lower case."""
    yield from _named_columns(kind)
    yield from _laid_out_by(storage)


def added_columns(kind: Kind) -> dict[str, str]:
    """Columns that a kind adds to those of the query, with the options that name them."""
    match kind:
        case ScdType2ByTime() | ScdType2ByColumn():
            return {kind.valid_from_name: "valid_from_name", kind.valid_to_name: "valid_to_name"}
        case _:
            return {}


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
        case IncrementalByUniqueKey(unique_key=keys):
            yield from _columns_of_key(keys)
        case ScdType2ByTime(unique_key=keys, updated_at_name=column):
            yield from _columns_of_key(keys)
            yield "updated_at column", column
        case ScdType2ByColumn(unique_key=keys, columns=columns, updated_at_name=updated_at):
            yield from _columns_of_key(keys)
            for column in columns:
                if column != EVERY_COLUMN:
                    yield "compared column", column
            if updated_at is not None:
                yield "updated_at column", updated_at
        case _:
            return


def _columns_of_key(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The columns of keys in Spark's dialect, each key a column or an expression."""
    for key in keys:
        for column in sqlglot.parse_one(key, dialect="spark").find_all(exp.Column):
            yield "unique_key column", column.parts[0].name.lower()  # its field may follow
