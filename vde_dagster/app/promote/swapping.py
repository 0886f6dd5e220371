"""Moving the views of an environment as a promotion that was begun says.

Doing the same again changes nothing. Where views move one by one, what was begun may go on after
another process has taken over: numbers keep it from changing what that one shows.
"""

from __future__ import annotations

from functools import partial

from vde_dagster.app.publish.shown_views import settle, views_of
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import former_views, has_view
from vde_dagster.app.view_numbers import numbered
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName, model_of
from vde_dagster.ports.state import Environment, Lease


def swap(
    services: Services,
    environment: Environment,
    graph: Graph,
    lease: Lease,
    *,
    before: Environment | None = None,
) -> Environment:
    """Swap the views of a begun promotion, and finish it; ``before`` was shown, if it is known.

    Where views do not move at once, the swap gets its number under the lease, before anything is
    read: a process that lost its lease gets none, and what one sent before that comes too late.
    A higher number than that is of a swap that the holder of the lease may overtake: it moved a
    view outside of a promotion, or was numbered by a state that is lost.

    Raises:
        LeaseLost: The lease was taken over, so whoever did finishes the promotion.
    """
    try:
        numbered(services, partial(_move, services, environment, graph, before), lease)
        return services.state.finish_promotion(environment.name, plan_id=environment.plan_id)
    finally:
        settle(services, environment.name, environment)


def _move(
    services: Services,
    environment: Environment,
    graph: Graph,
    before: Environment | None,
    number: int,
) -> None:
    """Let the views show what an environment is to show, and drop those of former models.

    A model whose version is not filled yet has no view until it is: what its view shows are the
    rows of another version, and nobody would find it when the version is filled.

    Where they do not move at once, all are replaced if the promotion before was left unfinished, so
    that each has a higher number than requests of that, which may still be on their way.
    """
    removed = _shown_before(services, environment, before)
    kept = {
        name
        for name, each in environment.snapshots.items()
        if name not in environment.hidden and has_view(each)
    }
    views = views_of(services, environment, environment.snapshots, services.naming, graph=graph)
    filled = kept & {model_of(each.target) for each in views}
    former = former_views(
        services, environment.name, kept=filled, removed=(removed | kept) - filled
    )
    again = bool(number) and _follows_unfinished(services, environment)
    services.catalog.swap_views(views, former, number=number, again=again)


def _follows_unfinished(services: Services, environment: Environment) -> bool:
    """Whether the promotion before was never finished: requests of it may still be on their way."""
    before = services.state.environment(environment.name, revision=environment.revision - 1)
    return before is not None and before.promoting


def _shown_before(
    services: Services, environment: Environment, known: Environment | None
) -> set[ModelName]:
    """The models that may have a view from promotions since the last finished one.

    ``known`` is one of these, if it was read before.
    """
    names: set[ModelName] = set()
    for revision in range(environment.revision - 1, 0, -1):
        before = known if known is not None and known.revision == revision else None
        before = before or services.state.environment(environment.name, revision=revision)
        names |= before.snapshots.keys() if before is not None else set()
        if before is not None and not before.promoting:
            break
    return names
