"""Which models have other rows by a plan than those that read them were computed from.

A version that comes back reads what the plan computes first (rule R15). And where an edit gives a
model a new table and leaves what reads it as it is, that table is made of what the sources are now:
what was computed from the table before is behind wherever that one was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from vde_dagster import kinds
from vde_dagster.app.input_moves import InputStates
from vde_dagster.app.services import Services
from vde_dagster.app.version_behind import Planned, look_at
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval, merge, subtract
from vde_dagster.core.kind import Full
from vde_dagster.core.names import ModelName
from vde_dagster.core.render_model import reads_of
from vde_dagster.core.restatement import Restatement, read_again, units_reading

Times = Mapping[ModelName, tuple[Interval, ...]]
_NONE: Final = Restatement(ranges={})


def computed_first(
    services: Services, planned: Planned, states: InputStates, returning: Collection[ModelName]
) -> Times:
    """The times at which models that versions read that come back get other rows by a plan.

    Those are FULL tables that are made again, and models whose next session has late rows to load.
    """
    read = {name for each in returning for name in reads_of(planned.graph, each).demands}
    found: dict[ModelName, tuple[Interval, ...]] = {}
    for name in sorted(read & planned.holdings.writes):
        node = planned.graph[name]
        if not planned.entries(name) or not _is_due(planned, node):
            continue
        if isinstance(node.model.kind, Full):
            found[name] = merge(planned.holdings.recorded[name])
        elif node.model.stateless is not None:
            late = look_at(services, planned, states, node).found()
            if late is not None and late.session:
                found[name] = late.intervals
    return found


def _is_due(planned: Planned, node: Node) -> bool:
    held, horizon = planned.holdings.computed[node.name], planned.horizons[node.name]
    rules = kinds.of(node.model)
    return horizon is not None and bool(rules.missing(node.model, held, horizon))


def reading_again(planned: Planned, name: ModelName, changed: Times) -> tuple[Interval, ...]:
    """The units of a version that read something that gets other rows.

    A kind that builds each interval on those before it has seen what it reads without a bound as it
    was in their turn.
    """
    node = planned.graph[name]
    if kinds.of(node.model).is_sequential:
        demands = reads_of(planned.graph, name).demands
        bounded = {each for each, (axis, _) in demands.items() if axis is not None}
        changed = {each: times for each, times in changed.items() if each in bounded}
    return units_reading(planned.graph, node, changed, planned.holdings.recorded[name])


def kept_readers(services: Services, planned: Planned) -> tuple[Times, Restatement]:
    """What reads models that get another table, and keeps its own: what of it is computed again.

    With it the times at which these models have other rows than in the table that is shown.
    """
    replaced = set(_replaced(planned))
    kept = set(_kept(planned))
    if not any(each.name in replaced for each in planned.graph.upstream(kept)):
        return {}, _NONE
    changed = _changed(services, planned, replaced)
    spread = read_again(
        planned.graph,
        {},
        {name: held for name, held in planned.holdings.recorded.items() if name in kept},
        whole=lambda model: kinds.of(model).restates_whole,
        writes=planned.holdings.writes,
        changed=changed,
        roots=changed.keys(),
    )
    return changed, spread


def _replaced(planned: Planned) -> Iterator[ModelName]:
    """Models that are loaded by time and get another table than the one that is shown."""
    shown = planned.own.snapshots if planned.own is not None else {}
    for node in planned.graph:
        before = shown.get(node.name)
        if before is None or before.key == planned.snapshots[node.name].key:
            continue
        if kinds.of(node.model).is_partitioned and planned.ledger.get(before.key):
            yield node.name


def _kept(planned: Planned) -> Iterator[ModelName]:
    """Models whose table stays, and that the environment may write."""
    shown = planned.own.snapshots if planned.own is not None else {}
    for name in planned.holdings.writes & shown.keys():
        if shown[name].key == planned.snapshots[name].key:
            yield name


def _changed(services: Services, planned: Planned, replaced: Collection[ModelName]) -> Times:
    """The times at which the tables that are shown are behind, and those that read them.

    Tables that take their places are made of what the sources are now.
    """
    before = planned.before
    states = InputStates(services=services, graph=before.graph, snapshots=before.snapshots)
    changed: dict[ModelName, tuple[Interval, ...]] = {}
    for node in planned.graph:
        if node.name not in replaced:
            continue
        held = before.holdings.recorded[node.name]
        found = look_at(services, before, states, before.graph[node.name]).found()
        own = subtract(found.intervals, found.lost) if found is not None else ()
        times = merge((*own, *units_reading(planned.graph, node, changed, held)))
        if times:
            changed[node.name] = times
    return changed
