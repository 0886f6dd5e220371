"""A source whose columns change without a write: models have what plain Spark reads of it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyiceberg.types import IntegerType, LongType
from pyspark.errors import AnalysisException

from tests.app.memory_world import build
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import Wanted, plan_run
from vde_dagster.core.ledger.unit_of_work import AddedBetween, AsOf
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.staging.table_rows import input_frame, input_sql

if TYPE_CHECKING:
    from pyiceberg.table.update.schema import UpdateSchema

    from tests.lakehouse.conftest import Lake

pytestmark = pytest.mark.spark

COLUMNS = {"id": "int", "day": "date", "amt": "decimal(10,2)", "k": "string"}
DAILY = """MODEL (name {s}.daily, start '2024-01-01', cron '@daily', kind
  INCREMENTAL_BY_TIME_RANGE (time_column day));
SELECT day, id, amt, k AS key FROM {s}.ev WHERE day BETWEEN @start_ds AND @end_ds"""
WHOLE = """MODEL (name {s}.whole, kind FULL, start '2024-01-01');
SELECT day, id, amt, k AS key FROM {s}.ev"""
ROWS = [
    {"id": 1, "day": date(2024, 1, 1), "amt": Decimal("1.50"), "k": "a"},
    {"id": 2, "day": date(2024, 1, 2), "amt": Decimal("2.50"), "k": "b"},
]
SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("day", pa.date32()),
        ("amt", pa.decimal128(10, 2)),
        ("k", pa.string()),
    ]
)


def by_name(lake: Lake) -> TableName:
    return TableName(lake.schema, "ev")


def create(lake: Lake) -> None:
    table = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    lake.source("ev", **{name: table[name] for name in table.column_names})


def changing(lake: Lake) -> UpdateSchema:
    return lake.table(by_name(lake)).update_schema(allow_incompatible_changes=True)


def append(lake: Lake, row: dict[str, object]) -> None:
    table = lake.table(by_name(lake))
    table.append(pa.Table.from_pylist([row], schema=table.schema().as_arrow()))


def add_again(lake: Lake, name: str) -> None:
    """Drop a column, and add another one of its name and type."""
    of = lake.table(by_name(lake)).schema().find_field(name).field_type
    with changing(lake) as update:
        update.delete_column(name)
    with changing(lake) as update:
        update.add_column(name, of)


def run(lake: Lake) -> set[str]:
    """What `vde run` computes; the names of the models."""
    done = apply_plan(lake.services(), plan_run(lake.services(), "prod", Wanted.STALE), ignored)
    return {each.key.model.name for each in done if not each.reused}


def ignored(_: object) -> None:
    """Nobody listens."""


def shown(lake: Lake, model: str) -> list[tuple[object, ...]]:
    return lake.rows(f"SELECT day, id, amt, key FROM {lake.schema}.{model} ORDER BY id")


def of_source(lake: Lake, key: str = "k") -> list[tuple[object, ...]]:
    """What plain Spark reads."""
    return lake.rows(f"SELECT day, id, amt, {key} FROM {lake.schema}.ev ORDER BY id")


@pytest.mark.full
def test_a_column_that_was_dropped_and_added_again_makes_models_stale(lake: Lake) -> None:
    create(lake)
    build(lake.services(), lake.graph({"ev": COLUMNS}, daily=DAILY, whole=WHOLE))
    assert shown(lake, "daily") == of_source(lake)
    assert plan_run(lake.services(), "prod", Wanted.STALE).is_up_to_date

    add_again(lake, "amt")
    assert [amt for _, _, amt, _ in of_source(lake)] == [None, None]
    assert run(lake) == {"daily", "whole"}
    assert shown(lake, "daily") == shown(lake, "whole") == of_source(lake)
    assert plan_run(lake.services(), "prod", Wanted.STALE).is_up_to_date

    append(lake, {"id": 3, "day": date(2024, 1, 2), "amt": Decimal("3.50"), "k": "c"})
    assert run(lake) == {"daily", "whole"}
    assert shown(lake, "daily") == shown(lake, "whole") == of_source(lake)

    add_again(lake, "k")  # and rows are written before anybody looks
    append(lake, {"id": 4, "day": date(2024, 1, 1), "amt": Decimal("4.50"), "k": "d"})
    assert run(lake) == {"daily", "whole"}
    assert shown(lake, "daily") == shown(lake, "whole") == of_source(lake)
    assert [key for *_, key in of_source(lake)] == [None, None, None, "d"]


def test_fields_inside_are_read_by_what_they_are(lake: Lake) -> None:
    lake.spark.sql(f"CREATE NAMESPACE lake.{lake.schema}")
    lake.spark.sql(
        f"CREATE TABLE lake.{lake.schema}.ev (s struct<`a b`: int, c: int>, "
        "l array<struct<x: int, y: int>>, m map<string, struct<x: int, y: int>>, n struct<q: int>) "
        "USING iceberg"
    )
    lake.spark.sql(
        f"INSERT INTO lake.{lake.schema}.ev SELECT struct(1, 2), array(struct(1, 2), null), "
        "map('k', struct(1, 2)), struct(1) UNION ALL SELECT null, null, null, null"
    )
    table = lake.table(by_name(lake))
    first = table.metadata.current_snapshot_id
    with changing(lake) as update:
        update.delete_column("s.c")
        update.delete_column("l.element.y").update_column("l.element.x", LongType())
        update.rename_column("m.value.x", "w")
    with changing(lake) as update:
        update.add_column(("s", "c"), IntegerType())
        update.add_column(("m", "value", "z"), IntegerType())
        update.move_first("n")
    state = lake.catalog.table(by_name(lake))
    assert state is not None
    pinned = AsOf(table=state.name, iceberg_snapshot_id=first, columns=state.schemas.columns(first))
    found = input_frame(lake.spark, "lake", pinned)
    now = lake.spark.table(f"lake.{lake.schema}.ev")
    assert found.schema.simpleString() == now.schema.simpleString()
    in_order = [
        [each.asDict(recursive=True) for each in of.orderBy("n").collect()] for of in (found, now)
    ]
    assert in_order[0] == in_order[1]
    assert in_order[1][1]["s"] == {"a b": 1, "c": None}
    assert state.schemas.replaced(first)


@pytest.mark.full
def test_rows_of_new_files_have_the_present_columns(lake: Lake) -> None:
    create(lake)
    first = lake.table(by_name(lake)).metadata.current_snapshot_id
    append(lake, ROWS[1] | {"id": 3})
    last = lake.table(by_name(lake)).metadata.current_snapshot_id
    add_again(lake, "amt")
    assert first is not None
    assert last is not None
    added = AddedBetween(table=by_name(lake), after=first, until=last)
    rows = input_frame(lake.spark, "lake", added).select("id", "amt").collect()
    assert [tuple(each) for each in rows] == [(3, None)]


@pytest.mark.parametrize("wanted", [AsOf, AddedBetween])
@pytest.mark.parametrize("column", ["_file", "_pos"])
def test_what_a_compaction_changes_is_no_column_of_an_input(
    lake: Lake, wanted: type[AsOf] | type[AddedBetween], column: str
) -> None:
    """A model that read it would be up to date with rows that its query has no more."""
    create(lake)
    table = by_name(lake)
    first = lake.table(table).current_snapshot()
    append(lake, ROWS[0])
    last = lake.table(table).current_snapshot()
    assert first is not None
    assert last is not None
    read: AsOf | AddedBetween = AsOf(table=table, iceberg_snapshot_id=last.snapshot_id)
    if wanted is AddedBetween:
        read = AddedBetween(table=table, after=first.snapshot_id, until=last.snapshot_id)
    assert input_frame(lake.spark, "lake", read).where("id = 1").count() > 0
    with pytest.raises(AnalysisException, match=column):
        lake.spark.sql(f"SELECT {column} FROM {input_sql('lake', read)} AS ev")
