"""One unit of work: what it writes, what it reads, and the records that make it recoverable.

The records follow the steps of a materialization (rules R3 to R5): an *intent* before anything is
staged, *staged* when the rows are on their branch, and *finalize*, which moves ledger, marks and
session in one transaction after the branch was published.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from vde_dagster.core.audits.values import Audit, AuditResult
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.dsha import DEFAULT_ALGORITHM, RowSum, total
from vde_dagster.core.ledger.earlier_schemas import PresentColumn
from vde_dagster.core.ledger.entries import LedgerChange, LedgerEntry, apply_changes
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.rows_lost import RowsWouldGo
from vde_dagster.core.model.column_rules import DEFAULT_COLUMN_RULES, ColumnRules
from vde_dagster.core.model.hidden_rows import HiddenRows
from vde_dagster.core.model.history import History
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import KeepHistory, TimeAxisSpec, Write
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """All rows of a table at one Iceberg snapshot; no rows where it has none yet (None).

    ``columns`` are the present ones of a table that had others at the snapshot: it is read with
    these. It is empty if they are the same. ``hidden_rows`` are left out.
    """

    table: TableName
    iceberg_snapshot_id: int | None
    columns: tuple[PresentColumn, ...] = ()
    hidden_rows: HiddenRows | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedBetween:
    """Exactly the rows that appends added after one Iceberg snapshot, up to another."""

    table: TableName
    after: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRows:
    """Rows of an interval of the table that a unit of work writes, as it has written them so far.

    A model that reads itself sees the interval before the one that it computes.
    """

    table: TableName
    interval: Interval
    axis: TimeAxisSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsWithin:
    """Rows of a table at one Iceberg snapshot whose time is in some intervals.

    What a Python model reads of a source that its sessions track (seed 003, *stateful*).
    ``columns`` as those of `AsOf`.
    """

    table: TableName
    iceberg_snapshot_id: int | None
    intervals: tuple[Interval, ...]
    axis: TimeAxisSpec
    columns: tuple[PresentColumn, ...] = ()


Input = AsOf | AddedBetween | OwnRows | RowsWithin


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlRows:
    """Rows of a query in Spark's dialect, which reads the names in ``PlannedWrite.inputs``."""

    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonRows:
    """Rows of a Python model: its module's source, and the function to call.

    ``variables`` are the project's, as far as the function reads them. ``modules`` are those of
    the project that the code imports: their texts by path.
    """

    source: str
    function: str
    path: str
    interval: Interval
    execution_time: datetime
    variables: Mapping[str, object] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The function, for people."""
        return f"{self.path}: {self.function}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvRows:
    """Rows of a CSV text with a header line."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRows:
    """Rows that another program has computed, as a frame that the engine knows.

    ``place`` says for people where they come from.
    """

    frame: object = field(compare=False)
    place: str


