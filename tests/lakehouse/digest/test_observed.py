"""Sums that are taken while rows are written, and when they are not used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from vde_dagster.core.ledger.dsha import ALGORITHMS, XXHASH64X2, RowSum
from vde_dagster.lakehouse.digest import observed, row_sums

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.conftest import SparkLake

pytestmark = pytest.mark.spark
ROWS = 1000


@pytest.fixture
def table(spark: SparkSession, spark_lake: SparkLake, request: pytest.FixtureRequest) -> str:
    """An empty table of this test."""
    namespace = f"{spark_lake.catalog}.observed"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    name = f"{namespace}.{request.node.originalname}"[:120]
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, t STRING, at TIMESTAMP) USING iceberg "
        "PARTITIONED BY (hours(at)) TBLPROPERTIES ('write.distribution-mode' = 'hash')"
    )
    return name


def frame(spark: SparkSession, rows: int = ROWS) -> DataFrame:
    return spark.range(0, rows, 1, 4).selectExpr(
        "id", "IF(id % 3 = 0, NULL, CAST(id AS STRING)) t", "timestamp_seconds(id * 40) at"
    )


def added(spark: SparkSession, table: str) -> int:
    """How many rows the last commit added, as its summary says."""
    newest = spark.table(f"{table}.snapshots").orderBy(F.col("committed_at").desc())
    row = newest.select(F.col("summary")["added-records"].alias("added")).first()
    return int(row["added"] or 0) if row else 0


def test_what_was_observed_is_what_lies_in_the_table(spark: SparkSession, table: str) -> None:
    rows, found = observed(frame(spark), XXHASH64X2)
    assert rows.schema == frame(spark).schema
    rows.writeTo(table).append()
    assert added(spark, table) == ROWS
    assert found.sums(ROWS) == row_sums(spark.table(table), XXHASH64X2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_both_ways_give_the_same_sum(spark: SparkSession, table: str, algorithm: str) -> None:
    rows, found = observed(frame(spark, 50), algorithm)
    rows.writeTo(table).append()
    assert found.sums(50) == row_sums(spark.table(table), algorithm)


def test_no_rows_are_observed_as_none(spark: SparkSession, table: str) -> None:
    rows, found = observed(frame(spark).where("id < 0"), XXHASH64X2)
    rows.writeTo(table).overwrite(F.lit(True))
    assert found.sums(0) == {None: RowSum()}


def test_groups_that_turn_out_to_be_none_are_observed_as_none(
    spark: SparkSession, table: str
) -> None:
    """Adaptive execution removes empty exchanges from a plan, but not an observation after one."""
    none = frame(spark).where("id < 0").groupBy("id", "t", "at").count().drop("count")
    rows, found = observed(none, XXHASH64X2)
    rows.writeTo(table).append()
    assert found.sums(0) == {None: RowSum()}


def test_rows_that_a_range_distribution_reads_twice_are_not_believed(
    spark: SparkSession, table: str
) -> None:
    # Spark samples the rows to find the ranges, and so runs the observation a second time.
    spark.sql(f"ALTER TABLE {table} WRITE ORDERED BY t")
    rows, found = observed(frame(spark), XXHASH64X2)
    rows.writeTo(table).append()
    assert added(spark, table) == ROWS
    assert found.sums(ROWS) is None
    assert row_sums(spark.table(table), XXHASH64X2) == row_sums(frame(spark), XXHASH64X2)


def test_rows_that_somebody_looked_at_in_part_before_are_not_believed(
    spark: SparkSession, table: str
) -> None:
    # An observation reports the first action alone.
    rows, found = observed(frame(spark), XXHASH64X2)
    assert len(rows.limit(3).collect()) == 3  # of the first of four partitions
    rows.writeTo(table).append()
    assert added(spark, table) == ROWS
    assert found.sums(ROWS) is None


def test_rows_that_somebody_looked_at_as_a_whole_before_are_counted_once(
    spark: SparkSession, table: str
) -> None:
    rows, found = observed(frame(spark), XXHASH64X2)
    assert len(rows.collect()) == ROWS
    rows.writeTo(table).append()
    assert found.sums(ROWS) == row_sums(spark.table(table), XXHASH64X2)


def test_rows_that_are_filtered_after_they_were_observed_are_not_believed(
    spark: SparkSession, table: str
) -> None:
    rows, found = observed(frame(spark), XXHASH64X2)
    rows.where("id % 2 = 0").writeTo(table).append()
    assert added(spark, table) == ROWS // 2
    assert found.sums(ROWS // 2) is None


def test_a_write_that_fails_leaves_the_next_one_alone(spark: SparkSession, table: str) -> None:
    failing = frame(spark).withColumn(
        "t", F.when(F.col("id") == ROWS - 1, F.raise_error(F.lit("no"))).otherwise(F.col("t"))
    )
    rows, _ = observed(failing, XXHASH64X2)
    with pytest.raises(PySparkException, match="no"):
        rows.writeTo(table).append()
    again, found = observed(frame(spark), XXHASH64X2)
    again.writeTo(table).append()
    assert found.sums(ROWS) == row_sums(spark.table(table), XXHASH64X2)
