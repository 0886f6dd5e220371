"""Maintaining tables in memory: what goes, what stays, who else is at work, and cuts anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from tests.app.clean_up.between import Between
from tests.app.memory_world import (
    RAW,
    WRITING,
    Fuse,
    MemoryWorld,
    PowerCut,
    bound,
    graph_of,
    made_once,
    there,
)
from tests.app.shop_world import (
    AMOUNTS,
    DAYS,
    SALES_NAME,
    SHOP,
    TOTAL_NAME,
    TRIPLE_NAME,
    asked,
    day,
    done,
    entries,
    shop_in_production,
)
from tests.depth import is_full, places
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.clean_up.maintaining import (
    Maintained,
    Maintenance,
    Progress,
    look_at_upkeep,
    maintain,
)
from vde_dagster.app.leases import leased
from vde_dagster.app.promote.promotion import remove_environment
from vde_dagster.app.recover.recovery import repair
from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.clean_up.upkeep import Upkeep
from vde_dagster.core.errors import AuditFailed, Conflict, Refused
from vde_dagster.core.ledger.damage import Original
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.ports.physical_layer import STATE
from vde_dagster.ports.state import version_resource

DAY: Final = timedelta(days=1)
TIMES: Final = Times()
WEEK: Final = Upkeep()
AT_ONCE: Final = Upkeep(snapshots=timedelta(0), small_files=2)
"""Nothing is kept for readers alone, and two files are many."""

NOISY: Final = """
MODEL (name mart.noisy, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT day AS day, amount AS amount, RAND() AS noise FROM mart.sales
WHERE day BETWEEN @start_ds AND @end_ds
"""
EVENTS: Final = """
MODEL (
  name mart.latest, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@daily'
);
SELECT id AS id, at AS at, amount AS amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
BY_DAY: Final = """
MODEL (name mart.by_day, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily');
SELECT at AS at, amount AS amount FROM mart.latest WHERE at BETWEEN @start_dt AND @end_dt
"""
EVERYTHING: Final = {**SHOP, "noisy": NOISY, "latest": EVENTS, "by_day": BY_DAY}


def maintained(world: MemoryWorld, days: float = 0, upkeep: Upkeep = WEEK) -> Maintenance:
    """A pass after some days."""
    world.clock.advance(days * DAY)
    return maintain(world.services(), TIMES, upkeep)


def of(found: Maintenance, name: ModelName) -> Maintained:
    """What was done to the table of a model."""
    (one,) = (
        each for each in found.done if each.target.model == name and not each.target.stored.is_view
    )
    return one


def changed(found: Maintenance) -> set[str]:
    return {each.target.stored.name.name.split("__")[1] for each in found.done if each.is_changed}


def key_of(world: MemoryWorld, name: ModelName) -> VersionKey:
    return world.bound("prod").key(name)


def table_of(world: MemoryWorld, name: ModelName) -> TableName:
    return key_of(world, name).table


def snapshots(world: MemoryWorld, name: ModelName) -> set[int]:
    return set(world.catalog.tables[table_of(world, name)].snapshots)


def past(world: MemoryWorld, name: ModelName) -> set[int]:
    """The Iceberg snapshots of a table but for the current one."""
    return snapshots(world, name) - {world.catalog.tables[table_of(world, name)].head}


def restated(world: MemoryWorld, name: str = "mart.total", times: int = 1) -> None:
    """Compute a model again, a day later each time."""
    for _ in range(times):
        world.clock.advance(DAY)
        world.build(graph_of(SHOP), restate=(name,))


def computed_again(world: MemoryWorld, name: ModelName, services: Services | None = None) -> None:
    """Compute all that a model has loaded again, right now."""
    services = services or world.services()
    evaluate_range(services, bound(services), name, day(1, 3), force=True)


def to_do(world: MemoryWorld, models: Mapping[str, str] = SHOP) -> dict[str, object]:
    """What a plan would compute, and why."""
    plan = asked(world.copied().services(), graph_of(dict(models)), "prod")
    return {
        str(each.name): (each.to_evaluate, each.staleness.reason if each.staleness else "")
        for each in plan.backfills
    }


@made_once
def restated_thrice() -> MemoryWorld:
    """The total was computed four times: its ledger names the last one."""
    world = shop_in_production()
    restated(world, times=3)
    return world


# What goes
@pytest.mark.full
def test_what_nothing_names_expires_a_week_after_it_was_replaced() -> None:
    """Each unit of work begins on an empty Iceberg snapshot that no reader ever saw."""
    world = restated_thrice()
    empty, first, second, third, last = sorted(snapshots(world, TOTAL_NAME))
    assert of(maintained(world, 4.9), TOTAL_NAME).expired == (empty,)
    assert of(maintained(world, 0.2), TOTAL_NAME).expired == (first,)
    found = maintained(world, 5)
    assert of(found, TOTAL_NAME).expired == (second, third)
    assert of(found, TOTAL_NAME).expired_files.count == 2
    assert snapshots(world, TOTAL_NAME) == {last}
    assert world.rows("mart.total") == [(66,)]
    assert to_do(world) == {}
    assert changed(maintained(world)) == set()


def test_a_table_does_not_keep_an_iceberg_snapshot_for_each_interval() -> None:
    """Its metadata is written by each commit: a year of hours would cost each of them seconds."""
    world = shop_in_production()
    for number in (4, 5, 6):
        world.land(((number - 1) * 24 + 1, number), until=number * 24)
        world.clock.advance(DAY)
        world.build(graph_of(SHOP))
    before = world.rows("mart.sales")
    maintained(world, 30, AT_ONCE)
    table = world.catalog.tables[table_of(world, SALES_NAME)]
    assert {*table.snapshots} == {table.head}
    assert world.rows("mart.sales") == before
    assert world.plan_run().is_empty
    world.land((1, 100), until=6 * 24)
    world.run()
    assert world.rows("mart.sales") == [(DAYS[0], 110), *before[1:]]
    assert world.plan_run().is_empty


def record_head(world: MemoryWorld, table: TableName) -> None:
    """Let the state say that the current Iceberg snapshot of a table is the recorded one."""
    from sqlalchemy import select, update

    from vde_dagster.state import schema
    from vde_dagster.state.sql_state import SqlState

    assert isinstance(world.state, SqlState)
    head, work = world.catalog.tables[table].head, schema.work
    with world.state._database.write() as connection:
        newest = select(work.c.number).where(work.c.version == table.name[-32:])
        newest = newest.order_by(work.c.number.desc()).limit(1)
        connection.execute(
            update(work)
            .where(work.c.number == newest.scalar_subquery())
            .values(iceberg_snapshot_id=head)
        )


@pytest.mark.full
def test_files_of_nobody_go_once_they_are_old_enough() -> None:
    world = restated_thrice()
    table = world.catalog.tables[table_of(world, TOTAL_NAME)]
    now = world.clock.now()
    table.strays = {"old": now - 3.1 * DAY, "young": now - 2.9 * DAY}
    found = of(maintained(world), TOTAL_NAME)
    assert (found.strays.count, found.strays.size) == (1, 1000)
    assert set(table.strays) == {"young"}
    maintained(world, 0.2)
    assert table.strays == {}


@pytest.mark.full
def test_a_tag_of_a_repair_goes_after_the_time_of_the_history_and_its_rows_with_it() -> None:
    world = shop_in_production()
    name = table_of(world, TOTAL_NAME)
    foreign = world.catalog.overwrite(name, [(1,)])
    world.clock.advance(20 * DAY)
    repair(world.services(), world.bound("prod"), TOTAL_NAME)
    tag = f"before_repair_{foreign}"
    assert world.catalog.tables[name].tags == {tag: foreign}
    assert of(maintained(world, 6.9), TOTAL_NAME).tags == ()
    found = of(maintained(world, 0.2), TOTAL_NAME)
    assert (found.tags, found.expired) == ((tag,), (foreign,))
    assert world.rows("mart.total") == [(66,)]


# What a look says
@pytest.mark.full
def test_a_look_says_what_would_be_done_and_why_the_rest_stays_and_changes_nothing() -> None:
    world = restated_thrice()
    world.clock.advance(10 * DAY)
    world.catalog.tables[table_of(world, TOTAL_NAME)].strays = {"old": world.clock.now() - 9 * DAY}
    before = {name: each.snapshots for name, each in world.catalog.tables.items()}
    gone = past(world, TOTAL_NAME)
    seen = look_at_upkeep(world.services(), TIMES, WEEK)
    assert {name: each.snapshots for name, each in world.catalog.tables.items()} == before
    found = of(seen, TOTAL_NAME)
    assert (set(found.expired), found.expired_files.count) == (gone, len(gone))
    assert found.strays.count == 1
    assert found.kept == {max(snapshots(world, TOTAL_NAME)): "it is visible to readers"}
    did = maintained(world)
    for name in (TOTAL_NAME, SALES_NAME):
        assert of(did, name) == of(seen, name)


def test_some_models_can_be_chosen_by_name() -> None:
    world = restated_thrice()
    world.clock.advance(10 * DAY)
    found = maintain(world.services(), TIMES, WEEK, models=["mart.t*"])
    assert {each.target.model for each in found.done} == {TOTAL_NAME, TRIPLE_NAME}
    with pytest.raises(Refused, match=r"no table or view found for mart\.totl") as refused:
        maintain(world.services(), TIMES, WEEK, models=["mart.sales", "mart.totl"])
    assert "mart.total" in refused.value.advice


def test_each_table_is_reported_when_its_turn_comes_and_when_it_is_over() -> None:
    world, turns = restated_thrice(), list[Progress]()
    found = maintain(world.services(), TIMES, WEEK, report=turns.append)
    assert [each.number for each in turns if each.done is None] == [*range(1, turns[0].count + 1)]
    assert [each.done for each in turns if each.done is not None] == list(found.done)


# What is left
def test_a_table_that_is_refused_stops_no_other() -> None:
    world = restated_thrice()
    world.clock.advance(10 * DAY)
    moved, theirs = table_of(world, SALES_NAME), table_of(world, TRIPLE_NAME)
    world.catalog.append(moved, [])
    world.catalog.tables[theirs].properties[STATE] = "another"
    before, gone = snapshots(world, SALES_NAME), past(world, TOTAL_NAME)
    found = maintained(world)
    reasons = {each.table: each.reason for each in found.left}
    assert reasons[theirs] == "another state created it"
    assert "`vde repair mart.sales`" in reasons[moved]
    assert snapshots(world, SALES_NAME) == before
    assert set(of(found, TOTAL_NAME).expired) == gone


# Views that are dropped
def dropped_in(found: Maintenance) -> list[str]:
    """The dropped views of which files were removed."""
    every = [each for each in found.done if each.target.stored.is_dropped]
    assert all(each.is_changed for each in every)
    return [str(each.target.stored.name) for each in every]


@pytest.mark.full
def test_files_of_views_that_were_dropped_go_once_nobody_can_go_back_to_them() -> None:
    world = shop_in_production()
    world.build(graph_of(SHOP), "dev")
    fewer = {name: text for name, text in SHOP.items() if name != "total"}
    world.build(graph_of(fewer), "dev")
    world.clock.advance(4 * DAY)
    remove_environment(world.services(), "dev")
    assert dropped_in(maintained(world, 2.9)) == []
    assert dropped_in(maintained(world, 0.2)) == ["mart__dev.total"]
    assert dropped_in(maintained(world, 3.8)) == []
    shown = [f"mart__dev.{name}" for name in ("sales", "shown", "triple")]
    world.clock.advance(0.2 * DAY)
    looked = look_at_upkeep(world.services(), TIMES, WEEK)
    assert dropped_in(looked) == shown
    assert dropped_in(maintained(world)) == shown
    assert dropped_in(maintained(world)) == []
    assert world.rows("mart.shown") == AMOUNTS


def test_a_view_that_is_back_or_that_a_person_dropped_keeps_its_files() -> None:
    world = shop_in_production()
    world.build(graph_of(SHOP), "dev")
    remove_environment(world.services(), "dev")
    world.clock.advance(8 * DAY)
    fewer = {name: text for name, text in SHOP.items() if name != "total"}
    world.build(graph_of(fewer), "dev")
    world.catalog.swap_views([], [TableName("mart", "shown")])  # prod is still to show it
    assert dropped_in(maintained(world, 8)) == ["mart__dev.total"]
    world.build(graph_of(SHOP))
    assert world.rows("mart.shown") == AMOUNTS


def test_a_version_that_a_process_writes_is_left_for_the_next_pass() -> None:
    world = restated_thrice()
    world.clock.advance(10 * DAY)
    with leased(world.state, version_resource(key_of(world, TOTAL_NAME)), holder="a run"):
        seen = look_at_upkeep(world.services(), TIMES, WEEK)
        found = maintained(world)
    name = table_of(world, TOTAL_NAME)
    assert [(each.table, "a run" in each.reason) for each in found.busy] == [(name, True)]
    assert [each.table for each in seen.busy] == [name]
    gone = past(world, TOTAL_NAME)
    assert set(of(maintained(world), TOTAL_NAME).expired) == gone


AUDITED: Final = (
    "MODEL (name mart.total, kind FULL, audits (number_of_rows(threshold := 2)));\n"
    "SELECT SUM(amount) AS amount FROM mart.triple"
)


@pytest.mark.full
def test_rows_that_an_audit_refused_can_still_be_published_afterwards() -> None:
    world = restated_thrice()
    graph = graph_of({**SHOP, "total": AUDITED})
    with pytest.raises(AuditFailed):
        world.build(graph, restate=("mart.total",))
    (name,) = (name for name, each in world.catalog.tables.items() if each.branches)
    table = world.catalog.tables[name]
    staged = table.branches.copy()
    for _ in range(2):
        found = maintained(world, 30, AT_ONCE)
        assert table.branches == staged
        assert set(staged.values()) <= set(table.snapshots)
        assert of(found, TOTAL_NAME).compacted is None


def test_the_files_of_another_table_are_never_copied_by_a_compaction() -> None:
    world = due()
    table = world.catalog.tables[table_of(world, SALES_NAME)]
    assert of(maintained(world.copied(), upkeep=ALL), SALES_NAME).compacted is not None
    named = Original(table=TableName("old", "sales"), iceberg_snapshot_id=1)
    table.properties = {**table.properties, **named.written}
    found = of(maintained(world, upkeep=ALL), SALES_NAME)
    assert found.compacted is None
    assert found.not_compacted == "it is a shallow copy, and compaction would copy 2 files"


# What others read (rule R3)
PINNED_AT: Final = ["heads", "record_intent", "stage", "publish", "finalize"]


@pytest.mark.full
@pytest.mark.parametrize("at", PINNED_AT)
@pytest.mark.parametrize("after", [False, True])
def test_r3_what_an_evaluation_reads_is_there_or_it_does_not_begin(at: str, after: bool) -> None:
    """Meanwhile what it reads is computed twice again, and all that nothing names expires."""
    world = shop_in_production()

    def meanwhile() -> None:
        for _ in range(2):
            computed_again(world, TRIPLE_NAME)
        maintained(world, upkeep=AT_ONCE)

    between = Between(world, at, after=after, then=meanwhile)
    try:
        done(between.services(), graph_of(SHOP), "prod", restate=("mart.total",))
    except Conflict:
        world.build(graph_of(SHOP), restate=("mart.total",))
    assert between.came
    assert world.rows("mart.total") == [(66,)]
    assert to_do(world) == {}


EXPIRING_AT: Final = [
    "named_snapshots",
    "acquire_lease",
    "announce_expiry",
    "named_since",
    "expire_announced",
]


@pytest.mark.full
@pytest.mark.parametrize("at", EXPIRING_AT)
@pytest.mark.parametrize("after", [False, True])
def test_r3_maintenance_in_the_middle_of_which_somebody_evaluates_removes_nothing_that_is_read(
    at: str, after: bool
) -> None:
    world = restated_thrice()
    world.clock.advance(10 * DAY)

    def evaluated() -> None:
        try:
            world.build(graph_of(SHOP), restate=("mart.triple",))
        except Conflict:
            return

    between = Between(world, at, after=after, then=evaluated)
    maintain(between.services(), TIMES, AT_ONCE)
    assert between.came
    # A plan computes again what is gone, so this comes before the next one.
    assert (world.rows("mart.shown"), world.rows("mart.total")) == (AMOUNTS, [(66,)])
    world.build(graph_of(SHOP))
    assert world.rows("mart.total") == [(66,)]
    maintained(world, upkeep=AT_ONCE)
    assert to_do(world) == {}
    assert world.rows("mart.shown") == AMOUNTS


def test_r3_a_process_that_slept_before_it_recorded_what_it_reads_is_refused() -> None:
    """Its rows would come from an Iceberg snapshot that is not there any more."""
    world = shop_in_production()
    old = snapshots(world, TRIPLE_NAME)

    def meanwhile() -> None:
        computed_again(world, TRIPLE_NAME)
        found = maintained(world, upkeep=AT_ONCE)
        assert set(of(found, TRIPLE_NAME).expired) == old

    between = Between(world, "record_intent", after=False, then=meanwhile)
    with pytest.raises(Conflict, match="which it reads, has expired in the meantime"):
        computed_again(world, TOTAL_NAME, between.services())
    assert world.rows("mart.total") == [(66,)]
    key = key_of(world, TOTAL_NAME)
    assert world.state.open_work(key) == ()
    world.build(graph_of(SHOP))
    assert world.rows("mart.total") == [(66,)]


def test_r3_who_records_what_it_reads_between_announcement_and_expiry_takes_it_back() -> None:
    world = shop_in_production()
    old = max(snapshots(world, TRIPLE_NAME))
    restated(world, "mart.triple")
    reading = there(world.state.work(entries(world, "prod", TOTAL_NAME)[0].work_id))

    def begin() -> None:
        key = key_of(world, TOTAL_NAME)
        lease = world.state.acquire_lease(version_resource(key), holder="a run", ttl=DAY)
        intent = replace(reading.intent, work_id="slow", inputs={TRIPLE_NAME: old})
        world.state.record_intent(intent, lease=lease)

    between = Between(world, "announce_expiry", after=True, then=begin)
    found = maintain(between.services(), TIMES, AT_ONCE, models=["mart.triple"])
    assert [each.table for each in found.busy] == [table_of(world, TRIPLE_NAME)]
    assert old in snapshots(world, TRIPLE_NAME)
    assert world.catalog.stays(table_of(world, TRIPLE_NAME), old)


# What is stale
@made_once
def everything() -> MemoryWorld:
    """Readers whose staleness follows from D-SHAs, and some for which it follows from history."""
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of(EVERYTHING))
    for number in (4, 5):
        world.land(((number - 1) * 24 + 1, number), until=number * 24)
        world.clock.advance(DAY)
        world.build(graph_of(EVERYTHING))
    return world


