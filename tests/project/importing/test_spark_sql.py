"""SQL of other dialects as Spark's."""

from __future__ import annotations

import pytest

from vde_dagster.lakehouse.spark.function_names import spark_functions
from vde_dagster.project.importing.functions import unknown_functions
from vde_dagster.project.importing.spark_sql import (
    NotTranslated,
    quoted,
    spark_expression,
    spark_merge,
    spark_text,
    spark_type,
)


def spark(text: str, dialect: str = "duckdb") -> str:
    return " ".join(spark_text(text, dialect).spark.split())


@pytest.mark.parametrize(
    "length, written",
    [
        ("INTERVAL (n) DAY", "MAKE_INTERVAL(0, 0, 0, n)"),
        ("INTERVAL (n * 2) MONTHS", "MAKE_INTERVAL(0, n * 2)"),
        ("INTERVAL '3' DAY", "INTERVAL '3' DAY"),
        ("INTERVAL 3 DAY", "INTERVAL '3' DAY"),
    ],
)
def test_an_interval_of_a_computed_length_is_a_function(length: str, written: str) -> None:
    assert spark(f"SELECT a + {length} AS b FROM t") == f"SELECT a + {written} AS b FROM t"


def test_stand_ins_are_macros_again_even_in_quotes() -> None:
    text = 'SELECT "vde__start_ds" AS a FROM t WHERE b < vde__end_date - INTERVAL 1 DAY'
    expected = "SELECT @start_ds AS a FROM t WHERE b < @end_date - INTERVAL '1' DAY"
    assert spark(text) == expected


def test_names_of_tables_become_plain() -> None:
    text = 'SELECT x.a FROM "the-lake"."my schema".t AS x'
    assert spark(text) == "SELECT x.a FROM the_lake.my_schema.t AS x"
    found = spark_text(text, "duckdb", keeps_catalogs=False).spark
    assert " ".join(found.split()) == "SELECT x.a FROM my_schema.t AS x"


def test_what_sqlglot_cannot_read_is_said() -> None:
    for text in ("SELECT FROM WHERE", "SELECT 1; SELECT 2", "VACUUM t"):
        with pytest.raises(NotTranslated):
            spark_text(text, "duckdb")


def test_expressions_of_headers() -> None:
    assert spark_expression('("a", "b c")', "duckdb") == "(a, `b c`)"
    assert spark_expression("[a, b]", "duckdb") == "(a, b)"
    assert (
        spark_expression("__MERGE_TARGET__.a >= vde__start_ts", "duckdb") == "target.a >= @start_ts"
    )
    assert spark_type("TEXT", "duckdb") == "string"


def test_clauses_of_a_merge() -> None:
    text = 'WHEN MATCHED THEN UPDATE SET "__MERGE_TARGET__"."a" = "__MERGE_SOURCE__"."a"'
    expected = "(WHEN MATCHED THEN UPDATE SET target.a = source.a)"
    assert spark_merge(text, "duckdb") == expected
    with pytest.raises(NotTranslated):
        spark_merge("UPDATE SET a = 1", "duckdb")


def test_texts_of_headers_keep_quotes_and_backslashes() -> None:
    assert quoted("it's") == "'it''s'"
    assert quoted("it\\'s") == "'it''s'"
    assert quoted("a\\b") == "'a\\\\b'"


def test_functions_that_spark_lacks_are_named() -> None:
    query = "SELECT COUNT(*), CAST(a AS INT), @start_ds, QUANTILE_CONT(a) FROM READ_CSV('x') AS t"
    known = spark_functions()
    assert unknown_functions(query, known) == ["QUANTILE_CONT", "READ_CSV"]
    plain = "SELECT IF(a, b, c), LAG(a) OVER (ORDER BY b), a IN (1) FROM t"
    assert unknown_functions(plain, known) == []
