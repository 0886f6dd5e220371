"""Nothing is evaluated from rows that do not count or are not loaded: directly, and by plans."""

from __future__ import annotations

import pytest

from tests.app.memory_world import START, MemoryWorld, graph_of, hour_of
from vde_dagster.app.apply.visitor import applying
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.inspect.interval_report import report_intervals
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.plan.waiting import Reason
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.entries import EntryStatus
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.stages import Restate, Stage, stages_of
from vde_dagster.core.time.intervals import ALWAYS, Interval

PARENT, CHILD = ModelName("a", "p"), ModelName("a", "c")
FIRST, SECOND = Interval(START, hour_of(24)), Interval(hour_of(24), hour_of(48))
BOTH = Interval(START, hour_of(48))
BY_DAY = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
BY_KEY = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"
HISTORY = "SCD_TYPE_2_BY_COLUMN (unique_key id, columns (amount), disable_restatement false)"
SAME_DAY = "WHERE at BETWEEN @start_dt AND @end_dt"
UNMANAGED = "INCREMENTAL_UNMANAGED"
BY_PARTITION = "INCREMENTAL_BY_PARTITION"


def project(parent: str, child: str, amount: str = "amount") -> Graph:
    """A parent of a kind, and a child that reads all of it."""
    when = "" if parent in ("FULL", "MANAGED") or parent == HISTORY else SAME_DAY
    storage = ", partitioned_by (id)" if parent == BY_PARTITION else ""
    own = SAME_DAY if child == BY_DAY else ""
    return graph_of(
        {
            "p": f"MODEL (name a.p, kind {parent}, cron '@daily'{storage}); "
            f"SELECT id AS id, at AS at, amount AS amount FROM raw.events {when}",
            "c": f"MODEL (name a.c, kind {child}, cron '@daily'); "
            f"SELECT id AS id, at AS at, {amount} AS amount FROM a.p {own}",
        }
    )


def statuses(world: MemoryWorld, environment: str = "prod") -> dict[str, list[EntryStatus]]:
    binding = world.bound(environment)
    keys = [binding.key(name) for name in (PARENT, CHILD)]
    ledger = world.services().state.ledger(keys)
    return {str(key.model): [each.status for each in ledger[key]] for key in keys}


def restating(world: MemoryWorld, graph: Graph) -> list[Stage]:
    """A plan that restates the parent got as far as marking; what it still has to do."""
    services = world.services()
    asked = plan_environment(services, graph, "prod", PlanOptions(restate=("a.p",)))
    stages = list(stages_of(asked))
    marking = next(at for at, each in enumerate(stages) if isinstance(each, Restate))
    with applying(services, asked) as work:
        for stage in stages[: marking + 1]:
            list(work.visit(stage))
    return stages[marking + 1 :]


@pytest.mark.parametrize(
    "parent, child",
    [
        ("FULL", "FULL"),
        ("FULL", BY_DAY),
        pytest.param("FULL", "MANAGED", marks=pytest.mark.full),
        pytest.param("MANAGED", "FULL", marks=pytest.mark.full),
        (BY_DAY, "MANAGED"),
        (BY_KEY, BY_DAY),
        pytest.param(BY_KEY, "MANAGED", marks=pytest.mark.full),
        pytest.param(BY_PARTITION, "FULL", marks=pytest.mark.full),
        pytest.param(UNMANAGED, "FULL", marks=pytest.mark.full),
        (HISTORY, "FULL"),
    ],
)
def test_what_is_marked_is_not_read_by_whoever_comes_meanwhile(parent: str, child: str) -> None:
    world, graph = MemoryWorld(), project(parent, child)
    world.land((1, 10), until=24)
    world.build(graph)
    world.land((2, 1000), until=24)  # the source is corrected
    restating(world, graph)
    services = world.services()
    with pytest.raises(Refused, match=r"a\.p must be evaluated first"):
        evaluate(
            services, world.bound(), CHILD, ALWAYS if child == "MANAGED" else FIRST, force=True
        )
    assert statuses(world) == {"a.p": [EntryStatus.OUTDATED], "a.c": [EntryStatus.OUTDATED]}
    world.build(graph)  # the next plan goes on
    assert statuses(world) == {"a.p": [EntryStatus.COMPUTED], "a.c": [EntryStatus.COMPUTED]}
    assert {row[2] for row in world.rows("a.c")} == {10, 1000}
    assert world.build(graph) == ()


@pytest.mark.parametrize("child", ["FULL", "MANAGED", BY_DAY])
def test_nothing_is_made_of_a_whole_table_that_is_recorded_as_empty(child: str) -> None:
    world, graph = MemoryWorld(), project("FULL", child)
    world.land((1, 10), until=24)
    services = world.services()
    empty = PlanOptions(empty_backfill=True)
    world.apply(plan_environment(services, graph, "dev", empty))
    with pytest.raises(Refused, match=r"a\.p must be evaluated first"):
        evaluate(services, world.bound("dev"), CHILD, ALWAYS if child == "MANAGED" else FIRST)
    assert world.plan(graph, "dev").is_empty
    # A child that is new there waits in plans, and says so.
    edited = project("FULL", child, "amount + 1")
    asked = world.plan(edited, "dev")
    assert {each.name: each.missing for each in asked.changes}[CHILD] == ()
    (report,) = (each for each in report_intervals(services, asked) if each.node.name == CHILD)
    assert [(each.reason, each.name) for each in report.waits] == [(Reason.MODEL, "a.p")]
    assert world.apply(asked) == ()
    # Production computes both.
    world.build(graph)
    assert [row[2] for row in world.rows("a.c")] == [10]


@pytest.mark.parametrize(
    "parent, child",
    [
        (BY_KEY, BY_DAY),
        (BY_PARTITION, BY_DAY),
        (UNMANAGED, "FULL"),
        (HISTORY, "FULL"),
        pytest.param(BY_KEY, "FULL", marks=pytest.mark.full),
        pytest.param(BY_PARTITION, "FULL", marks=pytest.mark.full),
        pytest.param(UNMANAGED, BY_DAY, marks=pytest.mark.full),
        pytest.param(HISTORY, BY_DAY, marks=pytest.mark.full),
    ],
)
def test_who_reads_what_builds_on_itself_waits_until_that_is_there(parent: str, child: str) -> None:
    world, graph = MemoryWorld(), project(parent, child)
    world.land((1, 10), until=24)
    world.build(graph)
    world.land((30, 5), until=48)
    with pytest.raises(Refused, match=r"a\.p is not loaded for \[2024-01-02, 2024-01-03\)"):
        evaluate(world.services(), world.bound(), CHILD, SECOND if child == BY_DAY else BOTH)
    world.build(graph)
    assert {row[2] for row in world.rows("a.c")} == {10, 5}


@pytest.mark.parametrize(
    "parent",
    [
        BY_DAY,
        BY_KEY,
        *(
            pytest.param(each, marks=pytest.mark.full)
            for each in (BY_PARTITION, UNMANAGED, HISTORY)
        ),
    ],
)
def test_a_plan_makes_no_day_that_its_parent_lacks_in_another_environment(parent: str) -> None:
    world, graph = MemoryWorld(), project(parent, BY_DAY)
    world.land((1, 10), until=24)
    world.build(graph)
    world.land((30, 5), until=48)
    edited = project(parent, BY_DAY, "amount + 1")
    assert [each.interval for each in world.build(edited, "dev")] == [FIRST]
    world.build(graph)  # production catches the parent up
    assert [each.interval for each in world.build(edited, "dev")] == [SECOND]
    assert {row[2] for row in world.rows("a__dev.c")} == {6, 11}
