"""Which values a column of another type would round or cut, decided from the types alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, TimestampNanoType
from pyspark.sql.types import DataType, IntegerType, StructField, StructType

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.staging.storable import loses_values, spark_schema, unstorable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.lakehouse.conftest import Lake

pytestmark = pytest.mark.spark
LOSE = [
    ("double", "bigint"),
    ("float", "int"),
    ("double", "float"),
    ("double", "decimal(38,18)"),
    ("float", "decimal(38,18)"),
    ("decimal(10,3)", "decimal(10,2)"),
    ("decimal(10,3)", "bigint"),
    ("timestamp", "date"),
    ("timestamp_ntz", "date"),
    ("array<double>", "array<int>"),
    ("map<int,decimal(5,2)>", "map<int,decimal(5,1)>"),
    ("struct<a:int,b:timestamp>", "struct<a:int,b:date>"),
]


@pytest.mark.parametrize("found,wanted", LOSE)
def test_values_would_be_rounded_or_cut(spark: SparkSession, found: str, wanted: str) -> None:
    assert spark is not None  # reads the names of types
    assert loses_values(DataType.fromDDL(found), DataType.fromDDL(wanted))


def test_a_field_without_a_name_is_reported_before_a_table_is_made() -> None:
    odd = StructType([StructField("", IntegerType())])
    schema = StructType([StructField("a b", IntegerType()), StructField("s", odd)])
    (reported,) = unstorable(schema)
    assert "s has a field without a name" in reported


def test_the_schema_of_a_table_is_the_one_that_spark_gives_it(lake: Lake) -> None:
    lake.spark.sql(f"CREATE NAMESPACE lake.{lake.schema}")
    name = f"lake.{lake.schema}.typed"
    lake.spark.sql(
        f"CREATE TABLE {name} (a boolean NOT NULL, b int COMMENT 'of b', c bigint, d float, "
        "e double, f decimal(12, 3), g date, h timestamp, i timestamp_ntz, j string, k binary, "
        "`of l` array<struct<`a b`: int NOT NULL, c: map<string, date>>> COMMENT 'of l', "
        "m map<bigint, array<timestamp>>, n struct<o: struct<p: decimal(38, 0)>, q: string>) "
        "USING iceberg"
    )
    found = spark_schema(lake.table(TableName(lake.schema, "typed")).schema())
    assert found == lake.spark.table(name).schema
    assert [each.metadata for each in found] == [
        each.metadata for each in lake.spark.table(name).schema
    ]


def test_a_type_that_spark_does_not_read_is_named() -> None:
    odd = Schema(NestedField(1, "at", TimestampNanoType(), required=False))
    with pytest.raises(EvaluationFailed, match="timestamp_ns"):
        spark_schema(odd)
