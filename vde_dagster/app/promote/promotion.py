"""Promotion: an environment's views are swapped to other versions (docs/inside/architecture.md).

A promotion is recorded before the views move and again after. A process that finds one started and
not finished swaps the same views again, which changes nothing if they were swapped already. So the
record is the journal of a catalog whose views move one by one: what is left of it after a crash are
the views that do not show yet what it says.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final

from vde_dagster.app.binding import bind_plan, existing, stored_graph
from vde_dagster.app.evaluate.evolution import complete_tables, describe_tables
from vde_dagster.app.plan.catalog_look import look_at_versions, lost_for, taken_names
from vde_dagster.app.plan.plan_checks import Held, gap_problems, gaps_after, held_now, lost_problems
from vde_dagster.app.plan.planned_again import refuse_older_rows, to_compare
from vde_dagster.app.promote.swapping import staying_views, swap
from vde_dagster.app.publish.shown_views import show
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.remembered_looks import moved_looks
from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnWidened
from vde_dagster.core.ledger.stored_types import is_nested
from vde_dagster.core.names import (
    PRODUCTION,
    ModelName,
)
from vde_dagster.core.planning.plan import Plan
from vde_dagster.ports.state import Environment, Lease, environment_resource

_LOG: Final = logging.getLogger(__name__)


def promote(services: Services, plan: Plan, lease: Lease) -> Environment:
    """Make an environment show a plan's snapshots.

    Before that, kept tables get the columns that they lack and their models' comments.

    Raises:
        Refused: A view's name is taken, its table was dropped, or production would
            show less than it does; nothing was changed.
        Conflict: The environment was changed since the plan was made, or got rows that the plan
            would hide; or a kept table is being written.
        LeaseLost: The lease on the environment is not held any more.
    """
    before = services.state.environment(plan.environment)
    taken = [*taken_names(services, plan)]
    if taken:
        raise Refused("\n".join([*taken, "Nothing was changed."]))
    held = held_now(services, plan, before)
    lost = _check_targets(services, plan, held)
    lacking = [*gap_problems(plan, gaps_after(plan, held))]
    if lacking:
        raise Refused("\n".join([*lacking, "Nothing was changed."]))
    looks = None
    if before is not None:
        refuse_older_rows(services, plan, before)
        again = to_compare(services, plan, before)
        looks = moved_looks(services, before, plan.graph, plan.snapshots, again=again)
    binding = bind_plan(plan)
    complete_tables(services, binding, plan.changes)
    describe_tables(services, binding, plan, lost=lost)
    environment = services.state.begin_promotion(
        plan.environment,
        expected_revision=plan.base_revision,
        plan_id=plan.plan_id,
        snapshots=tuple(plan.snapshots[node.name] for node in plan.graph),
        lease=lease,
        hidden=plan.hidden,
        author=services.author,
        taken=plan.taken,
        looks=looks,
    )
    shown = swap(services, environment, plan.graph, lease, before=before, lost=lost)
    _show_added(services, plan)
    return shown


def remove_environment(services: Services, name: str) -> None:
    """Let an environment show nothing any more, and own nothing: its views go (rule R9).

    It is recorded as a promotion to nothing. So one that was cut is finished as a promotion is, by
    this process or by the next plan of the environment.

    Raises:
        Refused: It is production, or there is no such environment; nothing was changed.
        Conflict: A process holds the environment.
        OutcomeUnknown: An answer was lost; doing it again is safe.
    """
    if name == PRODUCTION:
        raise Refused(
            f"{PRODUCTION} is production and cannot be removed",
            advice="To remove its models, plan it without them.",
        )
    existing(services, name)  # a lease of a misspelt name would leave a row
    with _removing(services, name) as lease:
        _remove(services, existing(services, name), lease)


def remove_unused(services: Services, name: str, *, used: datetime) -> bool:
    """Remove an environment unless it was planned, promoted or removed since.

    Args:
        services: The ports.
        name: The environment.
        used: When it was planned or promoted last, as the caller knows it.

    Returns:
        Whether it was removed.

    Raises:
        Conflict: A process holds the environment.
        OutcomeUnknown: An answer was lost; doing it again is safe.
    """
    with _removing(services, name) as lease:
        shown = services.state.environment(name)
        if shown is None or services.state.used().get(name) != used:
            return False
        _remove(services, shown, lease)
        return True


def _removing(services: Services, name: str) -> AbstractContextManager[Lease]:
    return services.lease(environment_resource(name), f"the removal of {name}")


def _remove(services: Services, shown: Environment, lease: Lease) -> None:
    if not shown.is_removed:
        shown = services.state.begin_removal(
            shown.name,
            expected_revision=shown.revision,
            plan_id=services.ids.new(),
            lease=lease,
            author=services.author,
        )
    swap(services, shown, stored_graph(shown.snapshots, services.models), lease)


def finish_promotions(services: Services, environment: str) -> bool:
    """Finish a promotion that an earlier process began. Returns whether it finished one.

    One that cannot be finished is left: the views stay, and the next plan promotes over it.

    Raises:
        Conflict: Another process is promoting right now.
    """
    shown = services.state.environment(environment)
    return shown is not None and shown.promoting and not _finish(services, environment)


def _finish(services: Services, environment: str) -> str:
    """Finish a promotion that was started; returns why it cannot be, for people, else nothing."""
    with services.lease(environment_resource(environment), "a recovery") as lease:
        shown = services.state.environment(environment)
        if shown is None or not shown.promoting:
            return ""
        graph = stored_graph(shown.snapshots, services.models)
        lost = lost_models(services, shown, graph)
        if why := gone_targets(services, shown, lost):
            return why
        try:
            swap(services, shown, graph, lease, lost=lost)
        except Refused as refused:
            return refused.message
        return ""


def end_promotions(services: Services, environment: str) -> Environment | None:
    """Finish a promotion that an earlier process began, for a caller that plans nothing itself.

    Returns:
        What the environment shows then; None if there is none.

    Raises:
        Refused: It cannot be finished: it would show a dropped table or view, say, or another view
        has
            the name of a view.
        Conflict: Another process is promoting right now.
    """
    shown = services.state.environment(environment)
    if shown is None or not shown.promoting:
        return shown
    why = _finish(services, environment)
    if why:
        raise Refused(
            f"a promotion of {environment} was started and cannot be finished: {why}",
            advice=f"`vde rollback {environment} --give-up` gives it up, and {environment} shows "
            f"the same as before. Or remove what blocks it, or plan {environment} again.",
        )
    return services.state.environment(environment)


def shown_environment(services: Services, name: str) -> Environment:
    """What an environment shows, once a promotion that an earlier process began is finished.

    Raises:
        Refused: There is no such environment, or its promotion would show a dropped table or view.
        Conflict: Another process is promoting right now.
    """
    return end_promotions(services, name) or existing(services, name)


def lost_models(services: Services, environment: Environment, graph: Graph) -> frozenset[ModelName]:
    """The models that an environment's views are to show, and whose table or view is lost."""
    hidden = environment.hidden
    shown = {name: each for name, each in environment.snapshots.items() if name not in hidden}
    return look_at_versions(services, graph, shown).lost


