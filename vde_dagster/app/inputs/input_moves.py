"""How a version's inputs changed since its entries were computed, from state and metadata alone.

An entry's trace has the tokens of its inputs. For an entry without one (a nondeterministic model)
the Iceberg snapshots that its unit of work read are compared. Changes of a source are known by
time, so that rows of other times make nothing stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.staleness import LatestChanges, SourceTime, Times
from vde_dagster.core.ledger.traces import LedgerTokens
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.reads.input_ranges import (
    WHOLE,
    InputRange,
    Reads,
    WholeTable,
    covers,
    together,
)
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.ports.catalog import RowChange, TableState


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A table's Iceberg snapshots that are retained, newest first.

    ``newer`` has for each of them how many are newer: the number of changes after it.
    """

    table: TableState | None
    ids: Sequence[int]
    newer: Mapping[int, int]


@dataclass(kw_only=True)
class _Entries:
    """The entries of a version that overlap some times, and values derived from them."""

    times: InputRange
    entries: Sequence[LedgerEntry]
    _writes: LatestChanges | None = None

    @cached_property
    def tokens(self) -> LedgerTokens:
        """Their tokens."""
        return LedgerTokens(self.entries)

    def writes(self, ids: Sequence[int]) -> LatestChanges:
        """Which of a table's Iceberg snapshots, newest first, wrote each entry."""
        if self._writes is None:
            written: dict[int | None, list[Interval]] = {}
            for each in self.entries:
                written.setdefault(each.iceberg_snapshot_id, []).append(each.interval)
            self._writes = LatestChanges.of([tuple(written.get(each, ())) for each in ids])
        return self._writes


@dataclass(kw_only=True)
class _Changes:
    """The newest changes of a source, newest first, and values derived from them.

    A change that no longer exists, since the source was rolled back meanwhile, is None.
    """

    row_changes: Sequence[RowChange | None]

    @cached_property
    def latest(self) -> LatestChanges:
        """The latest change at each time."""
        return LatestChanges.of([None if each is None else each.times for each in self.row_changes])


