"""Up to when a model has all of its intervals, in memory."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, graph_of, hour_of
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.inspect.interval_report import complete_to
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.time.intervals import Interval

KEPT, WHOLE = ModelName("a", "kept"), ModelName("a", "whole")
GRAPH = graph_of(
    {
        "kept": "MODEL (name a.kept, kind INCREMENTAL_BY_TIME_RANGE (time_column at), "
        "cron '@hourly'); SELECT id, at FROM raw.events WHERE at BETWEEN @start_ts AND @end_ts",
        "whole": "MODEL (name a.whole, kind FULL); SELECT COUNT(*) AS n FROM a.kept",
    }
)


@pytest.mark.full
def test_it_is_the_end_of_what_is_loaded_without_a_gap() -> None:
    world = MemoryWorld.landed((0.5, 10), (3.5, 11), until=4)
    services = world.services()
    planned = plan_environment(services, GRAPH, "prod", PlanOptions(skip_backfill=True))
    world.apply(planned)
    assert complete_to(services, "prod", KEPT) is None
    for hour in (2, 0):
        evaluate(services, world.bound(), KEPT, Interval(hour_of(hour), hour_of(hour + 1)))
    assert complete_to(services, "prod", KEPT) == hour_of(1)
    world.build(GRAPH)
    assert complete_to(services, "prod", KEPT) == hour_of(4)


@pytest.mark.parametrize(
    "environment,name,reason",
    [
        ("dev", KEPT, "there is no environment dev"),
        ("prod", WHOLE, "FULL, which has no intervals"),
        ("prod", ModelName("a", "other"), "prod has no model a.other"),
    ],
)
def test_what_has_no_answer_is_refused(environment: str, name: ModelName, reason: str) -> None:
    world = MemoryWorld.landed((0.5, 10), until=1)
    world.build(GRAPH)
    with pytest.raises(Refused, match=reason):
        complete_to(world.services(), environment, name)