@pytest.mark.full
def test_the_next_plan_is_the_same_whatever_expired_or_was_compacted() -> None:
    world = everything()
    assert to_do(world, EVERYTHING) == {}
    for _ in range(2):
        maintained(world, 30, AT_ONCE)
        assert to_do(world, EVERYTHING) == {}
    world.land((26, 100), until=120)  # late, on the second day
    before = to_do(world, EVERYTHING)
    assert before
    maintained(world, 30, AT_ONCE)
    assert to_do(world, EVERYTHING) == before


# Cuts
@made_once
def due() -> MemoryWorld:
    """There is something of everything to do: on the sales, small files; on the total, the rest."""
    world = restated_thrice()
    name = table_of(world, TOTAL_NAME)
    foreign = world.catalog.overwrite(name, [(1,)])
    repair(world.services(), world.bound("prod"), TOTAL_NAME)
    assert foreign in world.catalog.tables[name].tags.values()
    world.catalog.append(table_of(world, SALES_NAME), [])
    record_head(world, table_of(world, SALES_NAME))
    world.clock.advance(10 * DAY)
    world.catalog.tables[name].strays = {"old": world.clock.now() - 4 * DAY}
    return world


ALL: Final = replace(WEEK, small_files=2)


def calls(world: MemoryWorld) -> list[str]:
    """The calls of one pass."""
    fuse = Fuse()
    maintain(world.copied().services(fuse), TIMES, ALL)
    return fuse.names


