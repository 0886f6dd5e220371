# ruff: noqa: E501 - texts stay on one line
"""The author's text with its macros replaced: all that no macro touches stays to the letter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from vde_dagster.core.errors import Place, Problem
from vde_dagster.project.macros.language import MacroScope, read_statements
from vde_dagster.project.problems import Problems

VARIABLES: Mapping[str, object] = {
    "columns": ["a", "b"],
    "empty": [],
    "hostile": "x`; drop table y --",
    "ids": [1, 2],
    "minus": -2,
    "name": "orders",
    "number": 3,
    "quote": "it's",
    "yes": True,
}


def texts_of(text: str) -> tuple[str, ...]:
    problems = Problems()
    found = read_statements(
        text,
        dialect="spark",
        place=Place(path=Path("models/m.sql"), line=3),
        scope=MacroScope(variables=VARIABLES, functions={}),
        problems=problems,
    )
    assert problems.found == []
    assert found is not None
    return found.texts


UNTOUCHED = [
    "select  A . b\n\t, c  from `T` t -- all of it\nWHERE 1=1",
    "SELECT /*+ BROADCAST(t) */ a /* why */ FROM t",
    "SELECT '@number @{name}' AS x, \"it''s\" AS y, r'\\n@yes' AS z -- @number\nFROM t",
    "SELECT a FROM t WHERE ts BETWEEN @start_dt AND @END_DT",
    "SELECT a||b, to_char(x, '999'), listagg(s) FROM t",
    "DELETE  FROM t WHERE a  = 1",
]


@pytest.mark.parametrize("text", UNTOUCHED)
def test_a_text_without_macros_that_are_replaced_stays_to_the_letter(text: str) -> None:
    assert texts_of(text) == (text,)
    assert texts_of(f"\n  {text} ;\nSELECT 1") == (text, "SELECT 1")


AROUND = [
    # values and names
    ("SELECT  @number+1 AS x", "SELECT  3+1 AS x"),
    ("SELECT 5 -@minus", "SELECT 5 -(-2)"),
    ("SELECT @quote AS x", r"SELECT 'it\'s' AS x"),
    ("SELECT a /* @number */ , @number /* n */ AS n -- x\nFROM t", "SELECT a /* @number */ , 3 /* n */ AS n -- x\nFROM t"),
    ("SELECT a FROM raw . @{name}_x  O", "SELECT a FROM raw . orders_x  O"),
    ("SELECT @{hostile}_y  FROM t", "SELECT `x``; drop table y --_y`  FROM t"),
    # @IF with what it gives
    ("SELECT @IF( @yes , sum( a ) , b )  AS x FROM t", "SELECT sum( a )  AS x FROM t"),
    ("SELECT @IF(NOT @yes, a, b  +  1)  AS x FROM t", "SELECT b  +  1  AS x FROM t"),
    ("SELECT a FROM t WHERE b AND @IF(TRUE, c  OR d)", "SELECT a FROM t WHERE b AND (c  OR d)"),
    ("SELECT 2 * @IF(TRUE, a + b)", "SELECT 2 * (a + b)"),
    ("SELECT f(@IF(TRUE, a + b))", "SELECT f(a + b)"),
    ("SELECT @IF(TRUE, s || x) + y", "SELECT (s || x) + y"),
    ("SELECT x & @IF(TRUE, y | k)", "SELECT x & (y | k)"),
    ("SELECT @IF(TRUE, -1)::STRING", "SELECT (-1)::STRING"),
    ("SELECT a FROM @IF(TRUE, raw.big  , raw.small) AS o", "SELECT a FROM raw.big AS o"),
    ("SELECT 1 FROM @IF(TRUE, SELECT  1 AS a) AS q", "SELECT 1 FROM (SELECT  1 AS a) AS q"),
    ("SELECT 1 FROM (@IF(TRUE, SELECT  1 AS a)) AS q", "SELECT 1 FROM (SELECT  1 AS a) AS q"),
    ("SELECT a = @IF(TRUE, SELECT  1 AS a)", "SELECT a = (SELECT  1 AS a)"),
    ("WITH q AS ( @IF(TRUE, SELECT 1  AS a) ) SELECT a FROM q", "WITH q AS ( SELECT 1  AS a ) SELECT a FROM q"),
    ("@IF(TRUE, DELETE  FROM t)", "DELETE  FROM t"),
    ("SELECT @IF(TRUE, @IF(FALSE, a, b . c), d)  x", "SELECT b . c  x"),
    ("SELECT a FROM t WHERE @IF(TRUE, ts >= @start_dt)", "SELECT a FROM t WHERE ts >= @start_dt"),
    # several values
    ("SELECT @EACH([ a , b ], x -> x  +1)\n  , c FROM t", "SELECT a  +1, b  +1\n  , c FROM t"),
    ("SELECT @EACH(@columns, x -> x AS @{x}_s)  FROM t", "SELECT 'a' AS a_s, 'b' AS b_s  FROM t"),
    ("SELECT COALESCE( @EACH([a, b], x -> x) , 0 )", "SELECT COALESCE( a, b , 0 )"),
    ("SELECT c IN ( @EACH([1, 2], x -> x  *2) )", "SELECT c IN ( 1  *2, 2  *2 )"),
    ("SELECT a FROM t WHERE a  IN  @ids", "SELECT a FROM t WHERE a  IN  (1, 2)"),
    ("SELECT a FROM t WHERE a IN ( @ids , 7 )", "SELECT a FROM t WHERE a IN ( 1, 2 , 7 )"),
    ("SELECT a FROM t GROUP BY @EACH([a, b], x -> x)", "SELECT a FROM t GROUP BY a, b"),
    ("SELECT a FROM t ORDER BY @EACH([a, b], x -> x DESC) , c", "SELECT a FROM t ORDER BY a DESC, b DESC , c"),
    # definitions
    ("@DEF(sums, a  + b); SELECT @sums  * 2 AS x", "SELECT (a  + b)  * 2 AS x"),
    ("@DEF(f, (x, y) -> x - y); SELECT @f(1, a - b) AS z", "SELECT 1 - (a - b) AS z"),
    ("@DEF(f, x -> x + 1); @DEF(g, x -> @f(x) * 2); SELECT @g(a) AS y", "SELECT (a + 1) * 2 AS y"),
]  # fmt: skip


@pytest.mark.parametrize("text,expected", AROUND)
def test_what_a_macro_gives_stands_in_its_place_and_all_else_stays(
    text: str, expected: str
) -> None:
    assert texts_of(text) == (expected,)


NOTHING = [
    # an operator of what is left goes with it
    ("SELECT a FROM t WHERE b  AND @IF(FALSE, c)\n  AND d", "SELECT a FROM t WHERE b  \n  AND d"),
    ("SELECT a FROM t WHERE @IF(FALSE, c) AND b  AND d", "SELECT a FROM t WHERE  b  AND d"),
    ("SELECT a FROM t WHERE b AND d  OR @IF(FALSE, c)", "SELECT a FROM t WHERE b AND d  "),
    ("SELECT a FROM t WHERE @IF(FALSE, c) OR b AND d", "SELECT a FROM t WHERE  b AND d"),
    # and what means nothing without it
    ("SELECT a FROM t WHERE b OR NOT @IF(FALSE, c)", "SELECT a FROM t WHERE b "),
    ("SELECT a FROM t WHERE NOT ( @IF(FALSE, c) ) OR b", "SELECT a FROM t WHERE  b"),
    ("SELECT a FROM t WHERE ((@IF(FALSE, c))) AND (b)", "SELECT a FROM t WHERE  (b)"),
    ("SELECT a FROM t WHERE b AND (@IF(FALSE, c) OR d)", "SELECT a FROM t WHERE b AND ( d)"),
    ("SELECT b , @IF(FALSE, a) AS x , c FROM t", "SELECT b ,  c FROM t"),
    ("SELECT b , @IF(FALSE, a) x FROM t", "SELECT b  FROM t"),
    ("SELECT @IF(FALSE, a) AS `x y`, b FROM t", "SELECT  b FROM t"),
    ("SELECT b, - @IF(FALSE, a) AS x FROM t", "SELECT b FROM t"),
    ("SELECT f( a, @IF(FALSE, b) ) AS x", "SELECT f( a ) AS x"),
    ("SELECT f( @IF(FALSE, b), a ) AS x", "SELECT f(  a ) AS x"),
    ("SELECT f(@IF(FALSE, b)) AS x", "SELECT f() AS x"),
    ("SELECT @EACH([], x -> x) , b FROM t", "SELECT  b FROM t"),
    # a clause that has nothing
    ("SELECT a FROM t WHERE @IF(FALSE, c) -- why\nGROUP BY a", "SELECT a FROM t  -- why\nGROUP BY a"),
    ("SELECT a FROM t GROUP  BY @IF(FALSE, a) ORDER BY a", "SELECT a FROM t  ORDER BY a"),
    ("SELECT a FROM t HAVING @IF(FALSE, a)", "SELECT a FROM t "),
    ("SELECT a FROM t LIMIT @IF(FALSE, 3)", "SELECT a FROM t "),
    ("SELECT a FROM t ORDER BY @IF(FALSE, b) DESC NULLS LAST", "SELECT a FROM t "),
    ("SELECT a FROM t ORDER BY a, @IF(FALSE, b) DESC NULLS FIRST", "SELECT a FROM t ORDER BY a"),
    ("SELECT a FROM t ORDER BY @IF(FALSE, b) ASC, a  LIMIT 3", "SELECT a FROM t ORDER BY  a  LIMIT 3"),
    # an empty list has no members, not even NULL
    ("SELECT a FROM t WHERE a IN @empty OR b", "SELECT a FROM t WHERE a IN (SELECT NULL WHERE FALSE) OR b"),
    ("SELECT a FROM t WHERE a IN (@empty)", "SELECT a FROM t WHERE a IN (SELECT NULL WHERE FALSE)"),
    ("SELECT a FROM t WHERE a IN (@empty, 7)", "SELECT a FROM t WHERE a IN ( 7)"),
    ("SELECT a FROM t WHERE a IN (7, @empty)", "SELECT a FROM t WHERE a IN (7)"),
]  # fmt: skip


@pytest.mark.parametrize("text,expected", NOTHING)
def test_a_macro_that_gives_nothing_goes_with_what_it_needs(text: str, expected: str) -> None:
    assert " ".join(texts_of(text)[0].split()) == " ".join(expected.split())


def test_a_statement_that_a_macro_gives_away_is_none() -> None:
    assert texts_of("@IF(FALSE, DELETE FROM t);\nSELECT 1 AS a") == ("SELECT 1 AS a",)


NEEDED = [
    "SELECT 1 + @IF(FALSE, a) FROM t",
    "SELECT @IF(FALSE, a) FROM t",
    "SELECT a FROM @IF(FALSE, t) AS x",
    "SELECT CAST(@IF(FALSE, a) AS INT) FROM t",
]


def problems_of(text: str) -> list[Problem]:
    problems = Problems()
    scope = MacroScope(variables=VARIABLES, functions={})
    place = Place(path=Path("models/m.sql"), line=3)
    read_statements(text, dialect="spark", place=place, scope=scope, problems=problems)
    return problems.found


def refused(text: str) -> str:
    (problem,) = problems_of(text)
    return problem.message


@pytest.mark.parametrize("text", NEEDED)
def test_where_something_is_needed_nothing_is_refused(text: str) -> None:
    assert [each.place.line for each in problems_of(text)] == [3]


def test_a_comment_at_the_end_of_what_is_wrapped_closes_no_parenthesis() -> None:
    text = "@DEF(m, a + b -- c\n);\nSELECT  @m /* x */ * 2 FROM t"
    assert texts_of(text) == ("SELECT  (a + b -- c\n) /* x */ * 2 FROM t",)


@pytest.mark.parametrize("text", ["@IF(FALSE, a) + 1", "1 + @IF(FALSE, a)", "(@IF(FALSE, a)) + 1"])
def test_what_should_go_with_a_macro_and_is_not_there_is_refused(text: str) -> None:
    assert "returns nothing here" in refused(f"SELECT {text} AS x FROM t")


@pytest.mark.parametrize(
    "condition",
    ["a BETWEEN @IF(FALSE, b) AND c", "a BETWEEN b AND @IF(FALSE, c)", "@IF(FALSE, a) = 1"],
)
def test_an_operand_is_no_condition_that_may_be_left_out(condition: str) -> None:
    assert "returns nothing here" in refused(f"SELECT a FROM t WHERE x AND {condition} AND y")


def test_two_macros_that_give_nothing_are_refused_where_they_meet() -> None:
    text = "SELECT a FROM t WHERE @IF(FALSE, b) AND @IF(FALSE, c)"
    assert "two macros that expand to nothing are next to each other" in refused(text)


@pytest.mark.parametrize(
    "text,expected",
    [
        ("SELECT @IF(TRUE, a -- why\n) AS x FROM t", "SELECT a -- why\n AS x FROM t"),
        (
            "SELECT @EACH([a, b], x -> x -- why\n), c FROM t",
            "SELECT a -- why\n, b -- why\n, c FROM t",
        ),
        ("SELECT f(@IF(TRUE, a /* why */), b)", "SELECT f(a /* why */, b)"),
        ("@DEF(s, a + b); SELECT @s x, @s .b FROM t", "SELECT (a + b) x, (a + b) .b FROM t"),
        (
            "@DEF(f, date -> DATE '2024-01-01' - @date); SELECT @f(a)",
            "SELECT DATE '2024-01-01' - a",
        ),
    ],
)
def test_what_is_put_in_leaves_the_words_behind_it_as_they_are(text: str, expected: str) -> None:
    assert texts_of(text) == (expected,)


@pytest.mark.parametrize("text", ["SELECT t.@IF(TRUE, a + b)", "SELECT a AS @IF(TRUE, b + 1)"])
def test_a_name_is_needed_where_one_stands(text: str) -> None:
    assert "a name is needed here" in refused(text)


def test_what_does_not_parse_in_a_condition_has_its_line() -> None:
    found = problems_of("SELECT a,\n@IF(1 + , b)\nFROM t")
    assert [each.place.line for each in found] == [4]


def test_a_from_in_a_call_is_no_table() -> None:
    text = "SELECT EXTRACT(YEAR FROM @IF(TRUE, a + b)) AS y FROM @VAR('name')"
    assert texts_of(text) == ("SELECT EXTRACT(YEAR FROM (a + b)) AS y FROM `orders`",)
