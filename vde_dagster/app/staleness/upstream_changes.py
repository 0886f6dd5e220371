"""Which models get other rows by a plan than their readers were computed from.

A version that comes back reads what the plan computes first (rule R15). And if an edit gives a
model a new table and keeps the versions that read it, the new table is computed from the sources as
they are now: what was computed from the old table is stale wherever the old table was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import look_within
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.version_behind import UNCOVERED, Planned, look_at
from vde_dagster.core.graph.freshness import Recompute, Wait, awaited_parents, may_recompute
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import reads_of, tables_read
from vde_dagster.core.ledger.staleness import Stale
from vde_dagster.core.model.model import UpdatesOn
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Staleness
from vde_dagster.core.planning.restatement import Restatement, reached, read_again, units_reading
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
    interval if that has to have read it as it is, since no further one follows.
    """
    node, recorded = planned.graph[name], planned.holdings.recorded[name]
    if not (any(changed.values()) and node.model.kind.is_sequential):
        return units_reading(planned.graph, node, changed, recorded)
    demands = reads_of(planned.graph, name).demands
    bounded = {each for each, (axis, _) in demands.items() if axis is not None}
    unbounded = [times for each, times in changed.items() if each in demands.keys() - bounded]
    changed = {each: times for each, times in changed.items() if each in bounded}
    found = units_reading(planned.graph, node, changed, recorded)
    if last and any(unbounded) and recorded:
        end = max(each.end for each in recorded)
        found = merge((*found, Interval(node.model.unit.floor(end - timedelta.resolution), end)))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReaders:
    """Models that keep their table and read models that get a new one.

    ``changed`` are the times at which the latter have other rows than in the table that is shown,
    and ``fewer`` those at which they have fewer, since a source does not have them any more.
    ``again`` are the readers' intervals that are computed again, and ``spoiled`` those that would
    lose rows by that: these stay as they are.
    """

    changed: Times = field(default_factory=dict)
    fewer: Times = field(default_factory=dict)
    again: Restatement = _NONE
    spoiled: Times = field(default_factory=dict)


def kept_readers(services: Services, planned: Planned, late: Times) -> KeptReaders:
    """The readers of tables that are replaced, as far as the environment may write them.

    ``late`` are the stale times that the plan evaluates in versions that stay.
    """
    replaced = set(_replaced(planned))
    kept = planned.staying
    if not any(each.name in replaced for each in planned.graph.upstream(kept)):
        return KeptReaders()
    changed, fewer = _changed(services, planned, replaced, late)
    again = _reading(planned, kept, changed)
    spoiled = _reading(planned, kept, fewer).ranges
    ranges = {name: _unspoiled(planned, name, again, spoiled) for name in again.ranges}
    return KeptReaders(
        changed=changed,
        fewer=fewer,
        again=replace(again, ranges={name: each for name, each in ranges.items() if each}),
        spoiled=spoiled,
    )


def compared_again(services: Services, planned: Planned) -> Times:
    """What stays and reads tables that are replaced by such that have other rows, by model.

    That is asked when views are about to move: rows that came late since the plan was made count,
    too. What would lose rows by being computed again is no part of it.
    """
    readers = kept_readers(services, planned, {})
    found: dict[ModelName, tuple[Interval, ...]] = {}
    for name in planned.staying if readers.changed else ():
        node, recorded = planned.graph[name], planned.holdings.recorded[name]
        times = units_reading(planned.graph, node, readers.changed, recorded) if recorded else ()
        if not node.model.kind.is_partitioned:
            times = merge(recorded) if times and name not in readers.spoiled else ()
        if left := subtract(times, readers.spoiled.get(name, ())):
            found[name] = left
    return found


def _reading(planned: Planned, kept: Collection[ModelName], changed: Times) -> Restatement:
    """The intervals of versions that stay and read these times."""
    return read_again(
        planned.graph,
        {},
        {name: loaded for name, loaded in planned.holdings.recorded.items() if name in kept},
        writes=planned.holdings.writes,
        changed=changed,
        roots=changed.keys(),
    )


def _unspoiled(
    planned: Planned, name: ModelName, again: Restatement, spoiled: Times
) -> tuple[Interval, ...]:
    """The intervals of a reader that can be computed again without losing rows."""
    if name not in spoiled:
        return again.ranges[name]
    stands_alone = planned.graph[name].model.kind.is_partitioned
    return subtract(again.ranges[name], spoiled[name]) if stands_alone else ()


def _replaced(planned: Planned) -> Iterator[ModelName]:
    """Models with rows of their own that get another table than the one that is shown."""
    for node in planned.graph:
        before = planned.shown_snapshots.get(node.name)
        if before is None or planned.stays(node.name):
            continue
        if node.model.kind.follows_upstream and before.key in planned.loaded:
            yield node.name


def _changed(
    services: Services, planned: Planned, replaced: Collection[ModelName], late: Times
) -> tuple[Times, Times]:
    """The times at which the tables to be replaced, and their readers, get other rows.

    The new tables are computed from the sources as they are now, and from what the plan computes
    first; they may begin earlier than the old ones, and get what is due. Also returned: the times
    for which a source lost rows, so that they get fewer.
    """
    before = planned.before
    states = InputStates(services=services, graph=before.graph, snapshots=before.snapshots)
    now = InputStates(services=services, graph=planned.graph, snapshots=planned.snapshots)
    first = computed_first(services, planned, now, replaced)
    recorded = planned.holdings.recorded
    changed = {
        name: reached(
            planned.graph[name], merge((*first.get(name, ()), *late.get(name, ()))), recorded[name]
        )
        for name in {*first, *late}
    }
    lost: dict[ModelName, tuple[Interval, ...]] = {}
    for node in planned.graph:
        if node.name not in replaced:
            continue
        loaded = before.holdings.recorded[node.name]
        look = look_at(services, before, states, before.graph[node.name])
        found = look.found()
        behind = found.times if found is not None else ()
        gone = found.kept if found is not None and found.why_kept == UNCOVERED else ()
        times = merge(
            (*subtract(behind, gone), *units_reading(planned.graph, node, changed, loaded))
        )
        fewer = merge((*gone, *units_reading(planned.graph, node, lost, loaded)))
        fewer = reached(node, fewer, loaded)
        if not node.model.kind.is_partitioned and (times or look.has_moved()):
            times = merge(loaded)
        more = subtract(_holds(planned, node), loaded)
        if times := reached(node, merge((*times, *more)), loaded):
            changed[node.name] = times
        if fewer:
            lost[node.name] = fewer
    own = {*first, *replaced}  # what reads late times alone is compared when they are computed
    return {name: times for name, times in changed.items() if name in own}, lost


def _holds(planned: Planned, node: Node) -> tuple[Interval, ...]:
    """What the new table of a model holds, or is about to."""
    held, complete_to = planned.holdings.recorded[node.name], planned.complete_to[node.name]
    if complete_to is None:
        return held
    computed = planned.holdings.computed[node.name]
    return merge((*held, *node.model.kind.missing(node.model, computed, complete_to)))


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
