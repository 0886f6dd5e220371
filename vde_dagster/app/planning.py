"""Making a plan: reads the state and the catalog's metadata, writes nothing, starts no Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.readiness import missing_intervals
from vde_dagster.app.services import Services, valid_to_of
from vde_dagster.app.view_names import are_moving
from vde_dagster.core.graph import Graph, sources
from vde_dagster.core.intervals import Interval
from vde_dagster.core.ledger import held_intervals
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.plan import Plan, complete_to, make_plan
from vde_dagster.core.resolution import Shown, resolve_snapshots
from vde_dagster.core.snapshot import ModelSnapshot
from vde_dagster.ports.state import Environment
from vde_dagster.project.signals import ready_intervals


def plan_environment(services: Services, graph: Graph, environment: str) -> Plan:
    """The plan that makes an environment show a project's models.

    An environment that does not exist yet is compared with production, whose versions it shares
    where nothing changed (seed 000, *Virtual Layer*).
    """
    own = services.state.environment(environment)
    base = own or services.state.environment(PRODUCTION)
    before: Mapping[ModelName, ModelSnapshot] = base.snapshots if base else {}
    shown = Shown(snapshots=before, graph=_graph_of(before, graph))
    stored = services.state.snapshots((node.name, node.fingerprint) for node in graph)
    resolved = resolve_snapshots(graph, shown, stored)
    now = services.project_now()
    keys = {name: each.snapshot.key for name, each in resolved.items()}
    ledger = services.state.ledger(keys.values())
    owners = services.state.owners(keys.values())
    writes = {name for name, key in keys.items() if may_write(environment, owners.get(key))}
    held = {name: held_intervals(ledger.get(key, ())) for name, key in keys.items()}
    horizons = _horizons(services, graph, now, capped=_capped(graph, writes, held))
    missing = missing_intervals(
        graph,
        now=now,
        writes=writes,
        held=held,
        horizons=horizons,
        ready=lambda model, units: ready_intervals(
            model, units, execution_time=services.clock.now()
        ),
    )
    return make_plan(
        plan_id=services.ids.new(),
        environment=environment,
        base_revision=own.revision if own else 0,
        now=now,
        graph=graph,
        shown=shown,
        current=own.snapshots if own and _stays(services, own) else {},
        resolved=resolved,
        horizons=horizons,
        missing=lambda node, _: missing[node.name],
    )


def _stays(services: Services, shown: Environment) -> bool:
    """Whether the views show what the state says, under the names that the project gives them."""
    return not shown.promoting and not are_moving(services, shown)


def _capped(
    graph: Graph,
    writes: Collection[ModelName],
    held: Mapping[ModelName, tuple[Interval, ...]],
) -> dict[ModelName, datetime | None]:
    """Up to where intervals are held, from the first on, that only another environment may fill."""
    capped: dict[ModelName, datetime | None] = {}
    for node in graph:
        if node.name in writes or node.model.time_column is None:
            continue
        unit, end = node.model.unit, node.model.end
        first = unit.ceil(node.model.start)
        covering = [each.end for each in held[node.name] if each.start <= first < each.end]
        if end is not None and covering and covering[0] >= unit.floor(end):
            continue  # it is whole for good
        capped[node.name] = covering[0] if covering else None
    return capped


def _horizons(
    services: Services,
    graph: Graph,
    now: datetime | None,
    *,
    capped: Mapping[ModelName, datetime | None],
) -> dict[ModelName, datetime | None]:
    tables = {name: services.source(name) for name in sources(graph)}
    valid_to = {name: valid_to_of(table) for name, table in tables.items()}
    return complete_to(
        graph,
        now,
        valid_to={name: time for name, time in valid_to.items() if time is not None},
        unborn={
            name
            for name, table in tables.items()
            if table is None or table.iceberg_snapshot_id is None
        },
        capped=capped,
    )


def may_write(environment: str, owner: str | None) -> bool:
    """Whether an environment may evaluate a version (rule R9).

    Production may always: what it shows it owns, and what it is about to show it will own.
    """
    return owner is None or environment in (owner, PRODUCTION)


def _graph_of(before: Mapping[ModelName, ModelSnapshot], graph: Graph) -> Graph:
    """The shown models as a graph; taken from the project's where none of them differs."""
    same = all(
        name in graph and graph[name].fingerprint == snapshot.fingerprint
        for name, snapshot in before.items()
    )
    if not same:
        return stored_graph(before)
    return Graph({node.name: node for node in graph if node.name in before})
