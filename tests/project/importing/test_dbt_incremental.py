"""Which kind an incremental model of dbt becomes, by its two forms."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp, parse_one

from vde_dagster.project.importing.dbt_incremental import (
    Loading,
    Strategy,
    loading,
    with_intervals,
)
from vde_dagster.project.importing.spark_sql import spark_tree

FULL = "select id, ts from src"
SELF = "(select max(ts) from m.t)"
TYPES = {"ts": "TIMESTAMP", "day": "DATE", "id": "INTEGER", "name": "VARCHAR"}
BARE = Strategy(own="m.t", dialect="duckdb", types=TYPES)
KEYED = replace(BARE, keys=("id",), name="merge")
BY_MONTH = replace(BARE, name="insert_overwrite", partitions=("day",))


def tree(text: str) -> exp.Expr:
    return parse_one(text, dialect="duckdb")


def loaded(full: str, incremental: str, strategy: Strategy) -> Loading:
    return loading(tree(full), tree(incremental), strategy)


def where(found: Loading) -> str:
    text = " ".join(spark_tree(found.query, "duckdb").spark.split())
    return text.partition(" WHERE ")[2]


@pytest.mark.parametrize(
    "condition, lookback",
    [
        (f"ts > {SELF}", None),
        (f"ts >= {SELF}", None),
        (f"{SELF} < ts", None),
        ("ts > (select coalesce(max(ts), '1900-01-01'::timestamp) from m.t)", None),
        ("ts > (select max(t.ts) - interval '3 days' from m.t as t)", "3"),
        ("ts > (select max(ts) from m.t) - interval 36 hour", "2"),
        ("ts > date_add((select max(ts) from m.t), interval '-1' week)", "7"),
    ],
)
def test_a_filter_by_the_newest_row_is_an_interval(condition: str, lookback: str | None) -> None:
    found = loaded(FULL, f"{FULL} where {condition}", BARE)
    assert found.kind == "INCREMENTAL_BY_TIME_RANGE"
    assert found.options.get("lookback") == lookback
    assert found.options["time_column"] == "ts"
    assert where(found) == "ts BETWEEN @start_ts AND @end_ts"


@pytest.mark.parametrize(
    "condition",
    [
        "id not in (select id from m.t)",
        "id > (select max(id) from m.t)",  # a number is no time
        "name > (select max(name) from m.t)",
        "ts > current_timestamp - interval 1 month",
        "ts > (select max(ts) from other.t)",
        "ts > (select max(ts) from m.t where id > 3)",
        "ts > (select max(ts) + interval 1 day from m.t)",
        f"ts > {SELF} or id = 3",
        f"not (ts > {SELF})",
        f"ts > {SELF} and id > 3",
        f"ts > {SELF} and ts < (select max(ts) from m.t)",
        f"ts + other > {SELF}",
    ],
)
def test_what_is_no_filter_by_time_is_left_to_a_person(condition: str) -> None:
    for strategy in (BARE, KEYED):
        found = loaded(FULL, f"{FULL} where {condition}", strategy)
        assert not found.is_understood
        assert found.kind == "FULL"
        assert found.query == tree(FULL)


def test_a_form_with_another_column_is_left_to_a_person() -> None:
    found = loaded(FULL, f"select id + 1 as id, ts from src where ts > {SELF}", BARE)
    assert not found.is_understood


def test_conditions_around_the_filter_stay() -> None:
    full = "select id, ts from src where id > 0 and ok"
    found = loaded(full, f"select id, ts from src where id > 0 and (ts > {SELF}) and ok", BARE)
    assert where(found) == "id > 0 AND ( ts BETWEEN @start_ts AND @end_ts ) AND ok"


def test_a_filter_in_a_cte_is_found() -> None:
    full = "with a as (select * from src) select id, ts from a"
    found = loaded(full, full.replace("src)", f"src where ts > {SELF})"), BARE)
    assert found.kind == "INCREMENTAL_BY_TIME_RANGE"


def test_dates_are_compared_with_dates() -> None:
    full = "select id, day from src"
    newest = "(select max(day) from m.t)"
    found = loaded(full, f"{full} where ts::date >= {newest}::date - 2", KEYED)
    assert where(found) == "CAST(ts AS DATE) BETWEEN @start_date AND @end_date"
    assert found.options == {"unique_key": "id", "lookback": "2"}


def test_a_type_that_is_not_known_is_seen_by_what_it_is_compared_with() -> None:
    unknown = replace(BARE, types={})
    cast = "ts > (select coalesce(max(ts), '1900-01-01'::timestamp) from m.t)"
    assert loaded(FULL, f"{FULL} where {cast}", unknown).is_understood
    moved = "ts > (select max(ts) - interval 1 day from m.t)"
    assert loaded(FULL, f"{FULL} where {moved}", unknown).is_understood
    assert not loaded(FULL, f"{FULL} where ts > {SELF}", unknown).is_understood
    odd = replace(BARE, types={"ts": "OF ITS (OWN"})
    assert not loaded(FULL, f"{FULL} where ts > {SELF}", odd).is_understood


def test_a_time_of_aggregates_is_no_time_column() -> None:
    full = "select id, max(ts) as ts from src group by id"
    ranged = f"select id, max(ts) as ts from src where ts > {SELF} group by id"
    assert loaded(full, ranged, BARE).kind == "INCREMENTAL_UNMANAGED"
    assert loaded(full, ranged, KEYED).kind == "INCREMENTAL_BY_UNIQUE_KEY"
    again = ranged.replace("max(ts) from", "max(ts) - interval 1 day from")
    assert not loaded(full, again, BARE).is_understood  # rows would be added twice


def test_what_is_the_same_each_time_goes_by_its_strategy() -> None:
    assert loaded(FULL, FULL, BARE).kind == "INCREMENTAL_UNMANAGED"
    assert loaded(FULL, FULL, replace(KEYED, name="append")).kind == "INCREMENTAL_UNMANAGED"
    assert loaded(FULL, FULL, KEYED).options == {"unique_key": "id"}
    assert loaded(FULL, FULL, BY_MONTH).kind == "INCREMENTAL_BY_PARTITION"
    assert loaded(FULL, FULL, replace(BY_MONTH, partitions=())).kind == "FULL"


def test_whole_partitions_are_replaced_by_their_own_column_alone() -> None:
    full = "select id, day from src"
    ranged = f"{full} where day >= (select max(day) from m.t)"
    found = loaded(full, ranged, BY_MONTH)
    assert found.kind == "INCREMENTAL_BY_PARTITION"
    assert where(found) == "day BETWEEN @start_date AND @end_date"
    assert not loaded(full, ranged, replace(BY_MONTH, partitions=("id",))).is_understood


def test_without_the_second_form_nothing_is_decided() -> None:
    found = loading(tree(FULL), None, BARE)
    assert (found.kind, found.is_understood) == ("FULL", False)


def test_parents_of_a_microbatch_are_read_in_the_interval() -> None:
    query = tree("select * from m.a as x join m.b on x.id = b.id join m.c using (id)")
    found = with_intervals(query, {"m.a": ("ts", False), "m.b": ("day", True)})
    text = " ".join(spark_tree(found, "duckdb").spark.split())
    assert "( SELECT * FROM m.a WHERE ts BETWEEN @start_ts AND @end_ts ) AS x" in text
    assert "( SELECT * FROM m.b WHERE day BETWEEN @start_date AND @end_date ) AS b" in text
    assert "JOIN m.c USING" in text
