"""What readers of views see while the columns of a kept table change (rule R11)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.app.memory_world import bound, build, plan
from tests.lakehouse.conftest import Lake
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.core.names import ModelName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCE = {"rows": {"id": "int", "at": "timestamp", "price": "decimal(5,2)", "big": "bigint"}}
BEFORE = """MODEL (name {s}.kept, description 'before', start '2024-01-01', kind
  INCREMENTAL_BY_TIME_RANGE (time_column at, forward_only true),
  columns (id int, at timestamp, price decimal(5,2)), column_descriptions (id = 'a key'));
SELECT id, at, price FROM {s}.rows WHERE at BETWEEN @start_dt AND @end_dt"""
AFTER = """MODEL (name {s}.kept, description 'after', start '2024-01-01',
  on_destructive_change allow, kind
  INCREMENTAL_BY_TIME_RANGE (time_column at, forward_only true),
  columns (id bigint, at timestamp, fresh string), column_descriptions (id = 'wider'));
SELECT big AS id, at, 'new' AS fresh FROM {s}.rows WHERE at BETWEEN @start_dt AND @end_dt"""


def prepared(lake: Lake) -> None:
    prices = [Decimal(each) for each in ("1.5", "2.5", "3.5")]
    lake.source(
        "rows",
        id=pa.array([1, 2, 3], pa.int32()),
        at=pa.array([datetime(2024, 1, day, 5, tzinfo=UTC) for day in (1, 2, 3)]),
        price=pa.array(prices, pa.decimal128(2, 1)),
        big=pa.array([5_000_000_000, 6_000_000_000, 7_000_000_000]),
    )


@dataclass
class ReadAroundChanges:
    """The catalog of a lake; somebody reads a view before and after each change."""

    lake: Lake
    reader: SparkSession
    shown: str
    selected: str = "id"
    seen: list[object] = field(default_factory=list)

    def __getattr__(self, name: str) -> object:
        return getattr(self.lake.catalog, name)

    def swap_views(self, *given: object, **more: object) -> None:
        self.look()
        self.lake.catalog.swap_views(*given, **more)  # type: ignore[arg-type]
        self.look()

    def evolve(self, *given: object) -> None:
        self.look()
        self.lake.catalog.evolve(*given)  # type: ignore[arg-type]
        self.look()

    def look(self) -> None:
        rows = self.reader.sql(f"SELECT {self.selected} FROM {self.shown}").collect()
        self.seen.append(sorted(tuple(each) for each in rows))


@pytest.mark.full
def test_a_reader_sees_the_old_rows_or_the_new_ones_while_columns_change(lake: Lake) -> None:
    prepared(lake)
    build(lake.services(), lake.graph(SOURCE, kept=BEFORE))
    key = bound(lake.services()).key(ModelName(lake.schema, "kept"))
    ledger = lake.state.ledger([key])[key]
    view, reader = f"lake.{lake.schema}.kept", lake.spark.newSession()
    assert sorted(reader.table(view).columns) == ["at", "id", "price"]

    watched = ReadAroundChanges(lake, reader, view)
    lake.clock.advance(timedelta(days=1))
    services = replace(lake.services(), catalog=watched)  # type: ignore[arg-type]
    made = plan(services, lake.graph(SOURCE, kept=AFTER))
    (change,) = (each for each in made.changes if each.name == key.model)
    assert change.version == key.version
    done = apply_plan(services, made, lambda _: None)
    assert [each.rows for each in done] == [1]  # the third day alone
    old, new = [(1,), (2,)], [(1,), (2,), (7_000_000_000,)]
    assert len(watched.seen) >= 4
    assert all(each in (old, new) for each in watched.seen)
    assert reader.table(view).columns == ["id", "at", "fresh"]
    assert lake.rows(f"SELECT id, fresh FROM {lake.schema}.kept ORDER BY id") == [
        (1, None),
        (2, None),
        (7_000_000_000, "new"),
    ]
    assert lake.rows(f"SELECT id, CAST(price AS STRING) FROM {key.table} ORDER BY id") == [
        (1, "1.50"),
        (2, "2.50"),
        (7_000_000_000, None),
    ]
    # What was known of the old days stays: their columns then, and their digests.
    after = lake.state.ledger([key])[key]
    assert after[: len(ledger)] == ledger
    assert [each.name for each in after[-1].columns] == ["id", "at", "price", "fresh"]
    comments = {f["col_name"]: f["comment"] for f in lake.spark.sql(f"DESCRIBE {view}").collect()}
    assert comments["id"] == "wider"
    table = lake.table(key.table)
    assert table.properties["comment"] == "after"
    assert table.schema().find_field("id").doc == "wider"


@pytest.mark.full
def test_a_column_whose_type_is_only_known_to_spark_is_shown_at_once(lake: Lake) -> None:
    prepared(lake)
    before = BEFORE.replace("columns (id int, at timestamp, price decimal(5,2)), ", "")
    build(lake.services(), lake.graph(SOURCE, kept=before))
    fresh = before.replace("id, at, price", "id, at, price, price * 2 AS twice")
    build(lake.services(), lake.graph(SOURCE, kept=fresh))
    view = f"{lake.schema}.kept"
    assert lake.rows(f"SELECT id, twice FROM {view} ORDER BY id") == [(1, None), (2, None)]
    spark_has = lake.spark.sql(f"SELECT price * 2 AS twice FROM lake.{lake.schema}.rows").schema
    key = bound(lake.services()).key(ModelName(lake.schema, "kept"))
    types = {each.name: each.type for each in lake.catalog.table(key.table).columns}  # type: ignore[union-attr]
    assert types["twice"] == spark_has["twice"].dataType.simpleString()


@pytest.mark.full
def test_a_view_is_replaced_only_if_it_would_be_another_one(lake: Lake) -> None:
    prepared(lake)
    over = "MODEL (name {s}.over, kind VIEW (materialized true), description 'd'); SELECT id FROM {s}.kept"  # fmt: skip  # noqa: E501
    graph = lake.graph(SOURCE, kept=BEFORE, over=over)
    build(lake.services(), graph)
    key = bound(lake.services()).key(ModelName(lake.schema, "over"))

    def made() -> str:
        from sqlalchemy import text

        database = lake.iceberg.engine  # type: ignore[attr-defined]
        wanted = "SELECT metadata_location FROM iceberg_tables WHERE table_name = :name"
        with database.connect() as connection:
            return str(connection.execute(text(wanted), {"name": key.table.name}).scalar_one())

    first = made()
    assert build(lake.services(), graph) == ()
    assert made() == first
    lake.spark.sql(f"DROP VIEW lake.{key.table}")
    (again,) = build(lake.services(), graph)
    assert again.key == key
    assert made() != first
    assert lake.rows(f"SELECT id FROM {lake.schema}.over ORDER BY id") == [(1,), (2,)]
