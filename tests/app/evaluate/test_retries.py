"""A model with ``retries`` whose query failed: when it runs again, and what is published of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.app.memory_world import (
    DAILY,
    EVENTS,
    PROJECT,
    MemoryWorld,
    bound,
    build,
    graph_of,
    made_once,
)
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import Services
from vde_dagster.core.errors import AuditFailed, EvaluationFailed
from vde_dagster.core.ledger.unit_of_work import Staged, Staging
from vde_dagster.core.names import ModelName
from vde_dagster.ports.engine import Engine

DAILY_NAME, EVENTS_NAME = ModelName("mart", "daily"), ModelName("staging", "events")


def with_retries(text: str, header: str) -> str:
    return text.replace("cron '", f"{header}, cron '")


@dataclass
class Flaky:
    """An engine whose first units of work of one model fail, as if a task had lost its executor."""

    engine: Engine
    model: ModelName
    failures: int
    tried: list[str] = field(default_factory=list)

    def stage(self, staging: Staging) -> Staged:
        if staging.target.model == self.model:
            self.tried.append(staging.work_id)
            if len(self.tried) <= self.failures:
                raise EvaluationFailed(f"try {len(self.tried)}: an executor was lost")
        return self.engine.stage(staging)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


def failing(world: MemoryWorld, model: ModelName, failures: int) -> tuple[Services, Flaky]:
    services = world.services()
    engine: Any = Flaky(services.engine, model, failures)
    return replace(services, engine=engine), engine


@made_once
def landed() -> MemoryWorld:
    return MemoryWorld.landed((5.5, 10), (30.5, 1), until=48)


def apply(services: Services, **texts: str) -> tuple[Evaluated, ...]:
    return build(services, graph_of({**PROJECT, **texts}))


def test_what_fails_twice_is_published_once_after_pauses_of_10_and_30_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = landed()
    services, engine = failing(world, DAILY_NAME, 2)
    before = world.clock.now()
    apply(services, daily=with_retries(DAILY, "retries 2"))
    assert len(set(engine.tried)) == 3
    assert (world.clock.now() - before).total_seconds() == 10 + 30
    assert {amount for _, amount in world.rows("mart.daily")} == {1, 10}
    first, second = caplog.messages
    assert first == (
        "mart.daily failed, and it is retried in 10 seconds (retry 1 of 2): models/daily.sql:3: "
        "try 1: an executor was lost"
    )
    assert "30 seconds (retry 2 of 2): models/daily.sql:3: try 2" in second
    works = [services.state.work(each) for each in engine.tried]
    assert [each.state.value for each in works if each is not None] == [
        *("abandoned", "abandoned", "done")
    ]


@pytest.mark.full
@pytest.mark.parametrize("header,tries", [("retries 2", 3), ("retries 0", 1)])
def test_what_keeps_failing_ends_with_the_last_failure(header: str, tries: int) -> None:
    world = landed()
    services, engine = failing(world, DAILY_NAME, 99)
    with pytest.raises(EvaluationFailed, match=f"try {tries}: an executor was lost"):
        apply(services, daily=with_retries(DAILY, header))
    assert len(engine.tried) == tries
    assert world.services().state.environment("prod") is None


def test_whoever_tries_again_by_themselves_gets_the_first_failure() -> None:
    services, engine = failing(landed(), DAILY_NAME, 99)
    with pytest.raises(EvaluationFailed, match="try 1"):
        apply(replace(services, retries=False), daily=with_retries(DAILY, "retries 2"))
    assert len(engine.tried) == 1


def test_rows_that_an_audit_refused_are_not_computed_again() -> None:
    services, engine = failing(landed(), DAILY_NAME, 0)
    audited = with_retries(
        DAILY, "retries 2, audits (accepted_range (column := amount, max_v := 5))"
    )
    with pytest.raises(AuditFailed):
        apply(services, daily=audited)
    assert len(engine.tried) == 1


@pytest.mark.full
@pytest.mark.parametrize("in_a_plan", [True, False])
def test_a_session_is_tried_again_with_the_rows_that_it_found(in_a_plan: bool) -> None:
    world = landed()
    texts = {**PROJECT, "events": with_retries(EVENTS, "retries 1")}
    graph = graph_of(texts)
    world.build(graph)
    world.land((7.5, 5), (50.5, 3), until=72)
    services, engine = failing(world, EVENTS_NAME, 1)
    if in_a_plan:
        build(services, graph)
    else:
        catch_up(services, bound(services), EVENTS_NAME)
    assert len(engine.tried) == 2
    rows = world.rows("staging.events")
    assert len(rows) == 4
    assert {row[2] for row in rows} == {1, 3, 5, 10}
