# ruff: noqa: E501 - texts stay on one line
"""Macros against what a person would have written without them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from tests.depth import examples
from vde_dagster.core.errors import Place
from vde_dagster.core.sql.macros import TIME_MACROS, macros_in
from vde_dagster.project.macros.language import (
    MacroScope,
    Statements,
    is_star_macro,
    read_statements,
)
from vde_dagster.project.problems import Problems

VARIABLES: Mapping[str, object] = {
    "columns": ["a", "b"],
    "empty": [],
    "function": "sum",
    "hostile": "x`; drop table y --",
    "ids": [1, 2],
    "minus": -2,
    "nothing": None,
    "number": 3,
    "nested": {"a": 1},
    "quote": "it's",
    "schema": "raw",
    "table": "orders",
    "type": "bigint",
    "yes": True,
}
SCOPE = MacroScope(variables=VARIABLES, functions={})
PLACE = Place(path=Path("models/m.sql"), line=7)


def read(text: str, dialect: str = "spark") -> Statements:
    problems = Problems()
    found = read_statements(text, dialect=dialect, place=PLACE, scope=SCOPE, problems=problems)
    assert problems.found == []
    assert found is not None
    return found


def problems_of(text: str, dialect: str = "spark") -> list[str]:
    problems = Problems()
    found = read_statements(text, dialect=dialect, place=PLACE, scope=SCOPE, problems=problems)
    assert found is None
    return [str(each) for each in problems.found]


def sql_of(text: str, dialect: str = "spark") -> list[str]:
    """The statements with their macros filled in, before they are translated."""
    found = read(text, dialect)
    if found.original:
        return plain(found.original, dialect)
    return [each.sql(dialect) for each in found.expressions]


def plain(text: str, dialect: str = "spark") -> list[str]:
    return [each.sql(dialect) for each in sqlglot.parse(text, dialect=dialect) if each is not None]


EXPANSIONS = [
    # variables
    ("SELECT @VAR('number') AS x", "SELECT 3 AS x"),
    ("SELECT @number AS x", "SELECT 3 AS x"),
    ("SELECT @VAR('missing', 5) AS x", "SELECT 5 AS x"),
    ("SELECT @VAR('missing', 'a b') AS x", "SELECT 'a b' AS x"),
    ("SELECT @VAR('missing', a + 1) * 2 AS x FROM t", "SELECT (a + 1) * 2 AS x FROM t"),
    ("SELECT @VAR('number', 5) AS x", "SELECT 3 AS x"),
    ("SELECT @hostile AS x", "SELECT 'x`; drop table y --' AS x"),
    ("SELECT @yes AS x, @nothing AS y", "SELECT TRUE AS x, NULL AS y"),
    ("SELECT @ids AS x", "SELECT ARRAY(1, 2) AS x"),
    ("SELECT a FROM t WHERE a IN @VAR('columns')", "SELECT a FROM t WHERE a IN ('a', 'b')"),
    ("SELECT a FROM t WHERE a IN @empty OR b", "SELECT a FROM t WHERE FALSE OR b"),
    ("SELECT a FROM t LIMIT @number", "SELECT a FROM t LIMIT 3"),
    ("SELECT a + INTERVAL @number DAY AS x FROM t", "SELECT a + INTERVAL 3 DAY AS x FROM t"),
    ("SELECT to_date(a, @VAR('f', 'yyyy')) AS x", "SELECT to_date(a, 'yyyy') AS x"),
    ("SELECT DATE_TRUNC(@VAR('u', 'month'), a) AS x", "SELECT DATE_TRUNC('month', a) AS x"),
    # names
    ("SELECT @{function}(a) AS @{function}_a FROM t", "SELECT sum(a) AS sum_a FROM t"),
    ("SELECT a FROM @{schema}.@{table} AS o", "SELECT a FROM raw.orders AS o"),
    ("SELECT a FROM @{schema}.x_@{table}_@{number}", "SELECT a FROM raw.x_orders_3"),
    ("SELECT a FROM @{ table }_1", "SELECT a FROM orders_1"),
    ("SELECT a AS `the @{table}` FROM t", "SELECT a AS `the orders` FROM t"),
    ("SELECT @{hostile}(a) AS x FROM t", "SELECT `x``; drop table y --`(a) AS x FROM t"),
    ("SELECT t.@{hostile}_x AS a FROM t", "SELECT t.`x``; drop table y --_x` AS a FROM t"),
    ("SELECT CAST(a AS @{type}) AS x", "SELECT CAST(a AS BIGINT) AS x"),
    ("SELECT '@{table} @number' AS x", "SELECT '@{table} @number' AS x"),
    ("SELECT a AS @VAR('table') FROM t", "SELECT a AS `orders` FROM t"),
    # @IF
    ("SELECT @IF(@number > 3, a, b) AS x FROM t", "SELECT b AS x FROM t"),
    ("SELECT b, @IF(NOT @yes, a AS x) FROM t", "SELECT b FROM t"),
    ("SELECT @IF(@nothing = 1, a, b) AS x FROM t", "SELECT b AS x FROM t"),
    ("@IF(@number = 3, SELECT 1 AS a, SELECT 2 AS a)", "SELECT 1 AS a"),
    ("@IF(TRUE, DELETE FROM t); SELECT 1 AS a", "DELETE FROM t; SELECT 1 AS a"),
    ("SELECT @IF(FALSE, @nobody_knows, 1) AS x", "SELECT 1 AS x"),
    ("SELECT @IF(@VAR('missing', 'a') IN ('a', 'b'), 1, 2) AS x", "SELECT 1 AS x"),
    ("SELECT @IF(@number IN @ids, 1, 2) AS x", "SELECT 2 AS x"),
    # @EACH
    ("SELECT @EACH((a, b), x -> x) FROM t", "SELECT a, b FROM t"),
    ("SELECT @EACH(a, x -> x + 1) AS y FROM t", "SELECT a + 1 AS y FROM t"),
    ("SELECT @EACH(@empty, x -> x), b FROM t", "SELECT b FROM t"),
    ("SELECT @EACH(@columns, x -> @{x}) FROM t", "SELECT a, b FROM t"),
    (
        "SELECT @EACH([a, b], x -> SUM(x) AS sum_@{x}) FROM t GROUP BY @EACH([c, d], x -> x)",
        "SELECT SUM(a) AS sum_a, SUM(b) AS sum_b FROM t GROUP BY c, d",
    ),
    ("SELECT f(0, @EACH([a, b], x -> x)) AS y", "SELECT f(0, a, b) AS y"),
    ("SELECT @EACH([a + 1], x -> x * 2) AS y", "SELECT (a + 1) * 2 AS y"),
    ("SELECT @EACH([a, b], x -> t.x) FROM t", "SELECT t.a, t.b FROM t"),
    ("SELECT @EACH([a, b], x -> t.@{x} AS x) FROM t", "SELECT t.a AS a, t.b AS b FROM t"),
    (
        "SELECT @EACH([a, b], x -> @EACH([c, d], y -> x + y AS @{x}_@{y})) FROM t",
        "SELECT a + c AS a_c, a + d AS a_d, b + c AS b_c, b + d AS b_d FROM t",
    ),
    ("SELECT @EACH([a], x -> @EACH([b], x -> x)) FROM t", "SELECT b FROM t"),
    ("SELECT @EACH([(a, 1), (b, 2)], (x, n) -> x + n) FROM t", "SELECT a + 1, b + 2 FROM t"),
    ("SELECT @EACH([a, b], x -> @IF(x = 'a', x, x + 1)) FROM t", "SELECT a, b + 1 FROM t"),
    (
        "SELECT @EACH([a], x -> transform(x, x -> x + 1)) AS y",
        "SELECT transform(a, x -> x + 1) AS y",
    ),
    (
        "SELECT @EACH([sum, avg], f -> @{f}(a) AS @{f}_a) FROM t",
        "SELECT sum(a) AS sum_a, avg(a) AS avg_a FROM t",
    ),
    ("SELECT @EACH([a, b], x -> `x`) FROM t", "SELECT `x`, `x` FROM t"),
    ("SELECT (@EACH([a, b], x -> x)) IN (SELECT 1, 2) AS y", "SELECT (a, b) IN (SELECT 1, 2) AS y"),
    # @DEF
    ("@DEF(rate, 2); SELECT @rate * a AS x", "SELECT 2 * a AS x"),
    ("@DEF(double, x -> x * 2); SELECT @double(a + 1) AS y", "SELECT (a + 1) * 2 AS y"),
    ("@DEF(part, b); SELECT a AS @{part}_x FROM t", "SELECT a AS b_x FROM t"),
    ("@IF(TRUE, @DEF(k, 1)); SELECT @k AS x", "SELECT 1 AS x"),
]


@pytest.mark.parametrize("text,expected", EXPANSIONS)
def test_a_macro_gives_what_a_person_would_have_written(text: str, expected: str) -> None:
    assert sql_of(text) == plain(expected)


DIALECTS = [
    "spark",
    "duckdb",
    "bigquery",
    "postgres",
    "snowflake",
    "tsql",
    "mysql",
    "oracle",
    "trino",
]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_the_same_macros(dialect: str) -> None:
    text = (
        "@DEF(double, v -> v * 2);\n"
        "SELECT @EACH([a, b], x -> @double(x) AS @{x}_@{number}), @VAR('number') AS n,\n"
        "  @IF(@yes, c, d) AS e, @IF(NOT @yes, f) AS f, '@g' AS g\n"
        "FROM @{schema}.@{table} WHERE h BETWEEN @start_ds AND @end_ds AND i IN @ids"
    )
    expected = (
        "SELECT a * 2 AS a_3, b * 2 AS b_3, 3 AS n, c AS e, '@g' AS g "
        "FROM raw.orders WHERE h BETWEEN @start_ds AND @end_ds AND i IN (1, 2)"
    )
    assert sql_of(text, dialect) == plain(expected, dialect)
    (query,) = read(text, dialect).expressions
    assert [each.name for each in query.find_all(exp.Parameter)] == ["start_ds", "end_ds"]
    assert query.find(exp.Abs) is None


@pytest.mark.parametrize(
    "dialect,text",
    [
        ("postgres", "SELECT a <@ b AS x FROM t"),
        ("mysql", "SELECT @@version AS x"),
        ("spark", "SELECT 'x@y.z' AS x"),
        ("spark", 'SELECT "@number" AS x'),
        ("duckdb", "SELECT $$ @number $$ AS x"),
    ],
)
def test_other_uses_of_the_sign_stay_as_they_are(dialect: str, text: str) -> None:
    assert sql_of(text, dialect) == plain(text, dialect)


@pytest.mark.parametrize("name", sorted(TIME_MACROS))
def test_time_macros_stay_for_rendering(name: str) -> None:
    text = (
        f"SELECT @{name} AS x, @IF(TRUE, @{name.upper()}) AS y "
        f"FROM t WHERE @EACH([@{name}], z -> a < z)"
    )
    (query,) = read(text).expressions
    assert isinstance(query, exp.Query)
    assert [found for found, _ in macros_in(query)] == [name, name, name]


def test_statements_keep_their_order_and_empty_ones_vanish() -> None:
    text = ";\nSET x = @number;\n;\nSELECT 1 AS a;\n@IF(FALSE, DELETE FROM t);\nDELETE FROM u;;"
    assert sql_of(text) == plain("SET x = 3; SELECT 1 AS a; DELETE FROM u")


def test_comments_stay_with_what_they_are_next_to() -> None:
    text = (
        "SELECT @IF(@yes, a, b) AS x, -- the x\n"
        "  @EACH([c, d], y -> y /* each */), -- both\n"
        "  @{table}_id -- its id\n"
        "FROM t -- the table"
    )
    (query,) = read(text).expressions
    found = [each.strip() for node in query.walk() for each in node.comments or []]
    assert sorted(found) == ["both", "each", "each", "its id", "the table", "the x"]


def test_what_was_used_is_reported() -> None:
    text = "SELECT @number AS a, @VAR('Missing', 1) AS b, @IF(FALSE, @yes, 2) AS c, @{table}"
    assert read(text).used_variables == {"number", "missing", "table"}
    assert read("SELECT @start_ds AS a").used_variables == frozenset()
    assert read(text).used_files == frozenset()


def test_stars_wait_for_the_columns_of_the_parents() -> None:
    text = "SELECT @STAR(raw.orders, except := [a], prefix := 'p_'), b FROM raw.orders"
    (query,) = read(text).expressions
    assert isinstance(query, exp.Select)
    assert [is_star_macro(each) for each in query.selects] == [True, False]
    assert [table.name for table in query.find_all(exp.Table)] == ["orders"]


BOTH = "SELECT * FROM a UNION ALL SELECT * FROM b"


@pytest.mark.parametrize(
    "text,expected",
    [
        ("@UNION('all', a, raw.b)", "SELECT * FROM a UNION ALL SELECT * FROM raw.b"),
        ("@UNION(a, b)", BOTH),
        ("@UNION('DISTINCT', a, b)", "SELECT * FROM a UNION SELECT * FROM b"),
        ("@UNION(a)", "SELECT * FROM a"),
        ("@UNION(a, b) ORDER BY 1 LIMIT 2", f"{BOTH} ORDER BY 1 LIMIT 2"),
        ("WITH a AS (SELECT 1 AS x) @UNION(a, b)", f"WITH a AS (SELECT 1 AS x) {BOTH}"),
        (
            "WITH u AS (@UNION(a, b)) SELECT 1 AS x FROM u",
            f"WITH u AS ({BOTH}) SELECT 1 AS x FROM u",
        ),
        ("SELECT 1 AS x FROM (@UNION(a, b)) AS u", f"SELECT 1 AS x FROM ({BOTH}) AS u"),
        ("SELECT x FROM c JOIN @UNION(a, b) AS u", f"SELECT x FROM c JOIN ({BOTH}) AS u"),
        ("@UNION(@EACH([a, b], x -> @{x}))", BOTH),
        ("@IF(TRUE, @UNION(a, b), SELECT 1 AS x)", BOTH),
    ],
)
def test_a_union_is_a_query_over_its_relations(text: str, expected: str) -> None:
    (query,) = read(text).expressions
    for node in list(query.find_all(exp.Anonymous)):
        assert is_star_macro(node)
        node.replace(exp.Star())
    assert [query.sql("spark")] == plain(expected)


PROBLEMS = [
    ("SELECT @VAR('numbr') AS x", 7, "the variable 'numbr' is not declared", "Did you mean number?"),
    ("SELECT a,\n@numbr AS x", 8, "unknown macro @numbr", "Did you mean number?"),
    ("SELECT @strat_ds AS x", 7, "unknown macro @strat_ds", "start_ds"),
    ("SELECT @EECH([a], x -> x)", 7, "unknown macro @eech", "each"),
    ("SELECT @{nobody}_x AS a", 7, "unknown macro @nobody", "Known"),
    ("SELECT @nested AS x", 7, "mapping", ""),
    ("SELECT @IF(a > 1, b, c) AS x", 7, "`a` is known only when the query runs", "CASE WHEN"),
    ("SELECT a,\n@IF(@start_ds > '2024', b) AS x", 8, "@start_ds differs", "CASE WHEN"),
    ("SELECT @IF(YEAR(@END_DT) = 2024, b) AS x", 7, "@end_dt differs", "CASE WHEN"),
    ("SELECT 1 AS a WHERE @IF(@start_epoch IS NULL, b)", 7, "@start_epoch differs", "AND"),
    ("SELECT @IF('@start_ds' > '2024', b) AS x", 7, "'@start_ds' is a text", "CASE WHEN"),
    ("SELECT @IF('on @{end_ds}' = a, b) AS x", 7, "'on @{end_ds}' is a text", "CASE WHEN"),
    ("@DEF(late, '@START_DS' > '2024');\nSELECT @IF(@late, b) AS x", 8, "is a text", ""),
    ("SELECT @IF(@number = '3', b) AS x", 7, "different types", ""),
    ("SELECT @IF(@number, b) AS x", 7, "is not a condition", ""),
    ("SELECT @IF(TRUE) AS x", 7, "@IF has 1 arguments", "@IF(condition, then)"),
    ("SELECT\n\n@IF(FALSE, a) AS x\nFROM t", 9, "has no columns left", "another branch"),
    ("SELECT a FROM t JOIN u ON @IF(FALSE, a)", 7, "returns nothing here", "another branch"),
    ("SELECT a FROM @IF(FALSE, t)", 7, "one table is needed", ""),
    ("SELECT @EACH([a, b], x) FROM t", 7, "has to be a function", "@EACH([a, b], x -> expression)"),
    ("SELECT @EACH([a, b], x -> x) AS y FROM t", 7, "2 expressions", ""),
    ("SELECT @EACH([a], x -> x AS y) AS z FROM t", 7, "an expression with a name", ""),
    ("SELECT 1 + @IF(TRUE, a AS y) FROM t", 7, "an expression with a name", ""),
    ("SELECT COUNT(DISTINCT @IF(FALSE, a)) AS x FROM t", 7, "nothing is left here", ""),
    ("SELECT EXTRACT(@{hostile} FROM a) AS x FROM t", 7, "where a single word is needed", ""),
    ("SELECT DATE_TRUNC(@VAR('hostile'), a) AS x FROM t", 7, "where a single word is needed", ""),
    ("SELECT CAST(a AS @{hostile}) AS x FROM t", 7, "does not parse", ""),
    ("SELECT @EACH([a, , b], x -> x) AS y FROM t", 7, "an argument is empty", ""),
    ("SELECT @EACH([1], x -> t.@{ids}) FROM t", 7, "its value is not a text", ""),
    ("SELECT @DEF(x, 1) AS y", 7, "a statement of its own", "before the query"),
    ("@DEF(start_ds, 1); SELECT 1 AS y", 7, "a built-in macro", "another name"),
    ("@DEF(f, x -> @g(x)); @DEF(g, x -> @f(x)); SELECT @f(a) AS y", 7, "calls itself", "Remove the cycle"),
    ("@DEF(f, x -> x); SELECT @f(a, b) AS y", 7, "@f takes 1 arguments (x)", ""),
    ("@DEF(f, x -> x); SELECT @f AS y", 7, "needs arguments in parentheses", "@f(...)"),
    ("@DEF(k, 1); SELECT @k(1) AS y", 7, "takes no arguments", ""),
    ("SELECT @start_ds(1) AS y", 7, "takes no arguments", "Write @start_ds."),
    ("SELECT @IF AS y", 7, "needs arguments in parentheses", "@if(...)"),
    ("SELECT @IF(a", 7, "never closed", ")"),
    ("SELECT @{a b} AS x", 7, "one name", "@{name}"),
    ("SELECT a FROM t@number", 7, "a macro follows or precedes a name", "name_@{variable}"),
    ("SELECT @IF(TRUE, a)b FROM t", 7, "a macro follows or precedes a name", ""),
    ("SELECT @STAR() FROM t", 7, "relation", "@STAR(relation"),
    ("SELECT @STAR(t, u, v) FROM t", 7, "has wrong arguments", "@STAR(relation"),
    ("SELECT @STAR(t, colour := 'x') FROM t", 7, "has wrong arguments", "@STAR(relation"),
    ("SELECT @STAR(t, except := [a], exclude := [b]) FROM t", 7, "has wrong arguments", ""),
    ("SELECT @STAR(t, except := [a + 1]) FROM t", 7, "neither a name nor a text", ""),
    ("@UNION('some', a, b)", 7, "'all' or 'distinct'", "@UNION"),
    ("@UNION('all')", 7, "names of relations", "@UNION"),
    ("@UNION(a, b) WHERE c", 7, "WHERE after @UNION", "FROM (@UNION(a, b))"),
    ("SELECT (@UNION(a, b)) + @UNION(a, b) AS c", 7, "a query of its own", "FROM (@UNION(a, b))"),
    ("SELECT a\nFROM t\nWHERE (a", 9, "does not parse", "dialect"),
    ("SELECT 'a\nFROM t", 7, "does not parse", "dialect"),
    ("SELECT @IF(TRUE, a b c) AS x", 7, "does not parse", "dialect"),
    ("SELECT a FROM t WHERE {{ x }}", 7, "contains Jinja ({{)", "@VAR"),
    ("SELECT a FROM t WHERE b = '{% if x %}1{% endif %}'", 7, "contains Jinja ({%)", "@VAR"),
    ("{% set x = 1 %} SELECT {{ x }}", 7, "contains Jinja ({", "@VAR"),
    ("JINJA_QUERY_BEGIN;\nSELECT 1;\nJINJA_END;", 7, "JINJA_QUERY_BEGIN", "@VAR"),
    ("SELECT 1 AS a;\nJINJA_STATEMENT_BEGIN; x; JINJA_END;", 8, "JINJA_STATEMENT_BEGIN", "@VAR"),
    # statements of the virtual layer
    ("SELECT 1 AS a;\n\non_virtual_update_begin;\nSET x = 1;\non_virtual_update_end;", 9, "statements that run when views are updated", "rights on views"),
    ("ON_VIRTUAL_UPDATE_BEGIN;\nSELECT 2 AS b;\nON_VIRTUAL_UPDATE_END;\nSELECT 1 AS a", 7, "ON_VIRTUAL_UPDATE_BEGIN", "after the query"),
    ("SELECT 1 AS a;\nON_VIRTUAL_UPDATE_BEGIN;\n{# it's #}\nON_VIRTUAL_UPDATE_END;", 8, "ON_VIRTUAL_UPDATE_BEGIN", ""),
    ("SELECT `a\0b` FROM t", 7, "NUL character", ""),
    ("MSCK REPAIR TABLE @{schema}.t; SELECT 1 AS a", 7, "passed on as it is", "without macros"),
    ("SELECT $x AS a", 7, "unknown macro @x", ""),
    ("SELECT a FROM t TABLESAMPLE (@{nobody} ROWS)", 7, "unknown macro @nobody", ""),
]  # fmt: skip


@pytest.mark.parametrize("text,line,message,advice", PROBLEMS)
def test_what_is_wrong_is_reported_with_its_line(
    text: str, line: int, message: str, advice: str
) -> None:
    (problem,) = problems_of(text)
    assert problem.startswith(f"models/m.sql:{line}: ")
    assert message in problem
    assert advice in problem


_WORDS = """
SELECT FROM WHERE AND OR NOT a b t raw.t ( ) , . + - * 1 'x' x -> [ ] := ; { } @ @@ $ ? : :: " `
-- /* */ @number @columns @{number} @{table} @nobody @start_ds @IF( @EACH( @DEF( @STAR( @UNION(
@VAR( @{
GROUP BY ORDER LIMIT AS WITH IN BETWEEN CASE WHEN THEN END JOIN ON UNION ALL except TRUE NULL
INTERVAL DAY CAST( EXISTS( OVER( DISTINCT DELETE @IF(TRUE,a) @IF(FALSE,a) @EACH([a,b],x->x+1)
@DEF(f,x->@f(x)); @f(a) @STAR(raw.t) @UNION(raw.t,t)
"""
WORDS = _WORDS.split()


@pytest.mark.full
@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), st.sampled_from(DIALECTS))
@settings(max_examples=examples(400))
def test_any_text_is_read_or_answered_with_problems(text: str, dialect: str) -> None:
    problems = Problems()
    found = read_statements(text, dialect=dialect, place=PLACE, scope=SCOPE, problems=problems)
    assert (found is None) == bool(problems.found)


@given(st.text(alphabet=st.characters(exclude_characters="\0", codec="utf-8"), min_size=1))
def test_a_value_is_a_literal_or_a_name_whatever_it_holds(value: str) -> None:
    scope = MacroScope(variables={"v": value}, functions={})
    text = "SELECT @v AS x, @{v} AS y, t.@{v}_z AS @{v} FROM t AS t WHERE @v IN (@v)"
    problems = Problems()
    found = read_statements(text, dialect="duckdb", place=PLACE, scope=scope, problems=problems)
    assert found is not None
    (query,) = sqlglot.parse(found.expressions[0].sql("duckdb"), dialect="duckdb")
    assert isinstance(query, exp.Select)
    literal, column, qualified = query.selects
    assert [each.name for each in query.find_all(exp.Literal)] == [value] * 3
    names = (literal.alias, column.this.name, qualified.this.name, qualified.alias)
    assert names == ("x", value, f"{value}_z", value)


def test_lists_that_a_dialect_takes_for_quotes_are_answered_where_they_are_nested() -> None:
    (problem,) = problems_of("SELECT @EACH([(a, 'b), [c, d]], x -> x) FROM t", "tsql")
    assert problem.startswith("models/m.sql:7: the query does not parse")


def test_every_statement_reports_its_problem() -> None:
    found = problems_of("SELECT @no1 AS a;\nSELECT @no2 AS a;\nDELETE FROM;")
    assert [each.split(":")[1] for each in found] == ["7", "8", "9"]


IN_LAMBDAS = [
    ("@DEF(f, a -> @a + 1);\nSELECT TRANSFORM(x, e -> @f(e)) AS r FROM t", "SELECT TRANSFORM(x, e -> e + 1) AS r FROM t"),
    ("@DEF(f, a -> @a.b);\nSELECT TRANSFORM(x, e -> @f(e)) AS r FROM t", "SELECT TRANSFORM(x, e -> e.b) AS r FROM t"),
    ("SELECT TRANSFORM(x, e -> @IF(TRUE, e + i, 0)) AS r FROM t", "SELECT TRANSFORM(x, e -> e + i) AS r FROM t"),
    ("@DEF(f, a -> @a + i);\nSELECT TRANSFORM(x, i -> TRANSFORM(y, e -> @f(e))) AS r, @f(i) AS z FROM t", "SELECT TRANSFORM(x, i -> TRANSFORM(y, e -> e + i)) AS r, i + i AS z FROM t"),
]  # fmt: skip


@pytest.mark.parametrize("text,written", IN_LAMBDAS)
def test_a_parameter_of_a_lambda_is_one_also_behind_a_macro(text: str, written: str) -> None:
    assert read(text).expressions == tuple(sqlglot.parse(written, dialect="spark"))


ODD_TEXTS = [
    r"SELECT REPLACE(a, '\0', '') AS a FROM t",
    "SELECT '{{' AS a, '{%' AS b, REPLACE(a, '{{', '}}') AS c FROM t",
    "SELECT '{{1}}' AS a, '{\"a\": {\"b\": {}}}' AS b FROM t",
]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_text_may_have_any_character(text: str) -> None:
    found = read(f"{text} WHERE @IF(TRUE, a = 1)")
    assert found.texts == (f"{text} WHERE a = 1",)
    assert sql_of(text) == plain(text)


def test_jinja_in_a_comment_is_a_comment() -> None:
    assert sql_of("SELECT 1 AS a -- {{ x }}") == plain("SELECT 1 AS a -- {{ x }}")


QUOTED: list[tuple[str, list[tuple[int, str]]]] = [
    ("SELECT a FROM t\nWHERE a > '@start_ds'\nAND b < '@end_ds'", [(5, "start_ds"), (6, "end_ds")]),
    ("SELECT 'a@b.example @start_ds' AS a", [(4, "start_ds")]),
    ("SELECT 'day=@{START_DATE}/' AS a", [(4, "start_date")]),
    ("SELECT '@execution_ts and @start_ds' AS a", [(4, "execution_ts")]),
    ("DELETE FROM a WHERE ds = '@end_ds';\nSELECT 1 AS b", [(4, "end_ds")]),
    ("SELECT '@starting_ds' AS a, 'a@b.example' AS b, '@start' AS c", []),
    ("SELECT @start_ds AS a, CONCAT('@', @start_ds) AS b -- '@start_ds'", []),
]  # fmt: skip


@pytest.mark.parametrize("text,expected", QUOTED, ids=[row[0] for row in QUOTED])
def test_a_time_macro_in_quotes_stays_a_text_and_is_reported(
    text: str, expected: list[tuple[int, str]]
) -> None:
    problems = Problems()
    place = Place(path=PLACE.path, line=4)
    found = read_statements(text, dialect="spark", place=place, scope=SCOPE, problems=problems)
    assert found is not None
    assert problems.found == []
    assert [(each.place.line, each.message.split()[0]) for each in problems.warnings] == [
        (line, f"@{name}") for line, name in expected
    ]
    assert all("without quotes" in each.advice for each in problems.warnings)


@pytest.mark.parametrize(
    "macro,text",
    [
        ("@STAR", "SELECT 1 AS a;\nCREATE TABLE b AS SELECT @STAR(a.b) FROM a.b"),
        ("@UNION", "SELECT 1 AS a;\nCREATE TABLE b AS @UNION('all', a.b, a.c)"),
    ],
)
def test_the_columns_of_relations_are_not_known_in_pre_and_post_statements(
    macro: str, text: str
) -> None:
    problems = Problems()
    found = read_statements(text, dialect="spark", place=PLACE, scope=SCOPE, problems=problems)
    assert found is None
    (problem,) = problems.found
    assert problem.message.startswith(f"{macro} is used in a pre- or post-statement")
    assert problem.place.line == PLACE.line + 1
