"""Histories on every engine: the seed's tables row for row, and which files Iceberg writes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

import pytest

from tests.core.model.history_reference import Record, Rules, look
from tests.core.model.history_tables import (
    BY_COLUMN,
    BY_TIME,
    OF_SNAPSHOTS,
    SNAPSHOTS,
    Load,
    Row,
    instant,
    printed,
)
from tests.core.model.kept_history import COLUMN, TIME, day
from tests.lakehouse.kinds.worlds import (
    SPARK_IN_FULL_FORM,
    World,
    Worlds,
    both_worlds,
    field,
    ordered,
    query,
)
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.unit_of_work import RowSource, SqlRows, Staged
from vde_dagster.core.model.history import History
from vde_dagster.core.model.writes import KeepHistory
from vde_dagster.core.time.intervals import EPOCH, Interval

TYPES: Final = {
    "id": "int",
    "name": "string",
    "price": "decimal(10,2)",
    "some_value": "int",
    "ds": "timestamp",
    "updated_at": "timestamp",
}


@pytest.fixture
def table(worlds: Worlds) -> World:
    """The table of a history, whose closed rows lie apart from open ones."""
    return worlds.table({}, field("valid_to", "years"))


def load(
    table: World,
    history: History,
    columns: Sequence[str],
    *sources: Sequence[Row],
    at: datetime,
    rebuilds: bool = False,
    declared: tuple[Column, ...] = (),
) -> Staged:
    """Look at sources, one after the other, in one unit of work, and publish."""
    types = {name: TYPES[name] for name in columns}
    begins = rebuilds or table.head() is None
    parts = [
        table.part(query(types, rows), look_at(history, number, at, is_first=begins and not number))
        for number, rows in enumerate(sources)
    ]
    return table.publish(table.staging(*parts, rebuilds=rebuilds, columns=declared))


def look_at(history: History, number: int, at: datetime, *, is_first: bool) -> KeepHistory:
    return KeepHistory(interval=days(number), history=history, execution_time=at, is_first=is_first)


def closed_files(table: World) -> set[str]:
    """The data files that have closed rows; none in memory."""
    if table.iceberg is None:
        return set()
    found = table._table().scan(row_filter="valid_to IS NOT NULL").plan_files()
    return {each.file.file_path for each in found}


def days(number: int) -> Interval:
    return Interval(day(1) + timedelta(days=number), day(2) + timedelta(days=number))


@pytest.mark.full
@pytest.mark.parametrize(
    "worlds,case",
    both_worlds({"by time": (TIME, BY_TIME), "by column": (COLUMN, BY_COLUMN)}, short=["by time"]),
    indirect=["worlds"],
)
def test_the_loads_of_the_menu_give_the_printed_tables(
    table: World, case: tuple[History, list[Load]]
) -> None:
    """No file with closed rows is ever written again; what is recorded is the table's change."""
    history, loads = case
    columns, _ = printed(loads[0][1])
    recorded = RowSum()
    files: set[str] = set()
    for at, source, expected in loads:
        staged = load(table, history, columns, printed(source)[1], at=instant(at))
        assert table.rows() == ordered(printed(expected)[1])
        closed = closed_files(table)
        assert files <= closed
        files = closed
        recorded += total(staged.sums[0].values())
    assert files or table.iceberg is None
    assert recorded.rows == len(table.rows())
    at, source, _ = loads[-1]
    again = load(table, history, columns, printed(source)[1], at=instant(at))
    assert [each.name for each in again.columns] == [*columns, "valid_from", "valid_to"]
    assert again.sums == ({days(0): RowSum()},)
    assert closed_files(table) == files


