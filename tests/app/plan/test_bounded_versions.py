"""A plan with a start computes every kind from there; what needs more gets a version of its own."""

from __future__ import annotations

from typing import Final

import pytest

from tests.app.memory_world import MemoryWorld, graph_of, there
from tests.app.shop_world import EDITED, TOTAL, TOTAL_NAME, asked, change, day, done, entries
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.plan.planned_again import planned_again
from vde_dagster.app.promote.taking import plan_promotion
from vde_dagster.core.errors import AuditFailed, Refused
from vde_dagster.core.ledger.entries import loaded_intervals
from vde_dagster.core.model.snapshot import Bounded, ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.state.checking import check
from vde_dagster.state.sql_state import SqlState

CHILD = ModelName("a", "c")
SINCE: Final = day(2).start
BY_DAY: Final = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
BY_KEY: Final = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"
HISTORY: Final = "SCD_TYPE_2_BY_COLUMN (unique_key id, columns (amount))"
SAME_DAY: Final = "WHERE at BETWEEN @start_dt AND @end_dt"
AMOUNTS: Final = {10, 5, 7}


def shown(world: MemoryWorld, name: ModelName, environment: str = "dev") -> ModelSnapshot:
    return world.bound(environment).snapshots[name]


def total(world: MemoryWorld, environment: str = "dev") -> list[tuple[object, ...]]:
    return world.rows("mart.total" if environment == "prod" else f"mart__{environment}.total")


# What is bounded
@pytest.mark.full
def test_a_full_model_below_a_bounded_parent_is_computed_from_what_is_there(
    world: MemoryWorld,
) -> None:
    plan = world.plan(graph_of(EDITED), "dev", start=SINCE)
    found = change(plan, "mart.total")
    assert (found.missing, found.bounded) == (
        (day(2, 3),),
        Bounded(since=SINCE, instead_of=plan.graph[TOTAL_NAME].fingerprint.data_version),
    )
    assert sentences(found.reasons)[0] == "bounded: it starts at 2024-01-02, and is never promoted"
    assert not found.may_adopt
    world.apply(plan)
    assert total(world) == [(360,)]
    assert total(world, "prod") == [(66,)]
    assert loaded_intervals(entries(world, "dev", TOTAL_NAME)) == (day(2, 3),)
    assert world.plan(graph_of(EDITED), "dev", start=SINCE).is_empty


def test_what_a_plan_that_was_refused_filled_of_bounded_versions_is_no_problem_of_the_state(
    world: MemoryWorld,
) -> None:
    """No environment shows them, and no snapshot of them is stored."""
    refused = {**EDITED, "last": LAST}
    with pytest.raises(AuditFailed):
        world.build(graph_of(refused), "dev", start=SINCE)
    state = world.state
    assert isinstance(state, SqlState)
    with state._database.read() as connection:
        assert check(connection).findings == ()


LAST: Final = """
MODEL (
  name mart.last, kind FULL, cron '@daily', audits (accepted_range (column := amount, max_v := 0))
);
SELECT amount AS amount FROM mart.total
"""


def project(parent: str, child: str, view: bool = False) -> dict[str, str]:
    """A parent of a kind, and a child that reads all of it, perhaps through a view."""
    source = f"a.{'v' if view else 'p'}"
    reads = SAME_DAY if child in (BY_KEY, "INCREMENTAL_UNMANAGED") else ""
    if child == BY_DAY:
        reads = f"CROSS JOIN (SELECT COUNT(*) AS n FROM {source}) {SAME_DAY}"
        source = "raw.events"
    storage = ", partitioned_by (id)" if child == "INCREMENTAL_BY_PARTITION" else ""
    texts = {
        "p": f"MODEL (name a.p, kind {parent}, cron '@daily'); "
        f"SELECT id AS id, at AS at, amount AS amount FROM raw.events {SAME_DAY}",
        "v": "MODEL (name a.v, kind VIEW); SELECT id AS id, at AS at, amount AS amount FROM a.p",
        "c": f"MODEL (name a.c, kind {child}, cron '@daily'{storage}); "
        f"SELECT id AS id, at AS at, amount AS amount FROM {source} {reads}",
    }
    return texts if view else {name: text for name, text in texts.items() if name != "v"}


