"""Which values a column of another type would round or cut, decided from the types alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import DataType, IntegerType, StructField, StructType

from vde_dagster.lakehouse.staging.storable import loses_values, unstorable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
