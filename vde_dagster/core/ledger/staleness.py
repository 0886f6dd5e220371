"""Which intervals of a version are behind what they read now (rules R14 and R15).

The inputs decide, and not the whole key of a trace: a version that was kept by an edit (rule R11)
holds rows of an earlier definition, which stay.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from typing import Protocol

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import query_over_tables, reads_of
from vde_dagster.core.graph.session_reads import axes_of, input_axis, time_axes, tracked_axes
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import (
    InputRange,
    Reads,
    WholeTable,
    reads,
)
from vde_dagster.core.sql.reads.started import compared_with_start
from vde_dagster.core.time.intervals import EPOCH, Interval


class Moves(Protocol):
    """What became of a version's inputs since each of its entries was computed."""

    def has_changed(self, entry: LedgerEntry, name: ModelName, read: InputRange) -> bool:
        """Whether an input may have other rows of a range now than an entry was computed from.

        Args:
            entry: Of the version.
            name: The input.
            read: What the entry's interval reads of it, by the input's own time.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """An entry that is behind, and the inputs that have other rows than it was computed from."""

    entry: LedgerEntry
    inputs: tuple[ModelName, ...]


def stale_entries(
    entries: Sequence[LedgerEntry],
    read: Reads,
    moves: Moves,
    *,
    is_sequential: bool,
    until: datetime | None = None,
) -> Iterator[Stale]:
    """The entries that count as computed and are behind what they would be computed from now.

    Args:
        entries: Some of what the version holds.
        read: What the model reads of each input; of sources by their time, see `read_by_times`.
        moves: What became of the inputs.
        is_sequential: Whether each interval builds on those before it. Those that read a table
            without a bound on its time saw it as it was when each was evaluated; only the last one
            has to have seen it as it is.
        until: The end of the last interval; None where a further one follows.
    """
    for entry in entries:
        if entry.status is not EntryStatus.COMPUTED:
            continue
        looked_at = read.at(entry.interval)
        if is_sequential and entry.interval.end != until:
            looked_at = {
                name: each for name, each in looked_at.items() if not isinstance(each, WholeTable)
            }
        inputs = tuple(
            name for name, each in looked_at.items() if moves.has_changed(entry, name, each)
        )
        if inputs:
            yield Stale(entry=entry, inputs=inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTime:
    """A time column by whose bounds a model reads a table that has no intervals."""

    column: str
    reads: Reads


def source_times(graph: Graph, node: Node) -> Mapping[ModelName, SourceTime]:
    """The tables of which a model reads a bounded time other than an interval, and by which column.

    They are sources, and versions of kinds that are not loaded by a time column. A kind that builds
    each interval on those before it may also bound another column than that of the intervals: it
    would never read again what comes late by that.
    """
    return graph.once("source times", node.name, lambda: _source_times(graph, graph[node.name]))


def _source_times(graph: Graph, node: Node) -> dict[ModelName, SourceTime]:
    query = query_over_tables(graph, node.name)
    if query is None:
        known = reads_of(graph, node.name)
        return {
            name: SourceTime(column=axis.column, reads=known)
            for name, axis in tracked_axes(graph, node).items()
            if graph[name].model.kind.is_source
        }
    axes = axes_of(graph, query, reader=node.name)
    first = node.model.unit.floor(node.model.start)
    example = Interval(first, node.model.unit.following(first))
    found: dict[ModelName, SourceTime] = {}
    own = reads_of(graph, node.name).at(example) if node.model.kind.is_sequential else {}
    for name in axes:
        is_sought = axes[name] is None or isinstance(own.get(name), WholeTable)
        for axis in time_axes(graph[name], node.model.unit) if is_sought else ():
            known = reads(query, axes={**axes, name: axis}, kept=input_axis(node))
            at = known.at(example).get(name)
            if at is not None and not isinstance(at, WholeTable):
                found[name] = SourceTime(column=axis.column, reads=known)
                break
    return found


def read_by_a_unit(graph: Graph, node: Node) -> Mapping[ModelName, InputRange]:
    """What any unit of a model reads, as an example: bounded ranges, or whole tables."""
    unit = node.model.unit
    return reads_of(graph, node.name).at(Interval(unit.floor(EPOCH), unit.following(EPOCH)))


def not_noticed(graph: Graph, node: Node) -> Iterator[ModelName]:
    """The tables whose late rows a kind that builds on its own rows would never read.

    Its query compares them with the start of an interval, and it is not known which of their rows
    an interval reads.
    """
    if not node.model.kind.is_sequential or node.model.late_data is not None:
        return
    query = query_over_tables(graph, node.name)
    compared = compared_with_start(query) if query is not None else ()
    for name in sorted(compared):
        read = read_by_a_unit(graph, node).get(name)
        if isinstance(read, WholeTable) and name not in source_times(graph, node):
            yield name


def read_by_times(read: Reads, bounds: Mapping[ModelName, SourceTime]) -> Reads:
    """What a model reads of each input, of sources by their time where that bounds it."""
    by_time = {name: each.reads.demands[name] for name, each in bounds.items()}
    return Reads({name: by_time.get(name, each) for name, each in read.demands.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenInput:
    """One input as it was seen.

    ``table`` identifies what was read: the version of a model, or the table of a source with what
    its columns were (`vde_dagster.ports.catalog.TableState.identity`).
    ``number`` is that of the version's last change, see `vde_dagster.core.ledger.holdings.Holding`,
    or the Iceberg snapshot of the source; None for a source without any.
    """

    table: str
    number: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshAt:
    """When no entry of a version was stale: after its change of this ``number``.

    ``heads`` are the Iceberg snapshots of the models that it reads as they were then, or earlier.
    """

    number: int
    heads: Mapping[ModelName, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastLook:
    """A look at all entries of a version. It stays true, whatever is recorded later.

    - ``definition`` identifies what the model reads and how: another one says nothing.
    - ``number`` is that of the version's own last change when the look began. Every entry that was
      there then, apart from those that overlap ``stale``, was fresh with the inputs as they were.
    - ``inputs`` are these, each as it was when the look began, or later.
    - ``fresh`` is of this look, or of an earlier one; known of versions whose rows are changes.
    """

    definition: str
    number: int
    inputs: Mapping[ModelName, SeenInput] = field(default_factory=dict)
    stale: tuple[Interval, ...] = ()
    fresh: FreshAt | None = field(default=None, compare=False)


Times = tuple[Interval, ...] | None
"""The times of the rows that a change touched; None where they may be any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestChanges:
    """The latest change at each time. Changes are numbered, and the newest one is 0.

    A question costs as many steps as a search, and not as many as there are changes.

    - ``count`` is the number of changes, and stands for none of them.
    - ``anywhere`` is the latest change that may have touched any time.
    - ``borders`` cut time into parts; ``least`` has for 1, 2, 4, ... parts from each border on the
      latest change in them.
    """

    count: int
    anywhere: int
    borders: Sequence[datetime]
    least: Sequence[Sequence[int]]

    @classmethod
    def of(cls, changes: Sequence[Times]) -> LatestChanges:
        """Those of a table, by the times that each of its changes touched, newest first."""
        count = len(changes)
        anywhere = next((at for at, times in enumerate(changes) if times is None), count)
        spans = [
            (each.start, number, each.end)
            for number, times in enumerate(changes[:anywhere])
            for each in times or ()
        ]
        borders = sorted({border for start, _, end in spans for border in (start, end)})
        latest = _latest(spans, borders, none=count)
        return cls(count=count, anywhere=anywhere, borders=borders, least=_least(latest))

    def within(self, read: InputRange) -> int:
        """The latest change of a range of the table."""
        if isinstance(read, WholeTable):
            return min(self.anywhere, self._among(0, len(self.borders)))
        return min([self.anywhere, *(self._among(*self._parts(each)) for each in read)])

    def _parts(self, interval: Interval) -> tuple[int, int]:
        first = bisect_right(self.borders, interval.start) - 1
        return max(first, 0), bisect_left(self.borders, interval.end)

    def _among(self, first: int, after: int) -> int:
        """The latest change of some parts: that of two rows of them which cover all."""
        if first >= after:
            return self.count
        level = (after - first).bit_length() - 1
        return min(self.least[level][first], self.least[level][after - (1 << level)])


def _latest(
    spans: Sequence[tuple[datetime, int, datetime]], borders: Sequence[datetime], *, none: int
) -> list[int]:
    """The latest of the changes (start, number, end) from each border to the next one."""
    waiting = sorted(spans, reverse=True)
    lasting: list[tuple[int, datetime]] = []
    latest: list[int] = []
    for border in borders:
        while waiting and waiting[-1][0] == border:
            _, number, end = waiting.pop()
            heappush(lasting, (number, end))
        while lasting and lasting[0][1] <= border:
            heappop(lasting)
        latest.append(lasting[0][0] if lasting else none)
    return latest


def _least(numbers: Sequence[int]) -> list[Sequence[int]]:
    """The least of each 1, 2, 4, ... numbers that follow each other."""
    found, width = [numbers], 1
    while 2 * width <= len(numbers):
        last = found[-1]
        found.append([min(pair) for pair in zip(last, last[width:], strict=False)])
        width *= 2
    return found