@SPARK_IN_FULL_FORM
@pytest.mark.parametrize("closes", [False, True])
def test_after_an_empty_first_load_a_row_is_valid_from_its_own_time(
    table: World, closes: bool
) -> None:
    columns = ("id", "updated_at")
    history = replace(TIME, closes_missing=closes)
    load(table, history, columns, [], [(1, day(2))], at=day(3))
    assert table.rows() == [(1, day(2), day(2), None)]
    load(table, history, columns, [(1, day(2)), (2, None)], at=day(4))
    assert table.rows() == [(1, day(2), day(2), None), (2, None, day(4), None)]


@pytest.mark.parametrize("metrics", ["default", pytest.param("none", marks=pytest.mark.full)])
def test_it_is_known_whether_a_history_ends(table: World, metrics: str) -> None:
    """By the metadata of its files, or by its rows where that says nothing."""
    columns = ("id", "updated_at")
    first = load(table, TIME, columns, [(1, day(2)), (2, day(2))], at=day(3))
    if metrics == "none" and table.iceberg is not None:
        with table._table().transaction() as change:
            change.set_properties({"write.metadata.metrics.default": "none"})
    fewer = load(table, TIME, columns, [(2, day(2))], at=day(4))
    ended = load(table, TIME, columns, [], at=day(5))
    after = load(table, TIME, columns, [], at=day(6))
    again = load(table, TIME, columns, [(3, day(6))], at=day(7))
    found = [each.ends_history for each in (first, fewer, ended, after, again)]
    assert found == [False, False, True, False, False]
    kept = replace(TIME, closes_missing=False)
    assert not load(table, kept, columns, [], at=day(8)).ends_history


@SPARK_IN_FULL_FORM
def test_snapshots_of_days_one_after_the_other_give_the_printed_table(table: World) -> None:
    history = replace(TIME, updated_at="ds", compared=("some_value",), closes_missing=False)
    columns, rows = printed(SNAPSHOTS)
    days_of_rows = ([row] for row in rows)
    staged = load(table, history, columns, *days_of_rows, at=datetime(2025, 6, 1, tzinfo=UTC))
    assert table.rows() == ordered(printed(OF_SNAPSHOTS)[1])
    assert [sums[days(number)].rows for number, sums in enumerate(staged.sums)] == [1, 1, 1, 0]


@SPARK_IN_FULL_FORM
def test_any_history_is_the_one_that_is_kept_by_hand(table: World) -> None:
    """Composite keys with NULL, out of order, gone and back, without times; an empty load, too."""
    columns = ("some_value", "id", "name", "updated_at")
    rules = Rules(
        key=("some_value", "id"),
        updated_at="updated_at",
        compared=None,
        from_epoch=True,
        closes_missing=True,
    )
    history = replace(TIME, key=("some_value", "id"))
    chance = random.Random("by hand")
    records: list[Record] = []
    sources = [some_rows(chance), some_rows(chance), [], some_rows(chance), some_rows(chance)]
    load(table, history, columns, *sources[:2], at=day(3))
    for number, source in enumerate(sources):
        at = day(3) if number < 2 else day(1) + timedelta(hours=30 * number)
        if number >= 2:
            load(table, history, columns, source, at=at)
        values = [dict(zip(columns, row, strict=True)) for row in source]
        records = look(records, values, at, rules, is_first=number == 0)
    expected: list[Row] = [
        (*(each.values[name] for name in columns), each.valid_from, each.valid_to)
        for each in records
    ]
    assert table.rows() == ordered(expected)


def some_rows(chance: random.Random) -> list[Row]:
    names, times = [None, "a", "b"], [None, *map(day, range(1, 6))]
    return [
        (number, key, chance.choice(names), chance.choice(times))
        for number in range(25)
        for key in chance.sample([None, 1, 2], chance.randint(0, 3))
    ]


