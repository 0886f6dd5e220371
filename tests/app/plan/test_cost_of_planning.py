"""A plan costs what its models cost: twice as many take twice as long, in layers and in a chain."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, partial

import pytest

from tests.app.memory_world import START, Fuse, MemoryWorld, graph_of, hour_of, plan
from tests.app.read_models import reading_once
from tests.counting import calls_of
from vde_dagster.app.inspect.interval_report import report_intervals
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph, sources
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.readiness import missing_intervals
from vde_dagster.core.time.intervals import Interval

DAY = Interval(START, hour_of(24))
Names = Callable[[int], str]


def chain(number: int) -> str:
    """Each model reads the one before it."""
    return f"m.x{number - 1}" if number else "raw.events"


def layers(number: int) -> str:
    """Every fifth model reads the source, the others the one before them."""
    return f"m.x{number - 1}" if number % 5 else "raw.events"


def fan(number: int) -> str:
    """All models read one."""
    return "m.x0" if number else "raw.events"


KINDS = {
    "full": ("FULL", ""),
    "by time": (
        "INCREMENTAL_BY_TIME_RANGE (time_column at)",
        "WHERE at BETWEEN @start_dt AND @end_dt",
    ),
}


@cache
def project(models: int, parent: Names, kind: str = "full") -> Graph:
    """So many models of a shape."""
    written, where = KINDS[kind]
    with reading_once():
        return graph_of(
            {
                f"x{number:03}": f"MODEL (name m.x{number}, kind {written}, cron '@daily'); "
                f"SELECT id AS id, at AS at, amount AS amount FROM {parent(number)} {where}"
                for number in range(models)
            }
        )


def asked(graph: Graph, *, count: bool) -> dict[ModelName, tuple[Interval, ...]]:
    """What models lack if all rows of a day count, or none of them."""
    names = [node.name for node in graph]
    recorded = dict.fromkeys(names, (DAY,))
    return missing_intervals(
        graph,
        now=DAY.end,
        writes=frozenset(names) - frozenset(sources(graph)),
        loaded=recorded if count else dict.fromkeys(names, ()),
        complete_to=dict.fromkeys(names, DAY.end),
        ready=lambda _, units: tuple(units),
        readable=recorded if count else dict.fromkeys(names, ()),
        recorded=recorded,
    )


THROUGH = {
    "p": "MODEL (name m.p, kind FULL); SELECT id AS id, at AS at FROM raw.events",
    "v": "MODEL (name m.v, kind VIEW); SELECT id AS id, at AS at FROM m.p",
    "e": "MODEL (name m.e, kind EMBEDDED); SELECT id AS id, at AS at FROM m.v",
    "q": "MODEL (name m.q, kind FULL); SELECT id AS id, at AS at FROM raw.events",
    "direct": "MODEL (name m.direct, kind FULL); SELECT id AS id FROM m.p",
    "through": "MODEL (name m.through, kind FULL); SELECT id AS id FROM m.e",
    "daily": "MODEL (name m.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column at)); "
    "SELECT q.at AS at FROM m.q AS q JOIN m.e AS e ON q.id = e.id "
    "WHERE q.at BETWEEN @start_dt AND @end_dt",
    "other": "MODEL (name m.other, kind FULL); SELECT id AS id FROM m.q",
    "below": "MODEL (name m.below, kind FULL); SELECT id AS id FROM m.through",
}


@pytest.mark.parametrize(
    "doubtful, waiting",
    [
        ("", ""),
        ("p", "direct through daily"),
        ("q", "daily other"),
        ("through", ""),  # it is rebuilt before it is read
        ("p q", "direct through daily other"),
        ("p through", "direct through daily below"),
    ],
)
def test_who_reads_all_of_a_table_waits_until_all_of_its_rows_count(
    doubtful: str, waiting: str
) -> None:
    graph = graph_of(THROUGH)
    names = {node.name.name: node.name for node in graph}
    recorded = dict.fromkeys(names.values(), (DAY,))
    readable = recorded | {names[each]: () for each in doubtful.split()}
    asked_of = ("direct", "through", "daily", "other", "below")
    missing = missing_intervals(
        graph,
        now=hour_of(48),
        writes={names[each] for each in asked_of},
        loaded=recorded,
        complete_to=dict.fromkeys(names.values(), hour_of(48)),
        ready=lambda _, units: tuple(units),
        readable=readable,
        recorded=recorded,
    )
    assert {each for each in asked_of if not missing[names[each]]} == set(waiting.split())


def planned(models: int, parent: Names, kind: str) -> tuple[MemoryWorld, Graph]:
    """A production that has everything."""
    world, graph = MemoryWorld(), project(models, parent, kind)
    world.land((1, 10), until=24)
    with reading_once():
        world.build(graph)
    assert world.plan(graph).is_empty
    return world, graph


@pytest.mark.full
@pytest.mark.parametrize(
    "parent,kind",
    [
        (chain, "full"),
        *(
            pytest.param(*each, marks=pytest.mark.full)
            for each in (
                (layers, "by time"),
                (chain, "by time"),
                (layers, "full"),
                (fan, "full"),
                (fan, "by time"),
            )
        ),
    ],
)
def test_a_plan_of_twice_as_many_models_takes_twice_the_calls(parent: Names, kind: str) -> None:
    found, fuses = [], []
    for models in (30, 60):
        world, graph = planned(models, parent, kind)
        fuse = Fuse()
        run = partial(plan_environment, world.services(), graph, "prod")
        run()  # what is made once is made
        found.append(calls_of(run))
        plan_environment(world.services(fuse), graph, "prod")
        fuses.append(fuse.names)
    few, many = found
    assert many < 2.2 * few
    assert fuses[0] == fuses[1], "no port is called once for each model"


def _planned_and_reported(services: Services, graph: Graph) -> None:
    report_intervals(services, plan(services, graph))


def test_a_plan_takes_as_many_calls_however_early_a_model_begins() -> None:
    """Each five minutes since 1970 are nearly six million units, and are one range."""
    found = []
    for start in (START, datetime(1970, 1, 1, tzinfo=UTC)):
        world = MemoryWorld.landed((1, 10), until=24)
        text = f"""
        MODEL (
          name m.often, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '*/5 * * * *',
          start '{start:%Y-%m-%d}'
        );
        SELECT id AS id, at AS at FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
        """
        services, graph = world.services(), graph_of({"often": text})
        (lacks,) = plan(services, graph).backfills
        assert lacks.to_evaluate == (Interval(start, hour_of(24)),)
        _planned_and_reported(services, graph)  # what is made once is made
        found.append(calls_of(partial(_planned_and_reported, services, graph)))
    few, many = found
    assert many < 1.1 * few
