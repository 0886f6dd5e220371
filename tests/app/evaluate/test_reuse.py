"""What is kept instead of computed, and what is computed, on the ports in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.app.clean_up.between import Between
from tests.app.memory_world import (
    PROJECT,
    RAW,
    RAW_COLUMNS,
    Fuse,
    MemoryWorld,
    PowerCut,
    bound,
    graph_of,
    hour_of,
    slow,
    there,
)
from tests.app.shop_world import (
    AMOUNTS,
    DAYS,
    EVENTS_NAME,
    SALES,
    SALES_NAME,
    SHOP,
    TOTAL_NAME,
    TRIPLE_NAME,
    day,
    done,
    entries,
    shop_in_production,
)
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.reuse import FORCED, UNCHANGED
from vde_dagster.app.publish.foreign_writes import ForeignWrite
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.unit_of_work import Staged, Staging
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval

SHOWN_NAME, DAILY_NAME = ModelName("mart", "shown"), ModelName("mart", "daily")


def evaluated(
    world: MemoryWorld, name: ModelName, interval: Interval, *, force: bool = False
) -> tuple[Evaluated, list[str]]:
    """What one evaluation in production did, and what it asked the engine."""
    fuse = Fuse()
    services = world.services(fuse)
    (did,) = evaluate_range(services, bound(services), name, interval, force=force)
    return did, asked_of_engine(fuse)


def asked_of_engine(fuse: Fuse) -> list[str]:
    return [each for each in fuse.names if each in ("stage", "create_view")]


def source_now(world: MemoryWorld, *amounts: int) -> None:
    """The source has one event on each of the first days, and no other."""
    rows = [(n, hour_of(24 * n + 1), amount) for n, amount in enumerate(amounts)]
    world.catalog.overwrite(RAW, rows)


# Nothing has changed
@pytest.mark.parametrize(
    "name,interval,rows",
    [(SALES_NAME, day(1, 3), 3), (TRIPLE_NAME, day(2), 1), (TOTAL_NAME, day(1, 3), 1)],
)
def test_what_follows_from_the_same_is_kept_and_no_engine_is_asked(
    world: MemoryWorld, name: ModelName, interval: Interval, rows: int
) -> None:
    before = entries(world, "prod", name)
    did, engine = evaluated(world, name, interval)
    assert engine == []
    assert (did.reused, did.reason, did.rows) == (True, UNCHANGED, 0)
    assert did.saved is not None
    assert did.saved.rows == rows
    assert did.entries == tuple(each for each in before if interval.contains(each.interval))
    assert entries(world, "prod", name) == before


def test_what_is_kept_says_how_long_computing_it_took(world: MemoryWorld) -> None:
    services = slow(world.services(), world.clock)
    evaluate_range(services, bound(services), SALES_NAME, day(1, 3), force=True)
    two, _ = evaluated(world, SALES_NAME, day(2, 3))
    assert two.saved is not None
    assert (two.saved.intervals, two.saved.rows, two.saved.seconds) == (2, 2, 20.0)


def test_r2_what_is_forced_is_computed(world: MemoryWorld) -> None:
    before = entries(world, "prod", TRIPLE_NAME)
    did, engine = evaluated(world, TRIPLE_NAME, day(1, 3), force=True)
    assert (did.reused, did.reason, engine) == (False, FORCED, ["stage"])
    after = entries(world, "prod", TRIPLE_NAME)
    assert [each.digest for each in after] == [each.digest for each in before]
    assert {each.work_id for each in after} == {did.work_id}


@pytest.mark.parametrize("force", [False, True])
def test_what_is_never_restated_is_kept_whoever_asks_for_it(
    world: MemoryWorld, force: bool
) -> None:
    never_restated(world)
    before, rows = entries(world, "prod", SALES_NAME), world.rows("mart.sales")
    source_now(world, 100, 200, 300)
    did, engine = evaluated(world, SALES_NAME, day(1, 3), force=force)
    assert (engine, did.reused) == ([], True)
    assert did.reason == "it sets disable_restatement, so its rows are never computed again"
    assert entries(world, "prod", SALES_NAME) == before
    assert world.rows("mart.sales") == rows


def test_what_is_never_restated_gets_new_days_and_looks_back(world: MemoryWorld) -> None:
    never_restated(world, more=", lookback 1")
    first, second, _ = sorted(world.rows("mart.sales"))
    assert evaluated(world, SALES_NAME, day(3, 3))[0].reason == UNCHANGED
    source_now(world, 100, 200, 300, 400)
    world.catalog.set_property(RAW, VALID_TO, hour_of(96).isoformat())
    _, engine = evaluated(world, SALES_NAME, day(1, 4))
    assert engine == ["stage"]
    fourth = DAYS[2] + timedelta(days=1)
    assert sorted(world.rows("mart.sales")) == [first, second, (DAYS[2], 300), (fourth, 400)]


def never_restated(world: MemoryWorld, *, more: str = "") -> None:
    """The shop with sales that set `disable_restatement`."""
    options = f"time_column day, disable_restatement true{more}"
    sales = SALES.replace("time_column day", options)
    world.build(graph_of({**SHOP, "sales": sales}))


def test_a_whole_table_stands_for_a_new_period_in_which_nothing_came(world: MemoryWorld) -> None:
    world.land(until=96)
    fuse, (before,) = Fuse(), entries(world, "prod", TOTAL_NAME)
    services = world.services(fuse)
    did = {each.key.model.name: each for each in done(services, graph_of(SHOP), "prod")}
    assert asked_of_engine(fuse) == ["stage", "stage"]  # the new day of sales and of triple
    assert (did["total"].reused, did["total"].interval) == (True, day(1, 4))
    (after,) = entries(world, "prod", TOTAL_NAME)
    assert after == replace(before, interval=day(1, 4))
    assert world.plan(graph_of(SHOP)).is_empty
    world.land((97, 8), until=120)
    world.build(graph_of(SHOP))
    assert world.rows("mart.total") == [(3 * 30,)]


@pytest.mark.parametrize("marked", [False, True])
def test_a_whole_table_that_is_asked_for_an_earlier_time_stands_for_all_that_it_stood_for(
    marked: bool, world: MemoryWorld
) -> None:
    (before,) = entries(world, "prod", TOTAL_NAME)
    assert before.interval == day(1, 3)
    if marked:
        services = world.services()
        key = world.bound().key(TOTAL_NAME)
        lease = services.state.acquire_lease("x", holder="h", ttl=timedelta(minutes=5))
        services.state.outdate({key: [day(2)]}, reason="a check", lease=lease)
    did, engine = evaluated(world, TOTAL_NAME, day(1))
    assert (did.reused, engine) == (True, [])
    assert entries(world, "prod", TOTAL_NAME) == (before,)
    assert world.plan(graph_of(SHOP)).is_empty


# Early cutoff
def test_what_is_restated_is_computed_and_what_reads_equal_rows_is_kept(
    world: MemoryWorld,
) -> None:
    before = {name: entries(world, "prod", name) for name in (TRIPLE_NAME, TOTAL_NAME)}
    fuse = Fuse()
    did = done(world.services(fuse), graph_of(SHOP), "prod", restate=("mart.sales",))
    assert asked_of_engine(fuse) == ["stage"]
    assert {each.key.model.name: each.reused for each in did} == {
        "sales": False,
        "triple": True,
        "total": True,
    }
    assert {name: entries(world, "prod", name) for name in before} == before
    assert world.plan(graph_of(SHOP)).is_empty


@pytest.mark.full
def test_of_what_is_restated_downstream_only_what_reads_other_rows_is_computed(
    world: MemoryWorld,
) -> None:
    before = entries(world, "prod", TRIPLE_NAME)
    world.catalog.append(RAW, [(99, hour_of(31), 1000)])
    did = world.build(graph_of(SHOP), restate=("mart.sales",))
    triple = next(each for each in did if each.key.model == TRIPLE_NAME)
    assert (triple.reused, triple.rows) == (False, 1)
    assert triple.reason == "its inputs from mart.sales have changed"
    assert triple.saved is not None
    assert triple.saved.intervals == 2
    after = entries(world, "prod", TRIPLE_NAME)
    assert (after[0], after[2]) == (before[0], before[2])
    assert [each.work_id == triple.work_id for each in after] == [False, True, False]
    assert triple.entries == after
    assert world.rows("mart.triple")[1] == (DAYS[1], 3 * 1005)
    assert world.rows("mart.total") == [(3 * 1022,)]


def test_r2_what_was_named_is_computed_also_where_what_it_reads_is_equal(
    world: MemoryWorld,
) -> None:
    for named, computed in [
        (("mart.triple",), {"triple"}),
        (("mart.sales", "mart.total"), {"sales", "total"}),
        (("mart.shown",), {"triple"}),  # a view has no rows: those of its readers are meant
        (("raw.events",), {"sales"}),
        (("mart.*",), {"sales", "triple", "total"}),
    ]:
        did = world.build(graph_of(SHOP), restate=named)
        assert {each.key.model.name for each in did if not each.reused} == computed, named
    assert world.rows("mart.sales") == AMOUNTS


def test_r2_what_was_named_is_computed_by_whoever_goes_on_after_a_crash(
    world: MemoryWorld,
) -> None:
    cut = world.services(Fuse(cut_name="outdate", after=True))
    with pytest.raises(PowerCut):
        done(cut, graph_of(SHOP), "prod", restate=("mart.sales",))
    world.reboot()
    did = world.build(graph_of(SHOP))
    assert {each.key.model.name: each.reused for each in did} == {
        "sales": False,
        "triple": True,
        "total": True,
    }


def test_r2_inputs_that_go_a_b_a_are_computed_each_time(world: MemoryWorld) -> None:
    """Only the latest trace describes the table's rows; an earlier one with this key does not."""
    first = [each.digest for each in entries(world, "prod", TRIPLE_NAME)]
    for amount, changed in ((10, False), (11, True), (10, True), (10, False)):
        source_now(world, amount, 5, 7)
        evaluated(world, SALES_NAME, day(1, 3))
        did, engine = evaluated(world, TRIPLE_NAME, day(1))
        assert (not did.reused, bool(engine)) == (changed, changed)
        assert world.rows("mart.triple")[0] == (DAYS[0], 3 * amount)
    assert [each.digest for each in entries(world, "prod", TRIPLE_NAME)] == first


