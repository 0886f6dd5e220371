"""Giving up a promotion that was begun and cannot be finished.

It is recorded as a promotion to what the environment showed before it, whose views are there or are
put back. Nothing is compared or computed: what was shown is shown again. So one that is cut is
finished or given up as any other promotion is.
"""

from __future__ import annotations

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.leases import holder_of, leased
from vde_dagster.app.plan.taken_names import taken_views
from vde_dagster.app.promote.promotion import (
    end_promotions,
    existing,
    gone_targets,
    lost_models,
)
from vde_dagster.app.promote.swapping import earlier_revisions, swap
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.remembered_looks import moved_looks
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import Revision
from vde_dagster.core.names import ModelName
from vde_dagster.ports.state import Environment, Lease, environment_resource


def give_up_promotion(services: Services, name: str) -> Environment | None:
    """Let an environment show what it showed before a promotion that was begun and not finished.

    Returns:
        What it shows then; None if it showed nothing before, so that there is no such environment.

    Raises:
        Refused: No promotion of it was begun, or what it showed cannot be shown again.
        Conflict: Another process is promoting it right now.
        OutcomeUnknown: An answer was lost; doing it again is safe.
    """
    holder = holder_of(services.ids, "giving up a promotion")
    resource, ttl = environment_resource(name), services.lease_ttl
    existing(services, name)  # a lease of a misspelt name would leave a row
    with leased(services.state, resource, holder=holder, ttl=ttl) as lease:
        begun = existing(services, name)
        if not begun.promoting:
            raise Refused(
                f"no promotion of {name} was begun that is not finished, so there is nothing to "
                "give up",
                advice=f"`vde rollback {name}` goes back to what it showed before.",
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
            advice=f"`vde plan {before.name}` shows what can be shown now, in place of both.",
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
        looks=moved_looks(services, begun, graph, before.snapshots),
    )


def _last_finished(services: Services, begun: Environment) -> Environment | None:
    """What was shown before a begun promotion; None if that was nothing."""
    earlier = earlier_revisions(services, begun)
    before = next((each for each in earlier if not each.promoting), None)
    return None if before is None or before.is_removed else before
