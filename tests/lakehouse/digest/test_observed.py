"""Sums that are taken while rows are written, and when they are not used."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import HourTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from vde_dagster.core.ledger.dsha import ALGORITHMS, XXHASH64X2, RowSum
from vde_dagster.lakehouse.digest import observed, row_sums

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyspark.sql import DataFrame, SparkSession

    from tests.conftest import SparkLake

pytestmark = pytest.mark.spark
ROWS = 1000


SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "t", StringType(), required=False),
    NestedField(3, "at", TimestamptzType(), required=False),
)


@pytest.fixture(scope="module")
def catalog(spark_lake: SparkLake) -> Catalog:
    return spark_lake.iceberg()


@pytest.fixture
def table(catalog: Catalog, spark_lake: SparkLake) -> str:
    """An empty table of this test."""
    catalog.create_namespace_if_not_exists("observed")
    name = f"observed.t{uuid.uuid4().hex}"
    catalog.create_table(
        name,
        SCHEMA,
        partition_spec=PartitionSpec(PartitionField(3, 1000, HourTransform(), "at_hour")),
        properties={"write.distribution-mode": "hash"},
    )
    return f"{spark_lake.catalog}.{name}"


def frame(spark: SparkSession, rows: int = ROWS) -> DataFrame:
    return spark.range(0, rows, 1, 4).selectExpr(
        "id", "IF(id % 3 = 0, NULL, CAST(id AS STRING)) t", "timestamp_seconds(id * 40) at"
    )


def added(catalog: Catalog, table: str) -> int:
    """How many rows the last commit added, as its summary says."""
    newest = catalog.load_table(table.partition(".")[2]).current_snapshot()
    assert newest is not None
    assert newest.summary is not None
    return int(newest.summary["added-records"] or 0)


@pytest.mark.full
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("is_seen", [False, True], ids=["", "looked at as a whole before"])
def test_what_was_observed_is_what_lies_in_the_table(
    spark: SparkSession, catalog: Catalog, table: str, algorithm: str, is_seen: bool
) -> None:
    rows, found = observed(frame(spark), algorithm)
    assert rows.schema == frame(spark).schema
    assert not is_seen or len(rows.collect()) == ROWS
    rows.writeTo(table).append()
    assert added(catalog, table) == ROWS
    assert found.sums(ROWS) == row_sums(spark.table(table), algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_groups_of_rows_are_observed_apart(spark: SparkSession, table: str, algorithm: str) -> None:
    groups = ("id % 3 = 1", "id < 0", "id % 3 = 2")
    of_groups = frame(spark).where("id % 3 > 0")
    rows, found = observed(of_groups, algorithm, groups)
    assert rows.schema == of_groups.schema
    rows.writeTo(table).append()
    one, none, other = (row_sums(spark.table(table).where(each), algorithm) for each in groups)
    assert found.taken() == (one[None], RowSum(), other[None])
    assert none == {None: RowSum()}


def test_no_rows_are_observed_as_none(spark: SparkSession, table: str) -> None:
    rows, found = observed(frame(spark).where("id < 0"), XXHASH64X2)
    rows.writeTo(table).overwrite(F.lit(True))
    assert found.sums(0) == {None: RowSum()}


@pytest.mark.full
def test_groups_that_turn_out_to_be_none_are_observed_as_none(
    spark: SparkSession, table: str
) -> None:
    """Adaptive execution removes empty exchanges from a plan, but not an observation after one."""
    none = frame(spark).where("id < 0").groupBy("id", "t", "at").count().drop("count")
    rows, found = observed(none, XXHASH64X2)
    rows.writeTo(table).append()
    assert found.sums(0) == {None: RowSum()}


@pytest.mark.full
def test_rows_that_a_range_distribution_reads_twice_are_not_believed(
    spark: SparkSession, catalog: Catalog, table: str
) -> None:
    # Spark samples the rows to find the ranges, and so runs the observation a second time.
    spark.sql(f"ALTER TABLE {table} WRITE ORDERED BY t")
    rows, found = observed(frame(spark), XXHASH64X2)
    rows.writeTo(table).append()
    assert added(catalog, table) == ROWS
    assert found.sums(ROWS) is None
    assert row_sums(spark.table(table), XXHASH64X2) == row_sums(frame(spark), XXHASH64X2)


@pytest.mark.full
def test_rows_that_somebody_looked_at_in_part_before_are_not_believed(
    spark: SparkSession, catalog: Catalog, table: str
) -> None:
    # An observation reports the first action alone.
    rows, found = observed(frame(spark), XXHASH64X2)
    assert len(rows.limit(3).collect()) == 3  # of the first of four partitions
    rows.writeTo(table).append()
    assert added(catalog, table) == ROWS
    assert found.sums(ROWS) is None


@pytest.mark.full
def test_rows_that_are_filtered_after_they_were_observed_are_not_believed(
    spark: SparkSession, catalog: Catalog, table: str
) -> None:
    rows, found = observed(frame(spark), XXHASH64X2)
    rows.where("id % 2 = 0").writeTo(table).append()
    assert added(catalog, table) == ROWS // 2
    assert found.sums(ROWS // 2) is None


@pytest.mark.full
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
