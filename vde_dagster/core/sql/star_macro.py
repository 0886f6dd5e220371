"""@STAR and @UNION: their columns are only known once those of a model's parents are.

Until then each is a call of a function, in the text and in its tree. `expand_star_macros` replaces
them by the columns.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, cast

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.tokenizer_core import TokenType

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import DEFAULT_SCHEMA, ModelName
from vde_dagster.core.sql.select_clauses import from_of
from vde_dagster.core.sql.spark.reading import read_spark

STAR: Final = "VDE_STAR"
"""What stands in texts for the columns of @STAR, as a call with its arguments in a text."""
UNION: Final = "VDE_UNION"
"""What stands in texts for the columns of one of the relations of @UNION, likewise."""
SHOWN: Final = {STAR: "@STAR", UNION: "@UNION"}
"""What people call them."""
_UNKNOWN: Final = "unknown"

Relation = Sequence[str]
"""The parts of a relation's name as written: of a table, an alias or a common table expression."""


class StarMacroInvalid(Refused):
    """@STAR or @UNION names a relation or column that does not exist; the message says which."""


class UnionKind(Enum):
    """Whether equal rows of a union are kept."""

    ALL = "all"
    DISTINCT = "distinct"


def star_call(
    relation: Relation,
    *,
    alias: str = "",
    excluded: Iterable[str] = (),
    prefix: str = "",
    suffix: str = "",
) -> exp.Expr:
    """What stands for all columns of a relation except some, with their names changed.

    ``alias`` is the relation's alias in the query, if that is ambiguous.
    """
    return _call(STAR, [relation, alias, [*excluded], prefix, suffix])


def union_query(relations: Sequence[Relation], *, kind: UnionKind) -> exp.Query:
    """A set operation over relations, whose columns are not known yet.

    It returns those that all relations have, in the order and with the types of the first one.
    """
    selects = [
        exp.select(_call(UNION, [index, [*relations]])).from_(_table(relation))
        for index, relation in enumerate(relations)
    ]
    query: exp.Query = selects[0]
    for each in selects[1:]:
        query = exp.union(query, each, distinct=kind is UnionKind.DISTINCT, copy=False)
    return query


def _call(name: str, facts: Sequence[object]) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[exp.Literal.string(json.dumps(facts))])


def is_star_macro(node: exp.Expr) -> bool:
    """Whether a projection stands for columns that are not known before the graph is built."""
    return isinstance(node, exp.Anonymous) and node.name in SHOWN


def expand_star_macros(
    query: exp.Query, *, schemas: Mapping[ModelName, Sequence[Column]]
) -> exp.Query:
    """A copy of a query with the columns in place of each @STAR and @UNION.

    Args:
        query: It is returned unchanged if it has neither.
        schemas: The columns of the tables that it reads.

    Raises:
        StarMacroInvalid: A relation is not read by the query, its columns are not known, or a
            column that is left out is not among them.
        sqlglot.errors.SqlglotError: The query cannot be understood.
    """
    if not any(is_star_macro(node) for node in query.find_all(exp.Anonymous)):
        return query
    expanded = query.copy()
    columns = _Columns(schemas)
    for scope in traverse_scope(expanded):
        select = scope.expression
        if isinstance(select, exp.Select) and any(map(is_star_macro, select.selects)):
            select.set("expressions", list(_projections(select, scope, columns)))
    left = next(filter(is_star_macro, expanded.find_all(exp.Anonymous)), None)
    if left is not None:
        shown = SHOWN[left.name]
        raise StarMacroInvalid(f"{shown} can only stand for columns of a SELECT")
    return expanded


def with_star_columns(text: str, *, schemas: Mapping[ModelName, Sequence[Column]]) -> str:
    """An author's text, in Spark's SQL, with the columns in place of each @STAR and @UNION.

    Raises:
        StarMacroInvalid: See `expand_star_macros`.
    """
    if not any(f"{name}(" in text for name in SHOWN):
        return text
    query = read_spark(text)
    assert isinstance(query, exp.Query), "only queries have @STAR and @UNION"
    expanded = expand_star_macros(query, schemas=schemas)
    pieces, at = [], 0
    tokens = Dialect.get_or_raise("spark").tokenize(text)
    for name, closing in zip(tokens, tokens[3:], strict=False):
        if name.text in SHOWN and name.token_type is TokenType.VAR:
            columns = (each for each in expanded.walk() if each.meta_get(_PLACE) == name.start)
            pieces += [text[at : name.start], ", ".join(each.sql("spark") for each in columns)]
            at = closing.end + 1
    return "".join([*pieces, text[at:]])


