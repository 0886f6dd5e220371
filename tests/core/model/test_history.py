"""What becomes of a history: one statement, run here on DuckDB (seed 001, *SCD Type 2*)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import pytest
from sqlglot import exp

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
from tests.core.model.kept_history import (
    CLOSING_COLUMN,
    COLUMN,
    EPOCH,
    OPEN,
    OPEN_COLUMN,
    TIME,
    Kept,
    database,
    day,
    ordered,
)
from vde_dagster.core.columns import Column
from vde_dagster.core.model.history import (
    History,
    Sides,
    duplicate_keys,
    open_rows,
    shared_key,
    written_rows,
)

# The tables of the seed, row for row


@pytest.mark.parametrize("history,loads", [(TIME, BY_TIME), (COLUMN, BY_COLUMN)])
def test_the_loads_of_the_menu_give_the_printed_tables(history: History, loads: list[Load]) -> None:
    columns, _ = printed(loads[0][1])
    kept = Kept(history, columns)
    for at, source, expected in loads:
        kept.look(printed(source)[1], instant(at))
        assert ordered(kept.rows) == ordered(printed(expected)[1])


def test_a_row_that_comes_back_with_its_old_time_leaves_no_gap() -> None:
    """The seed's closing remark on the cheeseburger."""
    kept = Kept(TIME, printed(BY_TIME[0][1])[0])
    for at, source, _ in BY_TIME[:2]:
        kept.look(printed(source)[1], instant(at))
    returned = (2, "Cheeseburger", Decimal("8.99"), day(1))
    kept.look([*printed(BY_TIME[1][1])[1], returned], day(3, 11))
    assert [row[-2:] for row in kept.rows if row[0] == 2] == [
        (EPOCH, day(2, 11)),
        (day(2, 11), None),
    ]


def test_each_time_has_one_row_of_a_key_or_none() -> None:
    """The seed's queries: what is current, what was valid at a time, what was deleted."""
    kept = Kept(TIME, printed(BY_TIME[0][1])[0])
    for at, source, _ in BY_TIME:
        kept.look(printed(source)[1], instant(at))
    kept.look(printed(BY_TIME[2][1])[1][:3], day(4, 11))  # no milkshake any more
    kept.register("history", kept.rows, validity=True)

    def found(condition: str) -> list[Row]:
        query = f"SELECT id, price FROM history WHERE {condition} ORDER BY id"
        return [(key, str(price)) for key, price in database().sql(query).fetchall()]

    def valid_at(at: str) -> list[Row]:
        return found(
            f"valid_from <= TIMESTAMPTZ '{at}+00' "
            f"AND TIMESTAMPTZ '{at}+00' < COALESCE(valid_to, TIMESTAMPTZ '2199-01-01 00:00:00+00')"
        )

    assert found("valid_to IS NULL") == [(1, "14.99"), (2, "8.99"), (3, "4.99")]
    assert valid_at("2020-01-01 23:59:59") == [(1, "10.99"), (2, "8.99"), (3, "4.99")]
    assert valid_at("2020-01-02 00:00:00") == [(1, "12.99"), (2, "8.99"), (3, "4.99"), (4, "3.99")]
    assert valid_at("2020-01-02 11:00:00") == [(1, "12.99"), (3, "4.99"), (4, "3.99")]
    assert valid_at("2020-01-04 11:00:00") == [(1, "14.99"), (2, "8.99"), (3, "4.99")]
    deleted = "SELECT id FROM history GROUP BY id HAVING count(*) = count(valid_to)"
    assert database().sql(deleted).fetchall() == [(4,)]


def test_snapshots_of_days_one_after_the_other_give_the_printed_table() -> None:
    history = replace(TIME, updated_at="ds", compared=("some_value",), closes_missing=False)
    columns, rows = printed(SNAPSHOTS)
    kept = Kept(history, columns)
    for row in rows:
        kept.look([row], datetime(2025, 6, 1, tzinfo=UTC))  # all of them in one run
    assert ordered(kept.rows) == ordered(printed(OF_SNAPSHOTS)[1])


# Keys