@pytest.mark.full
@pytest.mark.parametrize(
    "parent, child, view",
    [
        (BY_DAY, "FULL", True),
        (BY_DAY, "MANAGED", False),
        (BY_DAY, BY_DAY, False),
        (BY_DAY, BY_KEY, False),
        (BY_DAY, "INCREMENTAL_BY_PARTITION", False),
        (BY_DAY, "INCREMENTAL_UNMANAGED", False),
        (BY_DAY, HISTORY, False),
        (BY_KEY, "FULL", True),
        (BY_KEY, BY_DAY, False),
        ("INCREMENTAL_UNMANAGED", BY_KEY, False),
    ],
)
def test_every_kind_begins_at_the_start_and_never_gets_to_production(
    parent: str, child: str, view: bool
) -> None:
    world, graph = MemoryWorld(), graph_of(project(parent, child, view))
    world.land((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph, "dev", start=SINCE)
    assert {row[2] for row in world.rows("a__dev.c")} == {5, 7}
    bounded = shown(world, CHILD)
    assert bounded.bounded is not None
    assert bounded.bounded.since == SINCE
    # production
    taken = plan_promotion(world.services(), "dev", "prod")
    assert all(each.bounded is None for each in taken.changes)
    why = "its version in dev starts at 2024-01-02 and is never promoted; this version is complete"
    assert why in sentences(change(taken, "a.c").reasons)
    world.apply(taken)
    assert {row[2] for row in world.rows("a.c")} == AMOUNTS
    assert shown(world, CHILD, "prod").version == bounded.bounded.instead_of != bounded.version
    assert {row[2] for row in world.rows("a__dev.c")} == {5, 7}
    # and without a start
    world.build(graph, "dev")
    assert {row[2] for row in world.rows("a__dev.c")} == AMOUNTS
    assert shown(world, CHILD).key == shown(world, CHILD, "prod").key
    assert world.plan_run().is_empty


def test_what_reads_a_bounded_table_is_bounded_whatever_it_reads_of_it() -> None:
    """A day of a table that is computed with less has other rows, too."""
    keyed = "SELECT id AS id, at AS at, amount AS amount FROM raw.events"
    graph = graph_of(
        {
            "p": f"MODEL (name a.p, kind {BY_KEY}, cron '@daily'); {keyed} {SAME_DAY}",
            "d": f"MODEL (name a.d, kind {BY_DAY}, cron '@daily'); {keyed} "
            f"CROSS JOIN (SELECT MAX(id) AS top FROM a.p) {SAME_DAY}",
            "c": f"MODEL (name a.c, kind {BY_DAY}, cron '@daily'); "
            f"SELECT id AS id, at AS at, amount AS amount FROM a.d {SAME_DAY}",
        }
    )
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    plan = world.plan(graph, "dev", start=SINCE)
    assert {str(e.name): e.bounded is not None for e in plan.changes if e.name.schema == "a"} == {
        "a.p": True,
        "a.d": True,
        "a.c": True,
    }


# Never adopted, and nobody else's


@pytest.mark.full
def test_two_environments_with_one_start_share_what_is_bounded() -> None:
    world, graph = MemoryWorld(), graph_of(project(BY_KEY, "FULL"))
    world.land((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph, "dev", start=SINCE)
    assert world.build(graph, "other", start=SINCE) == ()
    assert shown(world, CHILD, "other").key == shown(world, CHILD).key
    assert {row[2] for row in world.rows("a__other.c")} == {5, 7}


def test_production_refuses_what_is_bounded_before_anything_is_recorded(
    world: MemoryWorld,
) -> None:
    plan = world.plan(graph_of(EDITED), "dev", start=SINCE)
    services = world.services()
    lease = services.state.acquire_lease("environment:prod", holder="me", ttl=services.lease_ttl)
    services.state.store_snapshots(tuple(plan.snapshots.values()), environment="dev")
    with pytest.raises(Refused, match=r"prod cannot show a bounded version.*mart\.total"):
        services.state.begin_promotion(
            "prod",
            expected_revision=1,
            plan_id="p",
            snapshots=tuple(plan.snapshots.values()),
            lease=lease,
        )
    found = there(services.state.environment("prod"))
    assert found.revision == 1


# What stays, and what does not
@pytest.mark.full
def test_a_run_goes_on_with_what_is_bounded_and_moves_no_view(world: MemoryWorld) -> None:
    world.build(graph_of(EDITED), "dev", start=SINCE)
    before = shown(world, TOTAL_NAME)
    world.land((80, 4), until=96)
    plan = world.plan_run("dev")
    assert not plan.promotes
    world.apply(plan)
    assert shown(world, TOTAL_NAME) == before
    assert total(world) == [(780,)]  # from what is there by now, the first day with it


@pytest.mark.full
def test_a_later_start_begins_later_and_no_start_ends_it(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, start=SINCE)
    done(services, graph, start=day(3).start)
    later = there(shown(world, TOTAL_NAME).bounded)
    assert (later.since, total(world)) == (day(3).start, [(360,)])  # of all that is there
    plan = asked(services, graph)
    why = "no longer bounded: it started at 2024-01-03"
    assert sentences(change(plan, "mart.total").reasons) == (why,)
    apply_plan(services, plan, lambda _: None)
    assert shown(world, TOTAL_NAME).bounded is None
    assert total(world) == [(660,)]


@pytest.mark.full
def test_what_is_not_selected_stays_bounded(world: MemoryWorld) -> None:
    world.build(graph_of(EDITED), "dev", start=SINCE)
    triple = {**EDITED, "sales": EDITED["sales"].replace("* 10", "* 20")}
    plan = world.plan(graph_of(triple), "dev", select=("mart.sales",))
    assert change(plan, "mart.total").bounded.since == SINCE
    more = {**EDITED, "more": TOTAL.replace("mart.total", "mart.more").replace("SUM", "MAX")}
    plan = world.plan(graph_of(more), "dev", select=("mart.more",))
    assert change(plan, "mart.total").bounded == shown(world, TOTAL_NAME).bounded
    assert change(plan, "mart.total").version == shown(world, TOTAL_NAME).version


@pytest.mark.full
def test_a_reviewed_plan_is_what_it_was_when_it_is_planned_again(world: MemoryWorld) -> None:
    services, graph = world.services(), graph_of(EDITED)
    done(services, graph, start=SINCE)
    more = {**EDITED, "more": TOTAL.replace("mart.total", "mart.more")}
    for options in ({"start": SINCE}, {"select": ("mart.more",)}):
        reviewed = asked(services, graph_of(more), **options)
        again = planned_again(services, reviewed)
        assert again.snapshots == reviewed.snapshots
        assert [e.bounded for e in again.changes] == [e.bounded for e in reviewed.changes]
