"""What is known of functions, compared with the registry of the installed Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException
from sqlglot import exp

from tests.core.sql.spark.test_unreadable import READ, REFUSED
from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.duckdb.constructs import _CONSTRUCTS
from vde_dagster.core.sql.duckdb.translating import DuckQuery, in_duckdb
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


PARSED_AS_ANOTHER = (
    "SELECT a, b, FROM t",
    "SELECT a,\n  b, -- the last\nFROM t",
    "SELECT DISTINCT ON (a) a FROM t",
    "SELECT a FROM t ASOF JOIN u ON t.a >= u.a",
)
"""Spark takes FROM for a column, ON for a function and ASOF for an alias, and has none of them."""


@pytest.mark.full
@pytest.mark.parametrize(
    "text, refused", [*((text, True) for text, _ in REFUSED), *((text, False) for text in READ)]
)
def test_spark_parses_what_is_said_to_be_parsed(
    spark: SparkSession, text: str, refused: bool
) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()
    if not refused:
        parser.parsePlan(text)
    elif text in PARSED_AS_ANOTHER:
        own = spark.newSession()  # SHOW VIEWS lists what is left in a session, whoever asks
        for name in ("t", "u"):
            own.sql("SELECT 1 AS a, 2 AS b").createOrReplaceTempView(name)
        with pytest.raises(AnalysisException, match=r"UNRESOLVED_(COLUMN|ROUTINE)|TRAILING_COMMA"):
            own.sql(text)
    else:
        with pytest.raises(ParseException):
            parser.parsePlan(text)


COLUMNS = {
    "i": "int",
    "d": "double",
    "n": "decimal(9,2)",
    "s": "string",
    "y": "date",
    "b": "boolean",
}
LEADING = ("i", "d", "s", "y", "b, i", "s, 1", "y, 1")
T = ModelName("m", "t")


def _names(kind: type[exp.Expr]) -> Sequence[str]:
    return kind.sql_names() if issubclass(kind, exp.Func) else ()


@pytest.mark.full
def test_duckdb_answers_no_call_that_spark_refuses(spark: SparkSession) -> None:
    """Every name that the parser has for what DuckDB answers, with none to four arguments."""
    columns = [Column(name=name, type=kind) for name, kind in COLUMNS.items()]
    nulls = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in COLUMNS.items())
    names = sorted({name.lower() for each in _CONSTRUCTS for name in _names(each)} | {"if", "nvl"})
    calls = {f"{name}()" for name in names} | {
        f"{name}({', '.join([first, *[first.split(', ')[-1]] * more])})"
        for name, first, more in product(names, LEADING, range(4))
    }
    answered = [
        each
        for each in sorted(calls)
        if isinstance(
            in_duckdb(
                f"SELECT {each} AS x FROM m.t",
                catalog="lake",
                tables=lambda name: columns if name == T else None,
            ),
            DuckQuery,
        )
    ]
    refused = []
    for each in answered:
        try:
            spark.sql(f"SELECT {each} AS x FROM (SELECT {nulls})")
        except PySparkException:
            refused.append(each)
    assert not refused, refused
    assert len(answered) > 30
