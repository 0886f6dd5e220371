"""The janitor in memory: what it drops, what it never does, and every place where it may be cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from tests.app.clean_up.between import Between
from tests.app.memory_world import (
    WRITING,
    Fuse,
    MemoryWorld,
    PowerCut,
    graph_of,
    instead,
    made_once,
    there,
)
from tests.app.shop_world import (
    AMOUNTS,
    EDITED,
    SALES,
    SALES_NAME,
    SHOP,
    TENFOLD,
    TRIPLE,
    done,
    shop_in_production,
)
from tests.depth import is_full, places
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.clean_up.janitor import RESOURCE, Cleaned, clean_up
from vde_dagster.app.clean_up.looking import look
from vde_dagster.app.inspect.environment_diff import history
from vde_dagster.app.leases import leased
from vde_dagster.app.promote.promotion import remove_environment
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.errors import AuditFailed, Conflict, Refused
from vde_dagster.core.model.snapshot import Revision, VersionKey
from vde_dagster.core.names import TableName
from vde_dagster.ports.physical_layer import STATE
from vde_dagster.ports.state import version_resource

DAY = timedelta(days=1)
TIMES = Times()
PINNED = Times(environment=None)
LATER = {**EDITED, "sales": SALES.replace("SUM(amount)", "SUM(amount * 100)")}


@made_once
def promoted_and_removed() -> MemoryWorld:
    """Production shows what dev had made, and dev is removed: the first versions are history."""
    world = shop_in_production()
    world.build(graph_of(EDITED), "dev")
    world.apply(plan_promotion(world.services(), "dev", "prod"))
    remove_environment(world.services(), "dev")
    return world


def passed(world: MemoryWorld, days: float, times: Times = TIMES) -> Cleaned:
    """A pass of the janitor after some days."""
    world.clock.advance(days * DAY)
    return clean_up(world.services(), times)


def physical(world: MemoryWorld) -> set[TableName]:
    found = {*world.catalog.tables, *world.catalog.queries}
    return {name for name in found if name.namespace.startswith("vde__")}


def shown(world: MemoryWorld, *environments: str) -> set[TableName]:
    """The tables and physical views of what environments show, as their views say."""
    return {
        snapshot.key.table
        for name in environments
        for snapshot in world.bound(name).snapshots.values()
        if not snapshot.is_source
    }


def key_of(world: MemoryWorld, environment: str = "prod") -> VersionKey:
    return world.bound(environment).key(SALES_NAME)


def assert_nothing_is_left_of(world: MemoryWorld, *keys: VersionKey) -> None:
    """No row of any table of the state says anything about these versions."""
    from sqlalchemy import String, cast, or_, select

    from vde_dagster.state import schema
    from vde_dagster.state.sql_state import SqlState

    assert isinstance(world.state, SqlState)
    with world.state._database.read() as connection:
        for table in schema.metadata.sorted_tables:
            for key in keys:
                named = or_(*(cast(c, String).contains(key.version) for c in table.c))
                rows = connection.execute(select(table).where(named)).all()
                assert rows == [], (table.name, key)


# What it drops
def test_r12_what_nothing_shows_goes_after_its_time_and_a_grace_period_and_all_else_stays() -> None:
    world = promoted_and_removed()
    before, kept = physical(world), shown(world, "prod")
    old = before - kept
    assert {each.name.split("__")[1] for each in old} == {"sales", "shown", "triple", "total"}
    first = passed(world, 6.9)
    assert (first.swept.marked, first.dropped) == ((), ())
    second = passed(world, 0.2)
    assert {each.table for each in second.swept.marked} == old
    assert second.dropped == ()
    third = passed(world, 0.9)
    assert {each.table for each in third.swept.waiting} == old
    assert physical(world) == before
    fourth = passed(world, 0.2)
    assert {each.key.table for each in fourth.dropped} == old
    assert physical(world) == kept
    assert world.rows("mart.shown") == TENFOLD
    assert_nothing_is_left_of(world, *(each.key for each in fourth.dropped))
    fifth = passed(world, 1)
    assert (fifth.swept.marked, fifth.dropped, fifth.left) == ((), (), ())


def test_a_look_says_the_same_and_changes_nothing() -> None:
    world = promoted_and_removed()
    passed(world, 7.1)
    world.clock.advance(1.1 * DAY)
    services = world.services()
    seen = look(services, TIMES)
    assert {each.table for each in seen.swept.due} == physical(world) - shown(world, "prod")
    sizes = [seen.files(services, key).size for key in seen.swept.due]
    assert all(sizes)
    again = look(world.services(), TIMES)
    assert again.swept == seen.swept
    assert set(clean_up(world.services(), TIMES).swept.due) == set(seen.swept.due)


@pytest.mark.full
def test_versions_of_a_plan_that_failed_stay_for_their_time() -> None:
    world = shop_in_production()
    with pytest.raises(PowerCut):
        done(world.services(Fuse(cut_name="begin_promotion")), graph_of(EDITED), "dev")
    filled = physical(world) - shown(world, "prod")
    assert filled
    assert passed(world, 6.9).swept.marked == ()
    assert {each.table for each in passed(world, 0.2).swept.marked} >= filled
    passed(world, 1.1)
    assert physical(world) == shown(world, "prod")


@pytest.mark.full
def test_an_environment_expires_after_its_time_unless_it_is_planned_or_pinned() -> None:
    world = shop_in_production()
    for name in ("dev", "pinned", "planned"):
        world.build(graph_of(EDITED), name)
    times = replace(TIMES, environments={"pinned": None})
    assert passed(world, 6, times).removed == ()
    other = {**EDITED, "triple": TRIPLE.replace("* 3", "* 4")}
    world.build(graph_of(other), "planned")
    assert passed(world, 1.1, times).removed == ("dev",)
    assert world.state.environments() == ("pinned", "planned", "prod")
    assert passed(world, 6, times).removed == ("planned",)
    assert passed(world, 99, times).removed == ()
    assert world.state.environments() == ("pinned", "prod")


# Going back
def test_going_back_to_what_may_be_dropped_is_refused_and_the_history_says_so() -> None:
    world = promoted_and_removed()
    assert passed(world, 7.1).swept.forgotten == (Revision("dev", 1), Revision("prod", 1))
    for number in (None, 1):
        with pytest.raises(Refused, match="revision 1 of prod is no longer kept"):
            plan_rollback(world.services(), "prod", number)
    newest, oldest = history(world.services(), "prod", limit=9)
    assert (newest.shown.is_forgotten, oldest.shown.is_forgotten) == (False, True)
    assert oldest.added == ()
    passed(world, 1.1)
    with pytest.raises(Refused, match="no longer kept"):
        plan_rollback(world.services(), "prod", 1)
    assert world.rows("mart.shown") == TENFOLD


def test_within_its_time_going_back_computes_nothing_whatever_the_janitor_did() -> None:
    world = promoted_and_removed()
    passed(world, 3)
    passed(world, 3)
    plan = plan_rollback(world.services(), "prod")
    assert world.apply(plan) == ()
    assert world.rows("mart.shown") == AMOUNTS


# Next to others


@pytest.mark.full
@pytest.mark.parametrize(
    "at", ["acquire_lease", "store_snapshots", "begin_promotion", "swap_views"]
)
@pytest.mark.parametrize("after", [False, True])
def test_r12_a_promotion_in_the_middle_of_which_the_janitor_runs_shows_all_or_is_refused(
    at: str, after: bool
) -> None:
    world = promoted_and_removed()
    passed(world, 7.1)
    plan = world.plan(graph_of(SHOP))
    world.clock.advance(1.1 * DAY)  # by now all that the plan shows may be dropped
    between = Between(world, at, after=after, then=lambda: clean_up(world.services(), TIMES))
    try:
        apply_plan(between.services(), plan, lambda _: None)
    except Conflict:
        assert world.rows("mart.shown") == TENFOLD
        world.build(graph_of(SHOP))
    assert between.came
    assert world.rows("mart.shown") == AMOUNTS
    passed(world, 1.1)
    assert world.rows("mart.total") == [(66,)]


@pytest.mark.full
@pytest.mark.parametrize(
    "at", ["physical_layer", "references", "record_sweep", "begin_drop", "drop_physical"]
)
@pytest.mark.parametrize("after", [False, True])
def test_r12_a_janitor_in_the_middle_of_which_somebody_plans_drops_nothing_that_is_shown(
    at: str, after: bool
) -> None:
    world = promoted_and_removed()
    passed(world, 7.1)
    world.clock.advance(1.1 * DAY)

    def plan_back() -> None:
        try:
            world.build(graph_of(SHOP))
        except Conflict:
            return

    between = Between(world, at, after=after, then=plan_back)
    clean_up(between.services(), TIMES)
    assert between.came
    # A plan computes again what is gone, so this comes before the next one.
    assert physical(world) >= shown(world, "prod")
    assert (world.rows("mart.shown"), world.rows("mart.total")) in (
        (AMOUNTS, [(66,)]),
        (TENFOLD, [(660,)]),
    )
    world.build(graph_of(SHOP))
    assert world.rows("mart.shown") == AMOUNTS
    passed(world, 1.1)
    assert world.rows("mart.shown") == AMOUNTS
    assert world.rows("mart.total") == [(66,)]


@pytest.mark.full
@pytest.mark.parametrize("then", ["plan", "remove"])
def test_an_environment_that_somebody_uses_or_removes_after_the_look_is_left_to_them(
    then: str,
) -> None:
    world = shop_in_production()
    for name in ("dev", "other"):
        world.build(graph_of(EDITED), name)
    world.clock.advance(8 * DAY)

    def meanwhile() -> None:
        if then == "plan":
            world.build(graph_of(LATER), "dev")
        else:
            remove_environment(world.services(), "dev")

    between = Between(world, "environments", after=True, then=meanwhile)
    cleaned = clean_up(between.services(), TIMES)
    assert between.came
    assert (cleaned.removed, cleaned.busy) == (("other",), ())
    assert world.state.environments() == (("dev", "prod") if then == "plan" else ("prod",))


def test_a_removal_that_was_cut_is_finished_by_the_next_pass() -> None:
    start = shop_in_production()
    done(start.services(), graph_of(EDITED), "dev")
    with pytest.raises(PowerCut):
        remove_environment(start.services(Fuse(cut_name="begin_removal", after=True)), "dev")
    start.reboot()
    assert look(start.services(), PINNED).expired == ("dev",)
    assert passed(start, 0, PINNED).removed == ("dev",)
    assert start.state.environments() == ("prod",)
    assert not [each for each in start.catalog._views if each.namespace.endswith("__dev")]


def test_a_version_that_a_process_writes_is_left_for_the_next_pass() -> None:
    world = promoted_and_removed()
    prod = there(world.state.environment("prod"))
    shown_now = {each.key for each in prod.snapshots.values()}
    key = min(world.state.references().known - shown_now)
    passed(world, 7.1)
    world.clock.advance(1.1 * DAY)
    with leased(world.state, version_resource(key), holder="a run"):
        cleaned = clean_up(world.services(), TIMES)
    assert key not in {each.key for each in cleaned.dropped}
    assert cleaned.swept.kept[key] == "in use by a process"
    assert key in clean_up(world.services(), TIMES).swept.marked
    assert key in {each.key for each in passed(world, 1.1).dropped}


@pytest.mark.full
@pytest.mark.parametrize("cut", ["stage", "publish"])
def test_work_of_a_killed_run_on_what_nobody_shows_is_ended(cut: str) -> None:
    """What was only begun is given up, what was staged is recorded; nothing stays open."""
    world = shop_in_production()
    with pytest.raises(PowerCut):
        done(world.services(Fuse(cut_name=cut)), graph_of(EDITED), "prod")
    (key,) = {each.key for each in world.state.references().open_work}
    world.reboot()
    with leased(world.state, version_resource(key), holder="a run"):
        assert str(key.table) in clean_up(world.services(), TIMES).busy
    assert world.state.references().open_work
    passed(world, 1)
    assert not world.state.references().open_work
    assert bool(world.state.ledger([key]).get(key)) == (cut == "publish")
    world.build(graph_of(EDITED))
    assert world.rows("mart.shown") == TENFOLD


def stuck_at(services: Services, table: TableName) -> Services:
    """One table cannot be read, and its files cannot be deleted."""

    def unless_it(method: str, said: str) -> Callable[..., Any]:
        def call(name: TableName, **of: Any) -> Any:
            if name == table:
                raise Refused(said)
            return getattr(services.catalog, method)(name, **of)

        return call

    return instead(
        services,
        "catalog",
        drop_physical=unless_it("drop_physical", f"files of {table} cannot be deleted"),
        publish=unless_it("publish", f"{table} cannot be read"),
    )


def test_work_that_cannot_be_ended_keeps_nothing_else_from_being_done() -> None:
    world = shop_in_production()
    with pytest.raises(PowerCut):
        done(world.services(Fuse(cut_name="publish")), graph_of(EDITED), "prod")
    (key,) = {each.key for each in world.state.references().open_work}
    world.reboot()
    cleaned = clean_up(stuck_at(world.services(), key.table), TIMES)
    assert [(each.table, each.reason) for each in cleaned.failed] == [
        (key.table, f"{key.table} cannot be read")
    ]
    assert world.state.references().open_work
    passed(world, 1)
    assert not world.state.references().open_work


def test_work_on_what_is_shown_is_left_to_its_environment() -> None:
    world = shop_in_production()
    world.land((80, 1), until=96)
    plan = world.plan(graph_of(SHOP))
    with pytest.raises(PowerCut):
        apply_plan(world.services(Fuse(cut_name="publish")), plan, lambda _: None)
    passed(world, 1)
    assert world.state.references().open_work


def test_two_janitors_at_once_exclude_each_other() -> None:
    world = promoted_and_removed()
    with (
        leased(world.state, RESOURCE, holder="another janitor"),
        pytest.raises(Conflict, match="another janitor"),
    ):
        clean_up(world.services(), TIMES)


# What it never touches
def test_tables_of_others_and_what_the_state_does_not_know_are_listed_and_left() -> None:
    world = promoted_and_removed()
    old = sorted(physical(world) - shown(world, "prod"))
    table = next(name for name in old if name in world.catalog.tables)
    world.catalog.tables[table].properties[STATE] = "another"
    foreign = TableName("vde__mart", "somebody_s")
    world.catalog.create_table(foreign, ())
    unknown = TableName("vde__mart", f"mart__sales__{'0' * 32}")
    world.catalog.create_table(unknown, ())
    passed(world, 7.1)
    cleaned = passed(world, 1.1)
    assert {each.table: each.reason for each in cleaned.left} == {
        table: "another state created it",
        foreign: "it is not recorded in this state",
        unknown: "it is not recorded in this state",
    }
    assert physical(world) == shown(world, "prod") | {table, foreign, unknown}


def test_a_table_whose_folder_has_the_files_of_another_one_is_listed_and_left() -> None:
    world = promoted_and_removed()
    passed(world, 7.1)
    world.clock.advance(1.1 * DAY)
    renamed = [replace(each, beside="backup.sales") for each in world.catalog.physical_layer()]
    services = instead(world.services(), "catalog", physical_layer=lambda: renamed)
    cleaned = clean_up(services, TIMES)
    assert cleaned.dropped == ()
    reasons = {each.reason for each in cleaned.left}
    (reason,) = reasons
    assert reason.startswith("its folder also has the files of backup.sales; copy backup.sales to")


def test_a_table_of_another_state_stays_though_a_process_held_its_version_during_the_look() -> None:
    """Whose table it is was looked up of versions alone to which nothing referred then."""
    world = promoted_and_removed()
    passed(world, 7.1)
    world.clock.advance(1.1 * DAY)
    known = world.state.references().known
    key = next(k for k in known if k.table in {*world.catalog.tables} - shown(world, "prod"))
    world.catalog.tables[key.table].properties[STATE] = "another"
    held = world.state.acquire_lease(version_resource(key), holder="a repair", ttl=DAY)
    between = Between(
        world, "record_sweep", after=False, then=lambda: world.state.release_lease(held)
    )
    assert key not in {each.key for each in clean_up(between.services(), TIMES).dropped}
    assert key.table in world.catalog.tables
    cleaned = clean_up(world.services(), TIMES)
    assert [each.reason for each in cleaned.left] == ["another state created it"]
    assert key.table in world.catalog.tables


def test_a_table_that_does_not_say_which_state_made_it_stays() -> None:
    world = promoted_and_removed()
    for each in world.catalog.tables.values():
        each.properties.pop(STATE, None)
    before = set(world.catalog.tables)
    passed(world, 7.1)
    cleaned = passed(world, 1.1)
    assert {each.reason for each in cleaned.left} == {"it does not say which state created it"}
    assert set(world.catalog.tables) == before


# Branches
AUDITED: Final = (
    "MODEL (name mart.total, kind FULL, audits (number_of_rows(threshold := 2)));\n"
    "SELECT SUM(amount) AS amount FROM mart.triple"
)


def refused(world: MemoryWorld) -> str:
    """The unit of work whose rows an audit of the total refuses; they stay on its branch."""
    with pytest.raises(AuditFailed):
        world.build(graph_of({**EDITED, "total": AUDITED}), restate=("*.total",))
    (work_id,) = branches(world)
    return work_id


def branches(world: MemoryWorld) -> list[str]:
    return [work_id for table in world.catalog.tables.values() for work_id in table.branches]


def test_rows_that_an_audit_refused_go_after_the_time_of_the_history() -> None:
    world = promoted_and_removed()
    work_id = refused(world)
    assert passed(world, 6.9, PINNED).branches == ()
    assert branches(world) == [work_id]
    assert passed(world, 0.2, PINNED).branches == (work_id,)
    assert branches(world) == []
    assert world.rows("mart.total") == [(660,)]
    assert passed(world, 1, PINNED).branches == ()


# Cuts
def calls(world: MemoryWorld) -> list[str]:
    """The calls of one pass of the janitor."""
    fuse = Fuse()
    clean_up(world.copied().services(fuse), TIMES)
    return fuse.names


@pytest.mark.full
@pytest.mark.parametrize("stage", ["marking", "dropping", "expiring", "branches"])
def test_a_janitor_that_is_cut_at_any_call_is_completed_by_the_next_one(stage: str) -> None:
    start = promoted_and_removed()
    if stage == "dropping":
        passed(start, 7.1)
        start.clock.advance(1.1 * DAY)
    elif stage == "marking":
        start.clock.advance(7.1 * DAY)
    elif stage == "branches":
        refused(start)
        start.clock.advance(7.1 * DAY)
        assert "drop_branch" in calls(start)
    else:
        done(start.services(), graph_of(LATER), "other")
        start.clock.advance(7.1 * DAY)
    for call in places(calls(start), WRITING):
        for after in (False, True) if is_full() else (True,):
            world = start.copied()
            with pytest.raises(PowerCut):
                clean_up(world.services(Fuse(cut_at=call, after=after)), TIMES)
            assert world.rows("mart.shown") == TENFOLD
            assert physical(world) >= shown(world, "prod")
            world.reboot()
            clean_up(world.services(), TIMES)
            for _ in range(3):
                passed(world, 8)
            assert physical(world) == shown(world, "prod")
            assert branches(world) == []
            assert world.state.environments() == ("prod",)
            assert world.state.drops() == ()
            assert world.state.references().tombstones == {}
            assert world.state.references().known == {
                each.key for each in world.bound("prod").snapshots.values()
            }


def test_a_drop_that_was_cut_is_finished_by_the_plan_that_needs_the_version() -> None:
    start = promoted_and_removed()
    passed(start, 7.1)
    start.clock.advance(1.1 * DAY)
    names = calls(start)
    for name, after in (("begin_drop", True), ("drop_physical", False), ("drop_physical", True)):
        world = start.copied()
        cut = names.index(name) + 1
        with pytest.raises(PowerCut):
            clean_up(world.services(Fuse(cut_at=cut, after=after)), TIMES)
        assert world.state.drops()
        world.reboot()
        world.build(graph_of(SHOP))
        assert world.state.drops() == ()
        assert world.rows("mart.shown") == AMOUNTS


def test_files_that_cannot_be_deleted_keep_nothing_else_from_being_done() -> None:
    world = promoted_and_removed()
    passed(world, 7.1)
    world.clock.advance(1.1 * DAY)
    services = world.services()
    key = min(look(services, TIMES).swept.due)
    stuck = stuck_at(services, key.table)
    first = clean_up(stuck, TIMES)
    assert [str(each.table) for each in first.failed] == [str(key.table)]
    assert first.failed[0].reason == f"files of {key.table} cannot be deleted"
    assert physical(world) - shown(world, "prod") == {key.table}
    assert {each.key for each in first.dropped} == {*first.swept.due} - {key}
    world.build(graph_of(LATER), "dev")
    world.clock.advance(8 * DAY)
    second = clean_up(stuck, TIMES)
    assert (second.removed, second.finished, len(second.failed)) == (("dev",), (), 1)
    other = {**LATER, "sales": LATER["sales"].replace("* 100", "* 1000")}
    assert done(stuck, graph_of(other), "dev"), "a plan that does not need it"
    with pytest.raises(Refused, match="cannot be deleted"):
        done(stuck, graph_of(SHOP), "dev")
    assert clean_up(services, TIMES).finished == (key,)


# Records


def test_every_method_of_the_janitor_that_writes_is_cut_somewhere() -> None:
    world = promoted_and_removed()
    passed(world, 7.1)
    world.clock.advance(1.1 * DAY)
    written = {"record_sweep", "begin_drop", "drop_physical", "finish_drop", "prune"}
    assert written <= set(calls(world)) & WRITING
