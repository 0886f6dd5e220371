"""Which models get other rows by a plan, and which of them may be computed again by now.

A version that comes back reads what the plan computes first (rule R15).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import look_within
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.version_behind import Planned, look_at
from vde_dagster.core.graph.freshness import Recompute, Wait, awaited_parents, may_recompute
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import reads_of, tables_read
from vde_dagster.core.ledger.staleness import Stale, source_times
from vde_dagster.core.model.model import UpdatesOn
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Staleness
from vde_dagster.core.planning.restatement import Restatement, units_reading
from vde_dagster.core.time.intervals import END_OF_TIME, EPOCH, Interval, common, merge, subtract

Times = Mapping[ModelName, tuple[Interval, ...]]
_NONE: Final = Restatement(ranges={})


def computed_first(
    services: Services, planned: Planned, states: InputStates, readers: Collection[ModelName]
) -> Times:
    """The times at which a plan may give other rows to models that some others read.

    These are rebuilt FULL tables and kinds that build on earlier intervals, intervals of other
    kinds that are evaluated again, unfinished work of an earlier process, and models whose next
    session has late rows to load. If the rows turn out equal, nothing downstream is computed, since
    traces are compared then.
    """
    graph = planned.graph
    # Their queries say exactly what they read, and most plans end without a look at those.
    near = {name for each in readers for name in _may_read(graph, graph[each])}
    written = sorted(near & planned.holdings.writes)
    begun = services.state.unfinished(planned.snapshots[name].key for name in written)
    found: dict[ModelName, tuple[Interval, ...]] = {}
    for name in written:
        node, recorded = planned.graph[name], planned.holdings.recorded[name]
        if not recorded:
            continue
        if planned.snapshots[name].key in begun:
            found[name] = merge(recorded)
        elif node.model.stateless is not None:
            late = look_at(services, planned, states, node).found()
            if late is not None and late.session:
                found[name] = late.intervals
        elif times := _made_again(planned, node):
            found[name] = times
    read = {name for each in readers for name in reads_of(graph, each).demands} if found else ()
    return {name: times for name, times in found.items() if name in read}


def _may_read(graph: Graph, node: Node) -> Iterator[ModelName]:
    """All that `reads_of` may say that a model reads, and maybe more, without a look at its query.

    A Python model is given the views among its parents as they are.
    """
    yield from node.model.parents
    yield from tables_read(graph, node)


def _made_again(planned: Planned, node: Node) -> tuple[Interval, ...]:
    """The intervals with an entry that a plan evaluates again."""
    loaded, complete_to = planned.holdings.computed[node.name], planned.complete_to[node.name]
    recorded, rules = planned.holdings.recorded[node.name], node.model.kind
    due = rules.missing(node.model, loaded, complete_to) if complete_to is not None else ()
    if not due:
        return ()
    return common(due, recorded) if rules.is_partitioned else merge(recorded)


def reading_again(
    planned: Planned, name: ModelName, changed: Times, *, last: bool = False
) -> tuple[Interval, ...]:
    """The intervals of a version that read something that gets other rows.

    A kind that builds each interval on those before it read an unbounded input as it was when each
    interval was evaluated, so changes of such an input do not count. They count for the ``last``
    interval if that has to have read it as it is, since no further one follows. A table without
    intervals is bounded if the query bounds a time column of it.
    """
    node, recorded = planned.graph[name], planned.holdings.recorded[name]
    if not (any(changed.values()) and node.model.kind.is_sequential):
        return units_reading(planned.graph, node, changed, recorded)
    demands = reads_of(planned.graph, name).demands
    bounded = {each for each, (axis, _) in demands.items() if axis is not None}
    bounded |= source_times(planned.graph, node).keys()
    unbounded = [times for each, times in changed.items() if each in demands.keys() - bounded]
    changed = {each: times for each, times in changed.items() if each in bounded}
    found = units_reading(planned.graph, node, changed, recorded)
    if last and any(unbounded) and recorded:
        end = max(each.end for each in recorded)
        found = merge((*found, Interval(node.model.unit.floor(end - timedelta.resolution), end)))
    return found


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
            found: Staleness of its version.
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
    """Whether anything holds a model back; a session loads late rows immediately."""
    if node.model.late_data is not None:
        return False
    return node.model.freshness is not None or node.model.updates_on is UpdatesOn.ALL
