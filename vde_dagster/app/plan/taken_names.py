"""Whether the views of a plan can be created where they are to be, before anything is computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from vde_dagster.app.services import Services
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName, environment_view, model_of
from vde_dagster.core.planning.plan import Plan


def taken_names(services: Services, plan: Plan) -> Iterator[str]:
    """Why views of a promotion could not be created, for people; nothing where they can.

    Another program may have taken the name of a view that the environment had.
    """
    if plan.promotes:
        yield from taken_views(services, plan.environment, plan.graph, hidden=plan.hidden)


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
            f"{environment} can be created there. Rename the model, or rename or drop what has the "
            "name."
        )
    for name, view in services.catalog.views(wanted).items():
        if (other := model_of(view.target)) not in (None, wanted[name]):
            yield (
                f"{name}, where {environment} would show {wanted[name]}, shows {other} in "
                "another environment, whose views were named by another environment_suffix_target. "
                "Plan that environment first, or rename the model."
            )
