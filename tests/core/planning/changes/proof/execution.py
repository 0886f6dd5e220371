"""What the models of a project return on small random tables, by DuckDB.

The queries run as they are written, not in their canonical form, so that nothing of what is proved
takes part.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import duckdb

from tests.core.planning.changes.proof.projects import (
    BEHIND,
    BY_TIME,
    FIRST,
    HIDDEN,
    RAW,
    Model,
    Project,
)
from tests.core.planning.changes.proof.queries import DAY, INT, LIST, TEXT, Columns

DATA_SETS = 48
ROWS = 8
MOST_ROWS = 2000
MOST_TABLES = 32
VALUES: Mapping[str, Sequence[object]] = {
    INT: (0, 1, 1, 2, 3, None),
    TEXT: ("x", "x", "X", "y", "", None),
    DAY: ("2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", None),
    LIST: ([], [1], [1, 2], [2, 2, None], [3], None),
}
_TYPES = {INT: "INT", TEXT: "VARCHAR", DAY: "DATE", LIST: "INT[]"}
_SPELLINGS = (
    (re.compile(r"LATERAL VIEW EXPLODE\(([\w.]+)\) v AS w"), r"CROSS JOIN UNNEST(\1) AS v(w)"),
    (re.compile(r"\bEXPLODE\("), "UNNEST("),
    (re.compile(r"\bLEFT (SEMI|ANTI) JOIN"), r"\1 JOIN"),
    (re.compile(r"@start_date"), f"DATE '{FIRST}'"),
    (re.compile(r"@end_date"), f"(DATE '{BEHIND}' - 1)"),
)
"""What DuckDB has other words for than Spark."""


_NOT_IN_DUCKDB: Final = "aliases cannot be used as part of an expression in the GROUP BY"
"""What DuckDB says of grouping by a column that is written with another column's alias."""


class NotRun(Exception):
    """DuckDB does not run a query that Spark runs."""


class TooManyRows(NotRun):
    """Joins of joins have made more rows than a test should hold."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The result of a model: the names of its columns, and its rows as a multiset."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def of(self, columns: Sequence[str]) -> list[str]:
        """The multiset of some columns of each row, by their names.

        Raises:
            ValueError: There is no such column.
        """
        at = [self.columns.index(each) for each in columns]
        return sorted(repr([row[index] for index in at]) for row in self.rows)


Tables = Mapping[str, str]
"""The tables with the rows of sources and models, by the names that a project has for them."""


@dataclass(slots=True)
class Database:
    """Random tables, several sets of them, and the models that were run on one set."""

    connection: duckdb.DuckDBPyConnection
    _views: set[str] = field(default_factory=set)
    _known: dict[str, str] = field(default_factory=dict)
    _rows: dict[str, Rows] = field(default_factory=dict)

    def forget(self) -> None:
        """Run models again, and let their tables be replaced, when there are many."""
        if len(self._known) > MOST_TABLES:
            self._known.clear()
            self._rows.clear()

    def tables(self, project: Project, data_set: int) -> Tables:
        """Run every model. Models of equal queries over equal tables have one table.

        Raises:
            NotRun: DuckDB does not run one, or there are more rows than a test should hold.
        """
        names = {name: self._source(name, each, data_set) for name, each in project.sources.items()}
        for model in project.models:
            names[model.name] = self.table(model, names)
        return names

    def table(self, model: Model, tables: Tables) -> str:
        """The table with the rows of a model over these ones.

        Raises:
            NotRun: DuckDB does not run it, or there are more rows than a test should hold.
        """
        sql = on_duckdb(model, tables)
        if sql not in self._known:
            name = f"r{len(self._known)}"
            made = self._made(f"CREATE OR REPLACE TABLE {name} AS {sql}")
            if made is None or made[0] > MOST_ROWS:
                raise TooManyRows(sql)
            self._known[sql] = name
        return self._known[sql]

    def _made(self, sql: str) -> tuple[Any, ...] | None:
        try:
            return self.connection.execute(sql).fetchone()
        except duckdb.BinderException as error:
            if _NOT_IN_DUCKDB not in str(error):
                raise
            raise NotRun(sql) from error

    def rows(self, table: str) -> Rows:
        """The rows of a table."""
        if table not in self._rows:
            result = self.connection.execute(f"FROM {table}")
            columns = tuple(each[0] for each in result.description or ())
            self._rows[table] = Rows(columns, tuple(result.fetchall()))
        return self._rows[table]

    def _source(self, name: str, columns: Columns, data_set: int) -> str:
        """A source with the columns that a project declares, in their order."""
        table = f"d{data_set}.{name.removeprefix('raw.')}"
        view = "_".join((table, *columns))
        if view not in self._views:
            self.connection.execute(
                f"CREATE VIEW {view} AS SELECT {', '.join(columns)} FROM {table}"
            )
            self._views.add(view)
        return view


def on_duckdb(model: Model, names: Mapping[str, str]) -> str:
    """A model's query in DuckDB's words, its range applied where it has one."""
    sql = model.query.sql(names)
    for pattern, spelling in _SPELLINGS:
        sql = pattern.sub(spelling, sql)
    if model.kind != BY_TIME:
        return sql
    return f"SELECT * FROM ({sql}) WHERE day >= DATE '{FIRST}' AND day < DATE '{BEHIND}'"


def random_database() -> Database:
    """The tables of all sources, with values of few kinds: NULLs and equal rows are many."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("PRAGMA disable_optimizer")  # it takes longer than it saves on a few rows
    chance = random.Random(5)
    for index in range(DATA_SETS):
        connection.execute(f"CREATE SCHEMA d{index}")
        for name, declared in RAW.items():
            columns = {**declared, **HIDDEN}
            table = f"d{index}.{name.removeprefix('raw.')}"
            types = ", ".join(f"{column} {_TYPES[type_]}" for column, type_ in columns.items())
            connection.execute(f"CREATE TABLE {table} ({types})")
            for _ in range(chance.choice((0, 2, ROWS // 2, ROWS, ROWS, ROWS))):
                row = [chance.choice(VALUES[type_]) for type_ in columns.values()]
                places = ", ".join("?" for _ in row)
                for _ in range(chance.choice((1, 1, 2))):
                    connection.execute(f"INSERT INTO {table} VALUES ({places})", row)
    return Database(connection)
