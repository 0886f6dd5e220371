"""The models of a project with other values of its variables, for one unit test."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

from vde_dagster.core.errors import Problem
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.graph.render_model import inlined_models
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.model_files import read_model
from vde_dagster.project.settings import texts_of
from vde_dagster.project.source_files import SharedFiles, read_shared_files


def with_variables(
    configuration: Configuration,
    graph: Graph,
    name: ModelName,
    variables: Mapping[str, object],
    *,
    given: Container[ModelName],
) -> Graph:
    """A model, with those that it reads, as if the project's variables had other values.

    The model and those that are inlined in its query are read again; of all others only the columns
    matter.

    Args:
        configuration: The project's settings.
        graph: Its models.
        name: The model.
        variables: The values that replace those of ``vde.yaml``, or are added to them.
        given: Models and sources whose rows are given: they are never inlined.

    Raises:
        ProjectInvalid: A model cannot be read with these values, or does not fit its parents.
    """
    problems: list[Problem] = []
    shared = read_shared_files(configuration, problems)
    inlined = inlined_models(graph, graph[name], views=True, given=given)
    every = {**configuration.variables, **variables}
    again = {
        each.name: _again(each.model, configuration, every, shared)
        for each in (graph[name], *inlined)
    }
    read = {name, *(parent for each in again.values() for parent in each.parents)}
    return build_graph([again.get(each.name, each.model) for each in graph.above(read)])


def _again(
    model: Model, configuration: Configuration, variables: Mapping[str, object], shared: SharedFiles
) -> Model:
    source = replace(
        model.source,
        defaults=texts_of(configuration.defaults, variables),
        attachments={**shared.texts, **model.source.attachments},
    )
    return read_model(
        source, functions=shared.functions, signals=shared.signals, audits=shared.audits
    )
