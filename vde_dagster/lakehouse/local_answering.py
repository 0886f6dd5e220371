"""Questions over given rows that are answered without a JVM, where the rows are those of Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pyarrow as pa

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.names import DEFAULT_SCHEMA, ModelName
from vde_dagster.core.sql.duckdb.translating import DuckQuery, in_duckdb
from vde_dagster.core.unit_tests.comparison import Answer
from vde_dagster.core.unit_tests.definition import GivenRows
from vde_dagster.core.unit_tests.question import QueryOverRows, Question
from vde_dagster.lakehouse.duckdb_rows import arrow_type
from vde_dagster.ports.local_queries import LocalQueries

_MOST_ROWS: Final = 100_000
"""A query over rows that somebody wrote that returns more is left to Spark."""


class DuckAnswers:
    """Implements `vde_dagster.ports.answering.Answering` for queries that mean the same in DuckDB.

    What fails there has no answer, too: a value on which the engines differ makes a query fail.

    Args:
        local: Runs the queries.
    """

    def __init__(self, local: LocalQueries) -> None:
        self._local = local

    def answer(self, question: Question, *, subject: str) -> Answer | None:
        """The rows of a query over given rows; None for what only Spark answers. See the port."""
        del subject  # nothing fails here: Spark is asked then, and says why it does
        if not isinstance(question, QueryOverRows):
            return None
        given = {ModelName(DEFAULT_SCHEMA, name): each for name, each in question.tables.items()}
        query = in_duckdb(
            question.rows.sql,
            catalog="",
            tables=lambda name: given[name].columns if name in given else None,
        )
        if not isinstance(query, DuckQuery):
            return None
        tables = {name: _table(given[name], columns) for name, columns in query.reads.items()}
        try:
            rows = self._local.answer(query, tables, limit=_MOST_ROWS)
        except EvaluationFailed:
            return None
        return Answer(columns=query.columns, rows=tuple(rows)) if len(rows) < _MOST_ROWS else None


def _table(given: GivenRows, columns: tuple[Column, ...]) -> pa.Table:
    """The columns that a query reads of given rows; one of NULL, where only rows are counted."""
    if not columns:
        return pa.table({"_": pa.nulls(len(given.rows), pa.int32())})
    places = {each.name: at for at, each in enumerate(given.columns)}
    arrays = [
        pa.array([_local(row[places[each.name]]) for row in given.rows], arrow_type(each.type))
        for each in columns
    ]
    return pa.table(arrays, names=[each.name for each in columns])


def _local(value: object) -> object:
    """An instant as local time in UTC, which is how DuckDB is given one."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value
