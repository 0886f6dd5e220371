"""Which loaded intervals of a stateful version its sources have other rows for, and how so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.inputs.staying import StaleLook, stale_looks
from vde_dagster.core.graph.graph import Node, sources
from vde_dagster.core.ledger.late.history import SourceHistory, SourceOperation, SourceStatus
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.ledger.late.question import LateRows
from vde_dagster.core.ledger.staleness import Stale
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, meets

_KNOWN: Final = (SourceStatus.UNCHANGED, SourceStatus.CHANGED)
"""Where it is known what happened to a source since its mark."""


def late_rows(
    seen: Seen,
    node: Node,
    histories: Mapping[ModelName, SourceHistory],
    pending: tuple[Pending, ...],
) -> tuple[LateRows, ...]:
    """The loaded intervals whose inputs have other rows now, by the traces of what is loaded.

    Args:
        seen: What is read of it and of what is upstream.
        node: A model with sessions in stateful mode.
        histories: The tracked sources since the marks.
        pending: What an earlier session left.
    """
    look = _look(seen, node)
    if look is None:
        return ()
    policy = node.model.stateful
    assert policy is not None, f"{node.name} has sessions in stateful mode"
    removals = _Removals(look=look, histories=histories, pending=pending)
    tracked = set(policy.sources)
    return tuple(
        LateRows(
            interval=each.entry.interval,
            sources=tuple(name for name in each.inputs if name in tracked) or each.inputs,
            removed=removals.only(each),
            tracked=bool(tracked & set(each.inputs)),
        )
        for each in look.stale
    )


def _look(seen: Seen, node: Node) -> StaleLook | None:
    """A look at the version, from where the last one ended; None if nothing is stale."""
    graph = seen.binding.graph.above([node.name])
    snapshots = {name: seen.binding.snapshots[name] for name in graph.nodes}
    tables = {each: seen.source(each) for each in sources(graph)}
    looks = stale_looks(
        seen.services, graph, snapshots, seen.holdings, tables, last=seen.last_looks
    )
    return next((look for _, look, _ in looks.found([node.name])), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Removals:
    """Whether intervals are late only because a source has lost rows, as by its retention."""

    look: StaleLook
    histories: Mapping[ModelName, SourceHistory]
    pending: tuple[Pending, ...]

    def only(self, stale: Stale) -> bool:
        """Whether rows of an entry were only removed."""
        return all(self._removed(name, stale) for name in stale.inputs)

    def _removed(self, name: ModelName, stale: Stale) -> bool:
        history = self.histories.get(name) if self.look.inputs.states.is_source(name) else None
        read = self.look.inputs.read(name, stale.entry)
        if history is None or read is None or history.status not in _KNOWN:
            return False
        operations = list(self._operations(name, history, read))
        if operations:
            return all(each is SourceOperation.DELETE for each in operations)
        return any(
            each.reason is PendingReason.REMOVED
            and name in each.sources
            and meets([each.interval], stale.entry.interval)
            for each in self.pending
        )

    def _operations(
        self, name: ModelName, history: SourceHistory, read: Interval
    ) -> Iterator[SourceOperation]:
        """What the Iceberg snapshots after the mark did to rows of this time."""
        known = {each.iceberg_snapshot_id: each.operation for each in history.changes}
        bounds = self.look.inputs.bounds
        column = bounds[name].column if name in bounds else ""
        changes = self.look.inputs.states.newest_changes(name, column, len(known))
        for change in changes:
            if change is None or change.times is None or meets(change.times, read):
                found = None if change is None else known.get(change.iceberg_snapshot_id)
                yield found or SourceOperation.OVERWRITE
