"""`verify` on a whole environment in memory: what is as recorded, and what others changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.clean_up.between import Between
from tests.app.memory_world import (
    PROJECT,
    START,
    Fuse,
    MemoryWorld,
    PowerCut,
    graph_of,
    hour_of,
    made_once,
    there,
)
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.inspect.verify import Verified, verify
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

DAILY, TOTALS = ModelName("mart", "daily"), ModelName("mart", "totals")
EVENTS = ModelName("staging", "events")
UPSERTS = """
MODEL (
  name mart.latest,
  kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, batch_size 1),
  cron '@daily'
);
SELECT id AS id, amount AS amount FROM staging.events WHERE at BETWEEN @start_dt AND @end_dt
"""
RAW_DAILY = """
MODEL (name mart.raw_daily, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily');
SELECT id AS id, at AS at, amount AS amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
RAW_NAME = ModelName("mart", "raw_daily")
DAY = Interval(START, hour_of(24))


@pytest.fixture
@made_once
def world() -> MemoryWorld:
    made = MemoryWorld.landed((1, 10), (5, 20), (26, 30), (30, 40), until=48)
    made.build(graph_of({**PROJECT, "latest": UPSERTS}))
    return made


def verified(world: MemoryWorld, *names: ModelName) -> dict[ModelName, Verified]:
    found = verify(world.services(), world.bound(), names or None)
    return {each.key.model: each for each in found}


def change_stored_rows(world: MemoryWorld, name: ModelName) -> None:
    """The last row's amount is changed in storage, without a commit."""
    key = world.bound().key(name)
    table = world.catalog.tables[key.table]
    head = world.services().state.heads([key])[key]
    snapshot = table.snapshots[head]
    *others, last = snapshot.rows
    table.snapshots[head] = replace(snapshot, rows=(*others, (*last[:-1], 999)))


def test_what_was_published_is_as_it_was_recorded(world: MemoryWorld) -> None:
    found = verified(world)
    assert {str(name): (each.rows, each.holds) for name, each in found.items()} == {
        "staging.events": (4, True),
        "mart.daily": (2, True),
        "mart.totals": (1, True),
        "mart.latest": (4, True),
    }


def test_each_table_that_lacks_a_file_is_named_and_the_others_are_compared(
    world: MemoryWorld,
) -> None:
    lost = [world.catalog.lose_file(world.bound().key(name).table) for name in (EVENTS, DAILY)]
    found = verified(world)
    for name, file in zip((EVENTS, DAILY), lost, strict=True):
        assert file in found[name].foreign_write
        assert f"`vde run prod --restate-model {name}`" in found[name].foreign_write
    assert [found[TOTALS].holds, found[ModelName("mart", "latest")].holds] == [True, True]


def test_a_changed_row_is_reported_with_its_interval_and_nothing_else_is(
    world: MemoryWorld,
) -> None:
    change_stored_rows(world, DAILY)
    found = verified(world)
    assert [str(name) for name, each in found.items() if not each.holds] == ["mart.daily"]
    (mismatch,) = found[DAILY].mismatches
    assert mismatch.interval == Interval(hour_of(24), hour_of(48))


def test_a_kind_without_rows_per_interval_is_compared_as_a_whole(world: MemoryWorld) -> None:
    latest = ModelName("mart", "latest")
    key = world.bound().key(latest)
    assert len(world.state.ledger([key])[key]) == 2
    change_stored_rows(world, latest)
    (mismatch,) = verified(world, latest)[latest].mismatches
    assert mismatch.interval is None


def test_rows_in_no_recorded_interval_are_found(world: MemoryWorld) -> None:
    key = world.bound().key(EVENTS)
    table, head = world.catalog.tables[key.table], world.services().state.heads([key])[key]
    snapshot = table.snapshots[head]
    stray = (77, hour_of(100), 1)
    table.snapshots[head] = replace(snapshot, rows=(*snapshot.rows, stray))
    (mismatch,) = verified(world, EVENTS)[EVENTS].mismatches
    assert mismatch.interval == Interval(hour_of(100), hour_of(101))
    assert (mismatch.recorded.rows, mismatch.found.rows) == (0, 1)


def test_a_table_that_is_gone_is_reported(world: MemoryWorld) -> None:
    world.catalog.drop_table(world.bound().key(TOTALS).table)
    found = verified(world, TOTALS)[TOTALS]
    assert (found.holds, found.missing_table) == (False, True)


def test_what_others_write_is_reported_with_the_rows_that_are_as_recorded(
    world: MemoryWorld,
) -> None:
    """A table is read at the Iceberg snapshot at which the ledger is true; readers see another."""
    key = world.bound().key(TOTALS)
    recorded = world.services().state.heads([key])[key]
    found = world.catalog.append(key.table, [(9, 9)])
    reported = verified(world)
    assert [str(name) for name, each in reported.items() if not each.holds] == ["mart.totals"]
    assert (reported[TOTALS].rows, reported[TOTALS].mismatches) == (1, ())
    for words in (str(found), str(recorded), "`vde repair mart.totals`"):
        assert words in reported[TOTALS].foreign_write


def test_what_others_write_is_reported_where_the_recorded_rows_have_expired(
    world: MemoryWorld,
) -> None:
    table = world.bound().key(TOTALS).table
    world.catalog.append(table, [(9, 9)])
    world.catalog.expire(table)
    reported = verified(world)
    assert [str(name) for name, each in reported.items() if not each.holds] == ["mart.totals"]
    assert (reported[TOTALS].rows, reported[TOTALS].mismatches) == (0, ())
    assert "it no longer has the recorded snapshot" in reported[TOTALS].foreign_write


@pytest.mark.parametrize("change", ["rename", "drop", "drop, and the recorded rows expire"])
def test_a_table_without_a_recorded_column_is_reported_and_ends_nothing(
    world: MemoryWorld, change: str
) -> None:
    table = world.bound().key(TOTALS).table
    if change == "rename":
        world.catalog.rename_column(table, "amount", "total")
    else:
        world.catalog.drop_column(table, "amount")
    if "expire" in change:
        world.catalog.compact(table)
        world.catalog.expire(table)
    reported = {each.key.model: each for each in verify(world.services(), world.bound())}
    assert "amount" in reported[TOTALS].foreign_write
    assert not reported[TOTALS].holds
    assert all(each.holds for name, each in reported.items() if name != TOTALS)


def test_a_compaction_is_no_write_of_others(world: MemoryWorld) -> None:
    world.catalog.compact(world.bound().key(TOTALS).table)
    assert verified(world, TOTALS)[TOTALS].holds


def test_what_is_published_and_not_recorded_yet_is_no_foreign_write(world: MemoryWorld) -> None:
    world.build(graph_of({**PROJECT, "raw_daily": RAW_DAILY}))
    world.land((3, 60), until=48)
    cut = Fuse(cut_name="publish", after=True)
    with pytest.raises(PowerCut):
        evaluate(world.services(cut), world.bound(), RAW_NAME, DAY)
    key = world.bound().key(RAW_NAME)
    table = there(world.catalog.table(key.table))
    assert table.iceberg_snapshot_id != world.state.heads([key])[key]
    assert verified(world, RAW_NAME)[RAW_NAME].holds


def test_what_is_recorded_while_it_is_looked_up_is_no_false_alarm(world: MemoryWorld) -> None:
    world.land((2, 50), until=48)
    graph = graph_of({**PROJECT, "raw_daily": RAW_DAILY})
    world.build(graph)
    world.land((3, 60), until=48)
    services = world.services()
    binding = world.bound()
    racing = Between(
        world,
        "entries_within",
        after=True,
        then=lambda: evaluate(services, binding, RAW_NAME, DAY, force=True),
    )
    found = list(verify(racing.services(), binding, [RAW_NAME]))
    assert [(each.holds, each.rows) for each in found] == [(True, 6)]
    assert racing.came


def test_each_model_is_compared_with_what_is_recorded_at_that_moment(
    world: MemoryWorld,
) -> None:
    world.build(graph_of({**PROJECT, "raw_daily": RAW_DAILY}))
    services = world.services()
    found = verify(services, world.bound(), [DAILY, RAW_NAME])
    assert next(found).key.model == DAILY
    world.land((3, 60), until=48)
    evaluate(services, world.bound(), RAW_NAME, DAY)
    assert [(each.holds, each.rows) for each in found] == [(True, 5)]


def test_hours_of_a_table_that_another_environment_shows_by_days_are_as_recorded() -> None:
    world = MemoryWorld.landed((1, 10), (5, 20), (26, 30), until=48)
    world.build(graph_of({"raw_daily": RAW_DAILY}), skip_backfill=True)
    world.build(graph_of({"raw_daily": RAW_DAILY}), "dev", skip_backfill=True)
    world.build(graph_of({"raw_daily": RAW_DAILY.replace("@daily", "@hourly")}), forward_only=True)
    for environment, hours in (("prod", 48), ("dev", 48)):
        (found,) = verify(world.services(), world.bound(environment))
        assert (found.rows, found.entries, found.mismatches) == (3, hours, ())
