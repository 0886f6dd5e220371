"""The Iceberg catalog as the use cases see it. No adapter may start a JVM for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict
from vde_dagster.core.ledger.damage import LostMetadata, TableHead
from vde_dagster.core.ledger.earlier_schemas import SAME, EarlierSchemas, PresentColumn
from vde_dagster.core.ledger.late.history import SourceHistory
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.schema_changes import InPlace
from vde_dagster.core.ledger.traces import source_token
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.engine import ArrowRows, TableRows
from vde_dagster.ports.physical_layer import Maintenance, PhysicalLayer

_BEHIND: Final = timedelta(minutes=1)
"""How far another clock may be behind, and how long after reading metadata work is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table as its current metadata describes it. ``iceberg_snapshot_id`` is None when empty.

    ``rows_of`` is the one that gave it the rows that it has now (`Catalog.origin`).
    ``partition_columns`` are those that new files are partitioned by. ``schemas`` say how rows of
    its Iceberg snapshots are read with its present columns. ``changed_at`` is when anything about
    it was changed last, None if that is not known.
    """

    name: TableName
    uuid: str
    iceberg_snapshot_id: int | None
    columns: tuple[Column, ...]
    properties: Mapping[str, str]
    rows_of: int | None = None
    partition_columns: tuple[str, ...] = ()
    schemas: EarlierSchemas = SAME
    changed_at: datetime | None = None

    def identity(self, iceberg_snapshot_id: int | None) -> str:
        """What its rows at an Iceberg snapshot belong to, see `EarlierSchemas.identity`."""
        return self.schemas.identity(self.uuid, iceberg_snapshot_id)

    def may_have_replaced(self, iceberg_snapshot_id: int | None, *, since: datetime) -> bool:
        """Whether columns may have become others, with the rows of a snapshot, after a time.

        That is known to the last change of the table's metadata, by the clock of who made it, which
        may be a minute behind.
        """
        late = self.changed_at is None or self.changed_at + _BEHIND >= since
        return late and self.schemas.replaced(iceberg_snapshot_id)

    def token(self, rows_of: int | None) -> str:
        """The token of its rows, if it is a source.

        Args:
            rows_of: The Iceberg snapshot that gave it the rows (`Catalog.origin`); None for none.
        """
        return source_token(self.uuid, self.columns, rows_of, marks=self.schemas.marks(rows_of))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableText:
    """What a model says about its table that changes no row.

    ``columns`` are descriptions by the columns' names in lower case. Of ``storage`` only the
    properties and the file format are used; the latter applies to new files.
    """

    comment: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    storage: Storage = field(default_factory=Storage)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDefinition:
    """A view over one physical table or view: it selects these columns by name.

    If a column of the target is about to be widened (rule R11), the view has the wider type
    already, so that it can be read before and after. Structs have those fields of the target's, in
    its order, that the column's type has. With ``by_field`` they are selected field by field in any
    case, since the target is about to get more of them. Without a ``comment`` it has its target's.
    It has the rows for which ``visible``, a condition in Spark's SQL, holds; all if it is empty.
    """

    name: TableName
    target: TableName
    columns: tuple[Column, ...]
    comment: str | None = field(default=None, compare=False)
    by_field: bool = field(default=False, compare=False)
    visible: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """What one Iceberg snapshot did to a table's rows.

    ``times`` has the times, by one column, of all rows that it added or removed, as closely as
    metadata says; it is empty for a compaction, and None if they are not known. ``added`` is how
    many rows it added if it took none away, 0 for a compaction; else, or if that is not known, it
    is None. ``committed_at`` is when it was committed, by the writer's clock.
    """

    iceberg_snapshot_id: int
    committed_at: datetime
    times: tuple[Interval, ...] | None
    added: int | None


class TableMoved(Conflict):
    """A table is not where a unit of work was staged, so that work can never be published."""


NUMBERS_OF_A_SWAP: Final = 8
"""How many numbers in a row a swap may use: one for each attempt to change a view."""


class SwapOvertaken(Conflict):
    """A view has a higher number than a swap that would change it; that view was not changed.

    Args:
        message: What happened.
        advice: What to do next.
        highest: The number that the view has.
    """

    def __init__(self, message: str, *, advice: str = "", highest: int = 0) -> None:
        super().__init__(message, advice=advice)
        self.highest = highest


class Catalog(PhysicalLayer, Maintenance, Protocol):
    """Tables and views, what happened to tables, and rows of tables for users' own code."""

    @property
    def swaps_at_once(self) -> bool:
        """Whether `swap_views` changes all views in one transaction, so that it is whole."""
        ...

    def table(self, name: TableName) -> TableState | None:
        """The current state of a table; None if there is none of this name."""
        ...

    def table_heads(
        self, names: Collection[TableName]
    ) -> Mapping[TableName, TableHead | LostMetadata]:
        """The current state of those of these names that are tables, to be compared with records.

        It costs one look for all of them where the catalog lists its tables' metadata files, and
        reads only files that were not read before.
        """
        ...

    def view(self, name: TableName) -> ViewDefinition | None:
        """A view that `swap_views` created; None if there is none of this name."""
        ...

    def views(self, names: Collection[TableName]) -> Mapping[TableName, ViewDefinition]:
        """The views among these names that `swap_views` created."""
        ...

    def view_query(self, name: TableName) -> tuple[str, tuple[Column, ...]] | None:
        """The query of a view that an engine created, in Spark's dialect, and its columns.

        None if there is no such view, or if its query names tables that depend on where it was
        created.
        """
        ...

    def present(self, names: Collection[TableName]) -> Collection[TableName]:
        """Those of these names that a table or a view of any program has."""
        ...

    def taken(self, names: Collection[TableName]) -> Collection[TableName]:
        """Those of these names that are used by something that `swap_views` did not create."""
        ...

    def swap_views(
        self,
        views: Sequence[ViewDefinition],
        drops: Sequence[TableName],
        *,
        number: int = 0,
        again: bool = False,
    ) -> None:
        """Create or replace all of these views, and drop the others.

        This is one transaction in a catalog that `swaps_at_once`. Others change one view after
        another, several at once: each is read whole, before or after, and an error may leave some
        as they were, as it says. Nothing is changed before all views are known to fit.

        Doing the same again changes nothing. Missing namespaces are created. A name in ``drops``
        that does not exist is not an error; what another program put there stays.

        Args:
            views: Those that are created or replaced.
            drops: The names of those that are dropped.
            number: In a catalog that does not swap at once, of two swaps the one with the higher
                number wins, whichever is later: `State.next_view_number` gives it, before anything
                is read that decides what the views show. Without one (0) views can be created and
                dropped there, and none can be replaced.
            again: In such a catalog, whether views that are up to date are replaced as well, so
                that no request of an earlier swap that was cut can change them any more.

        Raises:
            Refused: A name is taken, possibly by a view that shows another model's versions, or a
                target does not exist; nothing was changed. Or a catalog that does not swap at once
                refused to change one of the views.
            Conflict: Another process changed one of the views meanwhile. A catalog that swaps at
                once changed nothing. In others it is `SwapOvertaken` if a view has a higher number.
            OutcomeUnknown: The answer was lost.
        """
        ...

    def publish(self, name: TableName, *, base: int | None, staged: int) -> None:
        """Move a table from the Iceberg snapshot ``base`` to ``staged``, a descendant of it.

        A table that is at ``staged`` already, or at a descendant of it, stays as it is. Otherwise
        the branch of a unit of work has to be at ``staged``, and is removed in the same commit:
        once a branch is dropped, it can never be published.

        Raises:
            TableMoved: The table is at neither of the two, or the branch was dropped; nothing was
                changed.
            Conflict: Other commits kept getting in first; nothing was changed.
            OutcomeUnknown: The answer was lost.
        """
        ...

    def evolve(self, name: TableName, changes: Sequence[InPlace]) -> None:
        """Add columns to a table and widen others (rule R11); existing rows have NULL.

        A struct keeps the fields that it has, and gets those that it lacks behind them. Doing the
        same again changes nothing. Views do not see new columns; those that show a widened column
        need its new type before, and have to be ``by_field`` where a struct gets fields
        (`ViewDefinition`).

        Raises:
            Refused: A column exists with another type; nothing was changed.
            Conflict: The table was dropped, or other commits kept getting in first.
            OutcomeUnknown: The answer was lost.
        """
        ...

    def describe(self, name: TableName, text: TableText) -> None:
        """Set the comments and properties of a table and its columns from its model.

        Raises:
            Conflict: The table was dropped, or other commits kept getting in first.
            OutcomeUnknown: The answer was lost.
        """
        ...

    def restore(self, name: TableName, *, found: int | None, recorded: int) -> None:
        """Make an Iceberg snapshot that was recorded the current one of a table again.

        Columns of it that were renamed or dropped since have their names and values again: the
        newest schema that has all of them as they were is the current one again.

        Nothing is lost: what the table had at ``found`` instead, and ``recorded`` does not build
        on, is kept under a tag. Doing the same again changes nothing.

        Raises:
            TableMoved: The table is at neither of the two, or ``recorded`` has expired; nothing was
                changed.
            Conflict: Other commits kept getting in first; nothing was changed.
            OutcomeUnknown: The answer was lost.
        """
        ...

    def missing_files(self, name: TableName, iceberg_snapshot_id: int) -> Sequence[str]:
        """The data files of a table at an Iceberg snapshot that are not in storage any more.

        Each file is looked for once; none is read.
        """
        ...

    def branches(self, name: TableName) -> Collection[str]:
        """The units of work that have a branch of a table; none if there is no table."""
        ...

    def drop_branch(self, name: TableName, work_id: str) -> None:
        """Remove the branch that a unit of work staged on; no error if there is none."""
        ...

    def origin(self, name: TableName, iceberg_snapshot_id: int) -> int:
        """The Iceberg snapshot that gave a table the rows that it has at a given one.

        It is the given one itself or, if that is a compaction, the one that was compacted (as far
        as the table's metadata still has it). So if two origins are equal, the rows are.
        """
        ...

    def columns_at(
        self, name: TableName, iceberg_snapshot_id: int
    ) -> tuple[PresentColumn, ...] | None:
        """How a table's present columns are read at an Iceberg snapshot; empty if as they are.

        None if it cannot be read there: the Iceberg snapshot has expired, or there is no table.
        """
        ...

    def line(self, name: TableName) -> Sequence[int]:
        """The current Iceberg snapshot of a table and its retained ancestors, newest first."""
        ...

    def row_changes(
        self, name: TableName, *, after: int | None, column: str
    ) -> Sequence[RowChange]:
        """What the Iceberg snapshots of a table's line did, newest first, by a time column.

        Only those after the given one are returned; all that are retained if it is None. Without a
        column (an empty one) no file is read, and no times are known except those of compactions.
        """
        ...

    def earliest(self, name: TableName, column: str) -> datetime | None:
        """The first time of a column among a table's rows, by metadata.

        The end of time if there are no rows; None if it is not known.
        """
        ...

    def latest(self, name: TableName, column: str) -> datetime | None:
        """The last time of a column among a table's rows, by metadata, rounded up.

        None if there are no rows, or if it is not known.
        """
        ...

    def history(self, source: ModelName, since: HighWaterMark | None) -> SourceHistory:
        """A source's head and its changes after a mark, from metadata alone."""
        ...

    def weight(self, name: TableName, iceberg_snapshot_id: int | None) -> int | None:
        """The bytes of the files with a table's rows at an Iceberg snapshot; 0 if there is none.

        From metadata alone. None if that is not known, or if it is not certain that `read` reads
        them, since rows of files are deleted in a way that only an engine understands.
        """
        ...

    def read(self, wanted: TableRows) -> ArrowRows:
        """Rows of a table for a user's own code, fetched now. A view cannot be read by this.

        Raises:
            Refused: There is no such table.
            EvaluationFailed: Its files are such that they cannot be read without an engine.
        """
        ...
