"""Promoting what an environment shows to another one, or what it once showed to itself.

Both are plans of stored snapshots, whatever the project's files say by now. They are applied like
any other: what the versions lack is computed before a view moves (rules R9, R10 and R15).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vde_dagster.app.binding import existing, stored_graph
from vde_dagster.app.plan.catalog_look import taken_views
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.plan.resolving import bounds_of
from vde_dagster.app.promote.promotion import (
    end_promotions,
    gone_targets,
    lost_models,
    shown_environment,
)
from vde_dagster.app.promote.swapping import earlier_revisions, swap
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.remembered_looks import moved_looks
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import Bounded, ModelSnapshot, Revision
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.bounds import never_taken
from vde_dagster.core.planning.options import DEFAULT_OPTIONS, PlanOptions
from vde_dagster.core.planning.plan import ModelChange, Plan
from vde_dagster.ports.state import Environment, Lease, environment_resource


def plan_promotion(
    services: Services, source: str, target: str, options: PlanOptions = DEFAULT_OPTIONS
) -> Plan:
    """The plan that makes an environment show exactly the versions that another one shows.

    A version that data decided is compared again for its new environment, unless the source writes
    it by the definition that adopted it (rule R6). One that is bounded is never taken: the target
    gets the one in whose place it is shown. Of a preview the target's own table is computed again
    from the instant on that the preview begins at, or the target shows a preview, too, if the table
    is another environment's. Writes nothing, except to finish a promotion.

    Raises:
        Refused: They are one environment, or there is no such ``source``.
        Conflict: Another process is promoting one of them right now.
    """
    if source == target:
        raise Refused(f"{source} cannot be promoted to itself", advice="name two environments.")
    shown = shown_environment(services, source)
    end_promotions(services, target)
    owners = services.state.owners(each.key for each in shown.snapshots.values() if each.is_adopted)
    bounds = bounds_of(shown.snapshots)
    kept = {
        name: each
        for name, each in shown.snapshots.items()
        if name not in bounds and (not each.is_adopted or owners.get(each.key) == source)
    }
    previews = {name: each for name, each in bounds.items() if each.is_preview}
    plan = _plan(services, shown, target, options, given=kept, stays=previews)
    return replace(plan, changes=tuple(_not_taken(each, shown) for each in plan.changes))


def _not_taken(change: ModelChange, shown: Environment) -> ModelChange:
    """A change, with what becomes of the bounded version that the source shows."""
    source = shown.snapshots.get(change.name)
    if source is None or change.bounded is not None or change.version == change.previous_version:
        return change
    return replace(change, reasons=(*never_taken(shown.name, source), *change.reasons))


def plan_rollback(
    services: Services,
    environment: str,
    number: int | None = None,
    options: PlanOptions = DEFAULT_OPTIONS,
) -> Plan:
    """The plan that makes an environment show again what it showed at an earlier revision.

    Without a ``number`` it is the last revision that showed something else than now. Writes
    nothing, except to finish a promotion.

    Raises:
        Refused: There is no such environment or revision, or none that differs from what is shown.
        Conflict: Another process is promoting it right now.
    """
    shown = shown_environment(services, environment)
    before = _earlier(services, shown) if number is None else _at(services, shown, number)
    return _plan(services, before, environment, options, given=before.snapshots, stays={})


def _plan(
    services: Services,
    taken: Environment,
    target: str,
    options: PlanOptions,
    *,
    given: Mapping[ModelName, ModelSnapshot],
    stays: Mapping[ModelName, Bounded],
) -> Plan:
    graph = stored_graph(taken.snapshots, services.models)
    since = {name: each.since for name, each in stays.items()}
    plan = plan_environment(
        services, graph, target, options, given=given, stays=stays, effective_from=since
    )
    return replace(plan, taken=Revision(taken.name, taken.revision))


def _at(services: Services, shown: Environment, number: int) -> Environment:
    found = services.state.environment(shown.name, revision=number) if number > 0 else None
    if found is not None and found.is_forgotten:
        raise _forgotten(found)
    if found is not None and found.is_removed:
        raise Refused(
            f"revision {number} removed {shown.name}, so it showed nothing",
            advice=f"`vde history {shown.name}` lists its revisions.",
        )
    if found is None or found.promoting:
        why = "was started and never finished" if found is not None else "does not exist"
        raise Refused(
            f"revision {number} of {shown.name} {why}",
            advice=f"`vde history {shown.name}` lists its revisions; the latest is "
            f"{shown.revision}.",
        )
    return found


def _earlier(services: Services, shown: Environment) -> Environment:
    """The last revision with other snapshots, since the environment was made."""
    for found in earlier_revisions(services, shown):
        if found.is_removed:
            break
        if found.is_forgotten:
            raise _forgotten(found)
        if not found.promoting and not _is_same(found, shown):
            return found
    raise Refused(
        f"{shown.name} never showed anything else, so there is nothing to roll back to",
        advice=f"`vde history {shown.name}` lists its revisions.",
    )


def _forgotten(found: Environment) -> Refused:
    """The time of a revision is over, so its tables may have been dropped (rule R12)."""
    return Refused(
        f"revision {found.revision} of {found.name} is no longer kept: the time to roll back to "
        "it is over (`clean_up: history` in vde.yaml), and its tables may have been dropped. "
        "Nothing was changed",
        advice=f"Check out that state of the project, and plan {found.name}: missing data is "
        "computed again.",
    )


def _is_same(one: Environment, other: Environment) -> bool:
    return one.hidden == other.hidden and _identities(one) == _identities(other)


def _identities(shown: Environment) -> set[tuple[ModelName, str, str]]:
    return {(each.name, each.fingerprint.digest, each.version) for each in shown.snapshots.values()}


def give_up_promotion(services: Services, name: str) -> Environment | None:
    """Let an environment show what it showed before a promotion that was started and not finished.

    Returns:
        What it shows then; None if it showed nothing before, so that there is no such environment.

    Raises:
        Refused: No promotion of it was started, or what it showed cannot be shown again.
        Conflict: Another process is promoting it right now.
        OutcomeUnknown: An answer was lost; doing it again is safe.
    """
    existing(services, name)  # a lease of a misspelt name would leave a row
    with services.lease(environment_resource(name), "giving up a promotion") as lease:
        begun = existing(services, name)
        if not begun.promoting:
            raise Refused(
                f"{name} has no unfinished promotion, so there is nothing to give up",
                advice=f"`vde rollback {name}` rolls back to its previous revision.",
            )
        before = _last_finished(services, begun)
        graph = stored_graph((before or begun).snapshots, services.models)
        lost = _check_before(services, before, graph) if before is not None else frozenset()
        back = _begin_back(services, begun, before, graph, lease)
        swap(services, back, graph, lease, lost=lost)
    return end_promotions(services, name)


def _check_before(services: Services, before: Environment, graph: Graph) -> frozenset[ModelName]:
    """Refuse, before anything is recorded, if what was shown before cannot be shown again.

    Returns the models whose table is lost, and whose view stays.
    """
    lost = lost_models(services, before, graph)
    why = gone_targets(services, before, lost)
    if why := why or " ".join(taken_views(services, before.name, graph, hidden=before.hidden)):
        raise Refused(
            f"the promotion of {before.name} cannot be given up: {why.rstrip('.')}. Nothing was "
            "changed",
            advice=f"`vde plan {before.name}` shows what can be shown now, instead of both.",
        )
    return lost


def _begin_back(
    services: Services,
    begun: Environment,
    before: Environment | None,
    graph: Graph,
    lease: Lease,
) -> Environment:
    """Begin the promotion to what was shown before, or to nothing."""
    if before is None:
        return services.state.begin_removal(
            begun.name,
            expected_revision=begun.revision,
            plan_id=services.ids.new(),
            lease=lease,
            author=services.author,
        )
    return services.state.begin_promotion(
        begun.name,
        expected_revision=begun.revision,
        plan_id=services.ids.new(),
        snapshots=tuple(before.snapshots.values()),
        lease=lease,
        hidden=before.hidden,
        author=services.author,
        taken=Revision(before.name, before.revision),
        looks=moved_looks(services, begun, graph, before.snapshots, again={}),
    )


def _last_finished(services: Services, begun: Environment) -> Environment | None:
    """What was shown before a started promotion; None if that was nothing."""
    earlier = earlier_revisions(services, begun)
    before = next((each for each in earlier if not each.promoting), None)
    return None if before is None or before.is_removed else before
