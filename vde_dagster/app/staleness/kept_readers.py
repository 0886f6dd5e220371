"""Which rows of versions that a plan keeps are behind the tables that they read from then on.

If an edit gives a model a new table and keeps the versions that read it, the new table is computed
from the sources as they are now: what was computed from the old table is stale wherever the old
table was, and lacks the times that only the new one has. The same holds where a version reads the
table of another model than before: of one with a new name, say, or what a view reads that was a
table (rule R10).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import look_within
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.other_tables import OtherTables, other_tables, units_lacking
from vde_dagster.app.staleness.remembered_looks import touched
from vde_dagster.app.staleness.upstream_changes import Times, computed_first
from vde_dagster.app.staleness.version_behind import UNCOVERED, Planned, look_at
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import tables_read
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.restatement import (
    Restatement,
    reached,
    read_again,
    restated_ranges,
    units_reading,
)
from vde_dagster.core.time.intervals import Interval, common, merge, subtract

_NONE: Final = Restatement(ranges={})
_Found = dict[ModelName, tuple[Interval, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReaders:
    """Models that keep their table and read a new one, of the same model or of another one.

    ``behind`` are their intervals that have other rows by the new tables than by those that are
    shown, and ``upstream`` are the models of the latter. ``again`` are the intervals that are
    computed again, with all that reads these, and ``spoiled`` those that would lose rows by that,
    since a source does not have them any more: these stay as they are.
    """

    behind: Times = field(default_factory=dict)
    upstream: frozenset[ModelName] = frozenset()
    again: Restatement = _NONE
    spoiled: Times = field(default_factory=dict)


def kept_readers(services: Services, planned: Planned, late: Times) -> KeptReaders:
    """The readers of tables that are replaced, as far as the environment may write them.

    ``late`` are the stale and restated times that the plan evaluates in versions that stay.
    """
    moved = _moved(planned)
    kept = planned.staying
    if kept.isdisjoint(moved):
        return KeptReaders()
    walk = _walked(services, planned, moved, late)
    again = _read_again(planned, kept, walk.behind)
    spoiled = _read_again(planned, kept, walk.fewer).ranges
    ranges = {name: _unspoiled(planned, name, again, spoiled) for name in again.ranges}
    return KeptReaders(
        behind=walk.behind,
        upstream=frozenset(each for name in kept & moved.keys() for each in moved[name].before),
        again=replace(again, ranges={name: each for name, each in ranges.items() if each}),
        spoiled=spoiled,
    )


def compared_again(services: Services, planned: Planned) -> Times:
    """What stays and reads other tables than those that are shown, with other rows, by model.

    That is asked when views are about to move: rows that came late since the plan was made count,
    too. What the plan has computed from the other tables is not part of it, nor what would lose
    rows by being computed again.
    """
    readers = kept_readers(services, planned, {})
    states = InputStates(services=services, graph=planned.graph, snapshots=planned.snapshots)
    found: dict[ModelName, tuple[Interval, ...]] = {}
    for name, times in readers.behind.items():
        stale = look_within(states, name, times).stale
        left = common(times, [each.entry.interval for each in stale])
        if left and not planned.graph[name].model.kind.is_partitioned:
            left = merge(planned.holdings.recorded[name]) if name not in readers.spoiled else ()
        if left := subtract(left, readers.spoiled.get(name, ())):
            found[name] = left
    return found


def _read_again(planned: Planned, kept: Collection[ModelName], behind: Times) -> Restatement:
    """What is computed again where these times of versions that stay are, with what reads them."""
    recorded = planned.holdings.recorded
    return read_again(
        planned.graph,
        behind,
        {name: loaded for name, loaded in recorded.items() if name in kept},
        writes=planned.holdings.writes,
    )


def _unspoiled(
    planned: Planned, name: ModelName, again: Restatement, spoiled: Times
) -> tuple[Interval, ...]:
    """The intervals of a reader that can be computed again without losing rows."""
    if name not in spoiled:
        return again.ranges[name]
    stands_alone = planned.graph[name].model.kind.is_partitioned
    return subtract(again.ranges[name], spoiled[name]) if stands_alone else ()


def _moved(planned: Planned) -> dict[ModelName, OtherTables]:
    """The models with rows that read no more all the tables that they read as they are shown."""
    before = planned.shown_graph, planned.shown_snapshots
    now = planned.graph, planned.snapshots
    found: dict[ModelName, OtherTables] = {}
    for name in touched(*now, planned.shown_snapshots):
        shown = planned.shown_snapshots.get(name)
        if shown is None or shown.key not in planned.loaded:
            continue
        other = other_tables(name, before, now)
        if other.before:
            found[name] = other
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    """A walk over the models as they are shown, parents first; see `_walked`.

    ``changed`` are the times at which tables have other rows by now than readers were computed
    from: those that are read no more, kept ones that are computed again, and what the plan computes
    first. ``lost`` are those at which they have fewer. ``behind`` and ``fewer`` are the same of
    kept versions, in their intervals.
    """

    services: Services
    planned: Planned
    before: Planned
    states: InputStates
    now: InputStates
    moved: Mapping[ModelName, OtherTables]
    changed: _Found
    lost: _Found = field(default_factory=dict)
    behind: _Found = field(default_factory=dict)
    fewer: _Found = field(default_factory=dict)

    def see_kept(self, node: Node) -> None:
        """Find the intervals of a version that stays that have other rows by what it reads."""
        before = self._before(node.name)
        names = {*before, *(each for each in self._read(node) if each in self.behind)}
        times = merge((*self._reading(node, self.changed, names), *self._lacking(node)))
        if times:
            self.behind[node.name] = times
            if not node.model.kind.disable_restatement:
                self._change(node, restated_ranges(node.model, times, self._loaded(node)))
        if fewer := self._reading(node, self.lost, before):
            self.fewer[node.name] = fewer

    def see_table(self, node: Node) -> None:
        """Find when a table that is read no more would have other rows by now, and when fewer."""
        look = look_at(self.services, self.before, self.states, node)
        found, read = look.found(), self._read(node)
        stale = found.times if found is not None else ()
        gone = found.kept if found is not None and found.why_kept == UNCOVERED else ()
        reading = self._reading(node, self.changed, read)
        times = merge((*subtract(stale, gone), *reading, *self._lacking(node)))
        if not node.model.kind.is_partitioned and (times or look.has_moved()):
            times = merge(self._loaded(node))
        self._change(node, times)
        fewer = merge((*gone, *self._reading(node, self.lost, read)))
        if fewer := reached(node, fewer, self._loaded(node)):
            self.lost[node.name] = fewer

    def _change(self, node: Node, times: tuple[Interval, ...]) -> None:
        if times := reached(node, times, self._loaded(node)):
            self.changed[node.name] = merge((*self.changed.get(node.name, ()), *times))

    def _loaded(self, node: Node) -> tuple[Interval, ...]:
        return self.before.holdings.recorded[node.name]

    def _before(self, name: ModelName) -> frozenset[ModelName]:
        return self.moved[name].before if name in self.moved else frozenset()

    def _read(self, node: Node) -> frozenset[ModelName]:
        return frozenset(tables_read(self.before.graph, node))

    def _reading(
        self, node: Node, times: Times, names: Collection[ModelName]
    ) -> tuple[Interval, ...]:
        """The intervals of a version that read these times of some tables."""
        read = {each: times[each] for each in names if each in times}
        return units_reading(self.before.graph, node, read, self._loaded(node))

    def _lacking(self, node: Node) -> tuple[Interval, ...]:
        """The intervals in which a version lacks rows that only its new tables have."""
        if node.name not in self.moved:
            return ()
        graph, recorded = self.before.graph, self.before.holdings.recorded
        return units_lacking(graph, recorded, node, self.moved[node.name], (self.planned, self.now))


def _walked(
    services: Services, planned: Planned, moved: Mapping[ModelName, OtherTables], late: Times
) -> _Walk:
    """What versions that stay are behind by, if they read other tables from now on.

    That is found by the tables that they read, as they are shown: when these would have other rows
    by now, and which times they lack that the new ones have.
    """
    before = planned.before
    now = InputStates(services=services, graph=planned.graph, snapshots=planned.snapshots)
    read_no_more = {each for other in moved.values() for each in other.before}
    readers = {*moved, *(each for each in read_no_more if each in planned.graph)}
    walk = _Walk(
        services=services,
        planned=planned,
        before=before,
        states=InputStates(services=services, graph=before.graph, snapshots=before.snapshots),
        now=now,
        moved=moved,
        changed=_computed_by_the_plan(services, planned, now, readers, late),
    )
    kept = planned.staying
    for node in before.graph:
        if not (node.model.kind.follows_upstream and before.holdings.recorded.get(node.name)):
            continue
        if node.name in kept:
            walk.see_kept(node)
        if node.name in read_no_more:
            walk.see_table(node)
    return walk


def _computed_by_the_plan(
    services: Services,
    planned: Planned,
    states: InputStates,
    readers: Collection[ModelName],
    late: Times,
) -> _Found:
    """The times of what the plan computes first, and of what else it evaluates that stays."""
    first = computed_first(services, planned, states, readers)
    recorded = planned.holdings.recorded
    return {
        name: reached(
            planned.graph[name], merge((*first.get(name, ()), *late.get(name, ()))), recorded[name]
        )
        for name in {*first, *late}
    }
