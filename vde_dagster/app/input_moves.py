"""What became of a version's inputs since its entries were computed: state and metadata alone.

Where an entry has a trace, its tokens tell. Of an entry without one (a nondeterministic model) it
is the Iceberg snapshots that its unit of work read. How far a source has moved is told by time, so
that rows of other times make nothing stale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vde_dagster.app.services import Services
from vde_dagster.core.graph import Graph
from vde_dagster.core.intervals import merge
from vde_dagster.core.kind import External
from vde_dagster.core.ledger import LedgerEntry
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.reads.input_ranges import InputRange
from vde_dagster.core.snapshot import ModelSnapshot
from vde_dagster.core.staleness import UNTOUCHED, SourceTime, Times
from vde_dagster.core.traces import HeldTokens, source_token
from vde_dagster.core.work import Work
from vde_dagster.ports.catalog import TableState


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A table's Iceberg snapshots that are retained, newest first."""

    table: TableState | None
    ids: Sequence[int]


@dataclass(kw_only=True)
class InputStates:
    """The inputs of a plan's models as they are now; each is looked at once, when it is asked for.

    Args:
        services: The ports.
        graph: The plan's models.
        snapshots: Their versions.
    """

    services: Services
    graph: Graph
    snapshots: Mapping[ModelName, ModelSnapshot]
    _lines: dict[TableName, _Line] = field(default_factory=dict)
    _held: dict[ModelName, tuple[LedgerEntry, ...]] = field(default_factory=dict)
    _tokens: dict[ModelName, HeldTokens] = field(default_factory=dict)
    _works: dict[str, Work | None] = field(default_factory=dict)
    _earliest: dict[tuple[ModelName, str], datetime | None] = field(default_factory=dict)
    _since: dict[tuple[ModelName, str], dict[int | None, Times]] = field(default_factory=dict)

    def is_source(self, name: ModelName) -> bool:
        """Whether others write this table."""
        return isinstance(self.graph[name].model.kind, External)

    def table_of(self, name: ModelName) -> TableName:
        """Where an input's rows lie."""
        if self.is_source(name):
            return TableName(name.schema, name.name, name.catalog)
        return self.snapshots[name].key.table

    def line(self, name: ModelName) -> _Line:
        """The retained line of an input's table."""
        table = self.table_of(name)
        if table not in self._lines:
            state = self.services.catalog.table(table)
            ids = self.services.catalog.line(table) if state is not None else ()
            self._lines[table] = _Line(table=state, ids=ids)
        return self._lines[table]

    def held(self, name: ModelName) -> tuple[LedgerEntry, ...]:
        """What a model's version holds now."""
        if name not in self._held:
            key = self.snapshots[name].key
            self._held[name] = self.services.state.ledger([key]).get(key, ())
        return self._held[name]

    def token(self, name: ModelName, read: InputRange) -> str:
        """The token of what a model holds in a range now."""
        if name not in self._tokens:
            self._tokens[name] = HeldTokens(self.held(name))
        return self._tokens[name].of(read)

    def work(self, entry: LedgerEntry) -> Work | None:
        """The unit of work that wrote an entry."""
        if entry.work_id not in self._works:
            self._works[entry.work_id] = self.services.state.work(entry.work_id)
        return self._works[entry.work_id]

    def earliest(self, name: ModelName, column: str) -> datetime | None:
        """The first time of a column among a source's rows; None where it is not known."""
        if (name, column) not in self._earliest:
            found = self.services.catalog.earliest(self.table_of(name), column)
            self._earliest[name, column] = found
        return self._earliest[name, column]

    def since(self, name: ModelName, at: int | None, column: str) -> Times:
        """The times, by a column, at which a source's rows differ from those at a snapshot."""
        ids = self.line(name).ids
        if at is not None and at not in ids:
            return None
        if not column:
            return UNTOUCHED if self._is_same(name, at) else None
        known = self._since.setdefault((name, column), {})
        if at not in known:
            after: Times = UNTOUCHED
            table = self.table_of(name)
            for each in self.services.catalog.row_changes(table, after=at, column=column):
                known[each.iceberg_snapshot_id] = after
                if after is not None:
                    after = None if each.times is None else merge((*after, *each.times))
            known[at] = after
        return known[at]

    def _is_same(self, name: ModelName, at: int | None) -> bool:
        """Whether a table has the rows that it had; a compaction changes none."""
        ids = self.line(name).ids
        now = ids[0] if ids else None
        if now is None or at is None or now == at:
            return now == at
        origin, table = self.services.catalog.origin, self.table_of(name)
        return origin(table, now) == origin(table, at)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputMoves:
    """Implements `vde_dagster.core.staleness.Moves` for the version of one model.

    ``bounds`` are the columns by which it reads a bounded time of its sources.
    """

    states: InputStates
    bounds: Mapping[ModelName, SourceTime]

    def since(self, entry: LedgerEntry, name: ModelName, read: InputRange) -> Times:
        """The times of an input that have other rows now than an entry was computed from."""
        if entry.trace is not None and name in entry.trace.inputs:
            return self._since_token(name, entry.trace.inputs[name], read)
        work = self.states.work(entry)
        if work is None or name not in work.intent.inputs:
            return None
        pinned = work.intent.inputs[name]
        if self.states.is_source(name):
            return self.states.since(name, pinned, self._column(name))
        return self._rewritten(name, pinned)

    def _column(self, name: ModelName) -> str:
        return self.bounds[name].column if name in self.bounds else ""

    def _since_token(self, name: ModelName, known: str, read: InputRange) -> Times:
        if not self.states.is_source(name):
            return UNTOUCHED if self.states.token(name, read) == known else None
        line = self.states.line(name)
        if line.table is None:
            return None
        for at in (*line.ids, None):
            if source_token(line.table.uuid, line.table.columns, at) == known:
                return self.states.since(name, at, self._column(name))
        return None

    def _rewritten(self, name: ModelName, pinned: int | None) -> Times:
        """The intervals of a model that were written after the Iceberg snapshot that was read."""
        ids = self.states.line(name).ids
        if pinned is None or pinned not in ids:
            return None
        newer = set(ids[: ids.index(pinned)])
        return merge(
            each.interval for each in self.states.held(name) if each.iceberg_snapshot_id in newer
        )
