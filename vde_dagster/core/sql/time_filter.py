"""Whether a query filters its input by time (seed 001, *INCREMENTAL_BY_TIME_RANGE*)."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.macros import borders_in, is_border


def filters_by_time(query: exp.Query) -> bool:
    """Whether some condition on what is read compares a column with @start_... or @end_...

    Conditions are those of WHERE and of JOIN ... ON, in sub-queries and common table expressions,
    too. Those of HAVING and QUALIFY and of aggregates choose among what has been read already. A
    column that a sub-query makes of such a macro is as good as the macro.
    """
    borders = {each.alias.lower() for each in query.find_all(exp.Alias) if any(borders_in(each))}
    parts = (each for condition in _conditions(query) for each in _parts(condition))
    return any(_compares(each, borders) for each in parts)


def _compares(condition: exp.Expr, borders: Container[str]) -> bool:
    """Whether a condition contains both; nested conditions do not count."""
    own = list(condition.walk(prune=lambda node: isinstance(node, _CONDITIONS)))
    columns = [each for each in own if isinstance(each, exp.Column)]
    made = [each for each in columns if each.name.lower() in borders]
    others = len(columns) - len(made)
    return (bool(columns) and any(map(is_border, own))) or (bool(made) and others > 0)


_CONDITIONS: Final = (exp.Where, exp.Join, exp.Having, exp.Qualify)


def _conditions(query: exp.Query) -> Iterator[exp.Expr]:
    for node in query.find_all(exp.Where, exp.Join):
        if isinstance(node, exp.Where) and not isinstance(node.parent, exp.Filter):
            yield node.this
        elif isinstance(node, exp.Join) and node.args.get("on") is not None:
            yield node.args["on"]


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND, OR and NOT combine; a query in EXISTS has conditions of its own."""
    match condition:
        case exp.Paren() | exp.Not():
            yield from _parts(condition.this)
        case exp.Connector():
            for each in condition.flatten():
                yield from _parts(each)
        case exp.Exists():
            return
        case _:
            yield condition
