"""The session of statements and functions is as new whenever it is lent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests.lakehouse.conftest import python_rows
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.lakehouse.spark.lanes import OwnSession, session_for_users

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.lakehouse.conftest import Lake

pytestmark = pytest.mark.spark


def test_what_one_user_sets_another_does_not_find(spark: SparkSession) -> None:
    session, catalog = OwnSession(spark), "spark.sql.catalog.another_one"
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
    try:
        for _ in range(2):
            with session.lent() as own:
                assert own is not spark
                assert own.conf.get("spark.sql.shuffle.partitions") == "5"
                assert own.conf.get("spark.sql.session.timeZone") == "UTC"
                assert own.conf.get(catalog) == spark.conf.get(catalog)
                assert own.conf.get("spark.mine", "none") == "none"
                assert own.catalog.currentCatalog() == spark.catalog.currentCatalog()
                assert not own.catalog.tableExists("`odd na``me`")
                assert own.sql("SHOW USER FUNCTIONS").collect() == []
                own.sql("SET spark.mine = 1")
                own.sql("SET spark.sql.shuffle.partitions = 99")
                own.sql("SET spark.sql.session.timeZone = Europe/Berlin")
                own.sql("CREATE TEMPORARY VIEW `odd na``me` AS SELECT 1 AS one")
                own.udf.register("mine", lambda: 1, "int")
                own.sql("USE lake")
        assert spark.conf.get("spark.sql.shuffle.partitions") == "5"
    finally:
        spark.conf.unset("spark.sql.shuffle.partitions")
        spark.conf.unset(catalog)


@pytest.mark.parametrize("module,ended", [("pyspark.sql.connect.session", 1), ("elsewhere", 0)])
def test_only_over_spark_connect_it_is_ended_by_itself(module: str, ended: int) -> None:
    """Elsewhere that would end the whole application."""
    calls: list[str] = []
    main, own = (type("Session", (), {"__module__": module})() for _ in range(2))
    own.client = SimpleNamespace(get_retry_policies=list, set_retry_policies=lambda _policies: None)
    own.stop = lambda: calls.append("stop")
    session = OwnSession(main)
    session._own = own
    session.end()
    session.end()
    assert (len(calls), session._own) == (ended, None)


WRONG_CAST = "SELECT CAST(text AS INT) AS id FROM VALUES ('x') AS t (text)"
FUNCTION = f"""
def run(context):
    return context.spark.sql("{WRONG_CAST}")
"""


def test_what_a_users_asset_sets_reaches_no_other_session(spark: SparkSession) -> None:
    users = session_for_users(spark)
    assert session_for_users(spark) is users
    assert users.sql("SELECT 1").count() == 1
    assert users.conf.get("spark.sql.ansi.enabled") == "true"
    users.conf.set("spark.sql.ansi.enabled", "false")
    users.range(1).createOrReplaceTempView("of_users")
    spark.conf.set("spark.sql.catalog.later", "org.apache.iceberg.spark.SparkCatalog")
    try:
        assert session_for_users(spark).conf.get("spark.sql.catalog.later")
        assert session_for_users(spark).table("of_users").count() == 1
        assert users.sql(WRONG_CAST).collect()[0].id is None
        assert spark.conf.get("spark.sql.ansi.enabled") == "true"
        assert not spark.catalog.tableExists("of_users")
    finally:
        spark.conf.unset("spark.sql.catalog.later")
        users.conf.set("spark.sql.ansi.enabled", "true")
        users.catalog.dropTempView("of_users")


@pytest.mark.full
def test_a_unit_of_work_has_the_settings_that_its_model_was_planned_with(lake: Lake) -> None:
    lake.publish("SELECT 1 AS id")
    for work in (WRONG_CAST, python_rows(FUNCTION)):
        lake.spark.conf.set("spark.sql.ansi.enabled", "false")
        lake.spark.conf.set("spark.sql.legacy.sizeOfNull", "true")
        lake.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        lake.spark.conf.set("spark.sql.shuffle.partitions", "3")
        try:
            with pytest.raises(EvaluationFailed, match="CAST_INVALID_INPUT"):
                lake.engine.stage(lake.staging(work))
            assert lake.spark.conf.get("spark.sql.ansi.enabled") == "true"
            assert lake.spark.conf.get("spark.sql.session.timeZone") == "UTC"
            assert "spark.sql.legacy.sizeOfNull" not in lake.spark.conf.getAll
            assert lake.spark.conf.get("spark.sql.shuffle.partitions") == "3"  # only how fast
        finally:
            for key, value in (("ansi.enabled", "true"), ("session.timeZone", "UTC")):
                lake.spark.conf.set(f"spark.sql.{key}", value)
            lake.spark.conf.unset("spark.sql.legacy.sizeOfNull")
            lake.spark.conf.unset("spark.sql.shuffle.partitions")
