"""Expressions for DuckDB with the types that Spark gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sqlglot import exp

from vde_dagster.core.sql.duckdb.types import (
    BOOLEAN,
    DOUBLE,
    VOID,
    NotTheSame,
    SparkType,
    common,
)

EXACT_DOUBLE: Final = 15
"""So many decimal digits every double has, so a decimal of no more is converted in one way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A tree for DuckDB, and the type that Spark's has.

    ``literal`` is the value of a whole number or a text that was written as such; else None.
    """

    node: exp.Expr
    type: SparkType
    literal: int | str | None = None


class Scope(Protocol):
    """Where an expression stands: what its names are, and whether it may aggregate."""

    def value(self, node: exp.Expr) -> Value:
        """An expression of Spark's for DuckDB.

        Raises:
            NotTheSame: It is not known to mean the same.
        """
        ...

    def column(self, node: exp.Column) -> Value:
        """What a name stands for.

        Raises:
            NotTheSame: It is not known here.
        """
        ...

    def rows(self, query: exp.Expr) -> tuple[exp.Query, tuple[SparkType, ...]]:
        """A query inside of the expression, which reads nothing of the one around it.

        Raises:
            NotTheSame: It is not known to mean the same.
        """
        ...


Rule = Callable[[exp.Expr, Scope], Value]
"""How one sort of expression is translated; it raises NotTheSame for what it does not know."""


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A call of a function of DuckDB by its own name."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def number(value: int) -> exp.Expr:
    """A whole number as an argument."""
    return exp.Literal.number(str(value)) if value >= 0 else exp.Neg(this=number(-value))


def cast(node: exp.Expr, kind: SparkType) -> exp.Expr:
    """A cast for DuckDB."""
    return exp.Cast(this=node, to=kind.in_duckdb)


def checked(failing: exp.Expr, why: str, node: exp.Expr) -> exp.Expr:
    """An expression that fails on rows for which a condition is true.

    DuckDB's answer is not used then: Spark computes the query.
    """
    error = call("error", exp.Literal.string(why))
    return exp.Case(ifs=[exp.If(this=failing, true=error)], default=node)


def fitted(value: Value, kind: SparkType) -> exp.Expr:
    """A value in a type to which Spark widens its own.

    Raises:
        NotTheSame: The conversion may round in two ways.
    """
    if value.type == kind:
        return value.node
    if value.type == VOID:
        return cast(exp.Null(), kind)
    if value.type.is_decimal and kind == DOUBLE and value.type.precision > EXACT_DOUBLE:
        raise NotTheSame(f"a {value.type} as a double is rounded by each engine")
    return cast(value.node, kind)


def alike(values: Sequence[Value]) -> tuple[SparkType, list[exp.Expr]]:
    """Values in their common type."""
    kind = common(each.type for each in values)
    return kind, [fitted(each, kind) for each in values]


def condition(node: exp.Expr, scope: Scope) -> exp.Expr:
    """A condition.

    Raises:
        NotTheSame: It is of another type, or not known to mean the same. A null without a type is
            one in some places of Spark, and none in others.
    """
    found = scope.value(node)
    if found.type != BOOLEAN:
        raise NotTheSame(f"a {found.type} as a condition")
    return found.node


def whole_literal(node: exp.Expr | None, scope: Scope, *, least: int) -> int:
    """An argument that is written as a whole number.

    Raises:
        NotTheSame: It is anything else, or too small.
    """
    found = scope.value(node).literal if node is not None else None
    if not isinstance(found, int) or found < least:
        raise NotTheSame(f"an argument that is no number from {least} on")
    return found


def text_literal(node: exp.Expr | None, scope: Scope) -> str:
    """An argument that is written as a text.

    Raises:
        NotTheSame: It is anything else.
    """
    found = scope.value(node).literal if node is not None else None
    if not isinstance(found, str):
        raise NotTheSame("an argument that is no text in quotes")
    return found


def of_type(node: exp.Expr, scope: Scope, *names: str) -> Value:
    """A value whose type has one of these names.

    Raises:
        NotTheSame: It has another type.
    """
    found = scope.value(node)
    if found.type.name not in names:
        raise NotTheSame(f"a {found.type} in place of a {' or a '.join(names)}")
    return found
