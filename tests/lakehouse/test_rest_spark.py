"""A project over REST on Spark: built, edited, promoted and rolled back; Spark reads its views.

The server answers with Iceberg's own library (`java_rest_server.py`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.app.memory_world import build
from tests.lakehouse.conftest import Lake
from tests.worlds.rest_server import serving
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.inspect.local_answers import read_as, whole_revision, whole_views
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.lakehouse.spark.spark_catalog import spark_catalog_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.full]

SOURCE = {"rows": {"id": "bigint", "at": "timestamp"}}
DAILY = """MODEL (name {s}.daily, start '2024-01-01', cron '@daily', kind
  INCREMENTAL_BY_TIME_RANGE (time_column at));
SELECT id * 2 AS id, at FROM {s}.rows WHERE at BETWEEN @start_dt AND @end_dt"""
EDITED = DAILY.replace("id * 2", "id * 3")
SHOWN = "MODEL (name {s}.shown, kind VIEW);\nSELECT id FROM {s}.daily WHERE id > 2"
TOTAL = "MODEL (name {s}.total, kind FULL, start '2024-01-01');\nSELECT SUM(id) AS n FROM {s}.shown"


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    from tests.lakehouse.java_rest_server import JavaRestServer, jvm_of
    from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog, open_iceberg_catalog
    from vde_dagster.lakehouse.staging.spark_engine import SparkEngine

    name = f"rest{uuid.uuid4().hex[:10]}"
    with serving(JavaRestServer(tmp_path, jvm_of(spark))) as server:
        for key, value in spark_catalog_conf(name, server.properties, {}).items():
            spark.conf.set(key, value)
        iceberg = open_iceberg_catalog(name, server.properties)
        yield Lake(
            spark=spark,
            iceberg=iceberg,
            catalog=IcebergCatalog(iceberg),
            engine=SparkEngine(lambda: spark, name, lambda: iceberg),
            schema=f"m{uuid.uuid4().hex[:10]}",
        )


def apply(lake: Lake, plan: Plan) -> None:
    apply_plan(lake.services(), plan, lambda _: None)


def shown(lake: Lake) -> list[object]:
    """What a reader of production's views sees."""
    s = lake.schema
    sql = f"SELECT id FROM {s}.shown UNION ALL SELECT n FROM {s}.total ORDER BY 1"
    return [row[0] for row in lake.rows(sql)]


def test_a_project_is_built_edited_promoted_and_rolled_back(lake: Lake) -> None:
    at = pa.array([datetime(2024, 1, day, 5, tzinfo=UTC) for day in (1, 2, 2)])
    lake.source("rows", id=pa.array([1, 2, 3], pa.int64()), at=at)
    services = lake.services()
    assert not services.catalog.swaps_at_once
    build(services, lake.graph(SOURCE, daily=DAILY, shown=SHOWN, total=TOTAL))
    assert shown(lake) == [4, 6, 10]
    build(services, lake.graph(SOURCE, daily=EDITED, shown=SHOWN, total=TOTAL), "dev")
    assert shown(lake) == [4, 6, 10], "production is as it was"
    apply(lake, plan_promotion(services, "dev", "prod"))
    assert shown(lake) == [3, 6, 9, 18]
    assert read_as_a_whole(lake) == [3, 6, 9, 18]
    apply(lake, plan_rollback(services, "prod"))
    assert shown(lake) == [4, 6, 10]
    plan = plan_promotion(services, "dev", "prod")
    apply(lake, plan)
    assert shown(lake) == [3, 6, 9, 18]


def read_as_a_whole(lake: Lake) -> list[object]:
    """What a reader sees that asks for the revision."""
    services, s = lake.services(), lake.schema
    revision = whole_revision(services, "prod")
    assert revision is not None
    found = whole_views(services, revision, revision.snapshots.keys())
    assert found is not None
    of = {each.name.name: read_as(services, each) for each in found.values()}
    assert {"shown", "total"} <= of.keys()
    assert all(ModelName(each.namespace, each.name).schema != s for each in of.values())
    sql = f"SELECT id FROM {of['shown']} UNION ALL SELECT n FROM {of['total']} ORDER BY 1"
    return [row[0] for row in lake.rows(sql)]
