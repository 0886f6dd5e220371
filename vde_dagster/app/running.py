"""Bringing what an environment shows up to date: what is due, and what is late or changed upstream.

A run is a plan of the models that the environment shows, which moves no version. What was edited in
the project's files since is left to a plan of these.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from vde_dagster.app.binding import bind_environment
from vde_dagster.app.planning import plan_environment
from vde_dagster.app.promote import end_promotions
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.plan import ModelChange, Plan, Staleness


class Wanted(Enum):
    """What a run computes."""

    DUE_AND_STALE = "due and stale"
    DUE = "due"
    STALE = "stale"


def plan_run(services: Services, environment: str, wanted: Wanted = Wanted.DUE_AND_STALE) -> Plan:
    """What a run of an environment does now. Writes nothing but what a promotion left undone.

    Raises:
        Refused: There is no such environment, or its promotion was begun and cannot be finished.
        Conflict: Somebody is promoting right now.
    """
    end_promotions(services, environment)
    binding = bind_environment(services, environment)
    if binding is None:
        raise Refused(
            f"there is no environment {environment}: `vde environments` lists them, and `vde plan "
            f"{environment}` makes it."
        )
    plan = plan_environment(services, binding.graph, environment)
    return replace(plan, changes=tuple(_narrowed(each, wanted) for each in plan.changes))


def _narrowed(change: ModelChange, wanted: Wanted) -> ModelChange:
    match wanted:
        case Wanted.DUE_AND_STALE:
            return change
        case Wanted.DUE:
            return replace(change, staleness=_left_as_it_is(change.staleness, "--no-stale"))
        case Wanted.STALE:
            return replace(change, missing=(), restated=())


def _left_as_it_is(found: Staleness | None, option: str) -> Staleness | None:
    """What is stale, none of which is computed."""
    if found is None or not found.intervals:
        return found
    why = f"{option} leaves it as it is"
    return replace(
        found,
        intervals=(),
        following=(),
        kept=(*found.kept, *found.intervals),
        why_kept=why,
        session=False,
    )