@dataclass(kw_only=True)
class InputStates:
    """The inputs of a plan's models as they are now; each is looked at once, when it is asked for.

    Args:
        services: The ports.
        graph: The plan's models.
        snapshots: Their versions.
        tables: Those of them that were looked at already; None for one that does not exist.
    """

    services: Services
    graph: Graph
    snapshots: Mapping[ModelName, ModelSnapshot]
    tables: dict[ModelName, TableState | None] = field(default_factory=dict)
    _lines: dict[ModelName, _Line] = field(default_factory=dict)
    _loaded: dict[ModelName, _Entries] = field(default_factory=dict)
    _pinned: dict[ModelName, Mapping[str, int | None]] = field(default_factory=dict)
    _works: dict[str, UnitOfWork | None] = field(default_factory=dict)
    _earliest: dict[tuple[ModelName, str], datetime | None] = field(default_factory=dict)
    _origins: dict[ModelName, int] = field(default_factory=dict)
    _changes: dict[tuple[ModelName, str], _Changes] = field(default_factory=dict)

    def is_source(self, name: ModelName) -> bool:
        """Whether this is a source."""
        return self.graph[name].model.kind.is_source

    def table_of(self, name: ModelName) -> TableName:
        """The table of an input."""
        if self.is_source(name):
            return TableName(name.schema, name.name, name.catalog)
        return self.snapshots[name].key.table

    def source(self, name: ModelName) -> TableState | None:
        """A source's table; None if there is none."""
        return self._table(name)

    def is_gone(self, name: ModelName) -> bool:
        """Whether a source does not exist any more."""
        return self.is_source(name) and self._table(name) is None

    def _table(self, name: ModelName) -> TableState | None:
        if name not in self.tables:
            self.tables[name] = self.services.catalog.table(self.table_of(name))
        return self.tables[name]

    def line(self, name: ModelName) -> _Line:
        """The retained Iceberg snapshots of an input's table."""
        if name not in self._lines:
            table, state = self.table_of(name), self._table(name)
            ids = self.services.catalog.line(table) if state is not None else ()
            newer = {each: number for number, each in enumerate(ids)}
            self._lines[name] = _Line(table=state, ids=ids, newer=newer)
        return self._lines[name]

    def expect(self, reads: Reads, entries: Iterable[LedgerEntry]) -> None:
        """Read in one go the ledgers that will be needed of the models that some entries read."""
        wanted: dict[ModelName, list[InputRange]] = {}
        for entry in entries:
            for name, each in reads.at(entry.interval).items():
                wanted.setdefault(name, []).append(each)
        for name, ranges in wanted.items():
            if not self.is_source(name):
                self._entries_of(name, together(ranges))

    def entries(self, name: ModelName, ranges: Iterable[InputRange]) -> Sequence[LedgerEntry]:
        """The current entries of a model's version for some ranges, and maybe more."""
        return self._entries_of(name, together(ranges)).entries

    def _entries_of(self, name: ModelName, read: InputRange) -> _Entries:
        """The current entries of a model's version, at least in a range."""
        known = self._loaded.get(name)
        if known is None or not covers(known.times, read):
            key = self.snapshots[name].key
            wanted = read if known is None else together([known.times, read])
            times = None if isinstance(wanted, WholeTable) else wanted
            entries = self.services.state.entries_within(key, times)
            self._loaded[name] = _Entries(times=wanted, entries=entries)
        return self._loaded[name]

    def token(self, name: ModelName, read: InputRange) -> str:
        """The token of a model's current rows in a range."""
        return self._entries_of(name, read).tokens.of(read)

    def pinned(self, name: ModelName) -> Mapping[str, int | None]:
        """The retained Iceberg snapshots of a source, by the tokens that reading them gives.

        None stands for the source without any.
        """
        line = self.line(name)
        if line.table is None:
            return {}
        if name not in self._pinned:
            every: dict[int | None, int | None] = {each: each for each in (*line.ids, None)}
            if line.ids:  # the oldest may be a compaction of one that has expired
                oldest = line.ids[-1]
                every[self.services.catalog.origin(self.table_of(name), oldest)] = oldest
            self._pinned[name] = {line.table.token(read): each for read, each in every.items()}
        return self._pinned[name]

    def work(self, entry: LedgerEntry, others: Iterable[LedgerEntry]) -> UnitOfWork | None:
        """The unit of work that wrote an entry; those of ``others`` are looked up with it."""
        if entry.work_id not in self._works:
            self.works((entry, *others))
        return self._works[entry.work_id]

    def works(self, entries: Iterable[LedgerEntry]) -> Mapping[str, UnitOfWork | None]:
        """The units of work that wrote some entries, by id, looked up together."""
        ids = dict.fromkeys(each.work_id for each in entries)
        unknown = [each for each in ids if each not in self._works]
        found = self.services.state.works(unknown) if unknown else {}
        self._works |= {each: found.get(each) for each in unknown}
        return self._works

    def earliest(self, name: ModelName, column: str) -> datetime | None:
        """The first time of a column among a source's rows; None if it is not known."""
        if (name, column) not in self._earliest:
            found = self.services.catalog.earliest(self.table_of(name), column)
            self._earliest[name, column] = found
        return self._earliest[name, column]

    def has_changed(
        self, name: ModelName, at: int | None, read: InputRange, *, column: str
    ) -> bool:
        """Whether a source's rows of a range may differ from those at an Iceberg snapshot.

        Without a time column the whole table counts instead of the range.
        """
        line = self.line(name)
        if at is not None and at not in line.newer:
            return True
        newer = len(line.ids) if at is None else line.newer[at]
        if not column:
            return newer > 0 and (at is None or newer > self._compacted(name))
        return newer > 0 and self._looked_at(name, column, newer).latest.within(read) < newer

    def newest_changes(
        self, name: ModelName, column: str, count: int
    ) -> Sequence[RowChange | None]:
        """The newest changes of a source, newest first; without a column their times are unknown.

        Args:
            name: The source.
            column: The time column.
            count: How many; at most as many as are retained.

        Returns:
            The changes; None for one that no longer exists.
        """
        return self._looked_at(name, column, count).row_changes[:count] if count else ()

    def changed_since(self, name: ModelName, at: int, *, column: str) -> Times:
        """The times of a source's rows that changed after an Iceberg snapshot, by a column.

        None if they may be any: the snapshot has expired, or the times are not known.
        """
        line = self.line(name)
        if at not in line.newer:
            return None
        changes = self.services.catalog.row_changes(self.table_of(name), after=at, column=column)
        times = {each.iceberg_snapshot_id: each.times for each in changes}
        found = [times.get(each) for each in line.ids[: line.newer[at]]]
        if any(each is None for each in found):
            return None
        return merge(time for each in found for time in each or ())

    def was_written(self, name: ModelName, at: int | None, read: InputRange) -> bool:
        """Whether a model's rows of a range may have been written after an Iceberg snapshot."""
        line = self.line(name)
        if at is None or at not in line.newer:
            return True
        return self._entries_of(name, read).writes(line.ids).within(read) < line.newer[at]

    def _compacted(self, name: ModelName) -> int:
        """How many of a source's newest changes were compactions, which change no row."""
        line = self.line(name)
        if name not in self._origins:
            origin = self.services.catalog.origin(self.table_of(name), line.ids[0])
            self._origins[name] = line.newer.get(origin, len(line.ids))
        return self._origins[name]

    def _looked_at(self, name: ModelName, column: str, newest: int) -> _Changes:
        """The changes of a source, at least its newest ones.

        If it has to look further back than before, it looks twice as far, so that it need not look
        again for each entry.
        """
        known = self._changes.get((name, column))
        if known is None or len(known.row_changes) < newest:
            ids = self.line(name).ids
            back = min(
                len(ids), max(newest, 2 * len(known.row_changes) if known is not None else 0)
            )
            self._changes[name, column] = self._looked_back(name, column, ids[:back], ids[back:])
        return self._changes[name, column]

    def _looked_back(
        self, name: ModelName, column: str, newest: Sequence[int], older: Sequence[int]
    ) -> _Changes:
        after = older[0] if older else None
        found = self.services.catalog.row_changes(self.table_of(name), after=after, column=column)
        row_changes = {each.iceberg_snapshot_id: each for each in found}
        return _Changes(row_changes=[row_changes.get(each) for each in newest])