_PLACE: Final = "place"


def _projections(select: exp.Select, scope: Scope, columns: _Columns) -> Iterator[exp.Expr]:
    for each in select.selects:
        if not is_star_macro(each):
            yield each
            continue
        found = _starred if each.name == STAR else _united
        for column in found(json.loads(each.expressions[0].name), scope, columns):
            column.meta[_PLACE] = each.meta.get("start")
            yield column


def _starred(facts: object, scope: Scope, columns: _Columns) -> Iterator[exp.Expr]:
    known_facts = cast("tuple[Relation, str, list[str], str, str]", facts)
    relation, alias, left_out, prefix, suffix = known_facts
    excluded = [name.lower() for name in left_out]
    name = _alias_in(scope, (alias,) if alias else relation)
    source = scope.selected_sources[name][1] if not alias else None
    known = columns.of(source) if source is not None else columns.named(relation, scope)
    names = {each.name.lower() for each in known}
    for absent in excluded:
        if absent not in names:
            shown = ", ".join(sorted(names))
            raise StarMacroInvalid(
                f"@STAR leaves out {absent!r}, which {_written(relation)} does not have",
                advice=f"it has: {shown}",
            )
    kept = [each for each in known if each.name.lower() not in excluded]
    if not kept:
        raise StarMacroInvalid(f"@STAR excludes every column of {_written(relation)}")
    for each in kept:
        column = exp.column(_quoted(each.name), table=_qualifier(scope, name))
        renamed = f"{prefix}{each.name}{suffix}"
        yield column if renamed == each.name else column.as_(_quoted(renamed))


def _united(facts: object, scope: Scope, columns: _Columns) -> Iterator[exp.Expr]:
    position, relations = cast("tuple[int, list[Relation]]", facts)
    known = [{each.name.lower(): each for each in columns.named(r, scope)} for r in relations]
    common = [name for name in known[0] if all(name in each for each in known)]
    if not common:
        shown = ", ".join(map(_written, relations))
        raise StarMacroInvalid(f"@UNION finds no column that all of {shown} have")
    own = known[position]
    qualifier = _qualifier(scope, _alias_in(scope, relations[position]))
    for name in common:
        first, mine = known[0][name], own[name]
        column = exp.column(_quoted(mine.name), table=qualifier.copy())
        if first.type in {_UNKNOWN, mine.type}:
            yield column if mine.name == first.name else column.as_(_quoted(first.name))
        else:
            wanted = exp.DataType.build(first.type, dialect="spark")
            yield exp.cast(column, wanted, copy=False).as_(_quoted(first.name))


