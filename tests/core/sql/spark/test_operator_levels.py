"""Operators in parentheses: the text written of a tree keeps its order."""

from __future__ import annotations

from sqlglot import exp

from vde_dagster.core.sql.spark.operator_levels import with_parentheses


def chain(length: int) -> exp.Expr:
    """``a + b - b + b ...`` from left to right."""
    found: exp.Expr = exp.column("a")
    for index in range(length):
        found = (exp.Add, exp.Sub)[index % 2](this=found, expression=exp.column("b"))
    return found


def operators(tree: exp.Expr) -> list[exp.Expr]:
    return list(tree.find_all(exp.Add, exp.Sub))


def written(tree: exp.Expr) -> str:
    holder = exp.Tuple(expressions=[tree])
    with_parentheses(holder)
    [found] = holder.expressions
    assert isinstance(found, exp.Expr)
    return found.sql("spark")


def test_every_level_of_operators_stands_in_parentheses() -> None:
    difference = exp.Sub(this=exp.column("c"), expression=exp.column("d"))
    joined = exp.DPipe(this=difference, expression=exp.column("e"))
    total = exp.Add(this=exp.column("b"), expression=joined)
    tree = exp.Mul(this=exp.column("a"), expression=total)
    assert written(tree) == "a * (b + ((c - d) || e))"
    assert written(chain(4)) == "(((a + b) - b) + b) - b"


def test_operators_inside_of_a_call_inside_of_operators_stand_in_parentheses_too() -> None:
    joined = exp.DPipe(
        this=exp.column("s"),
        expression=exp.Sub(this=exp.column("n"), expression=exp.column("m")),
    )
    product = exp.Mul(this=exp.column("b"), expression=exp.Length(this=joined))
    tree = exp.Add(this=exp.column("a"), expression=product)
    assert written(tree) == "a + (b * LENGTH(s || (n - m)))"


def test_a_chain_of_one_operator_from_left_to_right_needs_no_parentheses() -> None:
    left = exp.Add(this=exp.column("a"), expression=exp.column("b"))
    assert written(exp.Add(this=left, expression=exp.column("c"))) == "a + b + c"
    right = exp.Add(this=exp.column("b"), expression=exp.column("c"))
    assert written(exp.Add(this=exp.column("a"), expression=right)) == "a + (b + c)"


def test_each_operator_gets_one_pair_of_parentheses_and_none_is_copied() -> None:
    """The work grows with the number of operators, however deep they stand in each other."""
    for length in (50, 100, 200):
        holder = exp.Tuple(expressions=[chain(length)])
        before = {id(each) for each in operators(holder)}
        with_parentheses(holder)
        assert {id(each) for each in operators(holder)} == before
        assert len(list(holder.find_all(exp.Paren))) == length - 1
