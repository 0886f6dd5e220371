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
from vde_dagster.app.evaluate.existing_rows import Adopted, adopt
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
    fuse: Fuse | None = None,
) -> Adopted:
    services = world.services(fuse)
    return adopt(services, world.bound(), name, table, asked, samples=samples)


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
    with pytest.raises(Refused, match=r"has no 1 column day of mart\.sales"):
        adopted(world, table=RAW)
    with pytest.raises(Refused, match=r"mart\.sales is not loaded yet"):
        adopted(world, TRIPLE_NAME)
    with pytest.raises(Refused, match="is VIEW, which loads nothing"):
        adopted(world, ModelName("mart", "shown"))
    with pytest.raises(Refused, match="no whole interval"):
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
