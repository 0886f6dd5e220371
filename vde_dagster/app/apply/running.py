"""Bringing what an environment shows up to date: what is due, and what is late or changed upstream.

A run is a plan of the models that the environment shows, and changes no version. Edits in the
project's files since then are left to a plan of these files.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from enum import Enum

from vde_dagster.app.binding import bind_plan, stored_graph
from vde_dagster.app.leases import holder_of, leased
from vde_dagster.app.plan.bounding import bounds_of
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.plan.waiting import lost_inputs
from vde_dagster.app.promote.promotion import end_promotions
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import new_looks
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import ModelChange, Plan, Staleness
from vde_dagster.core.planning.stages import left_out
from vde_dagster.core.time.intervals import merge
from vde_dagster.ports.state import environment_resource


class Wanted(Enum):
    """What a run computes."""

    DUE_AND_STALE = "due and stale"
    DUE = "due"
    STALE = "stale"


def plan_run(services: Services, environment: str, wanted: Wanted = Wanted.DUE_AND_STALE) -> Plan:
    """What a run of an environment does now. Writes nothing, except to finish a promotion.

    Raises:
        Refused: There is no such environment, or its promotion was begun and cannot be finished.
        Conflict: Another process is promoting it right now.
    """
    shown = end_promotions(services, environment)
    if shown is None:
        raise Refused(
            f"there is no environment {environment}: `vde environments` lists them, and `vde plan "
            f"{environment}` makes it."
        )
    graph, stays = stored_graph(shown.snapshots, services.models), bounds_of(shown.snapshots)
    plan = plan_environment(services, graph, environment, paced=True, stays=stays)
    changes = tuple(_narrowed(each, wanted) for each in plan.changes)
    narrowed = replace(plan, changes=changes, paced=True)
    left = tuple(each for each in plan.dropped_tables if each not in narrowed.rebuilds)
    return _without_lost(replace(narrowed, lost_tables=(*plan.lost_tables, *left)))


def _without_lost(plan: Plan) -> Plan:
    """A run without the models whose table is gone or changed, and those that read one.

    All else is done.
    """
    lost = {each.name for each in plan.lost_tables}
    if not lost:
        return plan
    readers = {node.name for node in plan.graph if lost_inputs(plan, node)}
    names = ", ".join(sorted(map(str, lost)))
    return set_aside(plan, lost | readers, f"it waits until the table of {names} is as recorded")


def end_without_work(services: Services, plan: Plan) -> None:
    """Store the looks of a run that computes nothing, so that the next one begins there.

    Much may have been recorded since the last look, by backfills of single assets, say. A promotion
    decides which inputs its versions are fresh against, so nothing is stored during one or after.
    """
    seen = new_looks(services, bind_plan(plan)) if plan.is_empty else {}
    if not seen:
        return
    resource, ttl = environment_resource(plan.environment), services.lease_ttl
    holder = holder_of(services.ids, f"a look at {plan.environment}")
    with suppress(Conflict), leased(services.state, resource, holder=holder, ttl=ttl):
        shown = services.state.environment(plan.environment)
        if shown is not None and shown.revision == plan.base_revision and not shown.promoting:
            services.state.record_looks(seen)


def _narrowed(change: ModelChange, wanted: Wanted) -> ModelChange:
    match wanted:
        case Wanted.DUE_AND_STALE:
            return change
        case Wanted.DUE:
            why = "--no-stale leaves it as it is"
            return replace(change, staleness=_left_as_it_is(change.staleness, why))
        case Wanted.STALE:
            return replace(change, missing=(), restated=())


def _left_as_it_is(found: Staleness | None, why: str) -> Staleness | None:
    """A finding of stale intervals, none of which is computed."""
    if found is None or not found.intervals:
        return found
    reasons = dict.fromkeys([*filter(None, [found.why_kept]), why])
    kept = merge((*found.kept, *found.intervals))
    return replace(
        found,
        intervals=(),
        following=(),
        kept=kept,
        why_kept="; ".join(reasons),
        session=False,
    )


def set_aside(plan: Plan, names: Collection[ModelName], why: str) -> Plan:
    """A run without some models and those that wait for them.

    Args:
        plan: What a run would do.
        names: Models that are not to be tried now.
        why: The reason, for people.
    """
    if not names:
        return plan
    aside = {*names, *left_out(plan, names)}
    changes = tuple(
        replace(each, missing=(), restated=(), staleness=_left_as_it_is(each.staleness, why))
        if each.name in aside
        else each
        for each in plan.changes
    )
    return replace(plan, changes=changes)