def left(world: MemoryWorld) -> dict[TableName, object]:
    """What the tables retain, but for how the Iceberg snapshot of a compaction is called."""
    return {
        name: (
            len(each.snapshots),
            each.rows_at(each.head),
            dict(each.branches),
            dict(each.tags),
            each.announced,
            each.expired,
            each.strays,
        )
        for name, each in world.catalog.tables.items()
        if name != RAW
    }


@pytest.mark.full
def test_maintenance_that_is_cut_at_any_call_is_completed_by_the_next_one() -> None:
    whole = due()
    maintain(whole.services(), TIMES, ALL)
    rows = {view: whole.rows(view) for view in ("mart.shown", "mart.total")}
    for call in places(calls(due()), WRITING):
        for after in (False, True) if is_full() else (True,):
            world = due()
            with pytest.raises(PowerCut):
                maintain(world.services(Fuse(cut_at=call, after=after)), TIMES, ALL)
            assert {view: world.rows(view) for view in rows} == rows
            world.reboot()
            maintain(world.services(), TIMES, ALL)
            assert left(world) == left(whole), (call, after)
            assert to_do(world) == {}


def test_files_that_a_dead_process_had_still_to_delete_are_deleted_by_the_next_one() -> None:
    world = due()
    name = table_of(world, TOTAL_NAME)
    history = there(world.catalog.table_history(name))
    old = min(history.snapshots)
    world.catalog.announce_expiry(name, [old], token="dead", metadata=history.metadata)
    world.catalog.forget(name)
    found = of(maintained(world, upkeep=ALL), TOTAL_NAME)
    assert old not in found.expired
    assert found.expired_files.count == len(found.expired) + 1
    assert world.catalog.tables[name].expired == frozenset()


