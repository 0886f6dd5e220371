"""Finding the places in an author's text: the tables that it names, and its time macros.

Names are found through the syntax tree, whose identifiers have positions, so that scopes decide
what is a table and what a common table expression. Everything else stays to the letter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.macros import TIME_MACROS
from vde_dagster.core.sql.select_clauses import from_of
from vde_dagster.core.sql.spark.names import words_in
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.spark.scopes import Columns, Reference, Scopes
from vde_dagster.core.sql.table_names import common_table_of, model_name_of, written_tables
from vde_dagster.core.sql.text import (
    MacroPlace,
    Piece,
    Place,
    SqlText,
    TablePlace,
    with_columns,
)

_CAN_HAVE_ALIAS: Final = (exp.From, exp.Join, exp.Delete, exp.Update, exp.Merge, exp.Subquery)
_BEFORE_ALIAS: Final = frozenset({"TABLESAMPLE", "REPEATABLE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A half-open range of characters of the text, and what replaces it."""

    start: int
    end: int
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A statement's text, and its tokens."""

    text: str
    tokens: Sequence[Token]


def placed(
    text: str,
    *,
    catalog: str,
    temporary: Collection[str] = (),
    columns: Mapping[ModelName, Sequence[str]] | None = None,
) -> SqlText:
    """A statement with its places. Tables that it writes are not among them: they keep their names.

    Args:
        text: In Spark's dialect, perhaps with time macros.
        catalog: The project's own; it is not part of a model's name.
        temporary: Names, in lower case, of temporary views: they are not models.
        columns: Those that models have, as far as they are known. A table that has others when
            the statement runs is read with these, where the statement depends on which there are.

    Raises:
        sqlglot.errors.SqlglotError: The text is not understood.
    """
    known = tuple((name, tuple(each)) for name, each in sorted((columns or {}).items()))
    return _placed(text, catalog.lower(), frozenset(temporary), known)


@lru_cache(maxsize=4096)
def _placed(
    text: str,
    catalog: str,
    temporary: frozenset[str],
    known: tuple[tuple[ModelName, tuple[str, ...]], ...],
) -> SqlText:
    tokens = Dialect.get_or_raise("spark").tokenize(text)
    tree = read_spark(text)
    found = list(_macros(tokens))
    if not isinstance(tree, exp.Command):
        found += _names(
            tree,
            _Written(text=text, tokens=tokens),
            list(_named_tables(tree, catalog, temporary)),
            dict(known),
            catalog,
        )
    return SqlText(tuple(_pieces(text, found)))


def _names(
    tree: exp.Expr,
    written: _Written,
    tables: Sequence[_NamedTable],
    known: Mapping[ModelName, tuple[str, ...]],
    catalog: str,
) -> Iterator[_Found]:
    """The places of tables, and of their names before columns."""
    by_node = {id(each.node): each for each in tables}
    scopes = Scopes(_Known(named=by_node, known=known, catalog=catalog))
    qualified = list(_qualified(tree, scopes))
    called = _own_names(tree, tables, qualified)
    depends = _depends_on_columns(tree, known) or _may_be_fields(qualified, called, scopes)
    yield from _table_places(tables, written, known if depends else {}, called)
    yield from _qualifiers(qualified, called)


def macros_placed(text: str) -> SqlText:
    """A part of a statement with the places of its time macros; it names no tables."""
    tokens = Dialect.get_or_raise("spark").tokenize(text)
    return SqlText(tuple(_pieces(text, _macros(tokens))))


def with_relations(text: str, catalog: str, relations: Mapping[str, str]) -> str:
    """A query that reads what stands for some names; all else stays.

    Args:
        text: In Spark's dialect.
        catalog: It completes tables' names of two parts.
        relations: What stands for names of one part; nothing else in the text has these.

    Raises:
        sqlglot.errors.SqlglotError: The text is not understood.
    """
    prefix = f"{exp.to_identifier(catalog, quoted=True).sql('spark')}."
    found: list[_Found] = []
    for table in read_spark(text).find_all(exp.Table):
        if _is_in_hint(table):
            continue
        first = table.parts[0]
        if table.db and not table.catalog:
            found.append(_Found(start=_start(first), end=_start(first), pieces=(prefix,)))
        elif not table.db and table.name in relations:
            pieces = (relations[table.name],)
            found.append(_Found(start=_start(first), end=first.meta["end"] + 1, pieces=pieces))
    return SqlText(tuple(_pieces(text, found))).text


def _pieces(text: str, found: Iterable[_Found]) -> Iterator[Piece]:
    at = 0
    for each in sorted(found, key=lambda each: (each.start, each.end)):
        if each.start > at:
            yield text[at : each.start]
        yield from each.pieces
        at = each.end
    yield text[at:]


