"""Spark's SQL over frames, transpiled by sqlglot and run by an in-process DuckDB."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from tests.worlds.frames import Frame
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
    """A statement of Spark's in DuckDB's dialect; the tree may be changed."""
    statement = read_spark(statement.sql("spark", identify=True))  # the tree may have raw texts
    for cast in list(statement.find_all(exp.TryCast)):
        # Spark's CAST fails in ANSI mode; sqlglot knows the old one.
        if not cast.args.get("safe"):
            cast.replace(exp.Cast(**cast.args))
    return statement.sql(dialect="duckdb", identify=True)


def result_of(connection: duckdb.DuckDBPyConnection, query: exp.Expr) -> Frame:
    """The rows of a query of Spark's; the tree may be changed."""
    return Frame.of(connection.sql(in_duck(query)).to_arrow_table())


@contextmanager
def failures(subject: str) -> Iterator[None]:
    """Turns what went wrong in DuckDB or Arrow into EvaluationFailed, with its subject."""
    import duckdb

    try:
        yield
    except EvaluationFailed as error:
        raise EvaluationFailed(f"{subject}: {error.message}", advice=error.advice) from error
    except (duckdb.Error, pa.ArrowException) as error:
        raise EvaluationFailed(f"{subject}: {str(error).splitlines()[0]}") from error
