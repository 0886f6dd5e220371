"""Spark's SQL over frames, transpiled by sqlglot and run by an in-process DuckDB."""

from __future__ import annotations

import atexit
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa
from sqlglot import exp

from tests.worlds.frames import Frame
from tests.worlds.tables import Row
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.sql.spark.reading import read_spark

if TYPE_CHECKING:
    import duckdb


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """The one DuckDB of this process; it is kept, since creating one takes as long as 100 queries.

    It stores nothing: what is registered belongs to a connection, and is gone with it.
    """
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1})


atexit.register(_database.cache_clear)  # DuckDB complains if it outlives its module


@contextmanager
def connected(frames: Mapping[str, Frame]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of its own, in UTC, in which frames are views of these names."""
    connection = _database().cursor()
    try:
        connection.execute("SET TimeZone = 'UTC'")
        for name, frame in frames.items():
            connection.register(name, frame.arrow())
        yield connection
    finally:
        connection.close()


def in_duck(statement: exp.Expr) -> str:
    """A statement of Spark's in DuckDB's dialect."""
    return text_in_duck(statement.sql("spark", identify=True))  # the tree may have raw texts


@lru_cache(maxsize=4096)
def text_in_duck(text: str) -> str:
    """A statement of Spark's in DuckDB's dialect."""
    statement = read_spark(text)
    for cast in list(statement.find_all(exp.TryCast)):
        # Spark's CAST fails in ANSI mode; sqlglot knows the old one.
        if not cast.args.get("safe"):
            cast.replace(exp.Cast(**cast.args))
    return statement.sql(dialect="duckdb", identify=True)


def result_of(connection: duckdb.DuckDBPyConnection, query: exp.Expr) -> Frame:
    """The rows of a query of Spark's."""
    return Frame.of(connection.sql(in_duck(query)).to_arrow_table())


def answered(query: str, frames: Mapping[str, Frame]) -> Frame:
    """The rows of a query in DuckDB's dialect over frames.

    Tests ask the same of the same few rows very often; what was answered before is known.
    """
    if not _may_be_kept(query, frames):
        return _computed(query, frames)
    return _answered(query, tuple((name, each.columns, each.rows) for name, each in frames.items()))


_Given: TypeAlias = tuple[tuple[str, tuple[Column, ...], tuple[Row, ...]], ...]
_ANEW: Final = re.compile(
    r"\b(random|uuid|gen_random_uuid|now|today|current_\w+|get_current_\w+|localtime\w*|setseed)\b",
    re.IGNORECASE,
)
"""What has another value each time."""
_MOST_ROWS: Final = 200
_KEPT: Final = frozenset(
    {
        *("boolean", "tinyint", "smallint", "int", "bigint", "string", "binary", "date"),
        *("timestamp", "timestamp_ntz"),
    }
)
"""Types of which values that are equal in Python are equal in DuckDB, unlike 0.0 and -0.0."""


def _may_be_kept(query: str, frames: Mapping[str, Frame]) -> bool:
    few = sum(len(each.rows) for each in frames.values()) <= _MOST_ROWS
    known = all(column.type in _KEPT for each in frames.values() for column in each.columns)
    return few and known and not _ANEW.search(query)


def _computed(query: str, frames: Mapping[str, Frame]) -> Frame:
    with connected(frames) as connection:
        return Frame.of(connection.sql(query).to_arrow_table())


@lru_cache(maxsize=2048)
def _answered(query: str, given: _Given) -> Frame:
    return _computed(query, {name: Frame(columns, rows) for name, columns, rows in given})


@contextmanager
def failures(subject: str) -> Iterator[None]:
    """Turns what went wrong in DuckDB or Arrow into EvaluationFailed, with its subject."""
    import duckdb

    try:
        yield
    except EvaluationFailed as error:
        raise error.within(subject) from error
    except (duckdb.Error, pa.ArrowException) as error:
        raise EvaluationFailed(f"{subject}: {str(error).splitlines()[0]}") from error
