"""FULL: the whole table is rebuilt, sentence by sentence."""

from __future__ import annotations

import pytest

from tests.app.memory_world import RAW, MemoryWorld
from tests.kinds.sentences.projects import (
    built,
    graph_of,
    node_of,
    problems,
    read,
    rows_of,
    span,
    sql_of,
)
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.model.kinds import Full

EXAMPLE = """MODEL (
  name demo.full_model_example,
  kind FULL,
  start '2024-01-01',
  cron '@daily',
  grain item_id,
);
SELECT item_id, COUNT(DISTINCT id) AS num_orders FROM raw.rows GROUP BY item_id
"""
SUMS = "MODEL (name demo.sums, kind FULL, start '2024-01-01'); SELECT id, amount FROM raw.events"


def test_every_evaluation_rebuilds_the_whole_table() -> None:
    world = MemoryWorld.landed((1, 10), (2, 20), until=24)
    assert built(world, SUMS) == [("demo.sums", span("2024-01-01", "2024-01-02"))]
    assert world.rows("demo.sums") == [(1, 10), (2, 20)]
    world.catalog.delete(RAW, [])  # what is gone from the source is gone from the table
    world.land((25, 30), until=48)
    assert built(world, SUMS) == [("demo.sums", span("2024-01-01", "2024-01-03"))]
    assert world.rows("demo.sums") == [(3, 30)]


@pytest.mark.parametrize("option", ["lookback 1", "batch_size 2", "time_column day"])
def test_it_has_no_options(option: str) -> None:
    name = option.split(maxsplit=1)[0]
    (found,) = problems(EXAMPLE.replace("kind FULL", f"kind FULL ({option})"))
    assert found.message == f"the kind FULL has no option {name!r}"
    assert found.advice == "It takes no options."


def test_its_query_needs_nothing_special() -> None:
    assert read(EXAMPLE).kind == Full()
    node = node_of(EXAMPLE)
    assert node.model.warnings == ()
    assert [each.name for each in node.columns] == ["item_id", "num_orders"]
    by_time = EXAMPLE.replace("FULL", "INCREMENTAL_BY_TIME_RANGE (time_column event_date)")
    with pytest.raises(ProjectInvalid, match="needs a filter on the time"):
        graph_of(by_time.replace("item_id", "event_date"))


def test_its_query_runs_as_it_is_written() -> None:
    data = [[str(n), str(item), "", "", "2024-01-01"] for n, item in ((1, 7), (2, 7), (2, 8))]
    found = rows_of(EXAMPLE, start="2024-01-01", end="2024-01-02", data={"raw.rows": data})
    assert found == [(7, 2), (8, 1)]
    assert "WHERE" not in sql_of(EXAMPLE)  # nothing is filtered behind it
