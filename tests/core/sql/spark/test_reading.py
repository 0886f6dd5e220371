"""Reading Spark's SQL with the precedence of Spark's grammar (SqlBaseParser.g4)."""

from __future__ import annotations

import re

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.errors import SqlglotError

from vde_dagster.core.sql.spark.reading import read_spark

BOUND = [
    # || is on the level of + and -, and all three go from left to right
    ("s || x + y", "(s || x) + y"),
    ("x - y || s - z", "((x - y) || s) - z"),
    ("s || x * y", "s || (x * y)"),
    # & binds more tightly than ^, and ^ more tightly than |
    ("x | y & k", "x | (y & k)"),
    ("x ^ y & k", "x ^ (y & k)"),
    ("x | y ^ k", "x | (y ^ k)"),
    ("x | y ^ k & l << 1 + 2 * 3", "x | (y ^ (k & (l << (1 + (2 * 3)))))"),
    # shifts bind less tightly than sums, and more tightly than &
    ("x & y << 1", "x & (y << 1)"),
    ("x << y & 1", "(x << y) & 1"),
    ("x << 1 + y", "x << (1 + y)"),
    ("x << 1 >> 2", "(x << 1) >> 2"),
    ("s || x << 1", "(s || x) << 1"),
    # all of them more tightly than comparisons and conditions
    ("x | y = k & 1", "(x | y) = (k & 1)"),
    ("NOT x & 1 = 1 OR y", "(NOT ((x & 1) = 1)) OR y"),
    ("s || x LIKE t || y", "(s || x) LIKE (t || y)"),
    ("x & 1 IN (1, 2)", "(x & 1) IN (1, 2)"),
    ("x BETWEEN y | 1 AND z ^ 2", "x BETWEEN (y | 1) AND (z ^ 2)"),
    # a sign more tightly than all but a cast
    ("- x || s", "(- x) || s"),
    ("~ x & y", "(~ x) & y"),
    ("-x::STRING", "-(x::STRING)"),
    ("s || x::STRING", "s || (x::STRING)"),
    ("x - 1::STRING", "x - (1::STRING)"),
    # parentheses decide
    ("(x | y) & k", "((x | y)) & k"),
    # in arguments, branches and sub-queries, too
    ("f(s || x + y)[x | y & k]", "f((s || x) + y)[x | (y & k)]"),
    ("IF(x & y << 1 > 0, s || x + y, z)", "IF((x & (y << 1)) > 0, (s || x) + y, z)"),
    ("(SELECT MAX(s || x + y) FROM t)", "(SELECT MAX((s || x) + y) FROM t)"),
]


def selected(query: str) -> list[exp.Expr]:
    """What a SELECT returns, as Spark reads it."""
    read = read_spark(query)
    assert isinstance(read, exp.Select)
    return read.selects


def meant(expression: str) -> exp.Expr:
    """What is read, without the parentheses."""
    tree = read_spark(f"SELECT {expression} AS v FROM t")
    holder = exp.Tuple(expressions=[tree])
    for node in list(holder.find_all(exp.Paren)):
        node.replace(node.this)
    found: exp.Expr = holder.expressions[0]
    return found


@pytest.mark.parametrize("written,parentheses", BOUND)
def test_operators_bind_as_in_sparks_grammar(written: str, parentheses: str) -> None:
    assert meant(written) == meant(parentheses)


LEVELS = (("*", "%"), ("+", "-"), ("<<", ">>"), ("&",), ("^",), ("|",))
LEVEL = {operator: level for level, each in enumerate(LEVELS) for operator in each}


def closed(operands: list[str], operators: list[str]) -> str:
    """The expression with all parentheses: what binds least, and of these the last, is split."""
    if not operators:
        return operands[0]
    weakest = max(map(LEVEL.__getitem__, operators))
    at = max(index for index, each in enumerate(operators) if LEVEL[each] == weakest)
    left = closed(operands[: at + 1], operators[:at])
    right = closed(operands[at + 1 :], operators[at + 1 :])
    return f"({left} {operators[at]} {right})"


@given(operators=st.lists(st.sampled_from(sorted(LEVEL)), min_size=1, max_size=9))
def test_any_chain_of_operators_is_read_by_the_levels(operators: list[str]) -> None:
    operands = [f"x{index}" for index in range(len(operators) + 1)]
    pairs = zip(operands, [*operators, ""], strict=True)
    written = " ".join(word for pair in pairs for word in pair).strip()
    assert meant(written) == meant(closed(operands, operators))


def test_a_number_with_a_minus_is_a_literal() -> None:
    """``-1::STRING`` is the text of minus one; a name with a minus is negated after its cast."""
    (cast,) = selected("SELECT -1::STRING")
    assert isinstance(cast, exp.Cast)
    assert cast.this == exp.Neg(this=exp.Literal.number(1))
    assert meant("- 1.5::INT::STRING") == meant("((-1.5)::INT)::STRING")
    (negated,) = selected("SELECT -x::STRING")
    assert isinstance(negated, exp.Neg)


