"""Whether DuckDB answers a query with the rows that Spark would, and its text for DuckDB.

What is allowed is a list: of sorts of nodes with their arguments, and of types. Each is run on both
engines and compared by `tests/lakehouse/test_duckdb_answers.py`. Everything else is left to Spark,
so that what nobody compared is never answered by DuckDB.

A difference that depends on values is caught by a check in the text: such a row makes DuckDB fail.
So an error of DuckDB says nothing about the query, and whoever runs it asks Spark then.

DuckDB must be given instants as local times in UTC (its TIMESTAMP, not TIMESTAMPTZ), and each table
under the model's name, such as ``"mart.revenue"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from vde_dagster.core.columns import Column
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.duckdb.queries import Queries
from vde_dagster.core.sql.duckdb.sources import Tables
from vde_dagster.core.sql.duckdb.types import NotTheSame
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.table_names import project_names


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckQuery:
    """A query that DuckDB answers as Spark would.

    ``sql`` is in DuckDB's dialect. ``columns`` are what it returns, with the names and types that
    they have in Spark. ``reads`` are the tables that it reads, with the columns that are read of
    each, as the table has them; a query that only counts rows reads none.
    """

    sql: str
    columns: tuple[Column, ...]
    reads: Mapping[ModelName, tuple[Column, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftToSpark:
    """Why a query is left to Spark: what of it is not known to mean the same in DuckDB."""

    reason: str


_TOO_DEEP: Final = "it is nested too deeply"


def in_duckdb(text: str, *, catalog: str, tables: Tables) -> DuckQuery | LeftToSpark:
    """A query over models for DuckDB, or why Spark has to answer it.

    Args:
        text: One SELECT in Spark's dialect.
        catalog: The project's own; it is no part of a model's name.
        tables: What each name of a model or source stands for.
    """
    try:
        parsed = read_spark(text)
        if not isinstance(parsed, exp.Query):
            return LeftToSpark(reason="it is no SELECT")
        query = project_names(parsed, catalog, copy=False)
        return query_in_duckdb(query, catalog=catalog, tables=tables)
    except (*SQL_ERRORS, InvalidName) as error:
        return LeftToSpark(reason=f"it is not understood: {first_line(error)}")
    except RecursionError:
        return LeftToSpark(reason=_TOO_DEEP)


def query_in_duckdb(query: exp.Query, *, catalog: str, tables: Tables) -> DuckQuery | LeftToSpark:
    """As `in_duckdb`, of a tree whose tables have their names in the project.

    The tree stays as it is.
    """
    queries = Queries(tables=tables, catalog=catalog)
    try:
        found = queries.statement(query)
        columns = tuple(Column(name=each.name, type=str(each.type)) for each in found.columns)
    except RecursionError:
        return LeftToSpark(reason=_TOO_DEEP)
    except NotTheSame as error:
        return LeftToSpark(reason=f"not known to be the same in DuckDB: {error}")
    return DuckQuery(
        sql=found.node.sql("duckdb"),
        columns=columns,
        reads={
            name: tuple(each for each in columns if each.name in queries.reads[name])
            for name, columns in queries.known.items()
        },
    )
