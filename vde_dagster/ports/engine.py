"""The engine that computes rows and stages them where no reader sees them.

Beside it are what answers questions over given rows, and queries over rows in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from vde_dagster.core.clean_up.compaction import Compaction
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.unit_of_work import Input, RowSource, SqlRows, Staged, Staging
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.duckdb.translating import DuckQuery
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.unit_tests.comparison import Answer
from vde_dagster.core.unit_tests.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Rows of a table whose sums are to be computed: at one Iceberg snapshot, by these columns.

    With an ``axis`` the sums are those of its units, of all rows or of those in ``intervals``. The
    columns may be fewer and their types narrower than the table's now, to sum rows as they were
    once written. They may be more, and wider, than at that Iceberg snapshot, to sum rows as they
    are read now. ``hidden_rows`` are left out.
    """

    table: TableName
    iceberg_snapshot_id: int | None
    columns: tuple[Column, ...]
    axis: TimeAxisSpec | None = None
    intervals: tuple[Interval, ...] | None = None
    hidden_rows: HiddenRows | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """Rows of a table or view that a user's own code asks for.

    They are read at an Iceberg snapshot, or with None at the current one. With an ``axis`` they are
    those whose time lies in one of some ``intervals``. ``columns`` are those that are read, in this
    order and in any case; all of them if it is empty. ``hidden_rows`` are left out.
    """

    table: TableName
    iceberg_snapshot_id: int | None = None
    hidden_rows: HiddenRows | None = None
    axis: TimeAxisSpec | None = None
    intervals: tuple[Interval, ...] = ()
    columns: tuple[str, ...] = ()


class ArrowRows(Protocol):
    """Rows in memory, as Arrow has them: a `pyarrow.Table`."""

    @property
    def column_names(self) -> Sequence[str]:
        """The names of the columns, in order."""
        ...

    def to_pylist(self) -> list[dict[str, object]]:
        """The rows as values of Python."""
        ...

    def to_pandas(self) -> object:
        """The rows as a pandas frame."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StageProgress:
    """A stage of a running query: how many tasks it has, and how many are done or failed."""

    stage: int
    tasks: int
    done: int
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineProgress:
    """What an engine is doing: the stages that run now, and where people can watch it.

    ``address`` is that of the engine's own UI, empty if it has none. ``stages`` are those of all
    queries of this process. ``waits_for`` says for people what all of them wait for that another
    program has to give; empty if they are computed.
    """

    address: str = ""
    waits_for: str = ""
    stages: tuple[StageProgress, ...] = ()


class UserFrame(Protocol):
    """Rows as an engine gives them to a user's own code; that of Spark is its DataFrame."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns, in order."""
        ...

    def collect(self) -> Sequence[tuple[object, ...]]:
        """All rows, computed now."""
        ...

    def toArrow(self) -> ArrowRows:  # noqa: N802 - the name that Spark's DataFrame has
        """All rows in memory, computed now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """How many files a compaction has replaced, and by how many."""

    files: int
    files_after: int


class Engine(Protocol):
    """Computes rows. It is expensive to start: adapters do so at the first call that needs it."""

    def stage(self, staging: Staging) -> Staged:
        """Write the parts of a unit of work, in order, to the branch named after its work id.

        The target table is created if it does not exist. A branch that an earlier attempt left is
        replaced. Readers of the table see nothing of the branch.

        Columns that the model is known to return (``Staging.returned``) and that the table lacks
        are added to it at once, even if the branch is never published: readers name their columns
        (rule R11). Where it is not known, ``Staging.column_rules`` say which may be added and
        which may be missing; what they only warn of is logged.

        Raises:
            EvaluationFailed: A query, function or statement failed, or rows do not fit the table.
                If the columns do not fit, all of them are reported before a row is computed.
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

    def compact(self, name: TableName, wanted: Compaction) -> Compacted:
        """Rewrite the small files of a table in one commit that changes no row.

        Only partitions with so many of them are rewritten. A table whose files are sorted by
        columns is sorted by them again.

        Raises:
            EvaluationFailed: Its files cannot be read or written, or another process changed them
                meanwhile; nothing was changed.
        """
        ...

    def sums(self, sought: Sought, *, algorithm: str) -> Mapping[Interval | None, RowSum]:
        """The sums of stored rows.

        With an axis, one for each interval unit, and for None that of rows without a time; else one
        of all rows, for None.

        Raises:
            EvaluationFailed: The table cannot be read.
        """
        ...

    def read(self, wanted: TableRows) -> UserFrame:
        """Rows for a user's own code, which are fetched when it asks for them.

        Settings that this code changes in the engine do not affect models.

        Raises:
            EvaluationFailed: They cannot be read, as far as that is known before they are fetched.
        """
        ...

    def sharing(self, name: str) -> AbstractContextManager[None]:
        """Let this thread compute beside others inside of a ``with`` block.

        What it computes there has the same share of the engine as what each of the others does.
        Threads that are in no such block wait for each other.

        Args:
            name: What it computes, for people who watch the engine.
        """
        ...

    def interrupt(self) -> None:
        """End what threads compute in `sharing` now, and whatever they begin to compute there.

        They raise KeyboardInterrupt, as if a person had stopped them. What enters `sharing` later
        is not concerned. A thread that computes nothing with the engine is not interrupted.
        """
        ...

    def progress(self) -> EngineProgress | None:
        """What the engine is doing now, without starting it; any thread may ask.

        None if it was not started, or cannot say.
        """
        ...

    def preview(
        self,
        rows: RowSource,
        inputs: Mapping[str, Input],
        columns: tuple[Column, ...],
        *,
        model: str,
        limit: int,
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        """Column names and at most ``limit`` rows that a model would return. Nothing is written.

        Args:
            rows: How its rows are computed.
            inputs: What they are computed from, none of them rows of its own table.
            columns: Those that the model declares.
            model: Its name, for messages.
            limit: At most how many rows.

        Raises:
            EvaluationFailed: The query or function failed.
        """
        ...

    def answer(self, question: Question, *, subject: str) -> Answer:
        """The rows that a query or function returns over given rows. Nothing is written.

        Args:
            question: What to compute; it reads no table of the catalog.
            subject: What fails, for messages.

        Raises:
            EvaluationFailed: The query or function failed.
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


class Answering(Protocol):
    """Answers questions over given rows, each for itself; nothing is written."""

    def answer(self, question: Question, *, subject: str) -> Answer | None:
        """The rows that a query or function returns over given rows, as Spark would return them.

        None if that is not known of this adapter: then another one has to be asked.

        Args:
            question: What to compute.
            subject: What fails, for messages.

        Raises:
            EvaluationFailed: The query or function failed.
        """
        ...


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
