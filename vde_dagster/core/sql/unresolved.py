"""The columns of a query that none of its tables has, or that several have."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.resolver import Resolver
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from vde_dagster.core.errors import Finding
from vde_dagster.core.listing import some

Sources = Mapping[str, tuple[str, Sequence[str]]]
"""What a SELECT reads, by alias: a name for messages, and the columns."""

_MOST_COLUMNS: Final = 30


def unresolved_columns(
    query: exp.Query, *, schema: MappingSchema, dialect: str
) -> Iterator[Finding]:
    """Report every column that cannot be bound to one table, with what could have been meant.

    Args:
        query: Without macros that stand for columns; it is changed.
        schema: The columns of the tables that it reads.
        dialect: How its identifiers are normalized, as in `canonicalize`.

    Raises:
        sqlglot.errors.SqlglotError: The query is wrong in another way than by its columns.
    """
    qualified = qualify(
        query,
        dialect=dialect,
        schema=schema,
        quote_identifiers=False,
        validate_qualify_columns=False,
        allow_partial_qualification=True,
    )
    reported: set[Finding] = set()
    around: dict[int, list[Sources]] = {}
    for scope in traverse_scope(qualified):  # inner queries before outer ones
        if not isinstance(scope.expression, exp.Select):
            continue
        sources = _sources(scope, schema)
        for column in scope.columns:
            around.setdefault(id(column), []).append(sources)
        for finding in _findings(scope, sources, around):
            if finding not in reported:
                reported.add(finding)
                yield finding


def line_of(node: exp.Expr) -> int | None:
    """The line of a model's file on which a part of its query begins, if that is known.

    A part without a position has the line of what contains it.
    """
    named = [each.meta.get("line") for each in node.find_all(exp.Identifier)]
    lines = [line for line in named if isinstance(line, int)]
    whole: exp.Expr | None = node
    while not lines and whole is not None:
        found = (each.meta.get("line") for each in whole.walk())
        lines = [line for line in found if isinstance(line, int)]
        whole = whole.parent
    return min(lines, default=None)


def guess(word: str, known: Sequence[str]) -> str:
    """The start of an advice: the closest known word, or nothing if none is close."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"Did you mean {close[0]}? " if close else ""


def _findings(
    scope: Scope, sources: Sources, around: Mapping[int, Sequence[Sources]]
) -> Iterator[Finding]:
    left = {id(each) for each in scope.unqualified_columns if scope.pivots}
    if not scope.is_correlated_subquery and not scope.pivots:
        left = {id(each) for each in scope.external_columns}
    for column in scope.columns:
        if isinstance(column.this, exp.Star):
            continue
        if id(column) in left:
            yield _unbound(column, around[id(column)])
        elif column.table in sources:
            shown, known = sources[column.table]
            if known and "*" not in known and column.name not in known and not scope.pivots:
                yield Finding(
                    message=f"there is no column {column.name!r} in {shown}",
                    advice=_what_there_is(column.name, [(shown, known)]),
                    line=line_of(column),
                )


def _unbound(column: exp.Column, inside_out: Sequence[Sources]) -> Finding:
    """A finding about a column that has no table, or one that does not exist."""
    name, line = column.name, line_of(column)
    every = [each for sources in inside_out for each in sources.values()]
    if column.table:
        aliases = [alias for sources in inside_out for alias in sources]
        return Finding(
            message=f"`{column.table}.{name}` refers to {column.table!r}, which this query does "
            "not read",
            advice=f"{guess(column.table, aliases)}Known here: {', '.join(aliases) or 'nothing'}.",
            line=line,
        )
    for sources in inside_out:
        owners = [alias for alias, (_, known) in sources.items() if name in known]
        if len(owners) > 1:
            owners_named = ", ".join(sources[alias][0] for alias in owners)
            said = " or ".join(f"`{alias}.{name}`" for alias in owners)
            message = f"the column {name!r} is ambiguous: each of {owners_named} has it"
            return Finding(message=message, advice=f"Say {said}.", line=line)
    message = f"the inputs have no column {name!r}"
    return Finding(message=message, advice=_what_there_is(name, every), line=line)


def _sources(scope: Scope, schema: MappingSchema) -> Sources:
    resolver = Resolver(scope, schema)
    return {
        alias: (_shown(alias, source), columns_called(alias, resolver))
        for alias, (_, source) in scope.selected_sources.items()
    }


def _shown(alias: str, source: exp.Table | Scope) -> str:
    """The name of a table or an inner query in messages."""
    if isinstance(source, Scope) or not isinstance(source.this, exp.Identifier):
        return alias
    name = ".".join(part.name for part in source.parts)
    return name if alias in (source.name, name) else f"{name} AS {alias}"


def columns_called(alias: str, resolver: Resolver) -> Sequence[str]:
    """The columns of a source by sqlglot's resolver; none if they are not known."""
    try:
        return list(resolver.get_source_columns(alias))
    except OptimizeError:
        return ()


def _what_there_is(name: str, sources: Iterable[tuple[str, Sequence[str]]]) -> str:
    known = list(sources)
    close = guess(name, [column for _, columns in known for column in columns])
    lists = "; ".join(f"{shown} has {_listed(columns)}" for shown, columns in known)
    return f"{close}{lists}." if lists else "The query reads nothing."


def _listed(columns: Sequence[str]) -> str:
    if not columns:
        return "unknown columns"
    return some(columns, _MOST_COLUMNS)
