"""Threads that share the engine have a session each, in which they see nothing of the others."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from tests.lakehouse.conftest import python_rows
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import total
from vde_dagster.core.ledger.unit_of_work import PythonRows, RowSource
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.lakehouse.staging.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyspark.sql import SparkSession

    from tests.lakehouse.conftest import Lake

pytestmark = pytest.mark.spark

PATIENCE: Final = 120
THREADS: Final = ThreadPoolExecutor(4)
MEETS: Final = """
def run(context):
    own, spark = context.var("own"), context.spark
    spark.range(own).createOrReplaceTempView("mine")
    spark.conf.set("spark.mine", str(own))
    context.var("meeting").wait(120)
    pool = spark.sparkContext.getLocalProperty("spark.scheduler.pool")
    context.var("told").append((own, spark.conf.get("spark.mine"), pool))
    return spark.table("mine")
"""
WAITS: Final = """
def run(context):
    context.var("begun").set()
    assert context.var("ends").wait(120)
    return context.spark.range(1)
"""
SLOW: Final = """SELECT COUNT(slept) AS n FROM (
  SELECT java_method('java.lang.Thread', 'sleep', 1000L) AS slept FROM RANGE(0, 16, 1, 16)
)"""
WRONG_CAST: Final = "SELECT CAST(text AS INT) AS id FROM VALUES ('x') AS t (text)"


def sharing(lake: Lake, name: str, rows: RowSource | str) -> Future[int]:
    """Stage rows of a model in a thread that shares the engine; how many there are."""
    staging = replace(
        lake.staging(rows), target=VersionKey(ModelName(lake.schema, name), "0" * 32), base=None
    )

    def stage() -> int:
        with lake.engine.sharing(name):
            staged = lake.engine.stage(staging)
        return total(each for sums in staged.sums for each in sums.values()).rows

    return THREADS.submit(stage)


@pytest.mark.full
def test_models_are_computed_at_once_and_see_nothing_of_each_other(lake: Lake) -> None:
    meeting, told = threading.Barrier(2), list[tuple[int, str, str]]()

    def meets(own: int) -> PythonRows:
        given = {"own": own, "meeting": meeting, "told": told}
        return python_rows(MEETS, variables=given)

    threads = [sharing(lake, name, meets(own)) for name, own in (("two", 2), ("five", 5))]
    assert [each.result(PATIENCE) for each in threads] == [2, 5]
    assert sorted(told) == [(2, "2", "two"), (5, "5", "five")], "each is in a pool of its own"
    assert lake.spark.conf.get("spark.mine", "none") == "none"
    assert lake.spark.sparkContext.getLocalProperty("spark.scheduler.pool") is None


def test_what_others_do_to_the_main_session_reaches_no_thread_that_shares(lake: Lake) -> None:
    lake.rows("SELECT 1 AS one")  # the session and its settings are known from here on
    by_function = python_rows(f'def run(context):\n    return context.spark.sql("{WRONG_CAST}")')
    lake.spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for rows in (WRONG_CAST, by_function):
            with pytest.raises(EvaluationFailed, match="CAST_INVALID_INPUT"):
                sharing(lake, "cast", rows).result(PATIENCE)
        assert lake.spark.conf.get("spark.sql.ansi.enabled") == "false", "nobody has used it"
    finally:
        lake.spark.conf.set("spark.sql.ansi.enabled", "true")


@pytest.mark.full
def test_a_thread_that_shares_waits_for_none_that_uses_the_main_session(lake: Lake) -> None:
    begun, ends = threading.Event(), threading.Event()
    waits = python_rows(WAITS, variables={"begun": begun, "ends": ends})
    alone = THREADS.submit(lake.engine.stage, lake.staging(waits))
    try:
        assert begun.wait(PATIENCE)
        assert sharing(lake, "beside", "SELECT 1 AS id").result(PATIENCE) == 1
    finally:
        ends.set()
    assert alone.exception(PATIENCE) is None


def test_what_is_interrupted_before_it_computes_starts_no_spark() -> None:
    def refused() -> SparkSession:
        raise AssertionError("Spark is started")

    def unread() -> PyIcebergCatalog:
        raise AssertionError("the catalog is read")

    engine = SparkEngine(refused, "lake", unread)
    with engine.sharing("m.a"):
        engine.interrupt()
        with pytest.raises(KeyboardInterrupt):
            engine.fetch("SELECT 1", limit=1)
    assert not engine.started


@pytest.mark.full
def test_what_is_interrupted_ends_as_by_ctrl_c_and_the_next_is_computed(lake: Lake) -> None:
    slow = sharing(lake, "slow", SLOW)
    seen = False
    while not slow.done() and not seen:
        found = lake.engine.progress()
        seen = found is not None and any(each.tasks == 16 for each in found.stages)
    assert seen
    while not slow.done():
        lake.engine.interrupt()
        wait([slow], 0.1)
    assert isinstance(slow.exception(), KeyboardInterrupt)
    assert sharing(lake, "next", "SELECT 1 AS id").result(PATIENCE) == 1
    assert lake.rows("SELECT 1 AS one") == [(1,)], "the main session was not concerned"