def test_a_key_may_have_several_columns_and_null_is_a_value_of_each() -> None:
    kept = Kept(replace(TIME, key=("id", "name")), ("id", "name", "updated_at"))
    keys: list[tuple[object, ...]] = [(1, "a"), (1, None), (None, "a"), (None, None), (2, "a")]
    kept.look([(*key, day(1)) for key in keys], day(1, 11))
    kept.look([(*key, day(2)) for key in keys[:4]], day(2, 11))
    assert ordered(kept.rows) == ordered(
        [
            *((*key, day(1), EPOCH, day(2)) for key in keys[:4]),
            *((*key, day(2), day(2), None) for key in keys[:4]),
            (2, "a", day(1), EPOCH, day(2, 11)),
        ]
    )


def test_a_key_may_be_an_expression() -> None:
    """Its column is no key itself, so a star compares it."""
    history = replace(COLUMN, key=("lower(name)",), compared=("*",), closes_missing=False)
    kept = Kept(history, ("name", "id"))
    kept.look([("a", 1), ("b", 1)], day(1))
    kept.look([("A", 1), ("b", 1)], day(2))
    assert ordered(kept.rows) == ordered(
        [("a", 1, EPOCH, day(2)), ("A", 1, day(2), None), ("b", 1, EPOCH, None)]
    )


def test_where_every_column_is_in_the_key_a_star_compares_none() -> None:
    kept = Kept(replace(COLUMN, compared=("*",)), ("id",))
    kept.look([(1,), (2,)], day(1)).look([(1,), (3,)], day(2))
    assert ordered(kept.rows) == ordered([(1, EPOCH, None), (2, EPOCH, day(2)), (3, day(2), None)])


@pytest.mark.parametrize(
    "source",
    [
        [(1, "a", day(1)), (1, "a", day(1))],
        [(1, "a", day(1)), (1, "b", day(2))],
        [(None, "a", day(1)), (None, "a", day(1))],
    ],
)
@pytest.mark.parametrize("history", [TIME, OPEN, OPEN_COLUMN])
@pytest.mark.parametrize("first", [True, False])
def test_two_rows_of_one_key_are_an_error(source: list[Row], history: History, first: bool) -> None:
    kept = Kept(history, ("id", "name", "updated_at"))
    if not first:
        kept.look(source[:1], day(1))  # so that one of the two changes nothing
    key = "NULL" if source[0][0] is None else "1"
    with pytest.raises(duckdb.Error, match=rf"rows share the key \(id\) = \({key}\)\. A key"):
        kept.look([*source, (99, "z", day(1))], day(2))


def test_some_keys_that_several_rows_have_can_be_named() -> None:
    history = replace(TIME, key=("id", "lower(name)"))
    kept = Kept(history, ("id", "name"))
    rows: list[Row] = [(number, "a") for number in range(6)]
    kept.register(
        "source", [*rows, (1, "A"), (2, "A"), (2, "A"), (None, None), (None, None)], validity=False
    )
    statement = duplicate_keys(history, "source", limit=9).sql("duckdb")
    found = database().sql(statement).fetchall()
    assert found == [("(1, a)", 2), ("(2, a)", 3), ("(NULL, NULL)", 2)]
    keys = [key for key, _ in found]
    assert shared_key(history, keys, limit=2).startswith(
        "rows share the key (id, lower(name)) = (1, a), (2, a) and others. A key has one row"
    )
    assert "(2, a), (NULL, NULL). A key" in shared_key(history, keys, limit=3)


# Columns


def test_what_a_closed_row_lacks_it_goes_on_lacking() -> None:
    """The new row has values where the closed one has none, and the other way round."""
    kept = Kept(TIME, ("id", "name", "price", "tags", "updated_at"))
    kept.look([(1, None, None, None, day(1)), (2, "b", Decimal(2), ["x"], day(1))], day(1, 11))
    kept.look([(1, "a", Decimal(1), ["y"], day(2)), (2, None, None, None, day(2))], day(2, 11))
    assert ordered(kept.rows) == ordered(
        [
            (1, None, None, None, day(1), EPOCH, day(2)),
            (1, "a", Decimal(1), ["y"], day(2), day(2), None),
            (2, "b", Decimal(2), ["x"], day(1), EPOCH, day(2)),
            (2, None, None, None, day(2), day(2), None),
        ]
    )


