"""Moving the views of an environment as a promotion that was started says.

Doing the same again changes nothing. Where views move one by one, what was started may go on after
another process has taken over: numbers keep it from changing what that one shows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from vde_dagster.app.publish.shown_views import numbered, settle, views_of
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import former_views, with_views
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName, environment_view, model_of
from vde_dagster.ports.state import Environment, Lease


def swap(
    services: Services,
    environment: Environment,
    graph: Graph,
    lease: Lease,
    *,
    before: Environment | None = None,
    lost: Collection[ModelName] = (),
) -> Environment:
    """Swap the views of a started promotion, and finish it; ``before`` was shown, if it is known.

    The views of ``lost`` models, whose table cannot be read or is not as recorded, stay if they
    show the right version already.

    Where views do not move at once, the swap gets its number under the lease, before anything is
    read: a process that lost its lease gets none, and what one sent before that comes too late.
    A higher number than that is of a swap that the holder of the lease may overtake: it moved a
    view outside of a promotion, or was numbered by a state that is lost.

    Raises:
        LeaseLost: The lease was taken over: its new holder finishes the promotion.
    """
    try:
        numbered(services, partial(_move, services, environment, graph, before, lost=lost), lease)
        return services.state.finish_promotion(environment.name, plan_id=environment.plan_id)
    finally:
        settle(services, environment.name, environment)


def staying_views(
    services: Services,
    environment: str,
    snapshots: Mapping[ModelName, ModelSnapshot],
    lost: Collection[ModelName],
) -> frozenset[ModelName]:
    """Those of lost models whose view in an environment shows these snapshots' versions already."""
    views = {environment_view(name, environment, services.naming): name for name in lost}
    shown = services.catalog.views(views) if views else {}
    return frozenset(
        views[view]
        for view, each in shown.items()
        if each.target == snapshots[views[view]].key.table
    )


def _move(
    services: Services,
    environment: Environment,
    graph: Graph,
    before: Environment | None,
    number: int,
    *,
    lost: Collection[ModelName],
) -> None:
    """Let the views show what an environment is to show, and drop those of former models.

    A model whose version is not filled yet has no view until it is: what its view shows are the
    rows of another version, and no check would find it when the version is filled.

    Where they do not move at once, all are replaced if the promotion before was left unfinished, so
    that each has a higher number than requests of that, which may still be on their way.
    """
    removed = _shown_before(services, environment, before)
    kept = with_views(environment)
    stay = staying_views(services, environment.name, environment.snapshots, lost) & kept
    names = environment.snapshots.keys() - stay
    views = views_of(services, environment, names, services.naming, graph=graph)
    filled = kept & {*stay, *(model_of(each.target) for each in views)}
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
    """The models that may have a view from promotions since the last finished one."""
    names: set[ModelName] = set()
    for before in earlier_revisions(services, environment, known=known):
        names |= before.snapshots.keys()
        if not before.promoting:
            break
    return names


def earlier_revisions(
    services: Services, environment: Environment, *, known: Environment | None = None
) -> Iterator[Environment]:
    """The revisions of an environment before this one, the newest first; ``known`` was read."""
    for number in range(environment.revision - 1, 0, -1):
        found = known if known is not None and known.revision == number else None
        found = found or services.state.environment(environment.name, revision=number)
        if found is not None:
            yield found


def kept_revisions(services: Services, environment: Environment) -> Iterator[Environment]:
    """The revisions that an environment can be rolled back to, the newest first (rule R12)."""
    for found in earlier_revisions(services, environment):
        if found.is_removed or found.is_forgotten:
            return
        if not found.promoting:
            yield found
