"""Expressions of Spark's dialect for DuckDB: what is in no table of rules is left to Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.duckdb.aggregates import (
    AGGREGATES,
    RANKINGS,
    Computed,
    filtered,
    windowed,
)
from vde_dagster.core.sql.duckdb.casts import CASTS
from vde_dagster.core.sql.duckdb.functions import FUNCTIONS
from vde_dagster.core.sql.duckdb.operators import OPERATORS
from vde_dagster.core.sql.duckdb.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    VOID,
    NotTheSame,
    SparkType,
    decimal,
)
from vde_dagster.core.sql.duckdb.values import Rule, Scope, Value, cast, number

_OF_THE_READER: Final = frozenset({"typed", "safe", "ignore_nulls"})
"""Arguments that say how sqlglot read a part of Spark's SQL; rules look at those that matter."""
_MOST_NODES: Final = 2000
"""A check on values repeats a part, so parts inside of parts could grow without end."""
_LARGEST_INT: Final = 2**31 - 1
_LARGEST_BIGINT: Final = 2**63 - 1

Rows = tuple[exp.Query, tuple[SparkType, ...]]


@dataclass(frozen=True, kw_only=True)
class Expressions:
    """The expressions of one place in a query; implements `values.Scope`.

    Args:
        columns: What a name stands for.
        queries: Translates a query inside of an expression.
        aggregates: Whether functions of several rows may stand here.
        windows: Whether functions over windows may.
    """

    columns: Callable[[exp.Column], Value]
    queries: Callable[[exp.Expr], Rows]
    aggregates: bool = False
    windows: bool = False

    def value(self, node: exp.Expr) -> Value:
        """An expression for DuckDB.

        Raises:
            NotTheSame: It is not known to mean the same in both engines.
        """
        found = self._value(node)
        size = sum(1 for _ in islice(found.node.walk(), _MOST_NODES + 1))
        if size > _MOST_NODES:
            raise NotTheSame("an expression that is so large")
        return found

    def _value(self, node: exp.Expr) -> Value:
        made = None
        if isinstance(node, exp.Column):
            made = self.column(node)
        elif isinstance(node, exp.Filter) and self.aggregates:
            made = filtered(node, self._inside(), self._aggregate(node.this))
        elif isinstance(node, exp.Window) and self.windows:
            _refuse_other(node, "this partition_by order over")
            inside = replace(self, windows=False)
            made = windowed(node, inside, _over_window(node.this, inside))
        elif type(node) in AGGREGATES and self.aggregates:
            made = self._aggregate(node).over()
        elif type(node) in _RULES:
            arguments, make = _RULES[type(node)]
            _refuse_other(node, arguments)
            made = make(node, self)
        if made is None:
            raise NotTheSame(_what(node))
        return made

    def column(self, node: exp.Column) -> Value:
        """What a name stands for; see `values.Scope`."""
        return self.columns(node)

    def rows(self, query: exp.Expr) -> Rows:
        """A query inside of the expression; see `values.Scope`."""
        return self.queries(query)

    def _inside(self) -> Expressions:
        return replace(self, aggregates=False, windows=False)

    def _aggregate(self, node: exp.Expr) -> Computed:
        if type(node) not in AGGREGATES:
            raise NotTheSame(_what(node))
        arguments, make = AGGREGATES[type(node)]
        _refuse_other(node, arguments)
        return make(node, self._inside())


def _over_window(node: exp.Expr, scope: Expressions) -> Computed:
    if isinstance(node.this, exp.Distinct):
        raise NotTheSame("a distinct aggregate over a window")
    known = {**AGGREGATES, **RANKINGS}
    if type(node) not in known:
        raise NotTheSame(_what(node))
    arguments, make = known[type(node)]
    _refuse_other(node, arguments)
    return make(node, scope)


def _refuse_other(node: exp.Expr, arguments: str) -> None:
    known: Collection[str] = arguments.split()
    for key, value in node.args.items():
        if value not in (None, False) and value != [] and key not in known:
            if key in _OF_THE_READER:
                continue
            raise NotTheSame(f"{_what(node)} with {key}")


def _what(node: exp.Expr) -> str:
    return node.name.upper() if isinstance(node, exp.Anonymous) else type(node).__name__


def _literal(node: exp.Expr, _scope: Scope) -> Value:
    text = node.name
    if node.args.get("is_string"):
        if "\\" in text or "\0" in text:
            raise NotTheSame("a text with a backslash")
        return Value(node=cast(exp.Literal.string(text), STRING), type=STRING, literal=text)
    if text.isdigit():
        whole = int(text)
        if whole in (_LARGEST_INT + 1, _LARGEST_BIGINT + 1) or whole > _LARGEST_BIGINT:
            raise NotTheSame(f"the number {text}, whose type depends on its sign")
        kind = INT if whole <= _LARGEST_INT else BIGINT
        return Value(node=cast(number(whole), kind), type=kind, literal=whole)
    if "e" in text.lower():
        return Value(node=cast(exp.Literal.string(text), DOUBLE), type=DOUBLE)
    before, _, after = text.partition(".")
    if not (before + after).isdigit():
        raise NotTheSame(f"the number {text}")
    digits = len((before + after).lstrip("0"))
    kind = decimal(max(digits, len(after)), len(after))
    return Value(node=cast(exp.Literal.string(text), kind), type=kind)


_LITERALS: Final[dict[type[exp.Expr], tuple[str, Rule]]] = {
    exp.Literal: ("this is_string", _literal),
    exp.Boolean: ("this", lambda node, _: Value(node=node.copy(), type=BOOLEAN)),
    exp.Null: ("", lambda _node, _scope: Value(node=exp.Null(), type=VOID)),
}
_RULES: Final[Mapping[type[exp.Expr], tuple[str, Rule]]] = {
    **_LITERALS,
    **OPERATORS,
    **FUNCTIONS,
    **CASTS,
}