@pytest.mark.parametrize("call", [1, 2, 3])
def test_r3_the_rows_that_are_read_are_those_that_the_trace_names(
    world: MemoryWorld, call: int
) -> None:
    """Whatever is recorded of a parent between the looks at its ledger and at its table."""

    def name_of_input() -> str:
        trace = there(entries(world, "prod", TRIPLE_NAME)[0].trace)
        return trace.inputs[SALES_NAME]

    known: dict[str, object] = {}
    for amount in (11, 10):
        source_now(world, amount, 5, 7)
        evaluated(world, SALES_NAME, day(1, 3))
        evaluated(world, TRIPLE_NAME, day(1))
        known[name_of_input()] = 3 * amount
    source_now(world, 11, 5, 7)
    between = Between(
        world, "heads", after=True, call=call, then=lambda: evaluated(world, SALES_NAME, day(1, 3))
    )
    services = between.services()
    evaluate_range(services, bound(services), TRIPLE_NAME, day(1), force=True)
    assert between.came
    assert known[name_of_input()] == world.rows("mart.triple")[0][1]


# Sources
def test_a_source_is_the_same_after_a_compaction_and_another_one_after_a_write(
    world: MemoryWorld,
) -> None:
    world.catalog.compact(RAW)
    world.catalog.compact(RAW)
    assert evaluated(world, SALES_NAME, day(1, 3))[0].reused
    world.catalog.append(RAW, [])
    did, _ = evaluated(world, SALES_NAME, day(1, 3))
    assert (did.reused, did.reason) == (False, "its inputs from raw.events have changed")


