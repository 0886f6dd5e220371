"""Which existing versions have the rows that models would compute now (rule R6), by the state."""

from __future__ import annotations

from collections.abc import Mapping

from vde_dagster import kinds
from vde_dagster.app.services import Services
from vde_dagster.core.adoption import compared_parents, has_equal_rows
from vde_dagster.core.graph import Graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.ownership import may_write
from vde_dagster.core.snapshot import ModelSnapshot, VersionKey

Snapshots = Mapping[ModelName, ModelSnapshot]


def has_rows_of(services: Services, graph: Graph, snapshots: Snapshots, key: VersionKey) -> bool:
    """Whether a version holds what its model would compute of what its parents hold now.

    Reads the state alone: every interval of it by its trace, and the parents by their D-SHAs.
    """
    name = key.model
    parents = {each: snapshots[each].key for each in compared_parents(graph, name)}
    ledger = services.state.ledger(dict.fromkeys((key, *parents.values())))
    return has_equal_rows(
        graph,
        name,
        ledger.get(key, ()),
        {parent: ledger.get(each, ()) for parent, each in parents.items()},
        in_turn=kinds.of(graph[name].model).is_sequential,
    )


def given_back(
    services: Services, environment: str, graph: Graph, snapshots: Snapshots
) -> frozenset[ModelName]:
    """The models that adopted a version of others, which has other rows by now.

    Who may write it itself has made it its own: there it is kept up to date as any other.
    """
    foreign = written_by_others(services, environment, snapshots)
    return frozenset(
        name for name in foreign if not has_rows_of(services, graph, snapshots, snapshots[name].key)
    )


def written_by_others(
    services: Services, environment: str, snapshots: Snapshots
) -> tuple[ModelName, ...]:
    """The models that adopted a version that another environment writes."""
    adopted = {name: each.key for name, each in snapshots.items() if each.is_adopted}
    owners = services.state.owners(adopted.values()) if adopted else {}
    return tuple(
        name for name, key in adopted.items() if not may_write(environment, owners.get(key))
    )
