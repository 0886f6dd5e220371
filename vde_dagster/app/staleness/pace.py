"""How often upstream changes reach models by themselves: ``freshness`` and ``updates_on``.

Only runs that no person asked for keep to it, see `vde_dagster.app.apply.running`. The decision is
made in `vde_dagster.core.graph.freshness`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import look_within
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.upstream_changes import reading_again
from vde_dagster.app.staleness.version_behind import Planned
from vde_dagster.core.graph.freshness import Recompute, Wait, awaited_parents, may_recompute
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.ledger.staleness import Stale
from vde_dagster.core.model.model import UpdatesOn
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Staleness
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval, common, merge, subtract

Times = Mapping[ModelName, tuple[Interval, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Holds back upstream changes until a model may be computed again for them.

    ``now`` is the project's clock, by which models end. The age of rows is by the wall clock.
    """

    services: Services
    now: datetime

    def bounded(self, planned: Planned, node: Node, found: Staleness, upstream: Times) -> Staleness:
        """The part of a version's stale intervals that a plan evaluates; the rest is kept.

        A table that can only be rebuilt whole is rebuilt as soon as some of it may be.

        Args:
            planned: The plan's models.
            node: The model.
            found: What is stale in its version.
            upstream: The times at which tables that it reads may get other rows by the plan.
                Whether they really do is found out by `ready`.
        """
        if not _is_bound(node) or not found.intervals:
            return found
        decided = self._decided(
            planned.graph, node, list(self._changed(planned, node, found, upstream))
        )
        waits = [(each, wait) for each, wait in decided if isinstance(wait, Wait)]
        whole = node.model.kind.restates_whole
        if not waits or (whole and len(waits) < len(decided)):
            return found
        waiting = found.intervals if whole else merge(each.entry.interval for each, _ in waits)
        first = min((wait for _, wait in waits), key=lambda each: each.until or END_OF_TIME)
        why = "; ".join(dict.fromkeys([*filter(None, [found.why_kept]), first.reason]))
        kept = merge((*found.kept, *waiting))
        left = subtract(found.intervals, waiting)
        return replace(found, intervals=left, kept=kept, why_kept=why)

    def ready(self, graph: Graph, node: Node, stale: Sequence[Stale]) -> Sequence[Stale]:
        """Those of some stale entries that may be computed again now."""
        if not _is_bound(node):
            return stale
        decided = self._decided(graph, node, stale)
        ready = [each for each, may in decided if isinstance(may, Recompute)]
        return stale if ready and node.model.kind.restates_whole else ready

    def _decided(
        self, graph: Graph, node: Node, stale: Sequence[Stale]
    ) -> list[tuple[Stale, Recompute | Wait]]:
        """Each of some entries, with whether it may be computed again."""
        now = self.services.clock.now()
        awaited = awaited_parents(graph, node.name, self.now)
        works = self.services.state.works(each.entry.work_id for each in stale)
        starts = {work_id: work.started_at for work_id, work in works.items()}
        return [
            (
                each,
                may_recompute(
                    node.model,
                    now=now,
                    computed_at=starts.get(each.entry.work_id, EPOCH),
                    changed=each.inputs,
                    awaited=awaited,
                ),
            )
            for each in stale
        ]

    def _changed(
        self, planned: Planned, node: Node, found: Staleness, upstream: Times
    ) -> Iterator[Stale]:
        """The entries that are stale or read what is computed first, with these inputs."""
        states = InputStates(
            services=self.services,
            graph=planned.graph,
            snapshots=planned.snapshots,
            tables={**planned.tables},
        )
        look = look_within(states, node.name, found.intervals)
        behind = {each.entry.interval: each.inputs for each in look.stale}
        reading = {
            name: reading_again(planned, node.name, {name: times})
            for name, times in upstream.items()
        }
        for entry in look.inputs.entries:
            own = behind.get(entry.interval, ())
            follows = [name for name, each in reading.items() if common(each, [entry.interval])]
            if own or follows:
                yield Stale(entry=entry, inputs=tuple(dict.fromkeys([*own, *follows])))


def pace_of(services: Services, now: datetime | None) -> Pace:
    """The pace at a time of the project's clock, which may have none yet."""
    return Pace(services=services, now=now or services.clock.now())


def _is_bound(node: Node) -> bool:
    """Whether anything holds a model back; a session loads what is late at once."""
    if node.model.late_data is not None:
        return False
    return node.model.freshness is not None or node.model.updates_on is UpdatesOn.ALL
