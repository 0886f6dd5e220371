"""What is stale in versions that an environment shows and another one computes (rules R9, R14)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.inputs.staying import StaleLooks, stale_looks
from vde_dagster.app.plan.fillers import Filler, fillers
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import why_stale
from vde_dagster.app.staleness.since import stale_since
from vde_dagster.app.staleness.version_behind import FORBIDDEN, Planned, late_behind, listed
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Staleness
from vde_dagster.core.planning.restatement import forbids_restatement, units_reading
from vde_dagster.core.time.intervals import Interval, merge


def stale_elsewhere(services: Services, planned: Planned) -> Iterator[tuple[ModelName, Staleness]]:
    """What is stale in versions that stay, and that a plan leaves to their owners.

    It is stale if it is for its owner, whose runs compute it from the tables that the owner shows:
    this environment may show it with others. Only of what its owner does not show that is unknown.
    """
    shown = planned.own.snapshots if planned.own is not None else {}
    keys = {
        name: each.key
        for name, each in planned.snapshots.items()
        if name in shown and shown[name].key == each.key and name not in planned.holdings.writes
    }
    found = fillers(services, planned.environment, keys.values()) if keys else {}
    theirs = {name: found[key] for name, key in keys.items() if key in found}
    if not theirs:
        return
    owners = {each.environment for each in theirs.values() if each.shows}
    bindings = {name: bind_environment(services, name) for name in sorted(owners)}
    for owner in ("", *bindings):
        binding = bindings.get(owner) or planned.binding
        names = [name for name, each in theirs.items() if owner == _shown_by(each)]
        yield from _as_seen(services, planned, binding, theirs, names)


def _shown_by(filler: Filler) -> str:
    return filler.environment if filler.shows else ""


def _as_seen(
    services: Services,
    planned: Planned,
    binding: Binding,
    theirs: Mapping[ModelName, Filler],
    names: Collection[ModelName],
) -> Iterator[tuple[ModelName, Staleness]]:
    """What is stale in some versions, by the tables that an environment shows.

    What they read there may be stale, too, and nothing that the plan's environment shows: it
    follows from that.
    """
    if not names or planned.own is None:
        return
    graph = binding.graph
    holdings = services.state.holdings(each.key for each in binding.snapshots.values())
    looks = stale_looks(services, graph, binding.snapshots, holdings)
    near = {node.name for node in graph.upstream(names)}
    stale = _stale(services, binding, looks, near, planned.own.promoted_at)
    shown = {each.key for each in planned.snapshots.values()}
    changed: dict[ModelName, tuple[Interval, ...]] = {}
    for node in graph:
        name, recorded = node.name, looks.loaded.get(binding.key(node.name), NOTHING).recorded
        if name not in near or not recorded or not node.model.kind.follows_upstream:
            continue
        found, forbidden = stale.get(name), forbids_restatement(node.model)
        after = () if forbidden else units_reading(graph, node, changed, recorded)
        if found is None and after:
            first = listed(changed.keys() & reads_of(graph, name).demands.keys())
            found = Staleness(reason=f"it reads {first}, which is computed again first", kept=after)
        if found is not None and name in names:
            yield name, replace(found, why_kept=FORBIDDEN if forbidden else theirs[name].computes)
        if found is not None and binding.key(name) not in shown and not forbidden:
            changed[name] = found.kept if node.model.kind.is_partitioned else recorded


def _stale(
    services: Services,
    binding: Binding,
    looks: StaleLooks,
    names: Collection[ModelName],
    promoted_at: datetime,
) -> dict[ModelName, Staleness]:
    """What is stale by itself in versions of an environment."""
    graph = binding.graph
    computed = [name for name in names if graph[name].model.stateless is None]
    found = {
        name: Staleness(
            reason=why_stale(look),
            kept=merge(each.entry.interval for each in look.stale),
            since=stale_since(look, promoted_at=promoted_at),
        )
        for name, look, _ in looks.found(computed)
        if look.stale
    }
    for name in sorted(set(names) - set(computed)):
        recorded = looks.loaded.get(binding.key(name), NOTHING).recorded
        late = late_behind(services, binding, looks.states, graph[name], recorded)
        if late is not None:
            found[name] = Staleness(reason=late.reason, kept=late.times)
    return found