def test_a_source_that_was_made_again_is_another_one(world: MemoryWorld) -> None:
    kept = world.catalog.tables[RAW]
    rows = kept.rows_at(kept.head)
    world.catalog.drop_table(RAW)
    columns = tuple(Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items())
    complete = {VALID_TO: hour_of(72).isoformat()}
    world.catalog.create_table(RAW, columns, properties=complete)
    world.catalog.append(RAW, rows)
    assert not evaluated(world, SALES_NAME, day(1, 3))[0].reused
    assert evaluated(world, SALES_NAME, day(1, 3))[0].reused


def test_what_may_say_something_else_next_time_is_always_computed(world: MemoryWorld) -> None:
    at_once = "MODEL (name mart.at_once, kind FULL);\nSELECT id, UUID() AS n FROM raw.events"
    downstream = "MODEL (name mart.below, kind FULL);\nSELECT COUNT(*) AS n FROM mart.at_once"
    graph = graph_of({"at_once": at_once, "below": downstream})
    world.build(graph)
    did, _ = evaluated(world, ModelName("mart", "at_once"), day(1, 3))
    assert not did.reused
    assert "UUID()" in did.reason
    assert entries(world, "prod", ModelName("mart", "at_once"))[0].trace is None
    again, _ = evaluated(world, ModelName("mart", "below"), day(1, 3))
    assert again.reason == "its inputs from mart.at_once have changed"
    assert evaluated(world, ModelName("mart", "below"), day(1, 3))[0].reused


