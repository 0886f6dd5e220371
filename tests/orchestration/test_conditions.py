"""What `on_changed_data` and `when_due` request, tick by tick, on a Dagster instance; no Spark.

A tick is one evaluation by Dagster with the cursor of the last. Parents are reported by events with
data versions, as the runs of models tell them.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster._check import CheckError

from vde_dagster import on_changed_data, when_due
from vde_dagster.core.time.zones import ZoneUnknown
from vde_dagster.orchestration.assets.metadata import DATA_VERSION, USER_PROVIDED

if TYPE_CHECKING:
    from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor

Partitions = dg.PartitionsDefinition | None
Condition = dg.AutomationCondition[dg.AssetKey | dg.AssetCheckKey]
END = datetime(2024, 1, 4, tzinfo=UTC)
HOURLY = dg.HourlyPartitionsDefinition("2024-01-01-00:00", end_date=END)
DAILY = dg.DailyPartitionsDefinition("2024-01-01", end_date=END)
DAYS = ["2024-01-01", "2024-01-02", "2024-01-03"]
HOURS = [f"2024-01-01-{hour:02}:00" for hour in range(24)]
DOWN = dg.AssetKey("down")


@dataclass
class World:
    """An asset ``down`` with a condition, downstream of ``up``; both are of a user's own code."""

    instance: dg.DagsterInstance
    condition: Condition
    upstream: Partitions = DAILY
    downstream: Partitions = DAILY
    during: Callable[[], None] = lambda: None
    cursor: "AssetDaemonCursor | None" = None

    @property
    def assets(self) -> list[dg.AssetsDefinition]:
        @dg.asset(partitions_def=self.upstream)
        def up(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
            version = context.run.tags.get("version", "1")
            return dg.MaterializeResult(data_version=dg.DataVersion(version))

        @dg.asset(partitions_def=self.downstream, deps=[up], automation_condition=self.condition)
        def down() -> None:
            self.during()

        return [up, down]

    def up(self, version: str, *keys: str | None) -> None:
        """Intervals of the parent are computed, with a D-SHA."""
        for key in keys:
            tags = {DATA_VERSION: version, USER_PROVIDED: "true"}
            event = dg.AssetMaterialization("up", partition=key, tags=tags)
            self.instance.report_runless_asset_event(event)

    def down(self, *keys: str | None) -> None:
        """A run of what was requested ends."""
        for key in keys:
            self.instance.report_runless_asset_event(dg.AssetMaterialization(DOWN, partition=key))

    def tick(self, now: datetime | None = None) -> list[str | None]:
        """What the daemon requests, as partitions; ``[None]`` for an asset without any."""
        found = dg.evaluate_automation_conditions(
            self.assets, self.instance, cursor=self.cursor, evaluation_time=now
        )
        self.cursor = found.cursor
        return sorted(found.get_requested_partitions(DOWN), key=str)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def world(instance: dg.DagsterInstance) -> World:
    return World(instance, on_changed_data())


def settled(world: World, *keys: str | None) -> World:
    """Both have the same partitions, and the daemon has seen it."""
    world.up("1", *keys)
    world.down(*keys)
    assert world.tick() == []
    return world


# on_changed_data


@pytest.mark.full
def test_the_first_evaluation_requests_what_is_missing_where_what_it_reads_is_there(
    world: World,
) -> None:
    world.up("1", *DAYS[:2])
    world.down(DAYS[0])
    assert world.tick() == [DAYS[1]]
    assert world.tick() == []
    world.up("1", DAYS[2])
    assert world.tick() == [DAYS[2]]


@pytest.mark.full
def test_a_parent_that_is_computed_again_with_equal_rows_requests_nothing(world: World) -> None:
    settled(world, *DAYS)
    world.up("1", *DAYS)
    assert world.tick() == []


@pytest.mark.full
def test_a_late_change_of_an_old_partition_requests_exactly_that_one(world: World) -> None:
    settled(world, *DAYS)
    world.up("1", *DAYS)
    world.up("2", DAYS[0])
    assert world.tick() == [DAYS[0]]
    assert world.tick() == []


@pytest.mark.full
def test_a_day_waits_for_its_hours_and_is_requested_again_for_a_late_one(
    instance: dg.DagsterInstance,
) -> None:
    world = World(instance, on_changed_data(), upstream=HOURLY)
    assert world.tick() == []
    world.up("1", *HOURS[:23])
    assert world.tick() == []
    world.up("1", HOURS[23])
    assert world.tick() == [DAYS[0]]
    world.down(DAYS[0])
    assert world.tick() == []
    world.up("2", HOURS[3])
    assert world.tick() == [DAYS[0]]


@pytest.mark.full
def test_assets_without_partitions_follow_the_data_too(instance: dg.DagsterInstance) -> None:
    world = World(instance, on_changed_data(), upstream=None, downstream=None)
    assert world.tick() == []
    world.up("1", None)
    assert world.tick() == [None]
    world.down(None)
    assert world.tick() == []
    world.up("1", None)
    assert world.tick() == []
    world.up("2", None)
    assert world.tick() == [None]


@pytest.mark.full
def test_a_change_in_the_tick_after_a_request_is_not_forgotten(world: World) -> None:
    settled(world, *DAYS)
    world.up("2", DAYS[0])
    assert world.tick() == [DAYS[0]]
    world.up("3", DAYS[0])
    assert world.tick() == [DAYS[0]]
    assert world.tick() == []


@pytest.mark.full
def test_a_change_while_the_asset_runs_starts_it_once_more(world: World) -> None:
    settled(world, *DAYS)
    world.up("2", DAYS[0])
    assert world.tick() == [DAYS[0]]
    seen: list[list[str | None]] = []

    def during() -> None:
        world.up("3", DAYS[0])
        seen.append(world.tick())

    world.during = during
    down = world.assets[1]
    assert dg.materialize([down], partition_key=DAYS[0], instance=world.instance).success
    assert seen == [[]]  # it is in progress
    assert world.tick() == [DAYS[0]]
    assert world.tick() == []


@pytest.mark.full
def test_a_change_is_not_taken_for_handled_by_a_run_that_ended_in_the_same_tick(
    world: World,
) -> None:
    settled(world, *DAYS)
    world.up("2", DAYS[0])
    world.down(DAYS[0])  # it may have begun before the change
    assert world.tick() == [DAYS[0]]


@pytest.mark.full
def test_a_run_by_hand_of_both_counts_as_a_change_while_the_asset_ran(world: World) -> None:
    settled(world, *DAYS)
    tags = {"version": "1"}
    run = dg.materialize(world.assets, partition_key=DAYS[0], instance=world.instance, tags=tags)
    assert run.success
    assert world.tick() == []  # equal rows
    tags = {"version": "2"}
    dg.materialize(world.assets, partition_key=DAYS[0], instance=world.instance, tags=tags)
    assert world.tick() == [DAYS[0]]
    assert world.tick() == []


@pytest.mark.full
def test_what_changed_while_the_sensor_was_off_is_requested_when_it_is_on_again(
    world: World,
) -> None:
    settled(world, *DAYS)
    for version in ("2", "3"):
        world.up(version, DAYS[1])
    world.up("1", DAYS[2])
    assert world.tick() == [DAYS[1]]


@pytest.mark.full
def test_a_missing_partition_that_is_filled_by_hand_is_not_requested(world: World) -> None:
    assert world.tick() == []
    world.down(DAYS[0])
    world.up("1", DAYS[1])
    world.down(DAYS[1])
    assert world.tick() == [DAYS[1]]  # its parent changed from nothing to something
    world.up("1", DAYS[0])
    assert world.tick() == [DAYS[0]]


@pytest.mark.full
def test_an_asset_waits_for_a_parent_that_is_requested_in_the_same_tick(
    instance: dg.DagsterInstance,
) -> None:
    @dg.asset
    def up() -> None: ...

    @dg.asset(deps=[up], automation_condition=on_changed_data())
    def near() -> None: ...

    @dg.asset(deps=[up, near], automation_condition=on_changed_data())
    def far() -> None: ...

    assets = [up, near, far]
    dg.materialize(assets, instance=instance)
    found = dg.evaluate_automation_conditions(assets, instance)
    assert found.total_requested == 0
    rounds = []
    dg.materialize([up], instance=instance)
    for _ in range(3):
        found = dg.evaluate_automation_conditions(assets, instance, cursor=found.cursor)
        asked = [each for each in assets if found.get_num_requested(each.key)]
        rounds.append([each.key.to_user_string() for each in asked])
        if asked:
            dg.materialize(asked, instance=instance)
    assert rounds == [["near"], ["far"], []]


@pytest.mark.full
def test_an_asset_without_partitions_waits_for_all_of_a_parent_that_may_lack_nothing(
    instance: dg.DagsterInstance,
) -> None:
    whole = World(instance, on_changed_data(), downstream=None)
    holes = World(
        instance, on_changed_data(may_lack=dg.AssetSelection.assets("up")), downstream=None
    )
    whole.down(None)
    assert (whole.tick(), holes.tick()) == ([], [])
    whole.up("1", *DAYS[1:])
    assert (whole.tick(), holes.tick()) == ([], [None])
    whole.up("1", DAYS[0])
    assert (whole.tick(), holes.tick()) == ([None], [None])


def test_a_source_that_dagster_never_sees_keeps_an_asset_waiting_unless_it_may_lack(
    instance: dg.DagsterInstance,
) -> None:
    source = dg.AssetSpec("source")

    def asked(may_lack: dg.AssetSelection | None) -> int:
        condition = when_due("@daily", may_lack=may_lack)

        @dg.asset(deps=[source], automation_condition=condition)
        def downstream() -> None: ...

        both = dg.Definitions([source, downstream])
        first = dg.evaluate_automation_conditions(both, instance, evaluation_time=SIX)
        later = SIX + timedelta(days=1)
        cursor = first.cursor
        return dg.evaluate_automation_conditions(
            both, instance, evaluation_time=later, cursor=cursor
        ).total_requested

    assert asked(None) == 0
    assert asked(dg.AssetSelection.assets("source")) == 1


# when_due: two days after the partition's, since an end has no part in it

OPEN = dg.DailyPartitionsDefinition("2024-01-01")
OPEN_HOURS = dg.HourlyPartitionsDefinition("2024-01-01-00:00")
SIX = datetime(2024, 1, 2, 6, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def due(instance: dg.DagsterInstance) -> World:
    """Due at six o'clock."""
    return World(instance, when_due("0 6 * * *"), upstream=OPEN_HOURS, downstream=OPEN)


@pytest.mark.full
def test_the_latest_partition_is_requested_at_a_tick_of_the_cron_and_not_before(due: World) -> None:
    due.up("1", *HOURS)
    assert due.tick(SIX - 2 * MINUTE) == []
    assert due.tick(SIX - MINUTE) == []
    assert due.tick(SIX + MINUTE) == [DAYS[0]]
    assert due.tick(SIX + 2 * MINUTE) == []
    due.down(DAYS[0])
    assert due.tick(SIX + 3 * MINUTE) == []


@pytest.mark.full
def test_it_waits_for_what_it_reads_and_needs_no_other_tick_then(due: World) -> None:
    due.up("1", *HOURS[:23])
    assert due.tick(SIX - MINUTE) == []
    assert due.tick(SIX + MINUTE) == []
    due.up("1", HOURS[23])
    assert due.tick(SIX + 60 * MINUTE) == [DAYS[0]]
    assert due.tick(SIX + 61 * MINUTE) == []


@pytest.mark.full
def test_what_is_missing_is_requested_at_the_next_tick_be_it_old_or_failed(due: World) -> None:
    due.up("1", *HOURS)
    assert due.tick(SIX - MINUTE) == []
    assert due.tick(SIX + MINUTE) == [DAYS[0]]  # and this run fails
    day = timedelta(days=1)
    assert due.tick(SIX + day - MINUTE) == []
    assert due.tick(SIX + day + MINUTE) == [DAYS[0]]  # the hours of the second are not there
    due.down(DAYS[0])
    assert due.tick(SIX + 2 * day + MINUTE) == []


@pytest.mark.full
def test_every_tick_counts_also_one_right_after_a_request(instance: dg.DagsterInstance) -> None:
    world = World(instance, when_due("*/5 * * * *"), upstream=None, downstream=None)
    world.up("1", None)
    assert world.tick(SIX) == []
    for number in (1, 2, 3):
        assert world.tick(SIX + number * 5 * MINUTE) == [None]
    assert world.tick(SIX + 16 * MINUTE) == []


@pytest.mark.full
def test_ticks_are_those_of_the_zone(instance: dg.DagsterInstance) -> None:
    world = World(instance, when_due("0 6 * * *", "Europe/Berlin"), upstream=OPEN, downstream=OPEN)
    world.up("1", DAYS[0])
    assert world.tick(SIX - 61 * MINUTE) == []
    assert world.tick(SIX - 59 * MINUTE) == [DAYS[0]]  # winter: an hour ahead


def test_a_wrong_zone_or_cron_is_refused_where_it_is_written() -> None:
    with pytest.raises(ZoneUnknown, match="Did you mean 'Europe/Berlin'"):
        when_due("@daily", "Europe/Berlim")
    with pytest.raises(CheckError, match="Invalid cron schedule"):
        when_due("often")


@pytest.mark.parametrize("condition", [on_changed_data(), when_due("@daily")])
def test_conditions_are_made_of_what_the_daemon_evaluates_by_itself(
    condition: Condition,
) -> None:
    assert condition.is_serializable
