"""The look for rows that are lost between intervals takes work in proportion to a query's size."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import sqlglot
from sqlglot import exp

from tests.counting import calls_of
from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import canonicalize
from vde_dagster.core.sql.interval_ends import Reader
from vde_dagster.core.sql.reads.input_ranges import TimeAxis
from vde_dagster.core.sql.reads.tiling import lost_between
from vde_dagster.core.time.intervals import IntervalUnit

RAW = ModelName("raw", "t")


def wide(size: int) -> str:
    """Some common tables, each of which passes all columns on."""
    columns = ", ".join(f"a.c{at}" for at in range(size))
    first = f"a0 AS (SELECT ts, {columns} FROM raw.t AS a WHERE ts BETWEEN @start_dt AND @end_dt)"
    others = (
        f"a{at} AS (SELECT a.ts, {columns} FROM a{at - 1} AS a "
        "LEFT JOIN raw.t AS y ON a.ts = y.ts AND y.ts BETWEEN @start_dt AND @end_dt)"
        for at in range(1, 5)
    )
    return f"WITH {', '.join([first, *others])} SELECT * FROM a4"


def grouped(size: int) -> str:
    columns = ", ".join(f"c{at}" for at in range(size))
    inner = f"SELECT ts, {columns} FROM raw.t GROUP BY ts, {columns}"
    return f"SELECT * FROM ({inner}) AS x WHERE ts BETWEEN @start_dt AND @end_dt"


def united(size: int) -> str:
    return " UNION ALL ".join(
        f"SELECT ts FROM raw.t WHERE ts BETWEEN @start_dt - INTERVAL {at} DAYS AND @end_dt"
        for at in range(size)
    )


def nested(size: int) -> str:
    """A common table for each of the steps in which a column is passed on."""
    steps = (
        f"a{at} AS (SELECT ts, c0 FROM {f'a{at - 1}' if at else 'raw.t'})" for at in range(size)
    )
    last = f"SELECT * FROM a{size - 1} WHERE ts BETWEEN @start_dt AND @end_dt"
    return f"WITH {', '.join(steps)} {last}"


@pytest.mark.parametrize("written, size", [(wide, 12), (grouped, 12), (united, 40), (nested, 20)])
def test_four_times_the_query_takes_about_four_times_the_work(
    written: Callable[[int], str], size: int
) -> None:
    def look(size: int) -> int:
        columns = [Column(name="ts", type="timestamp")]
        columns += [Column(name=f"c{at}", type="string") for at in range(size)]
        parsed = sqlglot.parse_one(written(size), read="spark")
        assert isinstance(parsed, exp.Query)
        query = canonicalize(parsed, schemas={RAW: columns}).expression
        day = IntervalUnit.DAY
        axes = [TimeAxis(column=each.name, unit=day, type=each.type) for each in columns]
        reader = Reader(unit=day, in_batches=True)
        return calls_of(lambda: list(lost_between(query, {RAW: axes}, reader)))

    look(2)  # what is computed once for all queries
    small, large = look(size), look(4 * size)
    assert small > 100
    assert large < 6 * small, (small, large)