def test_every_method_of_maintenance_that_writes_is_cut_somewhere() -> None:
    written = {"compact", "announce_expiry", "expire_announced", "drop_tag", "delete_files"}
    assert written <= set(calls(due())) & WRITING


def test_two_at_once_do_it_once() -> None:
    world = due()
    found: list[Maintenance] = []
    between = Between(
        world,
        "announce_expiry",
        after=True,
        then=lambda: found.append(maintain(world.services(), TIMES, ALL)),
    )
    first = maintain(between.services(), TIMES, ALL)
    assert [each.table for each in found[0].busy] == [table_of(world, SALES_NAME)]
    assert first.busy == ()
    assert of(first, SALES_NAME).expired
    assert of(found[0], TOTAL_NAME).expired
    whole = due()
    maintain(whole.services(), TIMES, ALL)
    assert left(world) == left(whole)


def test_one_that_slept_while_another_one_took_over_removes_nothing() -> None:
    """It wakes up after its announcement was taken back."""
    world = due()
    name, old = table_of(world, SALES_NAME), min(snapshots(world, SALES_NAME))

    def later() -> None:
        world.reboot()
        world.catalog.settle_expiry(name)

    between = Between(world, "expire_announced", after=False, then=later)
    found = maintain(between.services(), TIMES, ALL)
    assert [each.table for each in found.busy] == [name]
    assert old in snapshots(world, SALES_NAME)
