"""What Spark says it is doing, while it does it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from vde_dagster.lakehouse.spark_engine import SparkEngine
from vde_dagster.lakehouse.spark_progress import progress_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import SparkLake

pytestmark = pytest.mark.spark

SLOW = """SELECT COUNT(slept) FROM (
  SELECT java_method('java.lang.Thread', 'sleep', 100L) AS slept FROM RANGE(0, 16, 1, 16)
)"""


def test_the_tasks_of_a_running_query_are_counted_and_nothing_is_started_to_ask(
    spark: SparkSession, spark_lake: SparkLake
) -> None:
    def metadata() -> object:
        raise NotImplementedError("no metadata is needed")

    engine = SparkEngine(lambda: spark, spark_lake.catalog, metadata)  # type: ignore[arg-type]
    assert engine.progress() is None
    query = threading.Thread(target=lambda: engine.fetch(SLOW, limit=1))
    query.start()
    seen = []
    while query.is_alive():
        found = engine.progress()
        seen += [each for each in found.stages if each.tasks == 16] if found is not None else []
    query.join()
    assert seen
    assert all(0 <= each.done <= 16 and each.failed == 0 for each in seen)
    idle = engine.progress()
    assert idle is not None
    assert idle.address == (spark.sparkContext.uiWebUrl or "")


def test_a_session_of_spark_connect_says_nothing() -> None:
    class Remote:
        """A session without a context."""

    assert progress_of(Remote()) is None
