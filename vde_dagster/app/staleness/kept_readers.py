"""Which rows of versions that a plan keeps are behind the tables that they read from then on.

If an edit gives a model a new table and keeps the versions that read it, the new table is computed
from the sources as they are now: what was computed from the old table is stale wherever the old
table was, and lacks the times that only the new one has. The same holds where a version reads
another table than before: of a model that was renamed, say, or what a model reads that became a
view (rule R10).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.remembered_looks import touched
from vde_dagster.app.staleness.upstream_changes import Times, computed_first
from vde_dagster.app.staleness.version_behind import UNCOVERED, Planned, look_at
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.graph.render_model import tables_read
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.restatement import Restatement, reached, read_again, units_reading
from vde_dagster.core.time.intervals import Interval, common, merge, subtract

_NONE: Final = Restatement(ranges={})


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherTables:
    """The tables that a version read, and reads no more, and those that it reads from now on."""

    before: frozenset[ModelName]
    now: frozenset[ModelName]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReaders:
    """Models that keep their table and read a new one, of the same model or of another one.

    ``behind`` are their intervals that have other rows by the new tables than by those that are
    shown, and ``upstream`` are the models of these tables. ``again`` are the intervals that are
    computed again, with all that reads these, and ``spoiled`` those that would lose rows by that,
    since a source does not have them any more: these stay as they are.
    """

    behind: Times = field(default_factory=dict)
    upstream: frozenset[ModelName] = frozenset()
    again: Restatement = _NONE
    spoiled: Times = field(default_factory=dict)


def kept_readers(services: Services, planned: Planned, late: Times) -> KeptReaders:
    """The readers of tables that are replaced, as far as the environment may write them.

    ``late`` are the stale times that the plan evaluates in versions that stay.
    """
    moved = dict(_moved(planned))
    replaced = frozenset(_replaced(planned))
    kept = planned.staying
    if kept.isdisjoint(moved) and not any(
        each.name in replaced for each in planned.graph.upstream(kept)
    ):
        return KeptReaders()
    changes = _changes(services, planned, replaced, moved, late)
    behind = {name: times for name in kept if (times := changes.behind(planned, name))}
    fewer = {name: times for name in kept if (times := changes.fewer(planned, name))}
    again = _read_again(planned, kept, behind)
    spoiled = _read_again(planned, kept, fewer).ranges
    ranges = {name: _unspoiled(planned, name, again, spoiled) for name in again.ranges}
    return KeptReaders(
        behind=behind,
        upstream=frozenset({*changes.now, *changes.then, *changes.lost, *changes.lost_then}),
        again=replace(again, ranges={name: each for name, each in ranges.items() if each}),
        spoiled=spoiled,
    )


def compared_again(services: Services, planned: Planned) -> Times:
    """What stays and reads other tables than those that are shown, with other rows, by model.

    That is asked when views are about to move: rows that came late since the plan was made count,
    too. What would lose rows by being computed again is no part of it.
    """
    readers = kept_readers(services, planned, {})
    found: dict[ModelName, tuple[Interval, ...]] = {}
    for name, times in readers.behind.items():
        left = times
        if not planned.graph[name].model.kind.is_partitioned:
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


def _replaced(planned: Planned) -> Iterator[ModelName]:
    """Models with rows of their own that get another table than the one that is shown."""
    for node in planned.graph:
        before = planned.shown_snapshots.get(node.name)
        if before is None or planned.stays(node.name):
            continue
        if node.model.kind.follows_upstream and before.key in planned.loaded:
            yield node.name


def _moved(planned: Planned) -> Iterator[tuple[ModelName, OtherTables]]:
    """Models with rows that read no more what they read, as the environment shows them."""
    shown, graph = planned.shown_graph, planned.graph
    for name in touched(graph, planned.snapshots, planned.shown_snapshots):
        before = planned.shown_snapshots.get(name)
        if before is None or before.key not in planned.loaded:
            continue
        then, now = (frozenset(tables_read(each, each[name])) for each in (shown, graph))
        if then - now:
            yield name, OtherTables(before=then - now, now=now - then)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """The times at which tables have other rows than those that readers were computed from.

    ``now`` are those of the plan's tables, and ``then`` those of tables that are shown and that
    ``moved`` models read no more: what these would have by now. ``lost`` and ``lost_then`` are
    those at which they have fewer rows, since a source does not have them any more. ``shown`` is
    what the tables hold that are shown.
    """

    moved: Mapping[ModelName, OtherTables]
    shown: Times
    now: Times
    then: Times
    lost: Times
    lost_then: Times

    def behind(self, planned: Planned, name: ModelName) -> tuple[Interval, ...]:
        """The intervals of a version that stays that have other rows by what it reads now."""
        node, recorded = planned.graph[name], planned.holdings.recorded[name]
        if not recorded:
            return ()
        more = self._more(planned, name, recorded)
        return merge(
            (
                *units_reading(planned.graph, node, self.now, recorded),
                *self._read_before(planned, name, self.then, recorded),
                *units_reading(planned.graph, node, more, recorded),
            )
        )

    def fewer(self, planned: Planned, name: ModelName) -> tuple[Interval, ...]:
        """The intervals of a version that stays that would lose rows by what it reads now."""
        node, recorded = planned.graph[name], planned.holdings.recorded[name]
        if not recorded:
            return ()
        return merge(
            (
                *units_reading(planned.graph, node, self.lost, recorded),
                *self._read_before(planned, name, self.lost_then, recorded),
            )
        )

    def _read_before(
        self, planned: Planned, name: ModelName, times: Times, recorded: tuple[Interval, ...]
    ) -> tuple[Interval, ...]:
        """The intervals of a version that read these times of tables that it reads no more."""
        if name not in self.moved:
            return ()
        read = {each: times[each] for each in self.moved[name].before if each in times}
        shown = planned.shown_graph
        return units_reading(shown, shown[name], read, recorded)

    def _more(self, planned: Planned, name: ModelName, recorded: tuple[Interval, ...]) -> Times:
        """The times at which what a version reads from now on has rows, and what it read had none.

        They are those of its own time. Of a source it is not known, so that it may be any of that.
        """
        if name not in self.moved:
            return {}
        span = [Interval(recorded[0].start, recorded[-1].end)]
        held = {each: _held(planned, each, span) for each in self.moved[name].now}
        every = common(merge(time for times in held.values() for time in times), span)
        lacking = merge(
            time
            for each in self.moved[name].before
            if not planned.shown_graph[each].model.kind.is_source
            for time in subtract(every, self.shown.get(each, ()))
        )
        return {each: common(lacking, times) for each, times in held.items()}


def _changes(
    services: Services,
    planned: Planned,
    replaced: Collection[ModelName],
    moved: Mapping[ModelName, OtherTables],
    late: Times,
) -> _Changes:
    """The times at which tables have other rows than those that kept versions were computed from.

    The new tables are computed from the sources as they are now, and from what the plan computes
    first; they may begin earlier than the old ones, and get what is due.
    """
    now = InputStates(services=services, graph=planned.graph, snapshots=planned.snapshots)
    first = computed_first(services, planned, now, {*replaced, *moved})
    recorded = planned.holdings.recorded
    changed = {
        name: reached(
            planned.graph[name], merge((*first.get(name, ()), *late.get(name, ()))), recorded[name]
        )
        for name in {*first, *late}
    }
    before = planned.before
    then, lost_then = _as_shown(services, before, replaced, moved, changed)
    lost: dict[ModelName, tuple[Interval, ...]] = {}
    for node in planned.graph:
        if node.name not in replaced:
            continue
        loaded = before.holdings.recorded[node.name]
        read, gone = (units_reading(planned.graph, node, each, loaded) for each in (changed, lost))
        times = merge((*then.get(node.name, ()), *read))
        fewer = merge((*lost_then.get(node.name, ()), *gone))
        if times and not node.model.kind.is_partitioned:
            times = merge(loaded)
        more = subtract(_holds(planned, node), loaded)
        if times := reached(node, merge((*times, *more)), loaded):
            changed[node.name] = times
        if fewer := reached(node, fewer, loaded):
            lost[node.name] = fewer
    own = {*first, *replaced}  # what reads late times alone is compared when they are computed
    return _Changes(
        moved=moved,
        shown=before.holdings.recorded,
        now={name: times for name, times in changed.items() if name in own},
        then=then,
        lost=lost,
        lost_then=lost_then,
    )


def _as_shown(
    services: Services,
    before: Planned,
    replaced: Collection[ModelName],
    moved: Mapping[ModelName, OtherTables],
    changed: Times,
) -> tuple[Times, Times]:
    """When tables that are shown would have other rows by now, and when fewer.

    Those are asked for that are ``replaced``, and those that ``moved`` models read no more.
    ``changed`` are the times of what the plan computes first.
    """
    states = InputStates(services=services, graph=before.graph, snapshots=before.snapshots)
    gone = {each for other in moved.values() for each in other.before}
    asked = {*replaced, *gone}
    known = dict(changed)
    then: dict[ModelName, tuple[Interval, ...]] = {}
    lost: dict[ModelName, tuple[Interval, ...]] = {}
    for node in before.graph:
        name = node.name
        if name not in asked or not node.model.kind.follows_upstream:
            continue
        loaded = before.holdings.recorded[name]
        if not loaded:
            continue
        read = set(tables_read(before.graph, node))
        if name not in gone:  # what it reads from now on counts, too
            read = set(moved[name].before) if name in moved else set()
        look = look_at(services, before, states, node)
        found = look.found()
        behind = found.times if found is not None else ()
        cut = found.kept if found is not None and found.why_kept == UNCOVERED else ()
        more, less = ({each: of[each] for each in read if each in of} for of in (known, lost))
        times = merge((*subtract(behind, cut), *units_reading(before.graph, node, more, loaded)))
        fewer = merge((*cut, *units_reading(before.graph, node, less, loaded)))
        if not node.model.kind.is_partitioned and (times or look.has_moved()):
            times = merge(loaded)
        if times := reached(node, times, loaded):
            then[name] = times
            known[name] = merge((*known.get(name, ()), *times))
        if fewer := reached(node, fewer, loaded):
            lost[name] = fewer
    return then, lost


def _held(planned: Planned, name: ModelName, span: Collection[Interval]) -> tuple[Interval, ...]:
    """What a table that a model reads from now on holds, or is about to; of a source a span."""
    node = planned.graph[name]
    if node.model.kind.is_source:
        return tuple(span)
    held = planned.holdings.recorded[name]
    return _holds(planned, node) if node.model.kind.follows_upstream else held


def _holds(planned: Planned, node: Node) -> tuple[Interval, ...]:
    """What the new table of a model holds, or is about to."""
    held, complete_to = planned.holdings.recorded[node.name], planned.complete_to[node.name]
    if complete_to is None:
        return held
    computed = planned.holdings.computed[node.name]
    return merge((*held, *node.model.kind.missing(node.model, computed, complete_to)))
