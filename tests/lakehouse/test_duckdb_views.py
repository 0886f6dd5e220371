"""Queries through views and over tables with deleted rows, answered without Spark and by it."""

from __future__ import annotations

import pytest

from tests.lakehouse.conftest import Lake
from vde_dagster.app.inspect.local_answers import LocalAnswer, answer_locally
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.duckdb.translating import LeftToSpark
from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckDbQueries
from vde_dagster.ports.catalog import ViewDefinition


@pytest.fixture
def sales(lake: Lake) -> TableName:
    """A table that a writer of Spark's made."""
    name = TableName(lake.schema, "sales")
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{lake.schema}")
    lake.spark.sql(
        f"CREATE TABLE lake.{name} (id BIGINT, shop STRING, price DECIMAL(10, 2)) USING iceberg "
        "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"
    )
    lake.spark.sql(
        f"INSERT INTO lake.{name} SELECT /*+ COALESCE(1) */ * FROM VALUES "
        "(1, 'a', 1.50BD), (2, 'b', 2.25BD), (3, 'a', 4.00BD)"
    )
    return name


def answer(lake: Lake, sql: str, views: dict[ModelName, TableName]) -> LocalAnswer | LeftToSpark:
    services = lake.services()
    return answer_locally(
        services,
        DuckDbQueries(),
        sql,
        catalog="lake",
        views=views,
        limit=100,
        whole=services.catalog.views(views.values()),
    )


@pytest.mark.full
def test_the_query_of_a_view_is_read_from_the_catalog(lake: Lake, sales: TableName) -> None:
    totals = TableName(lake.schema, "totals")
    view = (
        f"WITH s AS (SELECT * FROM {sales}) SELECT Shop, SUM(price) AS total FROM s GROUP BY shop"
    )
    columns = lake.engine.create_view(totals, view)
    again = TableName(lake.schema, "again")
    of_view = lake.engine.create_view(again, f"SELECT shop, total FROM {totals} WHERE total > 2")
    shown = ViewDefinition(name=TableName("shown", "again"), target=again, columns=of_view)
    lake.catalog.swap_views([shown], [])
    model = ModelName("mart", "again")
    found = answer(lake, "SELECT * FROM mart.again ORDER BY shop", {model: shown.name})
    assert isinstance(found, LocalAnswer), found
    theirs = lake.engine.fetch(f"SELECT * FROM {shown.name} ORDER BY shop", limit=10)
    assert (found.columns, [*found.rows]) == (theirs[0], [tuple(each) for each in theirs[1]])
    assert [each.name for each in columns] == ["Shop", "total"]


def test_a_view_whose_query_is_spark_s_alone_is_left_to_spark(lake: Lake, sales: TableName) -> None:
    name = TableName(lake.schema, "sounds")
    columns = lake.engine.create_view(name, f"SELECT soundex(shop) AS s FROM {sales}")
    shown = ViewDefinition(name=TableName("shown", "sounds"), target=name, columns=columns)
    lake.catalog.swap_views([shown], [])
    found = answer(lake, "SELECT s FROM mart.sounds", {ModelName("mart", "sounds"): shown.name})
    assert isinstance(found, LeftToSpark)
    assert "soundex" in found.reason


@pytest.mark.full
def test_rows_that_are_deleted_by_position_are_left_out(lake: Lake, sales: TableName) -> None:
    lake.spark.sql(f"DELETE FROM lake.{sales} WHERE id = 2")
    state = lake.catalog.table(sales)
    assert state is not None
    table = lake.iceberg.load_table(str(sales))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary["total-position-deletes"] == "1"
    found = answer(lake, f"SELECT id FROM {sales} ORDER BY id", {})
    assert isinstance(found, LocalAnswer), found
    assert [*found.rows] == [(1,), (3,)]


@pytest.mark.full
def test_deletion_vectors_are_left_to_spark(lake: Lake, sales: TableName) -> None:
    lake.spark.sql(f"ALTER TABLE lake.{sales} SET TBLPROPERTIES ('format-version' = '3')")
    lake.spark.sql(f"DELETE FROM lake.{sales} WHERE id = 2")
    found = answer(lake, f"SELECT id FROM {sales}", {})
    assert isinstance(found, LeftToSpark)
