"""Whether the views of a plan can be created where they are to be, before anything is computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from vde_dagster.app.services import Services
from vde_dagster.app.view_names import are_moving, has_view
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName, environment_view, model_of
from vde_dagster.core.planning.plan import Plan
from vde_dagster.ports.state import Environment


def taken_names(services: Services, plan: Plan, shown: Environment | None) -> Iterator[str]:
    """Why views of a promotion could not be created, for people; nothing where they can.

    Args:
        services: The ports.
        plan: The plan.
        shown: What its environment shows now: where that has a view already, it is only replaced.
    """
    if not plan.promotes:
        return
    stays = shown is not None and not shown.promoting and not are_moving(services, shown)
    known = shown.snapshots if shown is not None and stays else {}
    hidden = shown.hidden if shown is not None else ()
    there = {name for name, each in known.items() if name not in hidden and has_view(each)}
    yield from taken_views(services, plan.environment, plan.graph, hidden=there.union(plan.hidden))


def taken_views(
    services: Services, environment: str, graph: Graph, *, hidden: Collection[ModelName]
) -> Iterator[str]:
    """Why views of models that are not ``hidden`` could not be created, for people."""
    wanted = {
        environment_view(node.name, environment, services.naming): node.name
        for node in graph
        if node.model.kind.is_physical and node.name not in hidden
    }
    taken = services.catalog.taken(wanted)
    if taken:
        yield (
            f"{', '.join(sorted(map(str, taken)))} exists in the catalog already, so no view of "
            f"{environment} can be created there. Rename the model, or rename what has the "
            "name."
        )
    for name, view in services.catalog.views(wanted).items():
        if (other := model_of(view.target)) not in (None, wanted[name]):
            yield (
                f"{name}, where {environment} would show {wanted[name]}, shows {other} in "
                "another environment, whose views were named by another environment_suffix_target. "
                "Plan that environment first, or rename the model."
            )
