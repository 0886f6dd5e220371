"""What another dialect's query may use: proven parts, certain precedence, own functions."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import QueryInvalid, canonicalize
from vde_dagster.core.sql.rendering import spark_text
from vde_dagster.core.sql.translation.proven import functions_made, part_of, unproven

TYPES = {"n": "int", "m": "int", "s": "string", "d": "date", "ts": "timestamp", "x": "double"}
SCHEMA = {ModelName("s", "t"): [Column(name=name, type=kind) for name, kind in TYPES.items()]}


def parsed(text: str, dialect: str) -> exp.Query:
    query = sqlglot.parse_one(text, read=dialect)
    assert isinstance(query, exp.Query)
    return query


def in_spark(expression: str, dialect: str, *, functions: frozenset[str] = frozenset()) -> str:
    query = parsed(f"SELECT {expression} AS c FROM s.t", dialect)
    found = canonicalize(query, dialect=dialect, schemas=SCHEMA, functions=functions).expression
    return spark_text(found.selects[0].unalias()).replace("`", "").replace("t.", "")


@pytest.mark.parametrize(
    "dialect,expression,written",
    [
        ("postgres", "s || n + m", "s || CAST(n + m AS STRING)"),
        ("duckdb", "s || n + m", "s || CAST(n + m AS STRING)"),
        ("trino", "s || CAST(n + m AS VARCHAR) || 'x'", "s || CAST(n + m AS STRING) || 'x'"),
        ("postgres", "n + m * n", "n + (m * n)"),
        ("postgres", "n - (m - n)", "n - (m - n)"),
        ("postgres", "(n & m) | 1", "(n & m) | 1"),
        ("postgres", "n & (m | 1)", "n & (m | 1)"),
        ("postgres", "(n << 1) + m", "(SHIFTLEFT(n, 1)) + m"),
    ],
)
def test_operators_stand_in_the_parentheses_of_their_dialect(
    dialect: str, expression: str, written: str
) -> None:
    assert in_spark(expression, dialect) == written


@pytest.mark.parametrize("dialect", ["postgres", "bigquery", "snowflake", "duckdb", "mysql"])
@pytest.mark.parametrize(
    "expression",
    [
        "n & m + 1",
        "n | m & 1",
        "n + m & 1",
        "n = m = 1",
        "n = (m = 1) = (n = 1)",
        "n = 1 IN (1, 2)",
    ],
)
def test_operators_whose_order_differs_between_dialects_need_parentheses(
    dialect: str, expression: str
) -> None:
    query = parsed(f"SELECT\n{expression} AS c\nFROM s.t", dialect)
    with pytest.raises(QueryInvalid) as caught:
        canonicalize(query, dialect=dialect, schemas=SCHEMA)
    [finding, *_] = caught.value.findings
    assert "order of the operators" in finding.message
    assert "parentheses" in finding.advice
    assert finding.line == 2


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "mysql"])
def test_a_text_joined_to_a_sum_needs_parentheses_where_the_manual_is_silent(dialect: str) -> None:
    query = parsed("SELECT s || n + m AS c FROM s.t", dialect)
    if dialect == "mysql":  # where it is OR
        with pytest.raises(QueryInvalid, match="condition"):
            canonicalize(query, dialect=dialect, schemas=SCHEMA)
        return
    with pytest.raises(QueryInvalid, match="order of the operators"):
        canonicalize(query, dialect=dialect, schemas=SCHEMA)


def test_a_function_of_sparks_own_name_is_no_function_of_another_dialect() -> None:
    with pytest.raises(QueryInvalid, match=r"the function `XXHASH64\(s\)` of the dialect postgres"):
        in_spark("xxhash64(s)", "postgres")


def test_a_function_that_the_model_makes_may_be_called() -> None:
    made = functions_made([sqlglot.parse_one("CREATE TEMPORARY FUNCTION My_Udf AS 'a.B'")])
    assert made == {"my_udf"}
    assert in_spark("my_udf(n)", "postgres", functions=made) == "MY_UDF(n)"
    with pytest.raises(QueryInvalid, match="no proven translation") as caught:
        in_spark("my_udf(n)", "postgres")
    assert "CREATE TEMPORARY FUNCTION" in caught.value.findings[0].advice


def test_what_a_function_of_the_models_own_gives_has_no_known_type() -> None:
    with pytest.raises(QueryInvalid, match="type that is not known"):
        in_spark("my_udf(n) || s", "postgres", functions=frozenset({"my_udf"}))
    found = in_spark("CAST(my_udf(n) AS text) || s", "postgres", functions=frozenset({"my_udf"}))
    assert found == "CAST(MY_UDF(n) AS STRING) || s"
    found = in_spark("CAST(my_udf(n) AS int) / 2", "postgres", functions=frozenset({"my_udf"}))
    assert found == "CAST(CAST(MY_UDF(n) AS INT) DIV 2 AS BIGINT)"


def test_an_argument_that_was_not_executed_is_refused() -> None:
    assert in_spark("STRPOS(s, 'l')", "bigquery") == "LOCATE('l', s)"
    with pytest.raises(QueryInvalid, match="no proven translation"):
        in_spark("INSTR(s, 'l', 2)", "bigquery")


def test_all_that_is_refused_is_reported_at_its_own_line() -> None:
    query = parsed("SELECT\nFOO(n) AS a,\nBAR(n) AS b,\nn & m + 1 AS c\nFROM s.t", "postgres")
    with pytest.raises(QueryInvalid) as caught:
        canonicalize(query, dialect="postgres", schemas=SCHEMA)
    assert sorted(each.line or 0 for each in caught.value.findings) == [2, 3, 4]


def test_sources_without_columns_are_no_excuse_for_an_unknown_function() -> None:
    query = parsed("SELECT FOO(n) AS a FROM s.t", "postgres")
    with pytest.raises(QueryInvalid, match="no proven translation"):
        canonicalize(query, dialect="postgres", schemas={ModelName("s", "t"): ()}, undeclared=True)


@pytest.mark.parametrize("dialect", ["spark", "spark2", "databricks", "hive"])
def test_dialects_of_spark_say_what_they_like(dialect: str) -> None:
    query = parsed("SELECT FOO(n) AS a, n & m + 1 AS b FROM s.t", dialect)
    assert list(unproven(query, dialect=dialect)) == []


def test_the_parts_are_named_by_class_and_given_arguments() -> None:
    names = {part_of(each) for each in parsed("SELECT ROUND(n, 2), n::int", "postgres").walk()}
    assert {"Round(decimals,this)", "Cast(this,to)", "type INT"} <= names
