"""A comparison of a version's entries with their inputs as they are now: which are stale, and why.

It reads the state and the catalog's metadata; of the latter only about inputs that have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from vde_dagster.app.inputs.input_moves import InputMoves, InputStates
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.late.decision import Load
from vde_dagster.core.ledger.staleness import (
    SourceTime,
    Stale,
    read_by_times,
    source_times,
    stale_entries,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import Reads, WholeTable
from vde_dagster.core.time.intervals import Interval, common


@dataclass(frozen=True, kw_only=True)
class InputLook:
    """Entries of a version, together with what its model reads.

    ``bounds`` are the sources of which it reads a bounded time.
    """

    graph: Graph
    states: InputStates
    node: Node
    entries: Sequence[LedgerEntry]
    bounds: Mapping[ModelName, SourceTime]

    @cached_property
    def reads(self) -> Reads:
        """What the model reads, for any interval. Most looks end without asking for it."""
        graph, name = self.graph, self.node.name
        read = reads_of(graph, name)
        if not self.bounds:
            return read
        return graph.once("reads by times", name, lambda: read_by_times(read, self.bounds))

    def by_times(self) -> InputLook:
        """The same look, with the time columns by which the model reads its sources."""
        return replace(self, bounds=source_times(self.graph, self.node))

    def stale(self, *, is_sequential: bool, until: datetime | None = None) -> Iterator[Stale]:
        """The entries whose inputs have other rows now; see `stale_entries`."""
        if not self.entries:
            return
        self.states.expect(self.reads, self.entries)
        yield from stale_entries(
            self.entries, self.reads, self._moves, is_sequential=is_sequential, until=until
        )

    def is_beyond(self, stale: Stale) -> bool:
        """Whether a source lost rows, at its beginning, that an interval was computed from."""
        has_rows = bool(stale.entry.rows.rows)
        return has_rows and any(self._is_cut(name, stale.entry) for name in stale.inputs)

    def has_more(self, stale: Stale) -> bool:
        """Whether the rows that an entry's sources still have may differ from those it read."""
        return any(
            first < read.end
            and self._moves.has_changed(
                stale.entry, name, (Interval(max(first, read.start), read.end),)
            )
            for name in stale.inputs
            if (first := self._first_of(name)) is not None
            and (read := self.read(name, stale.entry)) is not None
        )

    def late_by(self, load: Load) -> tuple[Interval, ...]:
        """The intervals of entries to which a session may add rows, merged."""
        source, before = load.only.name, load.only.before
        if before is None or load.rewrite:
            return common((each.interval for each in self.entries), load.fill)
        if not load.evidence:
            return ()
        column = self.bounds[source].column if source in self.bounds else ""
        mark = before.iceberg_snapshot_id
        met = (
            each.interval
            for each in self.entries
            if (read := self.read(source, each)) is None
            or self.states.has_changed(source, mark, (read,), column=column)
        )
        return common(met, load.loaded)

    def read(self, name: ModelName, entry: LedgerEntry) -> Interval | None:
        """The time that an entry's interval reads of a source; None if it is not bounded."""
        read = self.reads.at(entry.interval).get(name)
        if read is None or isinstance(read, WholeTable) or not read:
            return None
        return Interval(read[0].start, read[-1].end)

    def _is_cut(self, name: ModelName, entry: LedgerEntry) -> bool:
        """Whether a source had rows of an entry before the first one that it has now.

        If it is not known when its rows changed, that is so if it has no rows of the entry.
        """
        first = self._first_of(name)
        read = self.read(name, entry) if first is not None else None
        if read is None or first is None or first <= read.start:
            return False
        if self._moves.has_changed(entry, name, ()):
            return read.end <= first
        gone = Interval(read.start, min(first, read.end))
        return self._moves.has_changed(entry, name, (gone,))

    @property
    def _moves(self) -> InputMoves:
        return InputMoves(states=self.states, entries=self.entries, bounds=self.bounds)

    def _first_of(self, name: ModelName) -> datetime | None:
        """The first time of a source; None if it is not known."""
        if name not in self.bounds or not self.states.is_source(name):
            return None
        return self.states.earliest(name, self.bounds[name].column)


def input_look(
    graph: Graph, states: InputStates, node: Node, entries: Sequence[LedgerEntry]
) -> InputLook:
    """A look at entries in which sources count as read whole; see `InputLook.by_times`."""
    return InputLook(graph=graph, states=states, node=node, entries=entries, bounds={})
