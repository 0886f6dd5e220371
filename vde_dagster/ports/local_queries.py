"""Queries that are answered in this process, over rows in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.duckdb.translating import DuckQuery
from vde_dagster.ports.engine import ArrowRows


class LocalQueries(Protocol):
    """Answers what `vde_dagster.core.sql.duckdb` allows. Nothing is started for it."""

    def answer(
        self, query: DuckQuery, tables: Mapping[ModelName, ArrowRows], *, limit: int
    ) -> Sequence[tuple[object, ...]]:
        """At most ``limit`` rows; instants are aware, in UTC.

        Args:
            query: As translated.
            tables: The rows of each table that it reads, with at least the columns that it reads.
            limit: At most how many rows.

        Raises:
            EvaluationFailed: There is no answer. That says nothing about the query: rows that might
                be answered in another way than Spark's make it fail, too.
        """
        ...
