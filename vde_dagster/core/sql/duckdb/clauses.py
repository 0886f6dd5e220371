"""What every query ends with, and what its last clauses name, for DuckDB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.duckdb.aggregates import ordered_by
from vde_dagster.core.sql.duckdb.sources import Output
from vde_dagster.core.sql.duckdb.types import NotTheSame
from vde_dagster.core.sql.duckdb.values import number

ENDS: Final = ("with_", "distinct", "order", "limit", "offset")
"""The clauses that every query may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """A query for DuckDB, and its columns under the names that they have in DuckDB."""

    node: exp.Query
    columns: tuple[Output, ...]


def is_output(node: exp.Expr, found: Translated) -> bool:
    """Whether a part of ORDER BY is a column of the result, or a number."""
    if isinstance(node, exp.Literal):
        return True
    alone = isinstance(node, exp.Column) and len(node.parts) == 1
    return alone and any(each.name.lower() == node.name.lower() for each in found.columns)


def by_output(node: exp.Expr, found: Translated) -> exp.Expr:
    """A part of ORDER BY that names a column of the result, or has its number.

    Raises:
        NotTheSame: It does neither.
    """
    if node.args.get("with_fill"):
        raise NotTheSame("WITH FILL")
    names = [each.name.lower() for each in found.columns]
    what = node.this
    if isinstance(what, exp.Literal) and what.name.isdigit() and not what.is_string:
        at = int(what.name)
    elif isinstance(what, exp.Column) and names.count(what.name.lower()) == 1:
        at = names.index(what.name.lower()) + 1 if len(what.parts) == 1 else 0
    else:
        at = 0
    if not 1 <= at <= len(names):
        raise NotTheSame(f"ORDER BY {what.sql('spark')}")
    return ordered_by(node, number(at))


def refuse_clauses(query: exp.Expr, known: frozenset[str]) -> None:
    """Refuse a query with a clause that is not among the known ones.

    Raises:
        NotTheSame: It has one.
    """
    for key, value in query.args.items():
        if value and key not in known:
            raise NotTheSame(f"the clause {key.rstrip('_').upper()}")


def copy_limits(query: exp.Expr, node: exp.Expr) -> None:
    """Give ``node`` the LIMIT and OFFSET of a query.

    Raises:
        NotTheSame: One is more than a number.
    """
    for key, kind in (("limit", exp.Limit), ("offset", exp.Offset)):
        clause = query.args.get(key)
        if clause is None:
            continue
        count = clause.args.get("expression")
        others = any(value for name, value in clause.args.items() if name != "expression")
        if others or not isinstance(count, exp.Literal) or not count.name.isdigit():
            raise NotTheSame(f"{key.upper()} of something else than a number")
        node.set(key, kind(expression=count.copy()))
