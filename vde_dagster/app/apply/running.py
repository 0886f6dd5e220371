"""Bringing what an environment shows up to date: due intervals, and late and changed inputs.

A run is a plan of the models that the environment shows, and changes no version. Edits in the
project's files since then are left to a plan of these files.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from enum import Enum

from vde_dagster.app.binding import bind_plan, existing, stored_graph
from vde_dagster.app.catch_up.sessions import note_detected
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.plan.resolving import bounds_of
from vde_dagster.app.promote.promotion import end_promotions
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.remembered_looks import new_looks
from vde_dagster.core.errors import Conflict
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import DEFAULT_OPTIONS, PlanOptions
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.planning.setting_aside import left_as_it_is, without_lost
from vde_dagster.ports.state import environment_resource


class Wanted(Enum):
    """What a run computes."""

    DUE_AND_STALE = "due and stale"
    DUE = "due"
    STALE = "stale"
    LATE_DATA = "late data"
    """Due, late and stale intervals of models with late data, and nothing of any other model."""


def plan_run(
    services: Services,
    environment: str,
    wanted: Wanted = Wanted.DUE_AND_STALE,
    options: PlanOptions = DEFAULT_OPTIONS,
) -> Plan:
    """What a run of an environment does now, once a promotion that was started is finished.

    See `look_at_run`, which writes nothing.

    Raises:
        Refused: There is no such environment, or its promotion was started and cannot be finished.
        Conflict: Another process is promoting it right now.
    """
    end_promotions(services, environment)
    return look_at_run(services, environment, wanted, options)


def look_at_run(
    services: Services,
    environment: str,
    wanted: Wanted = Wanted.DUE_AND_STALE,
    options: PlanOptions = DEFAULT_OPTIONS,
) -> Plan:
    """What a run of an environment would do now. Writes nothing.

    Of a promotion that was started and is not finished, what it is to show counts. The ``options``
    may have the run restate models, and let rows go.

    Raises:
        Refused: There is no such environment.
    """
    shown = existing(services, environment)
    graph, stays = stored_graph(shown.snapshots, services.models), bounds_of(shown.snapshots)
    plan = plan_environment(
        services, graph, environment, options, paced=True, stays=stays, only=_only(graph, wanted)
    )
    changes = tuple(_narrowed(each, wanted) for each in plan.changes)
    narrowed = replace(plan, changes=changes, paced=True)
    left = tuple(each for each in plan.dropped_tables if each not in narrowed.rebuilds)
    lost = replace(narrowed, lost_tables=(*plan.lost_tables, *left))
    return without_lost(lost, services.naming.catalog)


def end_without_work(services: Services, plan: Plan) -> None:
    """Store the looks of a run that computes nothing, so that the next one begins there.

    Much may have been recorded since the last look, by backfills of single assets, say. A promotion
    decides which inputs its versions are fresh against, so nothing is stored during one or after.
    High-water marks move beyond changes of which no session loads anything.
    """
    binding = bind_plan(plan)
    if plan.is_empty:
        note_detected(services, binding)
    seen = new_looks(services, binding) if plan.is_empty else {}
    if not seen:
        return
    with (
        suppress(Conflict),
        services.lease(environment_resource(plan.environment), f"a look at {plan.environment}"),
    ):
        shown = services.state.environment(plan.environment)
        if shown is not None and shown.revision == plan.base_revision and not shown.promoting:
            services.state.record_looks(seen)


def _only(graph: Graph, wanted: Wanted) -> frozenset[ModelName] | None:
    if wanted is not Wanted.LATE_DATA:
        return None
    return frozenset(node.name for node in graph if node.model.late_data is not None)


def _narrowed(change: ModelChange, wanted: Wanted) -> ModelChange:
    match wanted:
        case Wanted.DUE_AND_STALE | Wanted.LATE_DATA:
            return change
        case Wanted.DUE:
            why = "--no-stale leaves it unchanged"
            return replace(change, staleness=left_as_it_is(change.staleness, why))
        case Wanted.STALE:
            return replace(change, missing=(), restated=())