@pytest.mark.parametrize(
    "column,first,second,begins",
    [
        ("changed_on", date(2020, 1, 1), date(2020, 1, 2), day(2)),
        ("written_at", "2020-01-09 00:00:00", "2020-01-10 05:00:00", day(10, 5)),
        ("written_at", "2020-01-02T00:00:00Z", "2020-01-02T02:00:00+01:00", day(2, 1)),
    ],
)
def test_the_time_of_a_change_may_be_a_date_or_a_text(
    column: str, first: object, second: object, begins: datetime
) -> None:
    kept = Kept(replace(TIME, updated_at=column), ("id", column))
    kept.look([(1, first)], day(1)).look([(1, second)], day(2))
    assert ordered(kept.rows) == ordered([(1, first, EPOCH, begins), (1, second, begins, None)])


@pytest.mark.parametrize(
    "time_type,epoch,changed,gone",
    [
        ("timestamp", EPOCH, day(2, 5), day(3, 11)),
        ("timestamp_ntz", datetime(1970, 1, 1), datetime(2020, 1, 2, 5), datetime(2020, 1, 3, 11)),
        ("date", date(1970, 1, 1), date(2020, 1, 2), date(2020, 1, 3)),
    ],
)
def test_the_added_columns_have_the_names_and_types_that_were_asked_for(
    time_type: str, epoch: object, changed: object, gone: object
) -> None:
    history = replace(
        TIME,
        valid_from=Column(name="began", type=time_type),
        valid_to=Column(name="Ended On", type=time_type),
    )
    kept = Kept(history, ("id", "updated_at"))
    kept.look([(1, day(1)), (2, day(1))], day(1, 11))
    kept.look([(1, day(2, 5)), (2, day(1))], day(2, 11))
    kept.look([(1, day(2, 5))], day(3, 11))
    assert ordered(kept.rows) == ordered(
        [(1, day(1), epoch, changed), (1, day(2, 5), changed, None), (2, day(1), epoch, gone)]
    )
    assert open_rows(history).sql("spark") == "`Ended On` IS NULL"


def test_a_history_without_a_key_or_a_way_to_detect_changes_is_none() -> None:
    with pytest.raises(ValueError, match="has a key"):
        replace(TIME, key=())
    with pytest.raises(ValueError, match="by a time or by columns"):
        replace(TIME, updated_at=None)


@pytest.mark.parametrize(
    "history,first,reads",
    [
        (TIME, True, "so"),
        (TIME, False, "soc"),
        (OPEN, False, "so"),
        (replace(OPEN, once_closed_missing=True), False, "soc"),
        (CLOSING_COLUMN, False, "soc"),
    ],
)
def test_each_side_is_read_once_and_closed_rows_only_where_keys_may_come_back(
    history: History, first: bool, reads: str
) -> None:
    statement = written_rows(
        history,
        ("id", "name", "updated_at"),
        Sides(source="s", open="o", closed="c"),
        execution_time=day(1),
        is_first=first,
    )
    inputs = [each.name for each in statement.find_all(exp.Table) if not each.name.startswith("_")]
    assert sorted(inputs) == sorted(reads)


def test_a_star_does_not_compare_what_the_query_does_not_return_any_more() -> None:
    """A column that a table keeps has NULL in new rows; that is no change."""
    statement = written_rows(
        replace(COLUMN, compared=("*",)),
        ("id", "name", "dropped"),
        Sides(source="s", open="o", closed="c"),
        execution_time=day(2),
        is_first=False,
        returned=("id", "name"),
        fail="error",
    )
    for name, rows in {
        "s": "(1, 'a', NULL::TEXT), (2, 'b', NULL)",
        "o": "(1, 'a', 'x', DATE '2020-01-01', NULL::DATE), (2, 'a', 'y', DATE '2020-01-01', NULL)",
        "c": "(9, 'a', 'x', DATE '2020-01-01', DATE '2020-01-02')",
    }.items():
        columns = "id, name, dropped" + ("" if name == "s" else ", valid_from, valid_to")
        database().execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS FROM (VALUES {rows}) t({columns})"
        )
    found = database().sql(statement.sql("duckdb")).fetchall()
    assert ordered([row[:3] for row in found]) == ordered(
        [(1, "a", "x"), (2, "a", "y"), (2, "b", None)]
    )
