"""Kinds that build on their own rows: each interval once and in order, or everything rebuilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.app.memory_world import MemoryWorld, bound, build_due, graph_of
from tests.app.shop_world import day, done, entries
from tests.worlds.engine import MemoryEngine
from vde_dagster.app.evaluate.cumulative import sequential_batches, sequential_ranges
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry, LedgerOperation
from vde_dagster.core.ledger.holdings import holding_of
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

NAME = ModelName("mart", "kept")
HEADER = "MODEL (name mart.kept, kind {kind}, {more}cron '@daily');\n"
QUERY = """SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount, MAX(id) AS last FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)"""
UNIQUE_KEY = "INCREMENTAL_BY_UNIQUE_KEY (unique_key day)"
KINDS = [
    (UNIQUE_KEY, ""),
    ("INCREMENTAL_BY_PARTITION", "partitioned_by day, "),
    ("INCREMENTAL_UNMANAGED", ""),
]
every_kind = pytest.mark.parametrize("kind,more", KINDS, ids=[kind for kind, _ in KINDS])


def text(kind: str, more: str = "") -> str:
    return HEADER.format(kind=kind, more=more) + QUERY


def project(kind: str, more: str = "") -> Graph:
    return graph_of({"kept": text(kind, more)})


def model(kind: str, more: str = "") -> Model:
    return project(kind, more)[NAME].model


def entry(interval: Interval, status: EntryStatus = EntryStatus.COMPUTED) -> LedgerEntry:
    return LedgerEntry(
        interval=interval,
        rows=RowSum(rows=1, sum=1),
        columns=(),
        digest="",
        work_id="w",
        iceberg_snapshot_id=1,
        status=status,
    )


# The batches


def overlapping(entries: Sequence[LedgerEntry], asked_for: Interval) -> list[Interval]:
    return [each.interval for each in entries if each.interval.intersection(asked_for)]


BATCHED = "INCREMENTAL_BY_UNIQUE_KEY (unique_key day, batch_size 2)"
LOOKING_BACK = "INCREMENTAL_BY_UNIQUE_KEY (unique_key day, lookback 2)"
OUTDATED = EntryStatus.OUTDATED
REPLACE, ANEW = LedgerOperation.REPLACE, LedgerOperation.REPLACE_ALL
CHANGE = LedgerOperation.CHANGE


@pytest.mark.parametrize(
    "kind,there,asked_for,expected",
    [
        (UNIQUE_KEY, [], day(1), [(day(1), day(1), REPLACE)]),
        (UNIQUE_KEY, [entry(day(1))], day(2, 3), [(day(2, 3), day(2, 3), REPLACE)]),
        (UNIQUE_KEY, [entry(day(1))], day(3), [(day(3), day(3), REPLACE)]),
        # A lookback is part of the new interval's change; alone, of a loaded interval's.
        (LOOKING_BACK, [entry(day(1, 3))], day(2, 4), [(day(2, 4), day(4), REPLACE)]),
        (LOOKING_BACK, [entry(day(1, 3))], day(2, 3), [(day(2, 3), day(1, 3), CHANGE)]),
        (
            LOOKING_BACK,
            [entry(day(1)), entry(day(2)), entry(day(3))],
            day(2, 3),
            [(day(2, 3), day(2), CHANGE)],
        ),
        # If some rows are outdated, all are rebuilt, in batches.
        (UNIQUE_KEY, [entry(day(1, 2), OUTDATED)], day(1, 2), [(day(1, 2), day(1, 2), ANEW)]),
        (
            BATCHED,
            [entry(day(1, 3), OUTDATED), entry(day(4))],
            day(1, 2),
            [(day(1, 2), day(1, 2), ANEW), (day(3, 4), day(3, 4), REPLACE)],
        ),
        # Appending does not depend on what is loaded.
        ("INCREMENTAL_UNMANAGED", [entry(day(3))], day(1, 2), [(day(1, 2), day(1, 2), REPLACE)]),
    ],
)
def test_what_is_written_for_an_interval(
    kind: str,
    there: list[LedgerEntry],
    asked_for: Interval,
    expected: list[tuple[Interval, Interval, LedgerOperation]],
) -> None:
    holding, recorded = holding_of(there), overlapping(there, asked_for)
    found = sequential_batches(
        model(kind), holding, asked_for, environment="prod", recorded=recorded
    )
    assert [(each.evaluated, each.recorded, each.operation) for each in found] == expected


@pytest.mark.parametrize(
    "kind,there,asked_for,reported",
    [
        (UNIQUE_KEY, [entry(day(1, 2))], day(2), "has already loaded .2024-01-02"),
        (UNIQUE_KEY, [entry(day(1, 2))], day(2, 3), "has already loaded .2024-01-02"),
        (UNIQUE_KEY, [entry(day(2, 3))], day(1), "is not its next interval"),
        (UNIQUE_KEY, [entry(day(2, 3))], day(1, 4), "is not its next interval"),
        (LOOKING_BACK, [entry(day(1, 4))], day(2, 5), "has already loaded .2024-01-02"),
        (LOOKING_BACK, [entry(day(1, 4))], day(1, 2), "has already loaded .2024-01-01"),
        ("INCREMENTAL_UNMANAGED", [entry(day(1, 2))], day(2), "has already loaded .2024-01-02"),
        ("INCREMENTAL_UNMANAGED", [entry(day(2))], day(1, 3), "is not its next interval"),
    ],
)
def test_an_interval_is_loaded_once(
    kind: str, there: list[LedgerEntry], asked_for: Interval, reported: str
) -> None:
    with pytest.raises(Refused, match=reported) as caught:
        sequential_batches(model(kind), holding_of(there), asked_for, environment="dev")
    assert "`vde plan dev --restate-model mart.kept`" in str(caught.value)


@pytest.mark.parametrize(
    "kind,there,missing,expected",
    [
        (UNIQUE_KEY, [], [day(1, 5)], [day(1, 5)]),
        (BATCHED, [entry(day(1))], [day(2, 4)], [day(2, 3), day(4)]),
        (BATCHED, [entry(day(1), OUTDATED)], [day(1, 4)], [day(1, 4)]),  # one unit of work
        (UNIQUE_KEY, [], [], []),
    ],
)
def test_what_is_evaluated_where_nobody_names_an_interval(
    kind: str, there: list[LedgerEntry], missing: list[Interval], expected: list[Interval]
) -> None:
    found = sequential_ranges(model(kind), holding_of(there), missing, environment="prod")
    assert list(found) == expected


def test_where_nothing_is_missing_the_restatement_is_named() -> None:
    with pytest.raises(
        Refused, match=r"has already loaded .2024-01-01.*--restate-model mart\.kept"
    ):
        sequential_ranges(model(UNIQUE_KEY), holding_of([entry(day(1, 3))]), [], environment="prod")


# In a project


@dataclass(frozen=True, kw_only=True)
class Shop:
    """Three days of events, loaded day by day."""

    world: MemoryWorld
    graph: Graph


def loaded(kind: str, more: str = "") -> Shop:
    shop = Shop(world=MemoryWorld(), graph=project(kind, more))
    for number, amounts in enumerate([(10, 1), (5,), (7,)]):
        events = [(24 * number + 1 + hour, amount) for hour, amount in enumerate(amounts)]
        shop.world.land(*events, until=24 * (number + 1))
        shop.world.build(shop.graph)
    return shop


def amounts(world: MemoryWorld) -> list[tuple[int, int]]:
    return [(row[0].day, row[1]) for row in world.rows("mart.kept")]  # type: ignore[attr-defined,misc]


def sum_of_entries(world: MemoryWorld, environment: str = "prod") -> RowSum:
    return total(each.rows for each in entries(world, environment, NAME))


def sum_of_table(world: MemoryWorld) -> RowSum:
    from tests.worlds.frames import sum_of

    key = world.bound().key(NAME)
    table = world.catalog.tables[key.table]
    return sum_of(table.rows_at(table.head))


@pytest.mark.full
@every_kind
def test_a_loaded_interval_is_refused_and_the_command_is_named(kind: str, more: str) -> None:
    shop = loaded(kind, more)
    services = shop.world.services()
    rows, before = shop.world.rows("mart.kept"), entries(shop.world, "prod", NAME)
    for asked_for in (day(3), day(1), day(2, 3)):
        with pytest.raises(Refused, match=r"`vde plan prod --restate-model mart\.kept`"):
            evaluate(services, bound(services), NAME, asked_for)
    assert shop.world.rows("mart.kept") == rows
    assert entries(shop.world, "prod", NAME) == before


@pytest.mark.full
@every_kind
def test_a_restatement_is_one_unit_of_work_from_nothing_on(kind: str, more: str) -> None:
    shop = loaded(kind, more)
    shop.world.land((2, 100), until=72)  # late: not detected before the restatement
    before = shop.world.rows("mart.kept")
    build_due(shop.world.services(), shop.graph)
    assert shop.world.rows("mart.kept") == before
    (work,) = shop.world.build(shop.graph, restate=("mart.kept",))
    assert work.interval == day(1, 3)
    assert amounts(shop.world) == [(1, 111), (2, 5), (3, 7)]
    assert sum_of_entries(shop.world) == sum_of_table(shop.world)
    assert shop.world.plan(shop.graph).backfills == ()


@pytest.mark.full
@every_kind
def test_readers_see_the_old_table_until_the_new_one_is_whole(kind: str, more: str) -> None:
    shop = loaded(kind, more)
    seen: list[Any] = []

    class Looking(MemoryEngine):
        def stage(self, staging: Any) -> Any:
            staged = super().stage(staging)
            seen.append((shop.world.rows("mart.kept"), len(staging.parts), staging.rebuilds))
            return staged

    before = shop.world.rows("mart.kept")
    services = shop.world.services()
    object.__setattr__(services, "engine", Looking(shop.world.catalog))
    shop.world.land((2, 100), until=72)
    done(services, shop.graph, "prod", restate=("mart.kept",))
    assert seen == [(before, 1, True)]
    assert shop.world.rows("mart.kept") != before


@pytest.mark.full
@pytest.mark.parametrize("size", ["", ", batch_size 1"])
def test_a_lookback_merges_the_days_before_again(size: str) -> None:
    kind = f"INCREMENTAL_BY_UNIQUE_KEY (unique_key day, lookback 1{size})"
    shop = loaded(kind)
    shop.world.land((2, 100), (50, 100), (80, 3), until=96)  # days 1 and 3 are late; day 4 is new
    build_due(shop.world.services(), shop.graph)
    assert amounts(shop.world) == [(1, 11), (2, 5), (3, 107), (4, 3)]
    there = entries(shop.world, "prod", NAME)
    assert [each.interval for each in there] == [day(1), day(2), day(3), day(4)]
    assert sum_of_entries(shop.world) == sum_of_table(shop.world)
    shop.world.build(shop.graph)  # rows later than the lookback rebuild all of it
    assert amounts(shop.world) == [(1, 111), (2, 5), (3, 107), (4, 3)]
    assert shop.world.plan(shop.graph).backfills == ()
