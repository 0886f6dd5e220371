"""What production and other environments have of a project's models, as the state says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.difference import Rules
from vde_dagster.core.planning.decisions import Stored
from vde_dagster.core.planning.equal_versions import Elsewhere, rows_of_production
from vde_dagster.ports.state import Environment
from vde_dagster.project.cache.models import ModelCache


def found_elsewhere(
    services: Services,
    graph: Graph,
    production: Environment | None,
    stored: Stored,
    rules: Rules,
) -> Elsewhere:
    """What other environments have of the models of a project.

    Args:
        services: The ports.
        graph: The project.
        production: Production, if changes are not compared with it anyway.
        stored: The snapshots of the project's models that an earlier plan stored.
        rules: How changes are judged.
    """
    filled = dict(_filled(services, graph, stored))
    if production is None:
        return Elsewhere(filled=filled)
    theirs = production.snapshots
    return Elsewhere(
        production=rows_of_production(
            theirs,
            graph_of(theirs, graph, services.models),
            graph,
            stored,
            rules,
            drifted=services.state.drifted(each.key for each in theirs.values()),
        ),
        filled=filled,
    )


def _filled(services: Services, graph: Graph, stored: Stored) -> Iterator[tuple[ModelName, str]]:
    """Loaded versions of equal definitions, of models without a stored snapshot.

    A table that an edit kept has another name than the definition gives it.
    """
    new = [each for each in graph if _has_table(each) and not _is_stored(each, stored)]
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


def _has_table(node: Node) -> bool:
    return node.model.kind.stores_rows


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
