"""The adapters that the kinds are tried on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.lakehouse.kinds.worlds import Worlds, worlds_in_memory, worlds_on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import SparkLake


@pytest.fixture
def on_spark(spark: SparkSession, spark_lake: SparkLake) -> Worlds:
    """Spark and Iceberg."""
    return worlds_on_spark(spark, spark_lake)


@pytest.fixture(params=["memory", pytest.param("spark", marks=pytest.mark.spark)])
def worlds(request: pytest.FixtureRequest) -> Worlds:
    """Both pairs of adapters, one after the other."""
    if request.param == "memory":
        return worlds_in_memory()
    found = request.getfixturevalue("on_spark")
    assert isinstance(found, Worlds)
    return found