SHIFTED = [
    ("x >>> 1", "shiftrightunsigned(x, 1)"),
    ("x >>> y >>> 1", "shiftrightunsigned(shiftrightunsigned(x, y), 1)"),
    ("x >>> 1 + y", "shiftrightunsigned(x, 1 + y)"),
    ("x & y >>> 1", "x & shiftrightunsigned(y, 1)"),
    ("x << 1 >>> 2", "shiftrightunsigned(x << 1, 2)"),
    ("x >>> 1 = 3", "shiftrightunsigned(x, 1) = 3"),
]


@pytest.mark.parametrize("written,called", SHIFTED)
def test_an_unsigned_shift_is_the_function_of_spark(written: str, called: str) -> None:
    assert meant(written) == meant(called)


def test_three_signs_that_stand_apart_are_no_unsigned_shift() -> None:
    with pytest.raises(SqlglotError):
        read_spark("SELECT x > > > 1")


@pytest.mark.parametrize("written", ["X 'ff'", "x 'ff'", "x'ff'"])
def test_bytes_may_stand_apart_from_their_prefix(written: str) -> None:
    assert meant(written) == meant("X'ff'")
    assert meant(f"f({written}, 1)") == meant("f(X'ff', 1)")


def test_a_name_x_is_no_prefix() -> None:
    (named,) = selected("SELECT 1 AS x")
    assert named.alias == "x"
    for text in ("SELECT t.x 'ff' FROM t", "SELECT 1 AS x 'ff'"):
        with pytest.raises(SqlglotError):
            read_spark(text)


def test_window_is_a_function_before_parentheses_and_a_clause_elsewhere() -> None:
    query = read_spark(
        "SELECT window(ts, '10 minutes').start AS s, SUM(v) OVER w AS t FROM e "
        "GROUP BY window(ts, '10 minutes') WINDOW w AS (PARTITION BY k)"
    )
    calls = [each for each in query.find_all(exp.Anonymous) if each.name == "window"]
    assert [len(each.expressions) for each in calls] == [2, 2]
    assert [each.name for each in query.args["windows"]] == ["w"]


@pytest.mark.parametrize("written", [one for one, _ in BOUND])
def test_names_know_their_places_in_the_text(written: str) -> None:
    text = f"SELECT  {written} AS `a b` /* x */ FROM m . t"
    tree = read_spark(text)
    names = [each for each in tree.find_all(exp.Identifier) if "start" in each.meta]
    assert {each.parent.__class__ for each in names} >= {exp.Column, exp.Table}
    for each in names:
        assert text[each.meta["start"] : each.meta["end"] + 1].strip("`") == each.name


@pytest.mark.parametrize("text", ["", "-- only this", "SELECT 1; SELECT 2"])
def test_what_is_no_single_statement_is_refused(text: str) -> None:
    with pytest.raises(SqlglotError):
        read_spark(text)


ARITHMETIC = ["7 | 12 & 10", "7 ^ 12 & 10", "1 | 6 ^ 3", "3 & 5 << 1", "1 << 1 + 1", "9 >> 1 << 2"]
"""Their values, by hand, are those of `(7 | (12 & 10))` and so on."""
VALUES = [15, 15, 5, 2, 4, 16]


@pytest.mark.parametrize("written,value", list(zip(ARITHMETIC, VALUES, strict=True)))
def test_values_are_those_of_the_levels(written: str, value: int) -> None:
    (tree,) = selected(f"SELECT {written}")
    for node in list(tree.find_all(exp.Binary)):
        if node is not tree:
            node.replace(exp.Paren(this=node.copy()))
    found = duckdb.connect().execute(f"SELECT {tree.sql('duckdb')}").fetchall()
    assert found == [(value,)]


COMMENTS = [
    ("a || /* one */ b AS c", [" one "]),
    ("x + /* one */ y || /* two */ z AS c", [" one ", " two "]),
    ("x << /* one */ y", [" one "]),
    ("x >>> /* one */ 2", [" one "]),
    ("a || /* one */ - /* two */ x", [" one ", " two "]),
    ("- /* one */ 1::STRING", [" one "]),
    ("a || /* one */ (b || c)", [" one "]),
]


@pytest.mark.parametrize("written,comments", COMMENTS)
def test_comments_behind_operators_are_in_the_tree(written: str, comments: list[str]) -> None:
    tree = read_spark(f"SELECT {written} FROM t")
    found = [comment for node in tree.walk() for comment in node.comments or []]
    assert sorted(found) == sorted(comments)


def test_comments_change_no_operator() -> None:
    for written, _ in COMMENTS:
        plain = re.sub(r"/\*.*?\*/ ", "", written)
        assert read_spark(f"SELECT {written} FROM t") == read_spark(f"SELECT {plain} FROM t")