# Views, and models with late data
def test_an_existing_view_is_not_replaced_and_reports_what_it_shows_now(
    world: MemoryWorld,
) -> None:
    whole = day(1, 3)
    (before,) = entries(world, "prod", SHOWN_NAME)
    did, engine = evaluated(world, SHOWN_NAME, whole)
    assert (did.reused, engine, did.entries) == (True, [], (before,))
    source_now(world, 11, 5, 7)
    evaluated(world, SALES_NAME, whole)
    did, engine = evaluated(world, SHOWN_NAME, whole)
    (after,) = did.entries
    assert (did.reused, engine) == (True, [])
    assert after.digest != before.digest
    assert entries(world, "prod", SHOWN_NAME) == (after,)
    assert evaluated(world, SHOWN_NAME, whole, force=True)[1] == ["create_view"]


def test_a_view_that_is_gone_is_made_again(world: MemoryWorld) -> None:
    del world.catalog.queries[world.bound().key(SHOWN_NAME).table]
    assert evaluated(world, SHOWN_NAME, day(1, 3))[1] == ["create_view"]
    assert world.rows("mart.shown") == AMOUNTS


def test_r8_a_loaded_hour_is_kept_until_a_session_adds_rows_to_it() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    world.build(graph_of(PROJECT))
    hour = Interval(hour_of(1), hour_of(2))
    assert evaluated(world, EVENTS_NAME, hour)[0].reused
    world.land((1.5, 7), until=48)
    world.catch_up(EVENTS_NAME)
    assert [each.trace is None for each in entries(world, "prod", EVENTS_NAME)[:3]] == [
        False,
        True,
        False,
    ]
    did, engine = evaluated(world, EVENTS_NAME, hour)
    assert (did.reused, engine) == (False, ["stage"])
    assert evaluated(world, EVENTS_NAME, hour)[0].reused
    assert [row[2] for row in world.rows("staging.events")] == [10, 5, 7]


