"""The rows of a table that another program filled become a version's, on the ports in memory."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from tests.app.memory_world import RAW, Fuse, MemoryWorld, PowerCut, graph_of, hour_of, mismatches
from tests.app.shop_world import (
    SALES,
    SALES_NAME,
    SHOP,
    TOTAL_NAME,
    TRIPLE_NAME,
    day,
    done,
    entries,
)
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.evaluate.existing_rows import Adopted, Taking, adopt
from vde_dagster.app.inspect.verify import damaged_tables
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import AuditFailed, Refused
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval

OLD = TableName("old", "sales")
ROWS = [(date(2024, 1, 1), "x", 10), (date(2024, 1, 2), "y", 5), (date(2024, 1, 3), "z", 7)]
"""The sums of what lands below by day, as another program has computed them."""
ALL = day(1, 3)


def world_with(*rows: tuple[date, str, int], sales: str = SALES) -> MemoryWorld:
    """Three days of events, an environment without rows, and the table of another program."""
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    done(world.services(), graph_of({**SHOP, "sales": sales}), "prod", skip_backfill=True)
    columns = (
        Column(name="Day", type="date"),
        Column(name="note", type="string"),
        Column(name="amount", type="bigint"),
    )
    world.catalog.create_table(OLD, columns, properties={})
    world.catalog.append(OLD, rows)
    return world


def adopted(
    world: MemoryWorld,
    name: ModelName = SALES_NAME,
    table: TableName = OLD,
    asked: Interval = ALL,
    *,
    samples: int = 3,
    taking: Taking = Taking.COPY,
    fuse: Fuse | None = None,
) -> Adopted:
    services = world.services(fuse)
    return adopt(services, world.bound(), name, table, asked, samples=samples, taking=taking)


def test_rows_that_the_query_would_return_are_copied_and_are_those_of_the_version() -> None:
    world = world_with(*ROWS)
    done_ = adopted(world)
    assert (done_.differences, done_.left) == ((), ())
    assert done_.checked == (day(1), day(2), day(3))
    assert world.rows("mart.sales") == [(each[0], each[2]) for each in ROWS]
    assert mismatches(world.services(), SALES_NAME) == []
    # They count as computed: nothing of them is due or stale, and the rest is.
    ran = {str(each.key.model) for each in world.run()}
    assert ran == {"mart.shown", "mart.triple", "mart.total"}
    assert world.rows("mart.total") == [(66,)]


def test_the_ledger_says_where_they_come_from() -> None:
    world = world_with(*ROWS)
    adopted(world)
    head = world.services().catalog.table(OLD)
    assert head is not None
    said = {each.reason for each in entries(world, "prod", SALES_NAME)}
    assert said == {f"adopted from old.sales at {head.iceberg_snapshot_id}"}


def test_an_adopted_interval_has_the_digest_and_the_trace_of_a_computed_one() -> None:
    world = world_with(*ROWS)
    adopted(world)
    copied = entries(world, "prod", SALES_NAME)
    for number in (1, 2, 3):
        evaluate(world.services(), world.bound(), SALES_NAME, day(number), force=True)
    computed = entries(world, "prod", SALES_NAME)
    assert [each.digest for each in copied] == [each.digest for each in computed]
    assert [there(each) for each in copied] == [there(each) for each in computed]


def there(entry: Any) -> str:
    assert entry.trace is not None
    return str(entry.trace.key)


def test_only_late_rows_are_computed_afterwards() -> None:
    world = world_with(*ROWS)
    adopted(world)
    world.run()
    world.land((31, 100), until=72)
    assert {(str(e.key.model), e.interval) for e in world.run()} >= {("mart.sales", day(2))}
    assert world.rows("mart.sales")[1] == (date(2024, 1, 2), 105)
    assert world.rows("mart.sales")[0] == (date(2024, 1, 1), 10)


def test_rows_of_other_times_stay_behind() -> None:
    world = world_with(*ROWS, (date(2023, 12, 31), "before", 1), (date(2024, 1, 4), "after", 1))
    adopted(world, asked=day(1, 2))
    assert world.rows("mart.sales") == [(each[0], each[2]) for each in ROWS[:2]]
    assert {str(each.key.model) for each in world.run()} >= {"mart.sales"}
    assert world.rows("mart.sales") == [(each[0], each[2]) for each in ROWS]


def test_a_difference_is_shown_with_its_rows_and_nothing_is_copied() -> None:
    world = world_with(ROWS[0], (date(2024, 1, 2), "y", 6), ROWS[2])
    (found,) = adopted(world).differences
    assert found.interval == day(2)
    assert found.columns == ("day", "amount")
    assert sorted(found.rows) == [
        ("query", date(2024, 1, 2), 5),
        ("table", date(2024, 1, 2), 6),
    ]
    assert entries(world, "prod", SALES_NAME) == ()


def test_a_row_too_often_is_a_difference() -> None:
    world = world_with(*ROWS, ROWS[2])
    (found,) = adopted(world).differences
    assert found.rows == (("table", date(2024, 1, 3), 7),)


def test_fewer_samples_begin_with_the_first_and_the_last() -> None:
    world = world_with(ROWS[0], (date(2024, 1, 2), "y", 6), ROWS[2])
    done_ = adopted(world, samples=2)
    assert done_.checked == (day(1), day(3))
    assert done_.differences == ()


def test_unchecked_rows_do_not_count_as_computed_from_what_is_there() -> None:
    world = world_with(*[(each[0], each[1], each[2] * 10) for each in ROWS])
    done_ = adopted(world, samples=0)
    assert done_.checked == ()
    found = entries(world, "prod", SALES_NAME)
    assert [each.trace for each in found] == [None] * 3
    assert world.rows("mart.sales") == [(each[0], each[2] * 10) for each in ROWS]


def test_what_was_loaded_before_stays_and_a_second_call_goes_on() -> None:
    world = world_with(*[(each[0], each[1], each[2] * 10) for each in ROWS])
    evaluate(world.services(), world.bound(), SALES_NAME, day(2))
    done_ = adopted(world, samples=0)
    assert done_.left == (day(2),)
    assert [row[1] for row in world.rows("mart.sales")] == [100, 5, 70]
    assert adopted(world, samples=0).copied == ()


def test_batches_are_commits_of_their_own() -> None:
    world = world_with(
        *ROWS, sales=SALES.replace("time_column day", "time_column day, batch_size 2")
    )
    copied = adopted(world).copied
    assert [each.interval for each in copied] == [day(1, 2), day(3)]


def test_a_full_table_is_copied_whole() -> None:
    world = world_with(*ROWS)
    adopted(world)
    evaluate(world.services(), world.bound(), TRIPLE_NAME, ALL)
    total = TableName("old", "total")
    world.catalog.create_table(total, (Column(name="amount", type="bigint"),), properties={})
    world.catalog.append(total, [(66,)])
    done_ = adopted(world, TOTAL_NAME, total)
    assert len(done_.checked) == 1
    assert world.rows("mart.total") == [(66,)]
    assert {str(each.key.model) for each in world.run()} == {"mart.shown"}


def test_what_cannot_be_adopted_is_refused() -> None:
    world = world_with(*ROWS)
    with pytest.raises(Refused, match=r"no table old\.other"):
        adopted(world, table=TableName("old", "other"))
    with pytest.raises(Refused, match=r"lacks 1 column of mart\.sales: day"):
        adopted(world, table=RAW)
    with pytest.raises(Refused, match=r"mart\.sales is not loaded yet"):
        adopted(world, TRIPLE_NAME)
    with pytest.raises(Refused, match="is VIEW, which has no intervals"):
        adopted(world, ModelName("mart", "shown"))
    with pytest.raises(Refused, match="no complete interval"):
        adopted(world, asked=day(7, 8))
    assert entries(world, "prod", SALES_NAME) == ()


def test_audits_judge_the_rows_before_anybody_sees_them() -> None:
    audited = SALES.replace(
        "cron '@daily'", "cron '@daily', audits (accepted_range (column := amount, max_v := 9))"
    )
    world = world_with(*ROWS, sales=audited)
    with pytest.raises(AuditFailed):
        adopted(world)
    assert entries(world, "prod", SALES_NAME) == ()


def test_the_original_is_never_written_to_and_a_power_cut_loses_nothing() -> None:
    for calls in range(1, 200):
        world = world_with(*ROWS)
        before = world.catalog.table(OLD)
        try:
            adopted(world, fuse=Fuse(cut_at=calls))
        except PowerCut:
            world.reboot()
            adopted(world)
            assert world.rows("mart.sales") == [(each[0], each[2]) for each in ROWS]
            assert mismatches(world.services(), SALES_NAME) == []
            assert world.catalog.table(OLD) == before
        else:
            break
    else:
        raise AssertionError("the fuse is too short")
    assert hour_of(24) - hour_of(0) == timedelta(days=1)


LAST = """
MODEL (name mart.last, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key half, batch_size 1), cron
  '@daily');
