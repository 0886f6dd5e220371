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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from vde_dagster.core.columns import Column
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.core.sql.duckdb.queries import Queries
from vde_dagster.core.sql.duckdb.sources import Tables
from vde_dagster.core.sql.duckdb.types import NotTheSame
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.spark.reading import read_spark
from vde_dagster.core.sql.spark.unreadable import unreadable
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
        if any(unreadable(text)) or _calls_strangely(text):
            return LeftToSpark(reason="Spark does not read it")
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


_COUNTS: Final[Mapping[str, int]] = {
    "date_diff": 2,
    "datediff": 2,
    "if": 3,
    "ifnull": 2,
    "nvl": 2,
    **dict.fromkeys(("iif", "day_of_month", "day_of_week", "day_of_year", "week_of_year"), -1),
    **dict.fromkeys(("and", "ends_with", "or", "starts_with"), -1),
}
"""How many arguments a name takes that the parser reads with others; -1 for one not of Spark's."""
_BEFORE_CALLS: Final = frozenset({TokenType.SELECT, TokenType.COMMA, TokenType.L_PAREN})


def _calls_strangely(text: str) -> bool:
    """Whether the parser reads a call that Spark refuses: of another name, or other arguments."""
    tokens = Dialect.get_or_raise("spark").tokenize(text)
    for at, token in enumerate(tokens[:-1]):
        name = token.text.lower()
        is_call = tokens[at + 1].token_type is TokenType.L_PAREN and name in _COUNTS
        if is_call and name in ("and", "or"):  # an operator behind an operand
            is_call = at > 0 and tokens[at - 1].token_type in _BEFORE_CALLS
        if is_call and _arguments(tokens[at + 1 :]) != _COUNTS[name]:
            return True
    return False


def _arguments(tokens: Sequence[Token]) -> int:
    """How many arguments the parentheses have that begin here; at least one."""
    depth, commas = 0, 0
    for token in tokens:
        depth += token.token_type is TokenType.L_PAREN
        depth -= token.token_type is TokenType.R_PAREN
        commas += depth == 1 and token.token_type is TokenType.COMMA
        if depth == 0:
            break
    return commas + 1