RowSource = SqlRows | PythonRows | CsvRows | FrameRows


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWrite:
    """One write of a unit of work.

    ``inputs`` maps the name under which ``rows`` reads a table to what it must read: for SQL the
    name that it has in the query, for Python the model's name as the user writes it.

    One that ``follows`` is only written if the one before it was written and gave other rows than
    the table holds, which are ``held``; None where that is not known.
    """

    rows: RowSource
    inputs: Mapping[str, Input]
    write: Write
    follows: bool = False
    held: RowSum | None = None

    @property
    def own_rows(self) -> OwnRows | None:
        """The rows of the table itself that it reads, if any."""
        return next((each for each in self.inputs.values() if isinstance(each, OwnRows)), None)

    def is_moved(self, sums: Mapping[Interval, RowSum]) -> bool:
        """Whether it has other rows than the table held."""
        return self.held is None or total(sums.values()) != self.held


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Everything that an engine needs to stage one unit of work on a branch of the target.

    ``base`` is the Iceberg snapshot that the branch starts from, None for an empty table. With
    ``rebuilds`` the branch starts without rows all the same. ``columns`` are the declared ones
    (types are cast to them); empty means as the rows are. ``storage`` and ``comment`` are those of
    a table that is made now. ``audits`` look at the staged rows, and at the tables that they read
    besides as ``audit_inputs`` says. ``algorithm`` is what rows are hashed with.

    ``returned`` are the columns, in lower case, that the model is known to return, with their types
    as far as those are known; empty where no column is known. The table gets those that it lacks,
    and a column of the table that is not among them has NULL in new rows (rule R11), as has a field
    of a struct that its type lacks. Where they are not known, ``column_rules`` say what the table
    may lose and gain. ``before`` and ``after`` are pre- and post-statements in Spark's SQL that run
    once for all parts, in a session of their own; ``statement_inputs`` are the tables that they
    read, and ``own_name`` is the name under which they read the model's own rows. ``path`` is the
    model's file, for people. ``state`` is the id of the state that records it, which a table that
    is made now carries (rule R12). With ``shallow_copy_of`` the rows of the only part are not
    written: they are rows of that table, and the new table has its data files.
    """

    work_id: str
    target: VersionKey
    base: int | None
    parts: tuple[PlannedWrite, ...]
    rebuilds: bool = False
    columns: tuple[Column, ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    storage: Storage = field(default_factory=Storage)
    comment: str = ""
    audits: tuple[Audit, ...] = ()
    audit_inputs: Mapping[ModelName, Input] = field(default_factory=dict)
    algorithm: str = DEFAULT_ALGORITHM
    returned: Mapping[str, str] = field(default_factory=dict)
    column_rules: ColumnRules = DEFAULT_COLUMN_RULES
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    statement_inputs: Mapping[str, Input] = field(default_factory=dict)
    own_name: str = ""
    path: str = ""
    state: str = ""
    shallow_copy_of: AsOf | None = None

    @property
    def closing_history(self) -> History | None:
        """The history that is kept, if keys that its source lacks are closed; else None."""
        write = self.parts[-1].write
        if isinstance(write, KeepHistory) and write.history.closes_missing:
            return write.history
        return None

    @property
    def is_in_order(self) -> bool:
        """Whether parts read what the parts before them have written."""
        return any(part.own_rows is not None for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedChanges:
    """What became of changes that have an order.

    ``inserted`` rows are new, and ``updated`` ones took the place of others; of both readers see
    all. ``hidden`` rows were written that readers do not see: deletes, and changes that make no
    version. ``without_effect`` were the changes that were older, or there already; for current
    state, of each key only the last one that came is counted.
    """

    inserted: int = 0
    updated: int = 0
    hidden: int = 0
    without_effect: int = 0

    def __add__(self, other: MergedChanges) -> MergedChanges:
        return MergedChanges(
            inserted=self.inserted + other.inserted,
            updated=self.updated + other.updated,
            hidden=self.hidden + other.hidden,
            without_effect=self.without_effect + other.without_effect,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """What is on the branch: its head, the written intervals' sums, the table's columns.

    ``audits`` are the results of all audits, in their order, whatever they found.

    Where a write's result follows from what the table held (ADR 6), its sum is the change of the
    table's sum.

    ``iceberg_snapshot_id`` is None only where nothing was written to a table without any snapshot.
    A part that only follows, and whose turn did not come, has no sums.

    With ``ends_history`` a history that closes the rows of keys that are missing has no open row,
    and had some at the base. ``merged`` is set where changes with an order were written.
    """

    iceberg_snapshot_id: int | None
    sums: tuple[Mapping[Interval, RowSum], ...]
    columns: tuple[Column, ...]
    audits: tuple[AuditResult, ...] = ()
    ends_history: bool = False
    merged: MergedChanges | None = None


class UnitOfWorkState(Enum):
    """How far a unit of work has come."""

    INTENT = "intent"
    STAGED = "staged"
    DONE = "done"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A person's word that rows are published although blocking audits refused them.

    ``work_id`` is the unit of work that staged them, ``audits`` are the names of those that refused
    them, in their order. ``author`` is empty where it is not known who it was.
    """

    work_id: str
    audits: tuple[str, ...]
    reason: str
    author: str
    accepted_at: datetime

    def __str__(self) -> str:
        at = f"{self.accepted_at:%Y-%m-%d %H:%M} UTC"
        return f"accepted by {self.author or 'a user'} at {at}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a unit of work is about to do, recorded before it stages anything.

    ``drifted`` where it writes rows of another definition than that of the rows that are there: its
    snapshot keeps a version against its own definition. One with ``accepted`` stages nothing: it
    publishes what another one staged. ``beside`` are the Iceberg snapshots of other models that its
    audits and statements read: they are kept as long as it runs (rule R3). ``read_beside`` are all
    tables that these read, by name, as ``inputs`` are those that the rows follow from.
    ``definition`` is that of the model with its audits (`Fingerprint.definition`). Neither is known
    of work that evaluates no rows.
    """

    work_id: str
    key: VersionKey
    environment: str
    intervals: tuple[Interval, ...]
    inputs: Mapping[ModelName, int | None]
    base: int | None
    execution_time: datetime
    session: Load | None = None
    drifted: bool = False
    accepted: Acceptance | None = None
    beside: tuple[int, ...] = ()
    definition: str = ""
    read_beside: Mapping[ModelName, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What has to be published and then recorded; enough to finish the work without computing.

    Of a session, ``marks`` are the high-water marks after it, and ``pending`` is what it leaves.
    With ``marks_stay`` other work leaves the marks as they are, too. ``algorithm`` is what the rows
    of all changes were hashed with.
    """

    iceberg_snapshot_id: int | None
    changes: tuple[LedgerChange, ...]
    columns: tuple[Column, ...]
    marks: tuple[HighWaterMark, ...] = ()
    pending: tuple[Pending, ...] = ()
    marks_stay: bool = False
    algorithm: str = DEFAULT_ALGORITHM

    def recorded(self, entries: Iterable[LedgerEntry], work_id: str) -> tuple[LedgerEntry, ...]:
        """The ledger once it is recorded; see `apply_changes`, also for what is raised.

        Args:
            entries: At least those that the changes may meet.
            work_id: The unit of work that recorded it.
        """
        return apply_changes(
            entries,
            self.changes,
            columns=self.columns,
            work_id=work_id,
            iceberg_snapshot_id=self.iceberg_snapshot_id,
            algorithm=self.algorithm,
        )