def _macros(tokens: Sequence[Token]) -> Iterator[_Found]:
    for sign, word in pairwise(tokens):
        named = sign.token_type is TokenType.PARAMETER and sign.end + 1 == word.start
        if named and word.text.lower() in TIME_MACROS:
            pieces: tuple[Place] = (MacroPlace(word.text.lower()),)
            yield _Found(start=sign.start, end=word.end + 1, pieces=pieces)


# -- tables


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedTable:
    """A table's node, the model that it names, and the place of its name."""

    node: exp.Table
    name: ModelName
    start: int
    end: int

    @property
    def is_without_alias(self) -> bool:
        """Whether columns name it by its own name, which it will not have when it runs."""
        can_have = isinstance(self.node.parent, _CAN_HAVE_ALIAS)
        is_as_of = self.node.args.get("version") or self.node.args.get("when")
        return can_have and not self.node.alias and not is_as_of


def _named_tables(
    tree: exp.Expr, catalog: str, temporary: Collection[str]
) -> Iterator[_NamedTable]:
    written = set(map(id, written_tables(tree)))
    for table in tree.find_all(exp.Table):
        parts = table.parts
        if id(table) in written or _is_in_hint(table):
            continue
        if not all(isinstance(each, exp.Identifier) for each in parts):
            continue  # a table function
        alone = len(parts) == 1
        if alone and (table.name.lower() in temporary or common_table_of(table) is not None):
            continue
        try:
            name = ModelName.of([each.name for each in parts]).within(catalog)
        except InvalidName:
            continue  # it was refused when the project was loaded, or is not a table of the project
        start, end = parts[0].meta.get("start"), parts[-1].meta.get("end")
        assert start is not None, f"the parser says where {name} starts"
        assert end is not None, f"the parser says where {name} ends"
        yield _NamedTable(node=table, name=name, start=start, end=end + 1)


def _is_in_hint(node: exp.Expr) -> bool:
    """Whether a name is in a hint, which is kept; such names have no positions."""
    return node.find_ancestor(exp.Hint) is not None


def _table_places(
    tables: Sequence[_NamedTable],
    text: _Written,
    columns: Mapping[ModelName, tuple[str, ...]],
    named: Mapping[int, str],
) -> Iterator[_Found]:
    ends = {token.end + 1: index for index, token in enumerate(text.tokens)}
    for each in tables:
        read_with = columns.get(each.name) or None
        if each.node.args.get("version") or not isinstance(each.node.parent, _CAN_READ):
            read_with = None
        written = text.text[each.start : each.end]
        behind = _alias_place(text.tokens, ends[each.end])
        if read_with and behind > each.end:  # what is read is a sample of the table's rows
            opening = with_columns("", read_with).removesuffix(")")
            pieces: tuple[Piece, ...] = (opening, TablePlace(name=each.name, written=written))
            yield _Found(start=each.start, end=each.end, pieces=pieces)
            yield _Found(start=behind, end=behind, pieces=(")",))
        else:
            place = TablePlace(name=each.name, written=written, columns=read_with)
            yield _Found(start=each.start, end=each.end, pieces=(place,))
        if each.is_without_alias:
            alias = _quoted(named[id(each.node)])
            yield _Found(start=behind, end=behind, pieces=(f" AS {alias}",))


_CAN_READ: Final = (exp.From, exp.Join, exp.Merge, exp.Subquery)


def _alias_place(tokens: Sequence[Token], last: int) -> int:
    """Where an alias goes after a table's name: behind its TABLESAMPLE."""
    at = last
    while at + 1 < len(tokens) and tokens[at + 1].text.upper() in _BEFORE_ALIAS:
        at += 2
        depth = 0
        while at < len(tokens):
            depth += tokens[at].token_type is TokenType.L_PAREN
            depth -= tokens[at].token_type is TokenType.R_PAREN
            if depth == 0:
                break
            at += 1
    return tokens[at].end + 1