SELECT CAST(id % 2 AS BIGINT) AS half, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
LAST_NAME, OLD_LAST = ModelName("mart", "last"), TableName("old", "last")


def keyed_world(*rows: tuple[object, ...], model: str = LAST) -> MemoryWorld:
    """Three days with an event each, whose keys are 1, 0 and 1 again."""
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    done(world.services(), graph_of({"last": model}), "prod", skip_backfill=True)
    columns = (Column(name="half", type="bigint"), Column(name="amount", type="bigint"))
    world.catalog.create_table(OLD_LAST, columns, properties={})
    world.catalog.append(OLD_LAST, rows)
    return world


def test_a_keyed_table_is_taken_whole_and_then_goes_on() -> None:
    computed = keyed_world()
    computed.run()
    world = keyed_world(*computed.rows("mart.last"))
    done_ = adopted(world, LAST_NAME, OLD_LAST)
    assert (done_.checked, done_.differences) == ((day(3),), ())
    (copied,) = done_.copied
    assert (copied.interval, copied.rows) == (day(1, 3), 2)
    assert world.run() == ()
    for each in (world, computed):
        each.land((80, 9), until=96)
        each.run()
    assert world.rows("mart.last") == computed.rows("mart.last")
    assert mismatches(world.services(), LAST_NAME) == []


