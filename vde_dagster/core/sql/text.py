"""SQL as text with places in it: what runs is what the author wrote (rule R13).

The places are the tables that the text reads and its time macros; only these are replaced. Keys of
rows, and the rows of a common table expression, are asked for by the author's text, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp, parse_one
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.macros import TimeRange, time_literal


def closed(text: str) -> str:
    """A text that others can follow: a line comment at its end is closed."""
    return f"{text}\n" if "--" in text else text


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlace:
    """The place of a model's or source's name.

    ``written`` is the author's own spelling. ``columns`` are those that the table is read with, if
    the text would mean something else once it has others; else None.
    """

    name: ModelName
    written: str
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class MacroPlace:
    """The place of a time macro, with its name in lower case."""

    name: str


Place = TablePlace | MacroPlace
Piece = str | Place


@dataclass(frozen=True, slots=True)
class SqlText:
    """A statement in Spark's SQL: texts and places in order."""

    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The statement; a table has the author's name for it, a macro its name."""
        return "".join(map(_written, self.pieces))

    @property
    def tables(self) -> frozenset[ModelName]:
        """The models and sources that are named."""
        return frozenset(each.name for each in self.pieces if isinstance(each, TablePlace))

    def with_times(self, times: TimeRange) -> SqlText:
        """The statement with a literal for each time macro."""
        return SqlText(
            tuple(
                time_literal(each.name, times).sql(dialect="spark")
                if isinstance(each, MacroPlace)
                else each
                for each in self.pieces
            )
        )

    def with_tables(self, target: Callable[[ModelName], TableName | None]) -> SqlText:
        """The statement reading other tables; names for which there is no target stay."""

        def made(place: TablePlace) -> Sequence[Piece]:
            found = target(place.name)
            return (place,) if found is None else (with_columns(table_text(found), place.columns),)

        return self._with(made)

    def with_queries(self, bodies: Mapping[ModelName, SqlText]) -> SqlText:
        """The statement with queries, in parentheses, in place of the models of these names."""

        def made(place: TablePlace) -> Sequence[Piece]:
            body = bodies.get(place.name)
            return (place,) if body is None else ("(\n", *body.pieces, "\n)")

        return self._with(made)

    def with_conditions(self, conditions: Mapping[ModelName, SqlText]) -> SqlText:
        """The statement reading only the rows of these tables for which a condition holds."""

        def made(place: TablePlace) -> Sequence[Piece]:
            inside = conditions.get(place.name)
            if inside is None:
                return (place,)
            return ("(SELECT * FROM ", place, " WHERE ", *inside.pieces, ")")

        return self._with(made)

    def _with(self, made: Callable[[TablePlace], Sequence[Piece]]) -> SqlText:
        replaced = (made(each) if isinstance(each, TablePlace) else (each,) for each in self.pieces)
        return SqlText(tuple(piece for pieces in replaced for piece in pieces))

    def around(self, outer: exp.Expr, hole: exp.Expr) -> SqlText:
        """A statement that has this one in it.

        Args:
            outer: A syntax tree.
            hole: The node of it that this statement replaces, by identity.
        """
        mark = exp.Var(this=_MARK)
        hole.replace(mark)
        before, after = outer.sql(dialect="spark").split(_MARK)
        return SqlText((f"{before}\n", *self.pieces, f"\n{after}"))


_MARK = "\0"


def _written(piece: Piece) -> str:
    match piece:
        case TablePlace():
            return with_columns(piece.written, piece.columns)
        case MacroPlace():
            return f"@{piece.name}"
        case _:
            return piece


def with_columns(table: str, columns: tuple[str, ...] | None) -> str:
    """A table's text, read with these columns only; with all if they are None."""
    if columns is None:
        return table
    mark = exp.Var(this=_MARK)
    names = (exp.to_identifier(each, quoted=True) for each in columns)
    subquery = exp.select(*names).from_(mark, copy=False).subquery(copy=False)
    return subquery.sql(dialect="spark").replace(_MARK, table)


def table_text(name: TableName) -> str:
    """The quoted name of a table."""
    table = exp.table_(name.name, db=name.namespace, catalog=name.catalog, quoted=True)
    return table.sql(dialect="spark")


def key_expression(key: str) -> exp.Expr:
    """A key over one table's columns: a column's name in quotes, an expression as written."""
    parsed = parse_one(key, dialect="spark")
    if not isinstance(parsed, exp.Column | exp.Dot):
        return exp.Paren(this=exp.Var(this=closed(key)))
    for each in parsed.find_all(exp.Identifier):
        each.set("quoted", True)
    return parsed


_FIRST: Final = frozenset({TokenType.SELECT, TokenType.L_PAREN, TokenType.VALUES, TokenType.FROM})


def names_of_ctes(query: exp.Expr) -> tuple[str, ...]:
    """The names of the common table expressions in front of a query, in lower case."""
    return tuple(each.alias.lower() for each in getattr(query, "ctes", ()))


def query_of_cte(text: str, name: str) -> str:
    """A query that returns the rows of one of the common table expressions in front of a query.

    Its text is that of the query, with another end.

    Args:
        text: The query, in Spark's dialect.
        name: Of the common table expression, as it may be written.

    Raises:
        ValueError: No common table expression stands in front of the query.
    """
    tokens = Dialect.get_or_raise("spark").tokenize(text)
    end = _end_of_with(tokens)
    rows = exp.to_identifier(name, quoted=True).sql("spark")
    return f"{text[:end]}\nSELECT * FROM {rows}"


def _end_of_with(tokens: Sequence[Token]) -> int:
    """Where the query itself begins: behind the last parenthesis of its WITH clause."""
    if not tokens or tokens[0].token_type is not TokenType.WITH:
        raise ValueError("the query has no common table expressions in front of it")
    depth = 0
    for at, token in enumerate(tokens):
        depth += token.token_type is TokenType.L_PAREN
        depth -= token.token_type is TokenType.R_PAREN
        if depth or token.token_type is not TokenType.R_PAREN or at + 1 == len(tokens):
            continue
        if tokens[at + 1].token_type in _FIRST:
            return token.end + 1
    raise ValueError("there is no query after the common table expressions")
