"""What the sums of rows tell apart, and what they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vde_dagster.core.dsha import MODULUS, RowSum, total

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def sum_of(spark: SparkSession, sql: str) -> RowSum:
    from vde_dagster.lakehouse.row_hash import row_sums

    return total(row_sums(spark.sql(sql)).values())


DIFFERENT = [
    ("next to a null", "VALUES ('a', CAST(NULL AS STRING))", "VALUES (CAST(NULL AS STRING), 'a')"),
    ("null and zero", "VALUES (0, 1)", "VALUES (CAST(NULL AS INT), 1)"),
    ("flags are no values", "VALUES (CAST(NULL AS INT), 1)", "VALUES (1, CAST(NULL AS INT))"),
    ("flags are no values 2", "VALUES (CAST(NULL AS INT), 2)", "VALUES (2, CAST(NULL AS INT))"),
    ("null and empty text", "VALUES ('')", "VALUES (CAST(NULL AS STRING))"),
    ("padding", "VALUES ('a')", "VALUES ('a ')"),
    ("moved text", "VALUES ('ab', 'c')", "VALUES ('a', 'bc')"),
    ("duplicates", "VALUES (1)", "VALUES (1), (1)"),
    ("duplicates of two", "VALUES (1), (1), (2)", "VALUES (1), (2), (2)"),
    ("swapped between rows", "VALUES (1, 'a'), (2, 'b')", "VALUES (1, 'b'), (2, 'a')"),
    ("boolean", "VALUES (true)", "VALUES (false)"),
    ("int", "VALUES (1)", "VALUES (2)"),
    ("long", "VALUES (9223372036854775807L)", "VALUES (-9223372036854775808L)"),
    ("float", "VALUES (1.0F)", "VALUES (1.0000001F)"),
    ("double", "VALUES (0.1D)", "VALUES (0.30000000000000004D - 0.2D)"),
    ("decimal", "VALUES (1.10)", "VALUES (1.01)"),
    ("wide decimal", "VALUES (1e20BD * 1.10)", "VALUES (1e20BD * 1.01)"),
    ("date", "VALUES (DATE'2013-01-01')", "VALUES (DATE'2013-01-02')"),
    (
        "a microsecond",
        "VALUES (TIMESTAMP'2013-01-01 00:00:00.000001')",
        "VALUES (TIMESTAMP'2013-01-01 00:00:00')",
    ),
    ("binary", "VALUES (X'00')", "VALUES (X'0000')"),
    ("null in a struct", "SELECT struct('a', NULL) s", "SELECT struct(NULL, 'a') s"),
    ("null struct", "SELECT CAST(NULL AS STRUCT<a INT>) s", "SELECT struct(CAST(NULL AS INT)) s"),
    ("null in an array", "SELECT array('a', NULL) s", "SELECT array('a') s"),
    ("array order", "SELECT array(1, 2) s", "SELECT array(2, 1) s"),
    ("null array", "SELECT CAST(array() AS ARRAY<INT>) s", "SELECT CAST(NULL AS ARRAY<INT>) s"),
    ("arrays' borders", "SELECT array(array(1), array(2)) s", "SELECT array(array(1, 2)) s"),
    ("arrays' columns", "SELECT array(1) a, array(2, 3) b", "SELECT array(1, 2) a, array(3) b"),
    ("map", "SELECT map('a', 1, 'b', 2) m", "SELECT map('a', 2, 'b', 1) m"),
    ("null in a map", "SELECT map('a', 1, 'b', NULL) m", "SELECT map('a', NULL, 'b', 1) m"),
    (
        "deep",
        "SELECT array(struct(map('k', array(1, NULL)) m)) d",
        "SELECT array(struct(map('k', array(NULL, 1)) m)) d",
    ),
]

EQUAL = [
    ("order of rows", "VALUES (1, 'a'), (2, 'b')", "VALUES (2, 'b'), (1, 'a')"),
    ("zeros", "VALUES (0.0D)", "VALUES (-1 * 0.0D)"),
    ("zeros of floats", "VALUES (0.0F)", "VALUES (CAST(-1 AS FLOAT) * 0.0F)"),
    ("not a number", "SELECT double('NaN') d", "SELECT double('Infinity') - double('Infinity') d"),
    ("order in a map", "SELECT map('a', 1, 'b', 2) m", "SELECT map('b', 2, 'a', 1) m"),
    ("decimals of one scale", "VALUES (1.10)", "SELECT CAST(1.1 AS DECIMAL(3, 2))"),
    ("nested zeros", "SELECT array(0.0D) a", "SELECT array(-1 * 0.0D) a"),
]


@pytest.mark.parametrize("name, left, right", DIFFERENT, ids=[each[0] for each in DIFFERENT])
def test_a_mutated_row_has_another_sum(
    spark: SparkSession, name: str, left: str, right: str
) -> None:
    one, other = sum_of(spark, left), sum_of(spark, right)
    assert one.halves[0] != other.halves[0]
    assert one.halves[1] != other.halves[1]


@pytest.mark.parametrize("name, left, right", EQUAL, ids=[each[0] for each in EQUAL])
def test_what_means_the_same_has_the_same_sum(
    spark: SparkSession, name: str, left: str, right: str
) -> None:
    assert sum_of(spark, left) == sum_of(spark, right)


def test_sums_are_exact_modulo_a_lane_however_rows_are_partitioned(spark: SparkSession) -> None:
    from vde_dagster.lakehouse.row_hash import row_sums

    one = sum_of(spark, "SELECT 7L id")
    many = spark.range(0, 20_000, 1, 3).selectExpr("7L AS id")
    expected = RowSum(rows=20_000, sum=20_000 * one.sum % MODULUS)
    assert total(row_sums(many).values()) == expected
    assert total(row_sums(many.repartition(2)).values()) == expected


def test_groups_add_up_to_the_whole(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    from vde_dagster.lakehouse.row_hash import row_sums

    frame = spark.range(1000)
    groups = row_sums(frame, F.col("id") % 7)
    assert len(groups) == 7
    assert total(groups.values()) == total(row_sums(frame).values())


def test_no_rows_have_the_empty_sum(spark: SparkSession) -> None:
    assert sum_of(spark, "SELECT 1 AS a WHERE false") == RowSum()


def test_instants_do_not_depend_on_the_sessions_zone(spark: SparkSession) -> None:
    sql = "SELECT timestamp_seconds(1357000000) t, array(timestamp_seconds(5)) a"
    utc = sum_of(spark, sql)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        assert sum_of(spark, sql) == utc
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_the_encoding_stays_what_it_is(spark: SparkSession) -> None:
    # A stored D-SHA must mean the same for ever: a change here is a new ALGORITHM.
    found = sum_of(
        spark,
        "SELECT 1L a, 'x' b, CAST(NULL AS DOUBLE) c, struct(1 p, array('q') q) d, map('k', 2) e",
    )
    assert (found.rows, found.sum) == (1, 0)
