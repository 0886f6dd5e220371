"""Paused models, in memory: what is not evaluated, what waits for it, and what goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.memory_world import PROJECT, SOURCE, MemoryWorld, graph_of, hour_of, made_once
from vde_dagster.app.apply.pausing import pause_models, resume_models
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.inspect.interval_report import report_intervals
from vde_dagster.app.plan.plan_checks import check_plan
from vde_dagster.core.errors import EvaluationFailed, Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan_text import remarks
from vde_dagster.core.time.intervals import Interval

EVENTS, DAILY = ModelName("staging", "events"), ModelName("mart", "daily")
TOTALS = ModelName("mart", "totals")
GRAPH = graph_of(PROJECT)
EDITED = graph_of(PROJECT | {"daily": PROJECT["daily"].replace("SUM(amount)", "SUM(amount * 2)")})


@made_once
def built() -> MemoryWorld:
    """Two days are loaded, and a third one is due."""
    world = MemoryWorld.landed((1, 10), (25, 20), until=48)
    world.build(GRAPH)
    world.land((49, 30), until=72)
    return world


def pause(world: MemoryWorld, *names: ModelName, environment: str = "prod") -> None:
    services = replace(world.services(), author="ann@etl")
    pause_models(services, environment, names, reason="its source is being repaired")


def run(world: MemoryWorld) -> set[ModelName]:
    """What a run computes."""
    done = world.run()
    return {each.key.model for each in done}


@pytest.mark.full
def test_a_run_leaves_out_what_is_paused_and_what_waits_for_it_and_goes_on_after_it() -> None:
    world = built()
    pause(world, DAILY)
    assert run(world) == {EVENTS}
    assert run(world) == set()
    resume_models(world.services(), "prod", [DAILY])
    assert run(world) == {DAILY, TOTALS}
    assert world.rows("mart.totals") == [(3, 60)]


def test_a_plan_says_who_paused_what_and_which_models_wait() -> None:
    world = built()
    pause(world, DAILY)
    found = world.plan(GRAPH)
    (paused,) = found.pauses
    assert (paused.pause.model, paused.pause.author) == (DAILY, "ann@etl")
    assert paused.waiting == (TOTALS,)
    (said,) = remarks(found)
    assert said == (
        "Not computed: mart.daily is paused by ann@etl at 2024-01-01 00:00 UTC: its source is "
        "being repaired. mart.totals waits for it. To resume: `vde resume mart.daily`"
    )
    run(world)
    assert world.plan(GRAPH).is_empty
    assert not world.plan(GRAPH).is_up_to_date
    waits = {each.node.name: each.waits for each in report_intervals(world.services(), found)}
    assert [str(each) for each in waits[DAILY]] == ["mart.daily has been paused since 2024-01-01"]


def test_nobody_evaluates_it_by_hand_and_the_command_that_resumes_it_is_named() -> None:
    world = built()
    pause(world, DAILY, EVENTS)
    day = Interval(hour_of(0), hour_of(24))
    with pytest.raises(Refused, match=r"mart.daily is paused by ann@etl") as caught:
        evaluate(world.services(), world.bound(), DAILY, day, force=True)
    assert caught.value.advice == "`vde resume mart.daily`."
    with pytest.raises(Refused, match=r"staging.events is paused by ann@etl"):
        world.catch_up(EVENTS)


def test_production_shows_no_version_that_a_pause_keeps_from_being_computed() -> None:
    world = built()
    pause(world, DAILY)
    services = world.services()
    edited = world.plan(EDITED)
    with pytest.raises(Refused) as caught:
        check_plan(services, edited)
    said = str(caught.value)
    assert "prod would show another version of mart.daily, which is not computed: it is" in said
    assert "another version of mart.totals, which is not computed: it waits for mart.daily" in said
    assert "Resume it (`vde resume mart.daily`)" in said
    assert "is not complete up to there" not in said
    resume_models(services, "prod", [DAILY])
    world.build(EDITED)
    assert world.rows("mart.totals") == [(3, 120)]


def test_what_is_paused_while_a_plan_waits_fails_and_moves_no_view() -> None:
    world = built()
    edited = world.plan(EDITED)
    pause(world, DAILY)
    with pytest.raises((Refused, EvaluationFailed), match=r"mart.daily is paused"):
        world.apply(edited)
    assert world.rows("mart.totals") == [(2, 30)]


def test_what_cannot_be_paused_or_is_not_paused_is_named_and_nothing_is_changed() -> None:
    world = built()
    with pytest.raises(Refused) as caught:
        pause(world, DAILY, SOURCE, ModelName("mart", "people"), ModelName("mart", "none"))
    assert str(caught.value).splitlines() == [
        "raw.events is a source, written by other programs",
        "mart.people is of kind VIEW and stores no rows: pause the models that it reads",
        "prod has no model mart.none",
        "Nothing was paused.",
    ]
    assert world.state.pauses("prod") == {}
    with pytest.raises(Refused, match="there is no environment nobody"):
        pause(world, DAILY, environment="nobody")
    pause(world, DAILY)
    with pytest.raises(Refused, match=r"mart.totals: not paused in prod. Nothing was resumed"):
        resume_models(world.services(), "prod", [DAILY, TOTALS])
    assert list(world.state.pauses("prod")) == [DAILY]
