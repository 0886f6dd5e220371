"""What is stale in versions that an environment shows and another one computes (rules R9, R14)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.inputs.staying import StaleLook, stale_looks
from vde_dagster.app.plan.fillers import Filler, fillers
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import why_stale
from vde_dagster.app.staleness.since import stale_since
from vde_dagster.app.staleness.stale_inputs import late_rows
from vde_dagster.app.staleness.version_behind import FORBIDDEN, Planned
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Staleness
from vde_dagster.core.planning.restatement import forbids_restatement
from vde_dagster.core.time.intervals import merge


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
    if planned.own is None or not theirs:
        return
    owners = {each.environment for each in theirs.values() if each.shows}
    bindings = {name: bind_environment(services, name) for name in sorted(owners)}
    for owner in ("", *bindings):
        binding = bindings.get(owner) or planned.binding
        names = [name for name, each in theirs.items() if owner == _shown_by(each)]
        yield from _as_seen(services, binding, theirs, names, planned.own.promoted_at)


def _shown_by(filler: Filler) -> str:
    return filler.environment if filler.shows else ""


def _as_seen(
    services: Services,
    binding: Binding,
    theirs: Mapping[ModelName, Filler],
    names: Collection[ModelName],
    promoted_at: datetime,
) -> Iterator[tuple[ModelName, Staleness]]:
    """What is stale in some versions, by the tables that an environment shows."""
    if not names:
        return
    graph, snapshots = binding.graph, binding.snapshots
    loaded = services.state.holdings(each.key for each in snapshots.values())
    looks = stale_looks(services, graph, snapshots, loaded)
    computed = [name for name in names if graph[name].model.stateless is None]
    for name, look, _ in looks.found(computed):
        if look.stale:
            forbidden = forbids_restatement(graph[name].model)
            why = FORBIDDEN if forbidden else theirs[name].computes
            yield name, _left_as_it_is(look, why, promoted_at)
    for name in sorted(set(names) - set(computed)):
        recorded = loaded.get(binding.key(name), NOTHING).recorded
        late = late_rows(services, binding, looks.states, graph[name], recorded)
        if late is not None:
            why = theirs[name].computes
            yield name, Staleness(reason=late.reason, kept=late.intervals, why_kept=why)


def _left_as_it_is(look: StaleLook, why: str, promoted_at: datetime) -> Staleness:
    return Staleness(
        reason=why_stale(look),
        kept=merge(each.entry.interval for each in look.stale),
        why_kept=why,
        since=stale_since(look, promoted_at=promoted_at),
    )