def gone_targets(services: Services, shown: Environment, lost: Collection[ModelName]) -> str:
    """Why an environment's views cannot be moved, for people; empty if nothing they need is lost.

    A view that shows a lost table already stays as it is.
    """
    gone = set(lost) - staying_views(services, shown.name, shown.snapshots, lost)
    tables = sorted(str(shown.snapshots[name].key.table) for name in gone)
    return (
        (
            "tables or views that it would show were dropped or changed outside vde: "
            f"{', '.join(tables)}"
        )
        if gone
        else ""
    )


def _show_added(services: Services, plan: Plan) -> None:
    """Show added columns and fields of tables in other environments whose models return them, too.

    An environment that kept such a table before its owner did could not show them yet (rules R9 and
    R11). The promotion is done already, so it does not fail if their views cannot be changed.
    """
    grown = {
        plan.snapshots[change.name].key
        for change in plan.changes
        for each in change.schema_changes
        if isinstance(each, ColumnAdded)
        or (isinstance(each, ColumnWidened) and is_nested(each.after))
    }
    owners = services.state.owners(grown)
    ours = {key for key in grown if owners.get(key) == plan.environment}
    others = {*services.state.environments()} - {plan.environment} if ours else ()
    for environment in sorted(others):
        shown = services.state.environment(environment)
        every = shown.snapshots.values() if shown is not None else ()
        names = {each.name for each in every if each.key in ours}
        what = f"a promotion of {plan.environment}"
        try:
            if names:
                with services.lease(environment_resource(environment), what) as lease:
                    show(services, environment, names, lease)
        except (Conflict, OutcomeUnknown, Refused) as error:
            _LOG.warning(
                "views of %s do not show the columns that their tables gained: %s",
                environment,
                error,
            )


def _check_targets(services: Services, plan: Plan, held: Held) -> frozenset[ModelName]:
    """Refuse, before anything is recorded, if a view's table was dropped or changed.

    Returns the models that the plan leaves as they are, since their table is lost.
    """
    look = look_at_versions(services, plan.graph, plan.snapshots, held.loaded)
    known = {each.name for each in plan.lost_tables}
    stay = known & {*staying_views(services, plan.environment, plan.snapshots, known), *plan.hidden}
    lost = lost_for(services, plan.environment, look)
    if unexpected := [each for each in lost if each.name not in stay]:
        raise Refused("\n".join([*lost_problems(plan, unexpected), "No view was moved."]))
    if gone := sorted(look.lost - stay):
        tables = ", ".join(str(plan.snapshots[name].key.table) for name in gone)
        raise Refused(
            f"{tables} is missing: it was dropped outside vde since this plan was made. "
            "No view was moved",
            advice=plan.again,
        )
    return frozenset(stay)
