"""What Spark says it is doing, while it does it."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.lakehouse.spark_engine import SparkEngine
from vde_dagster.lakehouse.spark_progress import progress_of
from vde_dagster.ports.engine import StageProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import SparkLake

pytestmark = pytest.mark.spark

SLOW = """SELECT COUNT(slept) FROM (
  SELECT java_method('java.lang.Thread', 'sleep', 1000L) AS slept FROM RANGE(0, 16, 1, 16)
)"""


@pytest.mark.full
def test_the_tasks_of_a_running_query_are_counted_and_nothing_is_started_to_ask(
    spark: SparkSession, spark_lake: SparkLake
) -> None:
    def metadata() -> object:
        raise NotImplementedError("no metadata is needed")

    engine = SparkEngine(lambda: spark, spark_lake.catalog, metadata)  # type: ignore[arg-type]
    assert engine.progress() is None

    def ask() -> None:
        with suppress(EvaluationFailed):  # it is cancelled once it was seen
            engine.fetch(SLOW, limit=1)

    query = threading.Thread(target=ask)
    query.start()
    seen: list[StageProgress] = []
    while query.is_alive() and not seen:
        found = engine.progress()
        seen = [each for each in found.stages if each.tasks == 16] if found is not None else []
    spark.sparkContext.cancelAllJobs()
    query.join()
    (stage,) = seen
    assert 0 <= stage.done <= 16
    assert stage.failed == 0
    idle = engine.progress()
    assert idle is not None
    assert idle.address == (spark.sparkContext.uiWebUrl or "")


def test_a_session_of_spark_connect_says_nothing() -> None:
    class Remote:
        """A session without a context."""

    assert progress_of(Remote()) is None
