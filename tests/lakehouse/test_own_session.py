"""The session of statements and functions is as new whenever it is lent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vde_dagster.lakehouse.own_session import OwnSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
