"""Which tables' rows a query compares with the start of its interval."""

from __future__ import annotations

import pytest

from tests.core.sql.reads.test_input_ranges import P, Q, qualified
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.started import compared_with_start

JOINED = "SELECT p.k FROM s.p AS p JOIN s.q AS q ON p.k = q.k"


@pytest.mark.parametrize(
    "query,tables",
    [
        ("SELECT k FROM s.p WHERE ts BETWEEN @start_ts AND @end_ts", {P}),
        ("SELECT k FROM s.p WHERE unix_seconds(ts) >= unix_seconds(@start_ts)", {P}),
        ("SELECT k FROM s.p WHERE ts <= @end_ts", set()),
        ("SELECT k, @start_ts AS since FROM s.p", set()),
        ("SELECT k FROM s.p", set()),
        (f"{JOINED} WHERE p.ts >= @start_ts AND q.ts <= @end_ts", {P}),
        (f"{JOINED} AND q.ts >= @start_ts", {Q}),
        (f"{JOINED} WHERE COALESCE(p.ts, q.ts) >= @start_ts", {P, Q}),
        ("SELECT k FROM s.p WHERE k IN (SELECT k FROM s.q WHERE ts >= @start_ts)", {Q}),
        ("WITH c AS (SELECT k, ts FROM s.p WHERE ts >= @start_ts) SELECT k FROM c", {P}),
    ],
)
def test_a_table_is_compared_where_a_condition_has_a_column_of_it_and_the_start(
    query: str, tables: set[ModelName]
) -> None:
    assert compared_with_start(qualified(query)) == tables
