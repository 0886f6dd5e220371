"""Adoption while a plan is applied (rule R6): nothing is copied, and nothing is computed.

Once the parents of a model are filled, and before the model is computed, its existing version is
compared with the parents' rows. It is compared once more before the views move, since others may
have written meanwhile.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.savings import saved_by
from vde_dagster.app.plan.adoption import given_back, has_rows_of, written_by_others
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.entries import loaded_intervals
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import DecidedBy, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.adoption import with_snapshot
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.core.time.intervals import meets, subtract

ADOPTED: Final = "all that it reads has the rows that its existing table was computed from"


def adopt(
    services: Services, plan: Plan, change: ModelChange, version: str
) -> tuple[Plan, Evaluated] | None:
    """Let a model adopt a version that has the same rows; None if it has others.

    Returned are the plan in which it has, and what to say about it. A version is not adopted either
    if it lacks intervals that only another environment may load.

    Args:
        services: The ports.
        plan: The current plan, with the model's parents filled.
        change: The plan's change of the model, as it was planned.
        version: The existing version.
    """
    key = VersionKey(change.name, version)
    entries = services.state.ledger([key]).get(key, ())
    owner = services.state.owners([key]).get(key)
    lacks = subtract(change.missing, loaded_intervals(entries))
    if change.restated or (lacks and not may_write(plan.environment, owner)):
        return None
    if not has_rows_of(services, plan.graph, plan.snapshots, key):
        return None
    own = plan.snapshots[change.name]
    adopted = replace(own, version=version, decided_by=DecidedBy.DATA, drifted=False)
    head = services.state.heads([key]).get(key)
    wanted = tuple(each for each in entries if meets(change.missing, each.interval))
    saved = saved_by(plan.graph[change.name], wanted)
    done = Evaluated.kept(key, entries, saved, head=head, reason=ADOPTED)
    return with_snapshot(plan, adopted), done


def compared_again(services: Services, plan: Plan, planned: Plan) -> frozenset[ModelName]:
    """The models whose adopted version is compared once more before the views move.

    They adopted it while the plan was applied, or earlier if another environment writes it.

    Args:
        services: The ports.
        plan: The current plan.
        planned: The plan as it was made.
    """
    now = {name for name, each in plan.snapshots.items() if each.is_adopted}
    here = {name for name in now if not planned.snapshots[name].is_adopted}
    others = now.intersection(written_by_others(services, plan.environment, planned.snapshots))
    return frozenset(here | others)


def has_to_give_back(services: Services, plan: Plan, planned: Plan, name: ModelName) -> bool:
    """Whether a model's adopted version no longer has the rows that its parents give.

    Raises:
        Conflict: It has others, and an earlier plan adopted it, so this one has no work for it.
    """
    if has_rows_of(services, plan.graph, plan.snapshots, plan.snapshots[name].key):
        return False
    if planned.snapshots[name].is_adopted:
        raise Conflict(
            f"{name} shows a table of another environment that had the same rows as its own "
            "table, but that table has changed since this plan was made. No view was moved",
            advice=plan.again,
        )
    return True


def refuse_given_back(services: Services, plan: Plan) -> None:
    """Compare once more the adopted versions of other environments (rule R6).

    Raises:
        Refused: One of them has other rows by now.
    """
    names = given_back(services, plan.environment, plan.graph, plan.snapshots)
    if names:
        raise Refused(
            f"{', '.join(sorted(map(str, names)))} would show a table of another environment "
            "that had the same rows as its own table, but that table has changed since this "
            "plan was made. No view was moved",
            advice=f"Plan {plan.environment} again; reload a code location.",
        )
