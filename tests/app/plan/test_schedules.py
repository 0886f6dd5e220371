"""What plans evaluate, and in which batches: cron, end, lookback, waiting (in memory)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.app.memory_world import MemoryWorld, graph_of, hour_of
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval

# The project's clock is the source's, which starts at 2024-01-01, a Monday. Hours count from there.
PARENT = """
MODEL (
  name m.parent,
  kind INCREMENTAL_BY_TIME_RANGE (time_column at{options}),
  cron '{cron}'{more}
);
SELECT id AS id, at AS at, amount AS amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
CHILD = """
MODEL (name m.child, kind {kind}, cron '@daily');
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM m.parent
{where} GROUP BY CAST(at AS DATE)
"""
BY_DAY = "INCREMENTAL_BY_TIME_RANGE (time_column day)"
SAME_DAY = "WHERE at BETWEEN @start_dt AND @end_dt"


def parent(cron: str = "@daily", options: str = "", more: str = "") -> str:
    return PARENT.format(cron=cron, options=options, more=more)


def child(where: str = SAME_DAY, kind: str = BY_DAY) -> str:
    return CHILD.format(kind=kind, where=where)


def hours(start: float, end: float) -> Interval:
    return Interval(hour_of(start), hour_of(end))


def days(start: float, end: float) -> Interval:
    return hours(24 * start, 24 * end)


def lacks(made: Plan, name: str) -> tuple[Interval, ...]:
    (change,) = (each for each in made.changes if str(each.name) == name)
    return change.missing


def evaluated(done: Sequence[Evaluated], name: str) -> list[Interval]:
    return [each.interval for each in done if str(each.key.model) == name]


def world_until(day: float) -> MemoryWorld:
    return MemoryWorld.landed(*((24 * each + 1, each) for each in range(10)), until=24 * day)


@pytest.mark.full
@pytest.mark.parametrize(
    "options,loaded,until,expected",
    [
        (", batch_size 2", 0, 5, [days(0, 2), days(2, 4), days(4, 5)]),
        (", batch_size 100", 0, 5, [days(0, 5)]),
        (", batch_size 1, lookback 1", 2, 4, [days(1, 2), days(2, 3), days(3, 4)]),
        (", batch_size 2, lookback 3", 1, 3, [days(0, 2), days(2, 3)]),
    ],
)
def test_batches_are_evaluated_one_after_the_other(
    options: str, loaded: int, until: int, expected: list[Interval]
) -> None:
    world = world_until(loaded)
    graph = graph_of({"parent": parent(options=options)})
    world.build(graph)
    world.land(until=24 * until)
    assert evaluated(world.build(graph), "m.parent") == expected
    assert [row[2] for row in world.rows("m.parent")] == list(range(until))
    assert world.plan(graph).is_empty


def test_a_child_goes_on_after_its_parents_end() -> None:
    world = world_until(6)
    graph = graph_of({"parent": parent(more=", end '2024-01-03'"), "child": child()})
    made = world.plan(graph)
    assert lacks(made, "m.parent") == (days(0, 3),)
    assert lacks(made, "m.child") == (days(0, 6),)


EMBEDDED = """
MODEL (name m.inline, kind EMBEDDED);
SELECT id AS id, at AS at, amount AS amount FROM {source}
"""


def test_a_reader_of_an_embedded_model_waits_only_for_what_that_reads() -> None:
    world = world_until(3)
    reader = child().replace("m.parent", "m.inline")
    over_source = {"inline": EMBEDDED.format(source="raw.events"), "child": reader}
    made = world.plan(graph_of(over_source))
    assert lacks(made, "m.inline") == ()
    assert lacks(made, "m.child") == (days(0, 3),)
    over_weekly = {
        "parent": parent("@weekly"),
        "inline": EMBEDDED.format(source="m.parent"),
        "child": reader,
    }
    made = world.plan(graph_of(over_weekly))
    assert [str(each.name) for each in made.backfills] == []
    world.land(until=24 * 9)
    made = world.plan(graph_of(over_weekly))
    assert lacks(made, "m.parent") == (days(0, 6),)


def without_starts(texts: dict[str, str]) -> Graph:
    """A project whose defaults give no start."""
    known = graph_of(texts)
    return build_graph(
        node.model
        if "start '" in node.model.source.text
        else replace(node.model, start=datetime(1970, 1, 1, tzinfo=UTC), inherits_start=True)
        for node in known
    )


def test_a_model_without_a_start_begins_with_its_parent() -> None:
    world = world_until(5)
    graph = without_starts({"parent": parent(more=", start '2024-01-03'"), "child": child()})
    made = world.plan(graph)
    assert lacks(made, "m.parent") == (days(2, 5),)
    assert lacks(made, "m.child") == (days(2, 5),)
