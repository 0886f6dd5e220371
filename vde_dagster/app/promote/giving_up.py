"""Giving up a promotion that was begun and cannot be finished.

It is recorded as a promotion to what the environment showed before it, whose views are there or are
put back. Nothing is compared or computed: what was shown is shown again. So one that is cut is
finished or given up as any other promotion is.
"""

from __future__ import annotations

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.leases import holder_of, leased
from vde_dagster.app.promote.promotion import end_promotions, lost_models, unknown
from vde_dagster.app.promote.swapping import swap
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.snapshot import Revision
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
    with leased(services.state, resource, holder=holder, ttl=ttl) as lease:
        begun = services.state.environment(name)
        if begun is None:
            raise unknown(services, name)
        if not begun.promoting:
            raise Refused(
                f"no promotion of {name} was begun that is not finished, so there is nothing to "
                "give up",
                advice=f"`vde rollback {name}` goes back to what it showed before.",
            )
        back = _begin_back(services, begun, lease)
        graph = stored_graph(back.snapshots, services.models)
        lost = lost_models(services, back, graph)
        swap(services, back, graph, lease, lost=lost)
    return end_promotions(services, name)


def _begin_back(services: Services, begun: Environment, lease: Lease) -> Environment:
    """Begin the promotion to what was shown before, or to nothing."""
    before = _last_finished(services, begun)
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
    )


def _last_finished(services: Services, begun: Environment) -> Environment | None:
    """What was shown before a begun promotion; None if that was nothing."""
    for number in range(begun.revision - 1, 0, -1):
        before = services.state.environment(begun.name, revision=number)
        if before is not None and not before.promoting:
            return None if before.is_removed else before
    return None
