"""Looks at versions that are stored: against which inputs their rows are fresh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vde_dagster.app.binding import Binding, stored_graph
from vde_dagster.app.inputs.staying import stale_looks
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.staleness import LastLook
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, merge
from vde_dagster.ports.state import Environment


def remember_looks(services: Services, binding: Binding) -> None:
    """Store new looks at the versions that an environment writes.

    The caller holds its lease, since a promotion decides which inputs versions are fresh against.
    """
    seen = new_looks(services, binding)
    if seen:
        services.state.record_looks(seen)


def new_looks(services: Services, binding: Binding) -> dict[VersionKey, LastLook]:
    """New looks at the versions that an environment writes; those without news are left out."""
    keys = {name: each.key for name, each in binding.snapshots.items()}
    loaded, owners = services.state.holdings(keys.values()), services.state.owners(keys.values())
    names = [
        name
        for name, key in keys.items()
        if may_write(binding.environment, owners.get(key))
        and binding.graph[name].model.stateless is None
    ]
    last = services.state.last_looks(keys[name] for name in names)
    looks = stale_looks(services, binding.graph, binding.snapshots, loaded, last=last)
    found = {keys[name]: each for name, _, each in looks.found(names)}
    return {key: each for key, each in found.items() if looks.last.get(key) != each}


def moved_looks(
    services: Services,
    shown: Environment,
    graph: Graph,
    snapshots: Mapping[ModelName, ModelSnapshot],
    *,
    again: Mapping[ModelName, tuple[Interval, ...]],
) -> dict[VersionKey, LastLook]:
    """Looks at versions that a promotion keeps under new parents, or for an edited model.

    To keep a version is a decision about its rows: they are as fresh against the tables that it
    will read as against those that it reads now. It is recorded with the promotion, not before:
    a look at other tables says nothing of those that are read now, of which there may be such a
    decision, too. It is the decision of the environment that writes the version (rule R9): others
    may show it with other parents.

    Args:
        services: The ports.
        shown: The environment as it is.
        graph: The models that are promoted.
        snapshots: What it will show of them.
        again: What of them is to be compared with the tables that they will read.
    """
    keys = {
        name: snapshots[name].key
        for name in touched(graph, snapshots, shown.snapshots)
        if name in shown.snapshots and shown.snapshots[name].key == snapshots[name].key
    }
    owners = services.state.owners(keys.values())
    keys = {
        name: key
        for name, key in keys.items()
        if may_write(shown.name, owners.get(key)) and graph[name].model.kind.follows_upstream
    }
    if not keys:
        return {}
    every = (*shown.snapshots.values(), *snapshots.values())
    loaded = services.state.holdings(each.key for each in every)
    last = services.state.last_looks(keys.values())
    shown_graph = stored_graph(shown.snapshots, services.models)
    before = stale_looks(services, shown_graph, shown.snapshots, loaded, last=last)
    after = stale_looks(services, graph, snapshots, loaded, last=last)
    moved = [name for name, key in keys.items() if key in loaded and after.is_moved(name, before)]
    behind = {name: each.stale for name, _, each in before.found(moved)}
    stale = {name: merge((*behind.get(name, ()), *again.get(name, ()))) for name in moved}
    return {
        keys[name]: replace(after.seen(name), stale=times, fresh=None)
        if times
        else after.seen(name)
        for name, times in stale.items()
    }


def touched(
    graph: Graph,
    snapshots: Mapping[ModelName, ModelSnapshot],
    shown: Mapping[ModelName, ModelSnapshot],
) -> list[ModelName]:
    """The models of which a promotion shows another version, and all that is downstream.

    The others have the definition and read the tables that they had and read before.

    Args:
        graph: The models that are promoted.
        snapshots: What it will show of them.
        shown: What is shown now.
    """
    found: dict[ModelName, None] = {}
    for node in graph:
        is_same = snapshots[node.name] == shown.get(node.name)
        if not is_same or any(parent in found for parent in node.model.parents):
            found[node.name] = None
    return list(found)
