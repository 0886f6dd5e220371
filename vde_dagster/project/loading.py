"""Reading a project's folder whole: all files are read before any problem is reported."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

from vde_dagster.core.audits.binding import wrong_for
from vde_dagster.core.audits.bounds import unaudited_rows
from vde_dagster.core.errors import Problem, ProjectInvalid
from vde_dagster.core.graph.checks import place_in, unpinned_reads
from vde_dagster.core.graph.graph import Graph, resolve, too_deep
from vde_dagster.core.graph.losses import losses
from vde_dagster.project.cache.models import FILE_NAME as KEPT
from vde_dagster.project.cache.models import KnownModels, ModelCache, known_models
from vde_dagster.project.configuration import Configuration, find_configuration
from vde_dagster.project.from_sqlmesh import ignored_files
from vde_dagster.project.garbage_collection import looking_at_new_values_only
from vde_dagster.project.graph_checks import ambiguous_names, unused_patterns, wrong_sessions
from vde_dagster.project.problems import WARNINGS
from vde_dagster.project.project_file import FILE_NAME, HOME
from vde_dagster.project.source_files import model_sources, read_models, read_shared_files
from vde_dagster.project.sources.declared_sources import declared_sources
from vde_dagster.project.unread import Unread

_LOG: Final = logging.getLogger(WARNINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFiles:
    """What the files of a project say, checked."""

    configuration: Configuration
    graph: Graph
    warnings: tuple[Problem, ...] = ()


def models_kept_in(folder: Path, *, private: frozenset[str] = frozenset()) -> ModelCache | None:
    """The cache of models in a project's folder; ``private`` are variables that it never keeps.

    None if the folder is no project, or the environment has ``VDE_CACHE=off``.
    """
    if os.environ.get("VDE_CACHE", "").lower() == "off" or not (folder / FILE_NAME).is_file():
        return None
    return ModelCache(path=folder.resolve() / HOME / KEPT, private=private)


def load_files(configuration: Configuration, cache: ModelCache | None = None) -> ProjectFiles:
    """Read all models of a project, and log their warnings.

    Args:
        configuration: What ``vde.yaml`` says.
        cache: Models as they were read before; without it all are read.

    Raises:
        ProjectInvalid: Something is wrong in any file, or the models do not fit together. The
            graph is checked as far as the files that can be read allow.
    """
    with known_models(_without_private(cache, configuration)) as known:
        return _with_warnings_logged(configuration, lambda: _load(configuration, [], known=known))


def load_project(folder: Path, settings: Mapping[str, object] | None = None) -> ProjectFiles:
    """Read a project's folder whole: ``vde.yaml`` and all models, with all problems at once.

    Args:
        folder: The folder.
        settings: What code gives besides ``vde.yaml``.

    Raises:
        ProjectInvalid: The folder is no project, or something is wrong in any of its files.
    """
    configuration, problems = find_configuration(folder, settings)
    return _with_warnings_logged(configuration, lambda: _load(configuration, list(problems)))


def load_for_comparison(folder: Path, cache: ModelCache | None = None) -> ProjectFiles:
    """Read a project's folder as `load_project` does, to compare it with another.

    Warnings are not logged.

    Args:
        folder: The folder.
        cache: Models as they were read before, here or elsewhere; without it all are read.

    Raises:
        ProjectInvalid: The folder is no project, or something is wrong in any of its files.
    """
    configuration, problems = find_configuration(folder)
    with known_models(_without_private(cache, configuration)) as known:
        return _load(configuration, list(problems), known=known)


def _without_private(cache: ModelCache | None, configuration: Configuration) -> ModelCache | None:
    """A cache that keeps no model with a value from outside of this project."""
    private = configuration.outside_variables
    return None if cache is None else replace(cache, private=cache.private | private)


def _with_warnings_logged(
    configuration: Configuration, load: Callable[[], ProjectFiles]
) -> ProjectFiles:
    """What loads, after its warnings were logged; those about ignored files in any case."""
    for warning in ignored_files(configuration.folder):
        _LOG.warning("%s", warning)
    files = load()
    for warning in files.warnings:
        _LOG.warning("%s", warning)
    return files


@looking_at_new_values_only()
def _load(
    configuration: Configuration,
    problems: list[Problem],
    *,
    known: KnownModels | None = None,
) -> ProjectFiles:
    """Read all files: whatever they alone show to be wrong, every command refuses."""
    unread = Unread()
    python = read_shared_files(configuration, problems)
    if problems:
        known = None  # what fails on this machine may work elsewhere
    sources = chain(
        declared_sources(configuration, problems, unread),
        model_sources(configuration, python, problems, unread),
    )
    models = read_models(sources, python, problems, unread, known)
    enabled = [model for model in models if model.enabled]
    flawed = [model for model in unread.flawed if model.enabled]
    disabled = {model.name for model in (*models, *unread.flawed) if not model.enabled}
    problems += [each for model in (*enabled, *flawed) for each in model.unsupported]
    problems += ambiguous_names(enabled, configuration.naming)
    resolved = resolve(enabled, flawed=flawed, unread=unread, disabled=disabled, known=known)
    graph = resolved.graph
    problems += [*resolved.problems, *_wrong_audits(graph)]
    certain = Graph({node.name: node for node in graph if node.name not in resolved.undeclared})
    problems += [*_losses(certain, known), *wrong_sessions(certain), *_unpinned_reads(certain)]
    if problems:
        raise ProjectInvalid(dict.fromkeys(problems))
    patterns, catalog = configuration.patterns, configuration.catalog.name
    warnings = (
        *(each for model in enabled for each in model.warnings),
        *unused_patterns(patterns, enabled, catalog),
    )
    return ProjectFiles(configuration=configuration, graph=graph, warnings=warnings)


def _wrong_audits(graph: Graph) -> list[Problem]:
    """What is wrong with calls of audits, given the models' columns and their parents' kinds."""
    return [
        Problem(place=call.place or node.model.place, message=wrong.message, advice=wrong.advice)
        for node in graph
        if node.model.audits
        for call, wrong in wrong_for(graph, node)
    ]


def _losses(graph: Graph, known: KnownModels | None) -> Iterator[Problem]:
    """Time bounds that would leave out rows of an interval."""
    for node in graph:
        try:
            found = losses(graph, node) if known is None else known.losses(graph, node)
        except RecursionError:
            yield too_deep(node.model)
            continue
        for each in found:
            place = place_in(node.model, each.line)
            yield Problem(place=place, message=each.message, advice=each.advice)
    for node in graph:
        yield from unaudited_rows(graph, node)


def _unpinned_reads(graph: Graph) -> Iterator[Problem]:
    """Python models that read views, whose rows cannot be pinned."""
    for node in graph:
        kinds = {parent: graph[parent].model.kind for parent in node.model.parents}
        why = unpinned_reads(node.model, kinds)
        if why is not None:
            yield Problem(place=node.model.place, message=why.message, advice=why.advice)
