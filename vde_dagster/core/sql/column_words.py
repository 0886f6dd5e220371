"""Words that Spark takes for a column where what is read has one, and for a function elsewhere.

That is how ``current_date`` without parentheses is read; sqlglot always takes it for the function.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from vde_dagster.core.dsha import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.rendering import model_name_of

_WORDS: Final[dict[type[exp.Expr], str]] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTime: "current_time",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
}


def with_columns_for_words(
    query: exp.Query, schemas: Mapping[ModelName, Sequence[Column]]
) -> exp.Query:
    """Change a query so that such a word is a column where a table beside it has this column.

    Args:
        query: As parsed, in Spark's dialect; it is changed.
        schemas: The columns of what it reads.
    """
    if not any(map(_is_word, query.find_all(*_WORDS))):
        return query
    read = {_key(name): _names(columns) for name, columns in schemas.items()}
    known: dict[int, Collection[str]] = {}
    for scope in traverse_scope(query):  # those inside come before those around them
        sources = [source for _, source in scope.selected_sources.values()]
        seen = {name for each in sources for name in _columns(each, read, known)}
        known[id(scope.expression)] = frozenset(_outputs(scope, seen, known))
        for node in list(scope.find_all(*_WORDS)):
            name = _WORDS[type(node)]
            if _is_word(node) and name in seen:
                node.replace(exp.column(name))
    return query


def _is_word(node: exp.Expr) -> bool:
    """Whether a call has no parentheses: one that has knows its place in the text."""
    return not node.args.get("this") and node.meta_get("start") is None


def _key(name: ModelName) -> ModelName:
    return ModelName(name.schema.lower(), name.name.lower())


def _names(columns: Sequence[Column]) -> Collection[str]:
    return frozenset(each.name.lower() for each in columns)


def _columns(
    source: exp.Expr | Scope,
    read: Mapping[ModelName, Collection[str]],
    known: Mapping[int, Collection[str]],
) -> Collection[str]:
    """The columns of one table, sub-query or common table expression."""
    if isinstance(source, Scope):
        return known.get(id(source.expression), ())
    name = model_name_of(source) if isinstance(source, exp.Table) else None
    return read.get(_key(name), ()) if name is not None else ()


def _outputs(
    scope: Scope, seen: Collection[str], known: Mapping[int, Collection[str]]
) -> Iterator[str]:
    """What a query calls its columns."""
    query = scope.expression
    alias = query.parent.args.get("alias") if query.parent is not None else None
    if isinstance(alias, exp.TableAlias):
        yield from (each.name.lower() for each in alias.columns)
    if isinstance(query, exp.SetOperation):
        yield from known.get(id(query.this.unnest()), ())  # the first side names the columns
    elif isinstance(query, exp.Select):
        for each in query.selects:
            if each.is_star:
                yield from seen
            else:
                yield each.alias_or_name.lower()
