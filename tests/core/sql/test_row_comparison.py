"""Queries that compare rows, run by DuckDB over tables whose differences are known."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.sql.duckdb.translating import DuckQuery, in_duckdb
from vde_dagster.core.sql.row_comparison import (
    AFTER,
    BEFORE,
    Comparison,
    changed,
    joined_counts,
    only_in,
    repeated_keys,
    rows_of,
    whole_counts,
    whole_sample,
)
from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckDbQueries

COLUMNS = (
    Column(name="Id", type="int"),
    Column(name="select", type="string"),
    Column(name="x", type="int"),
)
OLD = [(1, "a", 1), (2, "b", None), (3, "c", 3), (None, "n", 4)]
NEW = [(1, "a", 1), (2, "b", 5), (None, "n", None), (4, "d", 3), (5, "e", None)]
BY_ID = Comparison(keys=("Id",), columns=("Id", "select", "x"))
WHOLE = Comparison(keys=(), columns=("Id", "select", "x"))

Rows = Sequence[tuple[object, ...]]


def answered(query: exp.Query, old: Rows = OLD, new: Rows = NEW) -> list[tuple[object, ...]]:
    found = in_duckdb(query.sql("spark"), catalog="lake", tables=lambda _: COLUMNS)
    assert isinstance(found, DuckQuery), found
    types = (pa.int32(), pa.string(), pa.int32())
    tables = {}
    for name, rows in ((BEFORE, old), (AFTER, new)):
        arrays = [pa.array([row[at] for row in rows], type=kind) for at, kind in enumerate(types)]
        tables[name] = pa.table(arrays, names=[each.name for each in COLUMNS])
    return [*DuckDbQueries().answer(found, tables, limit=100)]


def test_rows_are_joined_by_a_key_and_nulls_are_equal() -> None:
    # 4 and 5 are new, 3 is gone; 2 and the one without an id have another x.
    assert answered(joined_counts(BY_ID)) == [(2, 1, 2, 0, 2)]
    assert answered(only_in(BY_ID, AFTER)) == [(4, "d", 3), (5, "e", None)]
    assert answered(only_in(BY_ID, BEFORE)) == [(3, "c", 3)]
    assert answered(changed(BY_ID)) == [(None, "n", 4, "n", None), (2, "b", None, "b", 5)]


def test_keys_may_be_all_columns() -> None:
    every = Comparison(keys=("Id", "select", "x"), columns=("Id", "select", "x"))
    assert answered(joined_counts(every)) == [(4, 3, 0)]


def test_a_key_that_several_rows_share_is_found_with_its_number() -> None:
    assert answered(repeated_keys(BY_ID, BEFORE)) == []
    twice = [*OLD, (3, "z", 0), (None, "y", 0), (None, "x", 0)]
    assert {*answered(repeated_keys(BY_ID, BEFORE), old=twice)} == {(3, 2), (None, 3)}


def test_rows_without_a_key_count_as_often_as_they_are_there() -> None:
    old = [(1, "a", None), (1, "a", None), (2, "b", 0)]
    new = [(1, "a", None), (2, "b", 0), (2, "b", 0), (2, "b", 0)]
    assert answered(whole_counts(WHOLE), old, new) == [(2, 1)]
    assert answered(whole_sample(WHOLE, AFTER), old, new) == [(2, "b", 0)]
    assert answered(whole_sample(WHOLE, BEFORE), old, new) == [(1, "a", None)]
    assert answered(whole_counts(WHOLE), old, old) == [(0, 0)]


@pytest.mark.parametrize("comparison", [BY_ID, WHOLE], ids=["by key", "as a whole"])
def test_only_rows_inside_are_compared(comparison: Comparison) -> None:
    inside = exp.GT(this=exp.column("Id", quoted=True), expression=exp.Literal.number(3))
    bounded = Comparison(keys=comparison.keys, columns=comparison.columns, inside=inside)
    assert answered(rows_of(bounded, BEFORE)) == [(0,)]
    assert answered(rows_of(bounded, AFTER)) == [(2,)]
    query = joined_counts(bounded) if comparison.keys else whole_counts(bounded)
    assert answered(query)[0][:2] == (2, 0)


def test_empty_tables_are_equal() -> None:
    assert answered(joined_counts(BY_ID), [], []) == [(0, 0, 0, 0, 0)]
    assert answered(whole_counts(WHOLE), [], []) == [(0, 0)]
