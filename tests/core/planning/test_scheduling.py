"""What is evaluated at once, and in which order, follows from the plan and from what has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.app.memory_world import MemoryWorld, graph_of
from tests.depth import examples
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.scheduling import Concurrency, Schedule, Task, schedule_of
from vde_dagster.core.planning.stages import work_stages


def name(text: str) -> ModelName:
    return ModelName("m", text)


def names(texts: Iterable[str]) -> frozenset[ModelName]:
    return frozenset(map(name, texts))


def task(model: str, awaits: str = "", at_most: int | None = None) -> Task:
    return Task(model=name(model), awaits=names(awaits), at_most=at_most)


def scheduled(*tasks: Task, models: int = 2, fail_fast: bool = False) -> Schedule:
    return Schedule(concurrency=Concurrency(models=models, fail_fast=fail_fast), waiting=tasks)


def filled(schedule: Schedule) -> tuple[Schedule, str]:
    """The schedule once all have begun that may, and their names in this order."""
    began = ""
    while (first := schedule.to_begin) is not None:
        schedule = schedule.begun(first)
        began += first.model.name
    return schedule, began


def after(schedule: Schedule, ended: str, *, succeeded: bool = True) -> tuple[Schedule, str]:
    for each in ended:
        schedule = schedule.ended(name(each), succeeded=succeeded)
    return filled(schedule)


def test_as_many_begin_as_may_in_the_order_of_the_plan() -> None:
    schedule, began = filled(scheduled(task("a"), task("b"), task("c"), task("d", "a")))
    assert began == "ab"
    schedule, began = after(schedule, "b")
    assert began == "c"
    schedule, began = after(schedule, "a")
    assert began == "d"
    schedule, began = after(schedule, "cd")
    assert (began, schedule.is_over, schedule.done) == ("", True, names("abcd"))


def test_a_model_begins_when_all_that_it_awaits_is_done() -> None:
    schedule, began = filled(scheduled(task("a"), task("b"), task("c", "ab"), models=3))
    assert began == "ab"
    schedule, began = after(schedule, "a")
    assert began == ""
    assert after(schedule, "b")[1] == "c"


def test_what_awaits_a_failure_directly_or_through_others_is_left_out() -> None:
    schedule, _ = filled(scheduled(task("a"), task("b", "a"), task("c", "b"), task("d")))
    schedule, began = after(schedule, "a", succeeded=False)
    assert began == ""
    assert (schedule.failed, schedule.left_out) == (names("a"), names("bc"))
    assert after(schedule, "d")[0].is_over


def test_with_fail_fast_nothing_begins_after_a_failure_and_what_runs_goes_on() -> None:
    schedule, began = filled(scheduled(task("a"), task("b"), task("c"), fail_fast=True))
    assert began == "ab"
    schedule, began = after(schedule, "a", succeeded=False)
    assert (began, schedule.is_over) == ("", False)
    schedule, began = after(schedule, "b")
    assert (began, schedule.is_over, schedule.done) == ("", True, names("b"))
    assert [each.model for each in schedule.waiting] == [name("c")]


def test_a_model_that_needs_room_waits_for_it_and_none_overtakes_it() -> None:
    alone = task("b", at_most=1)
    schedule, began = filled(scheduled(task("a"), alone, task("c"), models=4))
    assert began == "a", "c could run beside a, and would keep b waiting"
    schedule, began = after(schedule, "a")
    assert began == "b", "nothing may run beside b"
    assert after(schedule, "b")[1] == "c"


def test_the_least_limit_of_all_that_run_counts() -> None:
    tasks = [task("a", at_most=2), task("b", at_most=9), task("c"), task("d")]
    schedule, began = filled(scheduled(*tasks, models=3))
    assert began == "ab"
    assert after(schedule, "a")[1] == "cd"


def test_a_stopped_schedule_is_over_when_what_runs_has_ended() -> None:
    schedule, _ = filled(scheduled(task("a"), task("b"), models=1))
    schedule = schedule.stopped()
    assert not schedule.is_over
    assert after(schedule, "a")[0].is_over


def test_nothing_to_do_is_over() -> None:
    assert scheduled().is_over


def test_no_model_at_once_is_no_concurrency() -> None:
    with pytest.raises(ValueError, match="at least one model is evaluated at a time, not 0"):
        Concurrency(models=0)


def test_a_plans_schedule_has_its_models_what_they_await_and_their_own_limits() -> None:
    full = "MODEL (name mart.{}, kind FULL{});\nSELECT SUM(amount) AS amount FROM {}"
    graph = graph_of(
        {
            "a": full.format("a", ", concurrency 1", "raw.events"),
            "b": full.format("b", "", "mart.inlined"),
            "inlined": "MODEL (name mart.inlined, kind EMBEDDED);\nSELECT amount FROM mart.a",
        }
    )
    world = MemoryWorld.landed((1, 10), until=24)
    made = world.plan(graph)
    schedule = schedule_of(made, Concurrency(models=3))
    a, b = ModelName("mart", "a"), ModelName("mart", "b")
    assert schedule.waiting == (Task(model=a, at_most=1), Task(model=b, awaits=frozenset([a])))
    assert [each.model for each in schedule.waiting] == [e.model for e in work_stages(made)]


@dataclass
class Lived:
    """What happened to a schedule whose tasks end in some order."""

    schedule: Schedule
    began: list[ModelName] = field(default_factory=list)
    beside: list[int] = field(default_factory=list)
    first_failure: int | None = None


def lived(schedule: Schedule, fails: Iterable[ModelName], ends: Iterable[int]) -> Lived:
    """Let what may begin do so, and one of those that run end, until it is over."""
    found, failing, order = Lived(schedule), set(fails), iter(ends)
    while True:
        while (first := found.schedule.to_begin) is not None:
            _may_begin(found.schedule, first)
            found.schedule = found.schedule.begun(first)
            found.began.append(first.model)
            found.beside.append(len(found.schedule.running))
        running = found.schedule.running
        if not running:
            return found
        chosen = running[next(order, 0) % len(running)].model
        if chosen in failing and found.first_failure is None:
            found.first_failure = len(found.began)
        found.schedule = found.schedule.ended(chosen, succeeded=chosen not in failing)


def _may_begin(schedule: Schedule, first: Task) -> None:
    assert first.awaits <= schedule.done
    together = [first, *schedule.running]
    limits = [each.at_most for each in together if each.at_most is not None]
    assert len(together) <= min([schedule.concurrency.models, *limits])
    position = schedule.waiting.index(first)
    assert not any(each.awaits <= schedule.done for each in schedule.waiting[:position])


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Task, ...]:
    count = draw(st.integers(0, 9))
    tasks: list[Task] = []
    for at in range(count):
        above = draw(st.sets(st.sampled_from(range(at)), max_size=3)) if at else set()
        tasks.append(
            Task(
                model=name(f"t{at}"),
                awaits=frozenset(name(f"t{each}") for each in above),
                at_most=draw(st.none() | st.integers(1, 3)),
            )
        )
    return tuple(tasks)


@given(
    tasks=graphs(),
    models=st.integers(1, 4),
    fail_fast=st.booleans(),
    fails=st.sets(st.integers(0, 8)),
    ends=st.lists(st.integers(0, 9)),
)
@settings(max_examples=examples(2000))
def test_every_schedule_ends_and_each_model_ends_in_one_way(
    tasks: tuple[Task, ...], models: int, fail_fast: bool, fails: set[int], ends: list[int]
) -> None:
    concurrency = Concurrency(models=models, fail_fast=fail_fast)
    found = lived(
        Schedule(concurrency=concurrency, waiting=tasks), [name(f"t{at}") for at in fails], ends
    )
    end, every = found.schedule, {each.model for each in tasks}
    assert end.is_over
    assert len(found.began) == len(set(found.began))
    assert end.done | end.failed == set(found.began)
    unbegun = {each.model for each in end.waiting}
    parts = [end.done, end.failed, end.left_out, unbegun]
    assert sum(map(len, parts)) == len(every)
    assert set[ModelName]().union(*parts) == every
    assert end.left_out == stopped_by(tasks, end.failed)
    if not fail_fast:
        assert not unbegun
    elif found.first_failure is not None:
        assert len(found.began) == found.first_failure
    if models == 1 and not end.failed:
        assert found.began == [each.model for each in tasks]


def stopped_by(tasks: Iterable[Task], failed: Iterable[ModelName]) -> set[ModelName]:
    """What reads a failed model, found by walking up from each."""
    awaits: Mapping[ModelName, frozenset[ModelName]] = {each.model: each.awaits for each in tasks}
    wrong = set(failed)

    def is_stopped(model: ModelName) -> bool:
        return any(each in wrong or is_stopped(each) for each in awaits[model])

    return {each for each in awaits if each not in wrong and is_stopped(each)}