class Ending(Enum):
    """How work that was abandoned ended; the value begins its recorded reason.

    What ``FAILED`` may be tried again. What was ``REFUSED`` would be again, until a user does
    what is advised. What ``WAITS`` takes rows away, which a person has to allow (rule R8).
    ``DAMAGED`` is not work of the version: a reader of its table found that files of it are
    missing.
    """

    FAILED = ""
    REFUSED = "refused: "
    WAITS = "waits: "
    DAMAGED = "damaged: "


def why_given_up(error: Exception) -> str:
    """The reason of work that is abandoned, with how it ended; of a refusal with what to do."""
    refused = Ending.REFUSED if isinstance(error, Refused) else Ending.FAILED
    ending = Ending.WAITS if isinstance(error, RowsWouldGo) else refused
    return f"{ending.value}{error}"


def ending_of(recorded: str) -> tuple[Ending, str]:
    """How work ended whose recorded reason this is, and the reason for people."""
    marked = (each for each in Ending if each.value and recorded.startswith(each.value))
    ending = next(marked, Ending.FAILED)
    return ending, recorded.removeprefix(ending.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitOfWork:
    """A unit of work as the state knows it.

    ``publication`` is set once it is staged, and also if audits refused what was staged. Of work
    that was done long ago it may be forgotten: the ledger has it. ``audits`` is what was found
    among its rows; ``reason`` why it was abandoned, and ``ending`` how, None if it was not.
    """

    intent: Intent
    state: UnitOfWorkState
    publication: Publication | None = None
    started_at: datetime
    finished_at: datetime | None = None
    audits: tuple[AuditResult, ...] = ()
    reason: str = ""
    ending: Ending | None = None

    @property
    def refusal(self) -> str:
        """Why it was refused, and what to do; empty if it was not. Trying again does not help."""
        return self.reason if self.ending in (Ending.REFUSED, Ending.WAITS) else ""

    @property
    def refused_rows(self) -> str | None:
        """The branch of the table that has the rows which an audit refused; None if none did."""
        return f"{self.intent.key.table}.{self.refused_branch}" if self.refused_branch else None

    @property
    def refused_branch(self) -> str:
        """The name in SQL of the branch with rows which an audit refused; empty if none did."""
        if self.state is not UnitOfWorkState.ABANDONED or not any(a.stops for a in self.audits):
            return ""
        accepted = self.intent.accepted
        return f"branch_w_{self.intent.work_id if accepted is None else accepted.work_id}"
