"""Which existing versions have the rows that their models would compute now (rule R6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.adoption import compared_parents, has_equal_rows
from vde_dagster.core.planning.changes.difference import Rules
from vde_dagster.core.planning.decisions import Stored
from vde_dagster.core.planning.resolution import rows_of_production
from vde_dagster.ports.state import Environment
from vde_dagster.project.cache.models import ModelCache

Snapshots = Mapping[ModelName, ModelSnapshot]


def has_rows_of(services: Services, graph: Graph, snapshots: Snapshots, key: VersionKey) -> bool:
    """Whether a version has the rows that its model would compute from its parents' rows now.

    Reads only the state: every interval's trace, and the parents' D-SHAs.
    """
    name = key.model
    parents = {each: snapshots[each].key for each in compared_parents(graph, name)}
    ledger = services.state.ledger(dict.fromkeys((key, *parents.values())))
    return has_equal_rows(
        graph,
        name,
        ledger.get(key, ()),
        {parent: ledger.get(each, ()) for parent, each in parents.items()},
        is_sequential=graph[name].model.kind.is_sequential,
    )


def given_back(
    services: Services, environment: str, graph: Graph, snapshots: Snapshots
) -> frozenset[ModelName]:
    """The models that adopted a version of another definition, which has other rows by now.

    The version's owner is left out: there it is kept up to date like any other.
    """
    return frozenset(
        name
        for name in written_by_others(services, environment, snapshots)
        if not has_rows_of(services, graph, snapshots, snapshots[name].key)
    )


def written_by_others(
    services: Services, environment: str, snapshots: Snapshots
) -> tuple[ModelName, ...]:
    """The models that adopted a version that others write, or wrote, by another definition.

    Production owns a version from when it adopts it (rule R9).
    """
    adopted = {name: each.key for name, each in snapshots.items() if each.is_adopted}
    if not adopted or environment == PRODUCTION:
        return ()
    owners = services.state.owners(adopted.values())
    others = {
        name: owner
        for name, key in adopted.items()
        if (owner := owners.get(key, "")) != environment
    }
    theirs = {owner: services.state.environment(owner) for owner in {*others.values()} - {""}}
    return tuple(
        name for name, owner in others.items() if not _is_same(snapshots[name], theirs.get(owner))
    )


def _is_same(snapshot: ModelSnapshot, owner: Environment | None) -> bool:
    """Whether the owner of a snapshot's version shows it with an equal definition."""
    shown = owner.snapshots.get(snapshot.name) if owner is not None else None
    return (
        shown is not None
        and shown.key == snapshot.key
        and shown.fingerprint.data_version == snapshot.fingerprint.data_version
    )


def of_production(
    services: Services,
    graph: Graph,
    production: Environment | None,
    stored: Stored,
    rules: Rules,
) -> dict[ModelName, ModelSnapshot]:
    """Production's snapshots of those models of a project whose rows it has.

    Args:
        services: The ports.
        graph: The project.
        production: Production; None if changes are compared with it anyway.
        stored: The snapshots of the project's models that an earlier plan stored.
        rules: How changes are judged.
    """
    if production is None:
        return {}
    theirs = production.snapshots
    before = graph_of(theirs, graph, services.models)
    drifted = services.state.drifted(each.key for each in theirs.values())
    return rows_of_production(theirs, before, graph, stored, rules, drifted=drifted)


def filled_elsewhere(
    services: Services, graph: Graph, stored: Stored
) -> Iterator[tuple[ModelName, str]]:
    """Loaded versions of equal definitions, of models without a stored snapshot.

    A table that an edit kept has another name than the definition gives it.
    """
    new = [each for each in graph if each.model.kind.stores_rows and not _is_stored(each, stored)]
    found = services.state.versions((each.name, each.fingerprint) for each in new)
    others = {key: each for key, each in found.items() if set(each) != {key}}
    if not others:
        return
    keys = {key for by_itself, each in others.items() for key in (by_itself, *each)}
    loaded = services.state.holdings(keys)
    mixed = services.state.drifted(keys) | services.state.adopted(keys)
    for by_itself, each in others.items():
        holding = [
            key
            for key in (by_itself, *each)
            if key not in mixed and key in loaded and loaded[key].computed
        ]
        if holding:
            yield by_itself.model, holding[0].version


def _is_stored(node: Node, stored: Stored) -> bool:
    return (node.name, node.fingerprint.digest) in stored


def graph_of(
    before: Mapping[ModelName, ModelSnapshot], graph: Graph, cache: ModelCache | None
) -> Graph:
    """The shown models as a graph; taken from the project's if none of them differs."""
    same = all(
        name in graph and graph[name].fingerprint == snapshot.fingerprint
        for name, snapshot in before.items()
    )
    if not same:
        return stored_graph(before, cache)
    return Graph({node.name: node for node in graph if node.name in before}, graph.derived)
