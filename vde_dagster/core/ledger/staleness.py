"""Which intervals of a version are behind what they read now (rules R14 and R15).

The inputs decide, and not the whole key of a trace: a version that was kept by an edit (rule R11)
holds rows of an earlier definition, which stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import query_over_tables, reads_of
from vde_dagster.core.graph.session_reads import tracked_axes
from vde_dagster.core.graph.time_axes import axes_of, input_axis, time_axes
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.input_ranges import (
    InputRange,
    Reads,
    WholeTable,
    reads,
)
from vde_dagster.core.time.intervals import Interval


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
        looked_at = read.ranges(Moments.between(entry.interval, entry.interval))
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
    """The tables without intervals of which a model reads a bounded time, and by which column.

    They are sources, and versions of kinds that are not loaded by a time column.
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
    for name in axes:
        for axis in time_axes(graph[name], node.model.unit) if axes[name] is None else ():
            known = reads(query, axes={**axes, name: axis}, kept=input_axis(node))
            at = known.ranges(Moments.between(example, example)).get(name)
            if at is not None and not isinstance(at, WholeTable):
                found[name] = SourceTime(column=axis.column, reads=known)
                break
    return found


def read_by_times(read: Reads, bounds: Mapping[ModelName, SourceTime]) -> Reads:
    """What a model reads of each input, of sources by their time where that bounds it."""
    by_time = {name: each.reads.demands[name] for name, each in bounds.items()}
    return Reads({name: by_time.get(name, each) for name, each in read.demands.items()})
