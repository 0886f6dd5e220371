"""The engine that computes rows and stages them where no reader sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.unit_of_work import Input, SqlRows, Staged, Staging
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.names import TableName
from vde_dagster.core.time.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Rows of a table whose sums are sought: at one Iceberg snapshot, under these columns.

    With an ``axis`` the sums are those of its units, of all rows or of those in ``intervals``. The
    columns may be fewer and their types narrower than the table's now: as rows were written once.
    They may be more, and wider, than the table's were at that Iceberg snapshot: as rows count now.
    """

    table: TableName
    iceberg_snapshot_id: int | None
    columns: tuple[Column, ...]
    axis: TimeAxisSpec | None = None
    intervals: tuple[Interval, ...] | None = None


class Engine(Protocol):
    """Computes. Starting it is expensive, so an adapter starts at the first call that needs it."""

    def stage(self, staging: Staging) -> Staged:
        """Write the parts of a unit of work, in order, to the branch named after its work id.

        The target table is created when it does not exist. A branch that an earlier attempt left
        is replaced. Readers of the table see nothing of it.

        Columns that the model is known to return (``Staging.returned``) and that the table lacks
        are added to it at once, whatever becomes of the branch: readers name theirs (rule R11).

        Raises:
            EvaluationFailed: A query, function or statement failed, or rows do not fit the table;
                where that follows from their columns, all of it is told before a row is computed.
        """
        ...

    def columns_of(self, rows: SqlRows, inputs: Mapping[str, Input]) -> tuple[Column, ...]:
        """The columns that a query returns, without computing a row.

        Raises:
            EvaluationFailed: The query does not fit what it reads.
        """
        ...

    def create_view(self, name: TableName, sql: str, *, comment: str = "") -> tuple[Column, ...]:
        """Create or replace a physical view, and return its columns.

        ``sql`` is in Spark's dialect and names tables as ``namespace.name``.

        Raises:
            EvaluationFailed: The query does not fit what it reads.
        """
        ...

    def sums(self, sought: Sought, *, algorithm: str) -> Mapping[Interval | None, RowSum]:
        """The sums of rows as they lie in a table.

        By interval unit with an axis, rows without a time under None; else of all under None.

        Raises:
            EvaluationFailed: The table cannot be read.
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