def test_columns_whose_values_spark_does_not_compare_are_reported(on_spark: Worlds) -> None:
    def stage(compared: str, rows: RowSource) -> None:
        table = on_spark.table({})
        write = look_at(replace(COLUMN, compared=(compared,)), 0, day(1), is_first=True)
        table.engine.stage(table.staging(table.part(rows, write)))

    maps = "SELECT 1 AS id, MAP('a', 1) AS tags, ARRAY(NAMED_STRUCT('x', MAP(1, 2))) AS deep"
    with pytest.raises(EvaluationFailed, match=r"values of tags \(map<string,int>\), deep \(arr"):
        stage("*", SqlRows(sql=maps))
    stage("name", SqlRows(sql=f"{maps}, 'a' AS name"))


@SPARK_IN_FULL_FORM
def test_a_history_that_is_restated_begins_again(table: World) -> None:
    columns = ("id", "name", "price")
    load(table, COLUMN, columns, [(1, "a", Decimal(1))], [(1, "b", Decimal(1))], at=day(1))
    staged = load(table, COLUMN, columns, [(1, "c", Decimal(1))], at=day(2), rebuilds=True)
    assert table.rows() == [(1, "c", Decimal(1), EPOCH, None)]
    assert staged.sums[0][days(0)].rows == 1


@pytest.mark.full
def test_rows_that_share_a_key_are_an_error_that_names_some(table: World) -> None:
    columns = ("id", "name", "price")
    first = [(1, "a", Decimal(1)), (2, "b", Decimal(2))]
    load(table, COLUMN, columns, first, at=day(1))
    copies = [(number, "x", Decimal(9)) for number in [*range(10, 17), None] for _ in range(2)]
    with pytest.raises(EvaluationFailed) as caught:
        load(table, COLUMN, columns, [*first, *copies], at=day(2))
    named = "(10), (11), (12), (13), (14) and others. A key"
    assert f"rows share the key (id) = {named}" in str(caught.value)
    # Where nothing else changes, two rows that are there already are as wrong.
    with pytest.raises(EvaluationFailed, match=r"share the key \(id\) = \(1\)\. A key"):
        load(table, COLUMN, columns, [*first, first[0]], at=day(2))
    assert len(table.rows()) == len(first)


@SPARK_IN_FULL_FORM  # test_sums_from_storage.py
@pytest.mark.parametrize(
    "time_type", ["timestamp_ntz", pytest.param("date", marks=pytest.mark.full)]
)
def test_validity_has_the_names_and_types_that_were_asked_for_behind_own_partitions(
    worlds: Worlds, time_type: str
) -> None:
    history = replace(
        TIME,
        key=("lower(`Name`)",),
        valid_from=Column(name="began", type=time_type),
        valid_to=Column(name="ended", type=time_type),
    )
    table = worlds.table({}, field("id", "bucket", 2), field("ended", "years"))
    columns = ("id", "name", "updated_at")
    own_columns = [Column(name=name, type=TYPES[name]) for name in columns]
    loads: list[list[Row]] = [
        [(1, "a", day(1)), (2, "b", day(1))],
        [(1, "A", day(2, 5)), (2, "b", day(1))],
        [(1, "A", day(2, 5))],
    ]
    # A header declares columns with or without those that are added, or only these.
    declared = (Column(name="id", type="bigint"), *own_columns[1:])
    headers = [declared, (*declared, history.valid_from, history.valid_to), (history.valid_to,)]
    *_, staged = [
        load(table, history, columns, source, at=day(number, 11), declared=header)
        for number, (source, header) in enumerate(zip(loads, headers, strict=True), start=1)
    ]

    def shown(at: datetime) -> object:
        return at.date() if time_type == "date" else at.replace(tzinfo=None)

    assert table.rows() == ordered(
        [
            (1, "a", day(1), shown(EPOCH), shown(day(2, 5))),
            (1, "A", day(2, 5), shown(day(2, 5)), None),
            (2, "b", day(1), shown(EPOCH), shown(day(3, 11))),
        ]
    )
    assert [(each.name, each.type) for each in staged.columns] == [
        ("id", "bigint"),
        ("name", "string"),
        ("updated_at", "timestamp"),
        ("began", time_type),
        ("ended", time_type),
    ]
