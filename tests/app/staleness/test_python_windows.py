"""A window that a Python model declares is what it reads, also where it builds on its own rows."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, graph_of

HOURLY = """
MODEL (name mart.hourly, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id, at, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
DAYS = """
import pyarrow as pa

from vde_dagster import model


@model(
    "mart.days",
    kind="{kind}",
    cron="@daily",
    {more}depends_on={{"mart.hourly": {{"before": "0 hours"}}}},
    columns={{"id": "int", "at": "timestamp", "amount": "bigint"}},
)
def days(context):
    sums = {{}}
    for row in context.table("mart.hourly").toArrow().to_pylist():
        if context.start <= row["at"] < context.end:
            day = row["at"].replace(hour=0)
            sums[day] = sums.get(day, 0) + row["amount"]
    found = {{"id": [day.day for day in sums], "at": [*sums], "amount": [*sums.values()]}}
    return pa.table(found)
"""


@pytest.mark.parametrize(
    "kind, more",
    [
        ("INCREMENTAL_BY_UNIQUE_KEY (unique_key id, batch_size 1)", ""),
        ("INCREMENTAL_BY_PARTITION", 'partitioned_by="days(at)", '),
        ("INCREMENTAL_UNMANAGED", ""),
        ("INCREMENTAL_BY_TIME_RANGE (time_column at)", ""),
    ],
)
def test_a_late_row_in_the_window_is_computed(kind: str, more: str) -> None:
    world = MemoryWorld.landed((1, 10), (30, 1), until=48)
    world.build(graph_of({"hourly": HOURLY, "days.py": DAYS.format(kind=kind, more=more)}))
    assert [row[2] for row in world.rows("mart.days")] == [10, 1]
    world.land((5, 7), until=48)
    world.run()
    assert [row[2] for row in world.rows("mart.days")] == [17, 1]
    assert world.plan_run().is_empty