# Kinds that build on their own rows
MERGED = """
MODEL (name mart.merged, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id), cron '@daily');
SELECT id, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
MERGED_NAME = ModelName("mart", "merged")


def test_a_sequential_kind_records_what_each_interval_was_made_from_and_on() -> None:
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    graph = graph_of({"merged": MERGED})
    world.build(graph)
    world.land((50, 7), until=72)
    world.build(graph)
    found = [each.trace for each in entries(world, "prod", MERGED_NAME)]
    assert all(
        each is not None and set(each.inputs) == {ModelName.parse("raw.events")} for each in found
    )
    assert len({each.key for each in found if each is not None}) == len(found)


# Foreign writes
def table_of(world: MemoryWorld, name: ModelName) -> TableName:
    return world.bound().key(name).table


def their_row(world: MemoryWorld, table: TableName) -> None:
    world.catalog.append(table, [(DAYS[0], 666)])


def their_drop(world: MemoryWorld, table: TableName) -> None:
    world.catalog.drop_table(table)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("write", [their_row, their_drop])
def test_r4_nothing_is_built_on_what_others_wrote(
    world: MemoryWorld, write: Callable[[MemoryWorld, TableName], None], force: bool
) -> None:
    table = table_of(world, TRIPLE_NAME)
    write(world, table)
    before = entries(world, "prod", TRIPLE_NAME)
    with pytest.raises(
        ForeignWrite, match=r"mart\.triple: its table .* (recorded|dropped)"
    ) as raised:
        evaluated(world, TRIPLE_NAME, day(1), force=force)
    assert str(table) in str(raised.value)
    assert entries(world, "prod", TRIPLE_NAME) == before
    assert world.services().state.open_work(world.bound().key(TRIPLE_NAME)) == ()


def test_r4_rows_that_were_never_recorded_are_not_written_over(world: MemoryWorld) -> None:
    other = {**SHOP, "other": SHOP["triple"].replace("mart.triple", "mart.other")}
    key = world.plan(graph_of(other)).snapshots[ModelName("mart", "other")].key
    columns = [Column(name="day", type="date"), Column(name="amount", type="bigint")]
    world.catalog.create_table(key.table, columns)
    world.catalog.append(key.table, [(DAYS[0], 1)])
    with pytest.raises(Refused, match="were never recorded"):
        world.build(graph_of(other))


def test_a_foreign_write_that_was_undone_is_none(world: MemoryWorld) -> None:
    table = table_of(world, TRIPLE_NAME)
    recorded = there(world.catalog.tables[table].head)
    their_row(world, table)
    world.catalog.roll_back(table, recorded)
    assert evaluated(world, TRIPLE_NAME, day(1))[0].reused
    assert not evaluated(world, TRIPLE_NAME, day(1), force=True)[0].reused


def test_r4_a_compacted_table_is_written_on(world: MemoryWorld) -> None:
    table = table_of(world, TRIPLE_NAME)
    world.catalog.compact(table)
    assert evaluated(world, TRIPLE_NAME, day(1))[0].reused
    source_now(world, 11, 5, 7)
    evaluated(world, SALES_NAME, day(1, 3))
    assert not evaluated(world, TRIPLE_NAME, day(1))[0].reused
    assert world.rows("mart.triple") == [(DAYS[0], 33), (DAYS[1], 15), (DAYS[2], 21)]


class Disturbed:
    """An engine during whose work somebody does something to the table, so many times."""

    def __init__(self, services: Services, disturb: Callable[[], object], times: int) -> None:
        self._engine = services.engine
        self._disturb = disturb
        self.times = times

    def stage(self, staging: Staging) -> Staged:
        staged = self._engine.stage(staging)
        if self.times:
            self.times -= 1
            self._disturb()
        return staged


def test_r4_a_compaction_while_rows_are_staged_has_them_staged_again(world: MemoryWorld) -> None:
    table, services = table_of(world, TRIPLE_NAME), world.services()
    engine = Disturbed(services, lambda: world.catalog.compact(table), times=2)
    disturbed = replace(services, engine=engine)  # type: ignore[arg-type]
    (did,) = evaluate_range(disturbed, bound(disturbed), TRIPLE_NAME, day(2), force=True)
    assert engine.times == 0
    assert world.rows("mart.triple") == [(each, 3 * n) for each, n in AMOUNTS]
    assert entries(world, "prod", TRIPLE_NAME)[1].work_id == did.work_id
    assert world.services().state.open_work(did.key) == ()


def test_r4_a_foreign_write_while_rows_are_staged_is_reported(world: MemoryWorld) -> None:
    table, services = table_of(world, TRIPLE_NAME), world.services()
    engine = Disturbed(services, lambda: their_row(world, table), times=1)
    disturbed = replace(services, engine=engine)  # type: ignore[arg-type]
    with pytest.raises(ForeignWrite, match=r"vde repair mart\.triple"):
        evaluate_range(disturbed, bound(disturbed), TRIPLE_NAME, day(2), force=True)
    assert world.services().state.open_work(bound(services).key(TRIPLE_NAME)) == ()


# What is reported, and units that are evaluated by themselves
RUNNING = """
MODEL (name mart.running, kind INCREMENTAL_BY_TIME_RANGE (time_column day{}), cron '@daily');
SELECT s.day AS day, SUM(s.amount) OVER (ORDER BY s.day) AS amount FROM mart.sales AS s
WHERE s.day BETWEEN @start_ds AND @end_ds
"""
RUNNING_NAME = ModelName("mart", "running")


def running(options: str) -> tuple[MemoryWorld, Evaluated]:
    """A model whose days depend on each other if they are evaluated together."""
    world = shop_in_production()
    graph = graph_of({**SHOP, "running": RUNNING.format(options)})
    built = world.build(graph)
    return world, next(each for each in reversed(built) if each.key.model == RUNNING_NAME)


@pytest.mark.full
def test_what_is_new_is_said_so_and_what_may_differ_by_its_clause() -> None:
    world, _ = running("")
    project = graph_of({**SHOP, "running": RUNNING.format("")})
    world.land((74, 1), until=96)
    world.clock.advance(timedelta(days=4))
    new = [each for each in world.build(project) if each.key.model == RUNNING_NAME]
    assert [each.reason for each in new] == ["it has not been computed yet"]
    did, _ = evaluated(world, RUNNING_NAME, day(4))
    assert "`SUM(s.amount) OVER (ORDER BY s.day)` looks at rows of several days" in did.reason


def test_days_that_are_evaluated_together_may_follow_from_each_other_and_are_computed() -> None:
    world, _ = running("")
    assert world.rows("mart.running") == list(zip(DAYS, (10, 15, 22), strict=True))
    again, _ = evaluated(world, RUNNING_NAME, day(1, 3))
    assert not again.reused


def test_days_that_are_declared_independent_are_kept() -> None:
    world, _ = running(", independent true")
    again, engine = evaluated(world, RUNNING_NAME, day(1, 3))
    assert (again.reused, engine) == (True, [])
