"""SQL as text with places in it: what runs is what the author wrote (rule R13).

The places are the tables that the text reads and its time macros; only these are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

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
        return SqlText(tuple(_of_table(each, target) for each in self.pieces))

    def with_queries(self, bodies: Mapping[ModelName, SqlText]) -> SqlText:
        """The statement with queries, in parentheses, in place of the models of these names."""
        return SqlText(tuple(piece for each in self.pieces for piece in _of_query(each, bodies)))

    def with_conditions(self, conditions: Mapping[ModelName, SqlText]) -> SqlText:
        """The statement reading only the rows of these tables for which a condition holds."""
        return SqlText(
            tuple(piece for each in self.pieces for piece in _of_condition(each, conditions))
        )

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


def _of_table(piece: Piece, target: Callable[[ModelName], TableName | None]) -> Piece:
    found = target(piece.name) if isinstance(piece, TablePlace) else None
    if found is None or not isinstance(piece, TablePlace):
        return piece
    return with_columns(table_text(found), piece.columns)


def table_text(name: TableName) -> str:
    """The quoted name of a table."""
    table = exp.table_(name.name, db=name.namespace, catalog=name.catalog, quoted=True)
    return table.sql(dialect="spark")


def _of_query(piece: Piece, bodies: Mapping[ModelName, SqlText]) -> Iterator[Piece]:
    if isinstance(piece, TablePlace) and piece.name in bodies:
        yield "(\n"
        yield from bodies[piece.name].pieces
        yield "\n)"
    else:
        yield piece


def _of_condition(piece: Piece, conditions: Mapping[ModelName, SqlText]) -> Iterator[Piece]:
    if isinstance(piece, TablePlace) and piece.name in conditions:
        yield "(SELECT * FROM "
        yield piece
        yield " WHERE "
        yield from conditions[piece.name].pieces
        yield ")"
    else:
        yield piece