def test_rows_that_build_on_others_are_taken_once_and_never_reused() -> None:
    computed = keyed_world()
    computed.run()
    world = keyed_world(*computed.rows("mart.last"))
    adopted(world, LAST_NAME, OLD_LAST)
    (entry,) = entries(world, "prod", LAST_NAME)
    assert entry.trace is None
    assert entry.reason.startswith("adopted from old.last at ")
    again = adopted(world, LAST_NAME, OLD_LAST)
    assert (again.copied, again.left) == ((), (day(1, 3),))


def test_rows_of_the_last_interval_that_a_keyed_table_lacks_are_shown() -> None:
    world = keyed_world((1, 10), (0, 5))  # as it was a day before
    done_ = adopted(world, LAST_NAME, OLD_LAST)
    (found,) = done_.differences
    assert (found.interval, found.rows) == (day(3), (("query", 1, 7),))
    assert done_.copied == ()
    until = adopted(world, LAST_NAME, OLD_LAST, day(1, 2))
    assert [each.interval for each in until.copied] == [day(1, 2)]
    world.run()
    assert world.rows("mart.last") == [(0, 5), (1, 7)]


def test_merged_rows_are_not_compared_with_those_of_one_interval() -> None:
    merges = LAST.replace(
        "batch_size 1",
        "batch_size 1, when_matched WHEN MATCHED THEN UPDATE SET target.amount = source.amount",
    )
    world = keyed_world((0, 1), model=merges)
    with pytest.raises(Refused, match="merges rows by when_matched or merge_filter"):
        adopted(world, LAST_NAME, OLD_LAST)
    assert adopted(world, LAST_NAME, OLD_LAST, samples=0).rows == 1


def test_keys_that_several_rows_have_are_refused() -> None:
    world = keyed_world((0, 7), (1, 5), (1, 6))
    with pytest.raises(Refused, match=r"several rows with the same key \(half\): 1"):
        adopted(world, LAST_NAME, OLD_LAST, samples=0)
    assert entries(world, "prod", LAST_NAME) == ()


