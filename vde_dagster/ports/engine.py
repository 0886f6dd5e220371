"""The engine that computes rows and stages them where no reader sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from vde_dagster.core.dsha import Column
from vde_dagster.core.names import TableName
from vde_dagster.core.work import Staged, Staging


class Engine(Protocol):
    """Computes. Starting it is expensive, so an adapter starts at the first call that needs it."""

    def stage(self, staging: Staging) -> Staged:
        """Write the parts of a unit of work, in order, to the branch named after its work id.

        The target table is created when it does not exist. A branch that an earlier attempt left
        is replaced. Readers of the table see nothing of it.

        Raises:
            EvaluationFailed: A query or function failed, or rows do not fit the table.
        """
        ...

    def create_view(self, name: TableName, sql: str, *, comment: str = "") -> tuple[Column, ...]:
        """Create or replace a physical view, and return its columns.

        ``sql`` is in Spark's dialect and names tables as ``namespace.name``.

        Raises:
            EvaluationFailed: The query does not fit what it reads.
        """
        ...

    def fetch(
        self, sql: str, *, limit: int
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        """Column names and at most ``limit`` rows of a query, for people.

        Raises:
            EvaluationFailed: The query failed.
        """
        ...
