"""What is recorded as not computed, and what is reported of it, on the ports in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.app.faults.test_power_cuts import Losing
from tests.app.memory_world import MemoryWorld, bound, graph_of, made_once
from tests.app.shop_world import (
    SALES,
    SALES_NAME,
    SHOP,
    TOTAL_NAME,
    TRIPLE_NAME,
    asked,
    day,
    done,
    entries,
)
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.visitor import applying
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.savings import report_savings
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, EvaluationFailed, OutcomeUnknown, Refused
from vde_dagster.core.ledger.entries import Trace
from vde_dagster.core.ledger.savings import Saved, SavingKind, total_saved
from vde_dagster.core.ledger.unit_of_work import Staged, Staging
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.stages import Promote, stages_of

DAY = timedelta(days=1)
EQUAL = {**SHOP, "sales": SALES.replace("GROUP BY", "AND amount < 100 GROUP BY")}
"""Another query of `mart.sales`, with the same rows as long as no amount is 100 or more."""
REUSED, ADOPTED, SHARED = SavingKind.REUSED, SavingKind.ADOPTED, SavingKind.SHARED


class Slow:
    """An engine that takes 30 seconds for each unit of work."""

    def __init__(self, services: Services, world: MemoryWorld) -> None:
        self._engine, self._world = services.engine, world

    def stage(self, staging: Staging) -> Staged:
        self._world.clock.advance(timedelta(seconds=30))
        return self._engine.stage(staging)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def slow(world: MemoryWorld) -> Services:
    services = world.services()
    return replace(services, engine=Slow(services, world))


@pytest.fixture
@made_once
def world() -> MemoryWorld:
    """Three days of events in production: 10 seconds for a day, 30 for the whole table."""
    world = MemoryWorld()
    world.land((1, 10), (30, 5), (50, 7), until=72)
    done(slow(world), graph_of(SHOP), "prod")
    return world


def reported(
    world: MemoryWorld, environment: str | None = None, **options: Any
) -> dict[tuple[str, str, SavingKind], Saved]:
    report = report_savings(world.services(), environment, **options)
    return {(each.environment, each.model.name, each.kind): each.saved for each in report.savings}


def saved(days: int, rows: int, seconds: float, *, whole: bool = False) -> Saved:
    return Saved(intervals=days, time=None if whole else days * DAY, rows=rows, seconds=seconds)


def evaluated(services: Services, name: ModelName, first: int, last: int, **how: Any) -> None:
    evaluate_range(services, bound(services), name, day(first, last), **how)


# What is reused
@pytest.mark.full
def test_what_is_computed_saves_nothing(world: MemoryWorld) -> None:
    assert reported(world) == {}
    evaluated(world.services(), TRIPLE_NAME, 1, 3, force=True)
    assert reported(world) == {}


def test_what_is_asked_for_and_kept_is_recorded_each_time(world: MemoryWorld) -> None:
    evaluated(world.services(), TRIPLE_NAME, 1, 3)
    evaluated(world.services(), TRIPLE_NAME, 2, 3)
    evaluated(world.services(), TOTAL_NAME, 1, 3)
    assert reported(world) == {
        ("prod", "total", REUSED): saved(1, 1, 30.0, whole=True),
        ("prod", "triple", REUSED): saved(5, 5, 50.0),
    }


def test_of_a_range_only_the_units_that_are_kept_are_recorded(world: MemoryWorld) -> None:
    world.land((30, 100), until=72)
    evaluated(world.services(), SALES_NAME, 2, 2, force=True)
    evaluated(world.services(), TRIPLE_NAME, 1, 3)
    assert reported(world) == {("prod", "triple", REUSED): saved(2, 2, 20.0)}


def test_a_model_that_is_always_computed_saves_nothing() -> None:
    world, sometimes = MemoryWorld(), SALES.replace("SUM(amount)", "SUM(amount * RAND() * 0)")
    world.land((1, 10), until=24)
    done(slow(world), graph_of({"sales": sometimes}), "prod")
    evaluated(world.services(), SALES_NAME, 1, 1)
    assert reported(world) == {}


def test_an_evaluation_that_fails_saved_nothing(world: MemoryWorld) -> None:
    world.land((30, 100), until=72)
    evaluated(world.services(), SALES_NAME, 2, 2, force=True)

    class Failing:
        def stage(self, staging: Staging) -> Staged:
            raise EvaluationFailed("no memory")

    broken = replace(world.services(), engine=Failing())  # type: ignore[arg-type]
    with pytest.raises(EvaluationFailed):
        evaluated(broken, TRIPLE_NAME, 1, 3)
    assert reported(world) == {}


@pytest.mark.parametrize("error", [Conflict, OutcomeUnknown])
def test_numbers_that_cannot_be_recorded_fail_nothing(
    error: type[Exception], world: MemoryWorld, caplog: pytest.LogCaptureFixture
) -> None:
    class Locked(Losing):
        def __getattr__(self, name: str) -> Any:
            if name != "record_saving":
                return super().__getattr__(name)

            def refuse(_: object) -> None:
                raise error("the state is locked")

            return refuse

    services = world.services()
    state = Locked(services.state, "record_saving", done=False)
    evaluated(replace(services, state=state), TRIPLE_NAME, 1, 3)
    assert "mart.triple@" in caplog.text
    assert "is not recorded: the state is locked" in caplog.text
    assert reported(world) == {}


# What is adopted
def test_what_an_environment_adopts_of_its_own_is_recorded_once_for_a_plan(
    world: MemoryWorld,
) -> None:
    services = slow(world)
    plan = asked(services, graph_of(EQUAL), "prod")
    apply_plan(services, plan, lambda _: None)
    both = {
        ("prod", "total", ADOPTED): saved(1, 1, 30.0, whole=True),
        ("prod", "triple", ADOPTED): saved(3, 3, 30.0),
    }
    assert reported(world) == both
    assert asked(world.services(), graph_of(EQUAL), "prod").is_empty
    done(services, graph_of(EQUAL), "prod")
    assert reported(world) == both


def test_what_is_adopted_of_another_environment_is_shared_and_not_counted_twice(
    world: MemoryWorld,
) -> None:
    done(slow(world), graph_of(EQUAL), "dev")
    assert reported(world) == {
        ("dev", "total", SHARED): saved(1, 1, 30.0, whole=True),
        ("dev", "triple", SHARED): saved(3, 3, 30.0),
    }


@pytest.mark.full
def test_what_is_adopted_and_given_back_saved_nothing(world: MemoryWorld) -> None:
    services = slow(world)
    plan = asked(services, graph_of(EQUAL), "prod")
    did: list[Evaluated] = []
    with applying(services, plan) as apply:
        for stage in stages_of(plan):
            if isinstance(stage, Promote):
                assert [each.key.model.name for each in did if each.reused] == ["triple", "total"]
                world.land((30, 90), until=72)
                evaluate_range(services, apply.binding, SALES_NAME, day(2), force=True)
            did += apply.visit(stage)
    assert {"triple", "total"} < {each.key.model.name for each in did if not each.reused}
    assert reported(world) == {}


# What is shared
@pytest.mark.full
def test_what_another_environment_computed_is_shared_while_it_is_shown(
    world: MemoryWorld,
) -> None:
    done(slow(world), graph_of(SHOP), "dev")
    sales = {("dev", "sales", SHARED): saved(3, 3, 30.0)}
    downstream = {
        ("dev", "total", SHARED): saved(1, 1, 30.0, whole=True),
        ("dev", "triple", SHARED): saved(3, 3, 30.0),
    }
    assert reported(world) == reported(world, "dev") == sales | downstream
    assert reported(world, "prod") == {}
    tenfold = {**SHOP, "total": SHOP["total"].replace("SUM(amount)", "SUM(amount * 10)")}
    done(slow(world), graph_of(tenfold), "dev")
    assert ("dev", "total", SHARED) not in reported(world)
    done(slow(world), graph_of(tenfold), "prod")
    assert reported(world, "prod") == {("prod", "total", SHARED): saved(1, 1, 30.0, whole=True)}


def test_what_was_shared_before_is_not_reported_again(world: MemoryWorld) -> None:
    done(slow(world), graph_of(SHOP), "dev")
    evaluated(world.services(), TRIPLE_NAME, 1, 3)
    world.clock.advance(timedelta(hours=1))
    later = world.clock.now()
    evaluated(world.services(), TRIPLE_NAME, 3, 3)
    world.land((73, 1), until=96)
    done(slow(world), graph_of({"sales": SALES}), "prod")
    assert reported(world, since=later) == {
        ("dev", "sales", SHARED): saved(1, 1, 30.0),
        ("prod", "triple", REUSED): saved(1, 1, 10.0),
    }


# The report
def test_kinds_of_savings_are_summed_up_each_by_itself(world: MemoryWorld) -> None:
    done(slow(world), graph_of(SHOP), "dev")
    evaluated(world.services(), TRIPLE_NAME, 1, 2)
    report = report_savings(world.services())
    assert report.totals == {
        REUSED: saved(2, 2, 20.0),
        SHARED: Saved(intervals=7, time=6 * DAY, rows=7, seconds=90.0),
    }
    assert report.recorded_since == world.services().state.recording_savings_since()


def test_an_environment_that_nobody_knows_is_refused(world: MemoryWorld) -> None:
    with pytest.raises(Refused, match="there is no environment tset; `vde environments` lists"):
        report_savings(world.services(), "tset")


# The value
def test_seconds_that_nobody_measured_are_not_zero(world: MemoryWorld) -> None:
    loaded = entries(world, "prod", TRIPLE_NAME)
    bare: Sequence[Any] = [replace(each, trace=None) for each in loaded]
    assert Saved.by(bare, by_interval=True) == Saved(
        intervals=3, time=3 * DAY, rows=3, seconds=None, untimed=3
    )
    quick = replace(loaded[0], trace=Trace(key="k", inputs={}, seconds=0.0))
    some = Saved.by([quick, *bare[1:]], by_interval=False)
    assert (some.seconds, some.untimed, some.time, some.hours) == (0.0, 2, None, None)
    assert total_saved([]) == Saved()
    assert Saved.by(loaded, by_interval=True).hours == 72
