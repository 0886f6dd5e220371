"""The graph that an environment will really show when only some models' changes are planned.

Models that are not selected stay as the environment shows them, so a selected one is bound to the
columns that they have there, and not to those of the files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from vde_dagster.core.errors import Problem, ProjectInvalid
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.listing import some
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName

_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedGraph:
    """The selected models as the files have them, all others as they are shown.

    ``left_out`` are models that were edited, added or removed and are not selected.
    """

    graph: Graph
    left_out: tuple[ModelName, ...]


def mixed_graph(
    project: Graph, shown: Graph, selected: Collection[ModelName], *, environment: str
) -> MixedGraph:
    """Put the graph of a selection together.

    Models that are not selected keep their texts. Where they read a selected one they are planned
    as modified indirectly, like all that reads something that changes.

    Args:
        project: The files.
        shown: What the environment shows.
        selected: The models whose changes are planned.
        environment: Its name, for people.

    Raises:
        ProjectInvalid: A selected model does not fit what is shown; all problems at once.
    """
    left_out = _left_out(project, shown, selected)
    if not left_out:
        return MixedGraph(graph=project, left_out=())
    kept = {node.name: node.model for node in shown if node.name not in selected}
    models = kept | {node.name: node.model for node in project if node.name in selected}
    problems = list(_unselected_parents(models, project, environment))
    if problems:
        raise ProjectInvalid(problems)
    try:
        graph = build_graph(models.values(), are_stored=True)
    except ProjectInvalid as error:
        raise ProjectInvalid(
            [_explained(each, models, left_out, environment) for each in error.problems]
        ) from None
    return MixedGraph(graph=graph, left_out=left_out)


def _left_out(
    project: Graph, shown: Graph, selected: Collection[ModelName]
) -> tuple[ModelName, ...]:
    """The models with a change of their own; what is downstream follows from what is shown."""
    return tuple(
        sorted(
            name
            for name in project.nodes.keys() | shown.nodes.keys()
            if name not in selected and not _is_same(project, shown, name)
        )
    )


def _is_same(project: Graph, shown: Graph, name: ModelName) -> bool:
    if name not in project or name not in shown:
        return False
    now, then = project[name], shown[name]
    if now.fingerprint == then.fingerprint:
        return True
    # Its own text counts: the query may be bound to columns that a parent has in the files only.
    return _own(now.model) == _own(then.model)


def _own(model: Model) -> tuple[object, ...]:
    if model.body is None:  # the text of a source has the line on which it is declared
        return (model.columns,)
    return (model.source.text, model.source.defaults, model.source.attachments)


def _unselected_parents(
    models: Mapping[ModelName, Model], project: Graph, environment: str
) -> Iterator[Problem]:
    """Reads of models that are missing: new and not selected, or removed by the selection."""
    for model in models.values():
        for parent in model.parents:
            if parent in models:
                continue
            if parent in project:
                yield Problem(
                    place=model.place,
                    message=f"{model.name} reads {parent}, which is new and not selected, so "
                    f"{environment} would not have it",
                    advice=f"Also select it: `--select-model +{model.name}`.",
                )
            else:
                yield Problem(
                    place=model.place,
                    message=f"{model.name}, which is not selected and stays as {environment} shows "
                    f"it, reads {parent}, which is removed",
                    advice=f"Select both: `--select-model {parent}+`.",
                )


def _explained(
    problem: Problem,
    models: Mapping[ModelName, Model],
    left_out: tuple[ModelName, ...],
    environment: str,
) -> Problem:
    """A problem of a mixed graph, which is in no project, with the selection that caused it."""
    why = (
        f"Models that are not selected stay as {environment} shows them "
        f"({some(left_out, _NAMED)}): also select the upstream models, with `+` in front of the "
        "model's name."
    )
    return replace(problem, advice=f"{problem.advice} {why}".strip())