# -- table names before columns


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is known of the tables of a statement (see `Scopes`)."""

    named: Mapping[int, _NamedTable]
    known: Mapping[ModelName, tuple[str, ...]]
    catalog: str

    def columns(self, table: exp.Table) -> Columns | None:
        """Its columns, without their types."""
        found = self.named.get(id(table))
        names = self.known.get(found.name) if found is not None else None
        return {each.lower(): None for each in names} if names else None

    def name(self, table: exp.Table) -> Sequence[str]:
        """Its whole name."""
        found = self.named.get(id(table))
        if found is None:
            return [each.name.lower() for each in table.parts]
        return (found.name.catalog or self.catalog, found.name.schema, found.name.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Qualified:
    """A column with something before it, and what that names."""

    column: exp.Column
    found: Reference


def _qualified(tree: exp.Expr, scopes: Scopes) -> Iterator[_Qualified]:
    for column in tree.find_all(exp.Column):
        if len(column.parts) > 1 and not _is_in_hint(column):
            found = scopes.find(column)
            if found is not None:
                yield _Qualified(column=column, found=found)


def _own_names(
    tree: exp.Expr, tables: Sequence[_NamedTable], columns: Sequence[_Qualified]
) -> Mapping[int, str]:
    """The names of tables without an alias when the statement runs, by their nodes' ids.

    It is the name that they have; with the schema if a column has that, too, and the name alone
    might mean something else there: another table (``SELECT a.t.id FROM a.t JOIN b.t``), or, in an
    inner query, a column with fields.
    """
    called: dict[str, set[ModelName | None]] = {}
    own = {id(each.node): each.name for each in tables if each.is_without_alias}
    for source in tree.find_all(*_SOURCES):
        if not _is_in_hint(source):
            called.setdefault(source.alias_or_name.lower(), set()).add(own.get(id(source)))
    inside = {id(each.found.source) for each in columns if each.found.at > 1 and each.found.level}
    in_full = {own.get(id(each.found.source)) for each in columns if each.found.at > 1}
    return {
        id(each.node): f"{each.name.schema}.{each.name.name}"
        if id(each.node) in inside or (each.name in in_full and len(called[each.name.name]) > 1)
        else each.node.name
        for each in tables
        if each.is_without_alias
    }


_SOURCES: Final = (exp.Table, exp.Subquery, exp.Lateral)


def _qualifiers(columns: Sequence[_Qualified], named: Mapping[int, str]) -> Iterator[_Found]:
    """Table names before columns that change: full names, and those of tables with new aliases."""
    for each in columns:
        called = named.get(id(each.found.source))
        if called is None or each.found.at == 0:
            continue
        *before, own = each.column.parts[: each.found.at]
        if called != own.name and "." in called:
            end = own.meta["end"] + 1
            yield _Found(start=_start(each.column.parts[0]), end=end, pieces=(_quoted(called),))
        elif before:
            yield _Found(start=_start(before[0]), end=_start(own))


def _start(identifier: exp.Expr) -> int:
    start = identifier.meta.get("start")
    assert isinstance(start, int), "the parser says where a column starts"
    return start


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("spark")


# -- which columns there are


def _depends_on_columns(tree: exp.Expr, columns: Mapping[ModelName, tuple[str, ...]]) -> bool:
    """Whether a statement may mean something else when a table that it reads gets more columns.

    ``*``, PIVOT and ``AS t(a, b)`` take all columns; a name without its table may be that of a
    new column, too.
    """
    if any(not isinstance(each.parent, exp.Count) for each in tree.find_all(exp.Star)):
        return True
    if any(each.alias_column_names for each in tree.find_all(exp.Table)):
        return True
    if tree.find(exp.Pivot) is not None:  # it groups by all columns that it does not name
        return True
    bare: dict[int, set[str]] = {}
    named = [(each, each.name.lower()) for each in tree.find_all(exp.Column) if not each.table]
    for node, name in (*named, *words_in(tree)):
        bare.setdefault(id(node.find_ancestor(exp.Select)), set()).add(name)
    return any(
        _may_bind_otherwise(each, bare.get(id(each), set()), columns)
        for each in tree.find_all(exp.Select)
    )


def _may_be_fields(
    columns: Sequence[_Qualified], called: Mapping[int, str], scopes: Scopes
) -> bool:
    """Whether ``t.x`` may become a field ``x`` of a later column ``t``, or cease to be one.

    The sources of a SELECT, and the fields of their columns, go before those of outer queries.
    """
    return any(
        scopes.called(each.column, [each.column.parts[0].name])
        if each.found.at == 0
        else each.found.level > 0 and "." not in called.get(id(each.found.source), "")
        for each in columns
    )


def _may_bind_otherwise(
    select: exp.Select, bare: Collection[str], columns: Mapping[ModelName, tuple[str, ...]]
) -> bool:
    """Whether a name without its table may be bound to a column that a table gets later."""
    from_ = from_of(select)
    first = from_.first.node if from_.first is not None else None
    if any(each.node.method == "NATURAL" for each in from_.joins):
        return True
    if not bare or first is None:
        return False
    name = model_name_of(first) if isinstance(first, exp.Table) else None
    known = {each.lower() for each in columns.get(name, ())} if name is not None else bare
    return not from_.is_single or not set(known).issuperset(bare)
