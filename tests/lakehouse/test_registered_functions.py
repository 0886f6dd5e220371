"""What is known of functions, compared with the registry of the installed Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from vde_dagster.core.sql.spark.functions import GENERATORS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def _registered(registry: Any) -> Iterator[tuple[str, Any]]:
    """Names and descriptions of functions."""
    names = registry.listFunction().iterator()
    while names.hasNext():
        name = names.next()
        yield name.funcName(), registry.lookupFunction(name).get()


def test_every_function_of_spark_that_makes_rows_is_a_generator(spark: SparkSession) -> None:
    state = spark._jsparkSession.sessionState()
    find = spark._jvm.java.lang.Class.forName  # type: ignore[union-attr]
    generator = find("org.apache.spark.sql.catalyst.expressions.Generator")
    functions = dict(_registered(state.functionRegistry()))
    making = {
        name
        for name, each in functions.items()
        if each.getGroup() == "generator_funcs"
        or generator.isAssignableFrom(find(each.getClassName()))
    }
    in_from = {name for name, _ in _registered(state.tableFunctionRegistry())}
    assert making | in_from == GENERATORS
    assert len(functions) > 400, "the registry was read"