HISTORY = """
MODEL (name mart.last, kind SCD_TYPE_2_BY_COLUMN (unique_key half, columns [amount],
  valid_from_name since, valid_to_name until), cron '@daily');
SELECT CAST(id % 2 AS BIGINT) AS half, MAX(amount) AS amount FROM raw.events GROUP BY id % 2
"""


def history_world(*rows: tuple[Any, ...]) -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    done(world.services(), graph_of({"last": HISTORY}), "prod", skip_backfill=True)
    columns = (
        Column(name="until", type="timestamp"),
        Column(name="half", type="bigint"),
        Column(name="amount", type="bigint"),
        Column(name="since", type="timestamp"),
    )
    world.catalog.create_table(OLD_LAST, columns, properties={})
    world.catalog.append(OLD_LAST, rows)
    return world


def test_a_history_keeps_its_rows_and_goes_on() -> None:
    first, later = hour_of(2), hour_of(20)
    closed = (later, 1, 3, first)
    world = history_world(closed, (None, 1, 10, later), (None, 0, 5, first))
    done_ = adopted(world, LAST_NAME, OLD_LAST)
    assert (done_.checked, done_.differences) == ((day(3),), ())
    assert sorted(world.rows("mart.last"), key=str) == [
        (0, 5, first, None),
        (1, 10, later, None),
        (1, 3, first, later),
    ]
    assert world.run() == ()
    world.land((80, 90), until=96)
    world.run()
    now = world.rows("mart.last")
    assert (1, 3, first, later) in now
    (ended,) = (row for row in now if row[:3] == (0, 5, first))
    assert ended[3] is not None
    assert sorted(row[:2] for row in now if row[3] is None) == [(0, 90), (1, 10)]
    assert mismatches(world.services(), LAST_NAME) == []


def test_a_history_whose_open_rows_are_older_is_a_difference() -> None:
    world = history_world((None, 1, 3, hour_of(2)), (None, 0, 5, hour_of(2)))
    (found,) = adopted(world, LAST_NAME, OLD_LAST).differences
    assert found.columns == ("half", "amount")
    assert found.rows == (("query", 1, 10),)


def test_two_open_rows_of_a_key_are_refused() -> None:
    world = history_world((None, 0, 3, hour_of(2)), (None, 0, 10, hour_of(2)))
    with pytest.raises(Refused, match=r"the same key \(half\): 0"):
        adopted(world, LAST_NAME, OLD_LAST, samples=0)
    with pytest.raises(Refused, match="whose rows must be in its own partitions"):
        adopted(world, LAST_NAME, OLD_LAST, taking=Taking.SHALLOW)


def test_a_shallow_copy_is_one_commit_and_only_of_a_version_without_rows() -> None:
    batched = SALES.replace("time_column day", "time_column day, batch_size 2")
    world = world_with(*ROWS, sales=batched)
    copied = adopted(world, taking=Taking.SHALLOW).copied
    assert [each.interval for each in copied] == [day(1, 3)]
    assert mismatches(world.services(), SALES_NAME) == []
    world = world_with(*ROWS)
    evaluate(world.services(), world.bound(), SALES_NAME, day(2))
    with pytest.raises(Refused, match="already has rows, and only a new table"):
        adopted(world, taking=Taking.SHALLOW)


def test_files_that_the_owner_removed_are_found_and_then_computed_again() -> None:
    """They are looked for where the original has not kept the Iceberg snapshot with them."""
    world = world_with(*ROWS)
    adopted(world, taking=Taking.SHALLOW)
    world.run()
    services, table = world.services(), world.bound().key(SALES_NAME).table
    world.catalog.lose_file(table)
    assert [*damaged_tables(services)] == []  # the owner keeps them, as far as is known
    world.catalog.drop_table(OLD)
    (said,) = damaged_tables(services)
    assert "mart.sales: its table" in said
    assert "vde run prod --restate-model mart.sales" in said
    world.run(restate=("mart.sales",))
    assert [*damaged_tables(services)] == []
    assert world.rows("mart.sales") == [(each[0], each[2]) for each in ROWS]
