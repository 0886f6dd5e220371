"""Parts that are not analysed: they depend on everything that they name."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from vde_dagster.core.sql.canonical_form import canonical_form
from vde_dagster.core.sql.meaning.functions import is_nondeterministic
from vde_dagster.core.sql.meaning.parts import MeaningPart, combined
from vde_dagster.core.sql.meaning.sources import OpaqueSource, Scope, Source, TableSource
from vde_dagster.core.sql.rendering import model_name_of
from vde_dagster.core.sql.select_clauses import listed_columns


def blurred(node: exp.Expr, scope: Scope) -> OpaqueSource:
    """A node as a whole: its form, and all that the names in it may stand for."""
    whole = combined("whole", named_by(node, scope), canonical_form(without_alias(node)))
    return OpaqueSource(
        replace(whole, nondeterministic=whole.nondeterministic or has_nondeterministic_call(node))
    )


def named_by(node: exp.Expr, scope: Scope) -> list[MeaningPart]:
    """The rows of all tables in a node, and those of their columns that it may name."""
    named = _columns_by_alias(node)
    found: list[MeaningPart] = []
    for table in node.find_all(exp.Table):
        source = table_named(table, scope)
        if source is not None:
            columns = None if named is None else named.get(table.alias_or_name.lower(), set())
            found.append(source.rows.part)
            found += [source.every] if columns is None else map(source.column, sorted(columns))
    for column in node.find_all(exp.Column):
        bound = scope.column(column.table.lower(), column.name.lower()) if column.table else None
        if bound is not None:
            found.append(bound)
    return found


def table_named(table: exp.Table, scope: Scope) -> Source | None:
    """The source that the name of a table stands for, if it is one."""
    if not table.db and (common := scope.ctes.get(table.name.lower())) is not None:
        return common
    name = model_name_of(table)
    return TableSource(name) if name and isinstance(table.this, exp.Identifier) else None


def has_nondeterministic_call(node: exp.Expr) -> bool:
    """Whether anything in a node is nondeterministic."""
    return any(map(is_nondeterministic, node.walk()))


def _names_more(node: exp.Expr) -> bool:
    """Whether a node may mean columns that it does not name, or names them otherwise."""
    if isinstance(node, exp.Join):
        return bool(node.args.get("using") or node.args.get("method"))
    if isinstance(node, exp.Table):
        return bool(listed_columns(node))
    return isinstance(node, exp.Pivot | exp.Star)


def _columns_by_alias(node: exp.Expr) -> dict[str, set[str]] | None:
    """The columns that a node names, by the alias before them; None where it may mean others."""
    if not isinstance(node, exp.Query | exp.CTE) or any(map(_names_more, node.walk())):
        return None
    found: dict[str, set[str]] = {}
    for column in node.find_all(exp.Column):
        if not column.table:
            return None
        found.setdefault(column.table.lower(), set()).add(column.name.lower())
    return found


def without_alias(node: exp.Expr) -> exp.Expr:
    """A table, function or sub-query without the name that it is given here."""
    alias = node.args.get("alias")
    if not isinstance(alias, exp.TableAlias) or alias.columns:
        return node
    bare = node.copy()
    bare.set("alias", None)
    return bare