def _alias_in(scope: Scope, relation: Relation) -> str:
    """The alias of a relation in a scope's FROM and JOIN."""
    sources = scope.selected_sources
    if len(relation) == 1:
        called = [alias for alias in sources if alias.lower() == relation[0].lower()]
        if called:
            return called[0]
    tables = {
        alias: _model(_parts(source))
        for alias, (_node, source) in sources.items()
        if isinstance(source, exp.Table)
    }
    wanted = _known_as(_model(relation), tables.values())
    found = [alias for alias, model in tables.items() if model == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise StarMacroInvalid(
            f"{_written(relation)} is read more than once",
            advice=f"name one by its alias: {', '.join(sorted(found))}",
        )
    shown = ", ".join(sorted(sources)) or "nothing"
    raise StarMacroInvalid(f"{_written(relation)} is not read by this SELECT, which reads: {shown}")


def _qualifier(scope: Scope, alias: str) -> exp.Identifier:
    node = scope.selected_sources[alias][0]
    written = node.args.get("alias")
    identifier = written.this if isinstance(written, exp.TableAlias) else node.this
    if isinstance(identifier, exp.Identifier):
        return identifier.copy()
    return exp.to_identifier(alias, quoted=True)


@dataclass(slots=True)
class _Columns:
    """The columns of tables and of the queries inside a query."""

    schemas: Mapping[ModelName, Sequence[Column]]

    def named(self, relation: Relation, scope: Scope) -> list[Column]:
        """The columns of a relation that a scope can see."""
        if len(relation) == 1:
            for alias, source in scope.sources.items():
                if alias.lower() == relation[0].lower():
                    return self.of(source)
        return self._table(relation)

    def of(self, source: exp.Table | Scope) -> list[Column]:
        """The columns of a table, or of a query in FROM."""
        if isinstance(source, exp.Table):
            return self._table(_parts(source))
        if not isinstance(source.expression, exp.Query):
            raise StarMacroInvalid(
                "the columns of a table function are unknown", advice="name them"
            )
        found = self._outputs(source)
        given = source.outer_columns
        renamed = [replace(each, name=name) for each, name in zip(found, given, strict=False)]
        return [*renamed, *found[len(renamed) :]]

    def _table(self, relation: Relation) -> list[Column]:
        found = self.schemas.get(_known_as(_model(relation), self.schemas))
        if not found:
            raise StarMacroInvalid(f"the columns of {_written(relation)} are unknown")
        return list(found)

    def _outputs(self, scope: Scope) -> list[Column]:
        if scope.set_operation_scopes:
            return self._outputs(scope.set_operation_scopes[0])
        query = scope.expression
        assert isinstance(query, exp.Query)
        return [column for each in query.selects for column in self._projected(each, scope)]

    def _projected(self, projection: exp.Expr, scope: Scope) -> Iterator[Column]:
        star = projection.this if isinstance(projection, exp.Column) else projection
        if not isinstance(star, exp.Star):
            yield Column(name=projection.alias_or_name, type=self._type(projection, scope))
            return
        qualifier = projection.table if isinstance(projection, exp.Column) else ""
        dropped = {each.name.lower() for each in star.args.get("except_") or []}
        renamed = {
            each.this.name.lower(): each.alias
            for each in star.args.get("rename") or []
            if isinstance(each, exp.Alias)
        }
        for each in self._all(scope, qualifier):
            name = each.name.lower()
            if name not in dropped:
                yield replace(each, name=renamed.get(name, each.name))

    def _all(self, scope: Scope, qualifier: str) -> Iterator[Column]:
        """What ``*`` or ``t.*`` stands for; columns of USING come once."""
        joins = from_of(scope.expression).joins
        merged = {name.lower() for join in joins for name in join.using}
        seen: set[str] = set()
        for alias, (_node, source) in scope.selected_sources.items():
            if qualifier and alias.lower() != qualifier.lower():
                continue
            for column in self.of(source):
                if column.name.lower() not in merged & seen:
                    yield column
                seen.add(column.name.lower())

    def _type(self, projection: exp.Expr, scope: Scope) -> str:
        """The type of a projection that is a column or a cast; unknown for all others."""
        value = projection.unalias()
        if isinstance(value, exp.Cast):
            return value.to.sql("spark").lower()
        if not isinstance(value, exp.Column):
            return _UNKNOWN
        types = {
            column.type
            for alias, (_node, source) in scope.selected_sources.items()
            if value.table.lower() in {"", alias.lower()}
            for column in self.of(source)
            if column.name.lower() == value.name.lower()
        }
        return types.pop() if len(types) == 1 else _UNKNOWN


def _table(relation: Relation) -> exp.Table:
    keys = ("this", "db", "catalog")
    parts = [exp.to_identifier(each) for each in reversed(relation)]
    return exp.Table(**dict(zip(keys, parts, strict=False)))


def _parts(table: exp.Table) -> Relation:
    return tuple(each.name for each in table.parts)


def _model(relation: Relation) -> ModelName:
    *catalog, schema, name = (DEFAULT_SCHEMA, *relation)[-max(len(relation), 2) :]
    return ModelName(schema.lower(), name.lower(), catalog[0].lower() if catalog else "")


def _known_as(name: ModelName, known: Collection[ModelName]) -> ModelName:
    """A name in the form of the known ones, which leave out the project's own catalog."""
    return name if name in known else replace(name, catalog="")


def _written(relation: Relation) -> str:
    return ".".join(relation)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