@dataclass(frozen=True, slots=True, kw_only=True)
class InputMoves:
    """Implements `vde_dagster.core.ledger.staleness.Moves` for the version of one model.

    ``entries`` are the version's, and ``bounds`` the columns by which the model reads a bounded
    time of its sources.
    """

    states: InputStates
    entries: Sequence[LedgerEntry]
    bounds: Mapping[ModelName, SourceTime]

    def has_changed(self, entry: LedgerEntry, name: ModelName, read: InputRange) -> bool:
        """Whether an input may have other rows of a range than an entry was computed from."""
        known = None if entry.trace is None else entry.trace.inputs.get(name)
        if known is not None:
            return self._has_other_token(entry, name, known, read)
        return self._has_moved(entry, name, read)

    def _has_moved(self, entry: LedgerEntry, name: ModelName, read: InputRange) -> bool:
        """Whether a range may have changed since the Iceberg snapshot that was read."""
        work = self.states.work(entry, self.entries)
        if work is None or name not in work.intent.inputs:
            return True
        at = work.intent.inputs[name]
        table = self.states.source(name) if self.states.is_source(name) else None
        if table is not None and table.may_have_replaced(at, since=work.started_at):
            return True
        return self._has_changed_since(name, at, read)

    def _has_other_token(
        self, entry: LedgerEntry, name: ModelName, known: str, read: InputRange
    ) -> bool:
        if name in self.bounds and not self.states.is_source(name):
            is_same = self.states.token(name, WHOLE) == known
            return not is_same and self._has_moved(entry, name, read)
        if not self.states.is_source(name):
            return self.states.token(name, read) != known
        pinned = self.states.pinned(name)
        return known not in pinned or self._has_changed_since(name, pinned[known], read)

    def _has_changed_since(self, name: ModelName, pinned: int | None, read: InputRange) -> bool:
        column = self.bounds[name].column if name in self.bounds else ""
        if not column and not self.states.is_source(name):
            return self.states.was_written(name, pinned, read)
        return self.states.has_changed(name, pinned, read, column=column)
