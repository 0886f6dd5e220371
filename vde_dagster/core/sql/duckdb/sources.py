"""What the FROM of a query reads, and what the names of columns stand for there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.duckdb.types import NotTheSame, SparkType
from vde_dagster.core.sql.duckdb.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewQuery:
    """A view: its query in Spark's dialect, and the columns that it has in the catalog."""

    sql: str
    columns: tuple[Column, ...]


Tables = Callable[[ModelName], Sequence[Column] | ViewQuery | None]
"""What a name stands for: the columns of a table with Spark's types, or a view's query.

None where that is not known; it may raise NotTheSame to say why.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A column that a query returns.

    ``type`` is None for one of a type that is left to Spark: it must not be read. ``spelled`` is
    its name in DuckDB.
    """

    name: str
    type: SparkType | None
    spelled: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table, or a query in its place, in a FROM.

    ``path`` are the names, in lower case, by which columns may name it: its alias, or the parts of
    its name. ``alias`` is what it is called in DuckDB's text.
    """

    path: tuple[str, ...]
    alias: str
    columns: tuple[Output, ...]
    read: set[str] | None = None

    def column(self, output: Output) -> Value:
        """A column of it, which is noted as read.

        Raises:
            NotTheSame: Its type is left to Spark.
        """
        if output.type is None:
            raise NotTheSame(f"the column {output.name}, whose type is left to Spark")
        if self.read is not None:
            self.read.add(output.spelled)
        node = exp.column(quoted(output.spelled), table=quoted(self.alias))
        return Value(node=node, type=output.type)


def quoted(name: str) -> exp.Identifier:
    """A name in quotes."""
    return exp.to_identifier(name, quoted=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """All that one FROM reads, in order."""

    items: tuple[Source, ...]

    def column(self, node: exp.Column) -> Value:
        """What a name stands for.

        Raises:
            NotTheSame: Nothing has it, or several do, or it is a field of a struct.
        """
        found = self.found(node)
        if len(found) != 1:
            raise NotTheSame(f"the name {node.sql('spark')}")
        source, output = found[0]
        return source.column(output)

    def found(self, node: exp.Column) -> list[tuple[Source, Output]]:
        """Every column that a name may stand for."""
        *before, name = [each.name.lower() for each in node.parts]
        return [
            (source, output)
            for source in self.items
            if not before or source.path[-len(before) :] == tuple(before)
            for output in source.columns
            if output.name.lower() == name
        ]

    def starred(self, node: exp.Expr) -> Sequence[tuple[Source, Output]]:
        """The columns that a star stands for.

        Raises:
            NotTheSame: It names none or several of what is read, or it leaves columns out.
        """
        before = []
        if isinstance(node, exp.Column):
            before = [each.name.lower() for each in node.parts[:-1]]
        star = node.this if isinstance(node, exp.Column) else node
        if any(each for each in star.args.values()):
            raise NotTheSame("a star that leaves columns out")
        items = [
            each for each in self.items if not before or each.path[-len(before) :] == tuple(before)
        ]
        if not items or (before and len(items) > 1):
            raise NotTheSame(f"the star {node.sql('spark')}")
        return [(source, output) for source in items for output in source.columns]


JOINED: Final = {
    ("", ""): ("", ""),
    ("", "INNER"): ("", "INNER"),
    ("", "CROSS"): ("", "CROSS"),
    ("LEFT", ""): ("LEFT", ""),
    ("LEFT", "OUTER"): ("LEFT", ""),
    ("RIGHT", ""): ("RIGHT", ""),
    ("RIGHT", "OUTER"): ("RIGHT", ""),
    ("FULL", ""): ("FULL", ""),
    ("FULL", "OUTER"): ("FULL", ""),
}
"""The side and kind of a join as parsed, and as written for DuckDB."""
