"""Reading a project's folder whole: all files are read before any problem is reported."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

from vde_dagster.core.audits.binding import wrong_for
from vde_dagster.core.audits.bounds import unaudited_rows
from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.graph.checks import place_in, unpinned_reads
from vde_dagster.core.graph.graph import Graph, resolve, too_deep
from vde_dagster.core.graph.losses import losses
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.core.variables import Variable
from vde_dagster.project.audits import Audits, load_audits
from vde_dagster.project.cache.models import FILE_NAME as KEPT
from vde_dagster.project.cache.models import KnownModels, ModelCache, known_models
from vde_dagster.project.configuration import Configuration, find_configuration
from vde_dagster.project.from_sqlmesh import ignored_files
from vde_dagster.project.garbage_collection import looking_at_new_values_only
from vde_dagster.project.graph_checks import ambiguous_names, unused_patterns, wrong_sessions
from vde_dagster.project.macros.files import load_user_macros
from vde_dagster.project.macros.user import UserMacro
from vde_dagster.project.model_files import ModelInvalid, read_model, seed_path
from vde_dagster.project.problems import WARNINGS
from vde_dagster.project.project_file import FILE_NAME, HOME
from vde_dagster.project.python_models import modules_of
from vde_dagster.project.settings import texts_of
from vde_dagster.project.signals import Signals, load_signals
from vde_dagster.project.sources.declared_sources import declared_sources
from vde_dagster.project.text_files import NotReadable, project_text
from vde_dagster.project.unread import Unread, declared_names

_LOG: Final = logging.getLogger(WARNINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFiles:
    """What the files of a project say, checked."""

    configuration: Configuration
    graph: Graph
    warnings: tuple[Problem, ...] = ()


def models_kept_in(folder: Path, *, private: frozenset[str] = frozenset()) -> ModelCache | None:
    """The cache of models in a project's folder; ``private`` are variables that it never keeps.

    None if the folder is not a project, or the environment has ``VDE_CACHE=off``.
    """
    if os.environ.get(Variable.CACHE, "").lower() == "off" or not (folder / FILE_NAME).is_file():
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
        ProjectInvalid: The folder is not a project, or something is wrong in any of its files.
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
        ProjectInvalid: The folder is not a project, or something is wrong in any of its files.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFiles:
    """The macros, signals and audits of a project, and the texts that define them."""

    texts: Mapping[str, str]
    functions: Mapping[str, UserMacro | Problem]
    signals: Signals
    audits: Audits


def read_shared_files(configuration: Configuration, problems: list[Problem]) -> SharedFiles:
    """Run the files of macros and of signals, and read those of audits.

    What is wrong in them is added to ``problems``.
    """
    folder = configuration.folder
    broken: dict[str, Problem] = {}
    macros, gates, queries = (
        _texts(each, suffix, folder, problems, broken) for each, suffix in _SHARED
    )
    functions, found = load_user_macros(macros)
    signals = load_signals(gates)
    audits = load_audits(queries, dialect=configuration.defaults.dialect)
    problems += (*found, *signals.problems, *audits.problems)
    return SharedFiles(
        texts={**macros, **gates, **queries},
        functions={**broken, **functions},
        signals=replace(signals, unread=signals.unread.union(broken)),
        audits=replace(audits, unread=audits.unread.union(broken)),
    )


_SHARED: Final = (("macros", ".py"), ("signals", ".py"), ("audits", ".sql"))


def _texts(
    inner: str, suffix: str, folder: Path, problems: list[Problem], broken: dict[str, Problem]
) -> dict[str, str]:
    """The files of one folder, by their path in the project.

    The names that are declared where a file cannot be read are added to ``broken``.
    """
    found: dict[str, str] = {}
    for path in sorted((folder / inner).rglob(f"*{suffix}")):
        if path.name.startswith("_"):
            continue
        relative = path.relative_to(folder)
        try:
            found[relative.as_posix()] = project_text(path)
        except NotReadable as error:
            problems.append(_unreadable(relative, error))
            broken |= dict.fromkeys(declared_names(error.seen, relative), problems[-1])
    return found


def _unreadable(relative: Path, error: NotReadable) -> Problem:
    return Problem(place=Place(path=relative), message=str(error), advice=error.advice)


def model_sources(
    configuration: Configuration, shared: SharedFiles, problems: list[Problem], unread: Unread
) -> Iterator[ModelSource]:
    """Every model's text with its settings, macros, signals, audits and seed.

    Files that cannot be read are reported in ``problems``, and noted in ``unread``.
    """
    folder, models = configuration.folder, configuration.folder / "models"
    settings = texts_of(configuration.defaults, configuration.variables)
    for path in sorted((*models.rglob("*.sql"), *models.rglob("*.py"))):
        if path.name.startswith("_"):
            continue
        relative = path.relative_to(folder)
        try:
            text = project_text(path)
        except NotReadable as error:
            problems.append(_unreadable(relative, error))
            unread.add(relative, error.seen)
            continue
        source = ModelSource(path=relative, text=text, defaults=settings)
        attached = _attachments(source, folder, problems)
        if attached is None:
            unread.add(relative, text)
            continue
        yield replace(source, attachments={**shared.texts, **attached})


def _attachments(
    source: ModelSource, folder: Path, problems: list[Problem]
) -> dict[str, str] | None:
    """The modules of the project that a Python model imports, or the file that a SEED model names.

    A seed's file must be in the project, links followed. None if a file cannot be read, which is a
    problem.
    """
    if source.path.suffix == ".py":
        return modules_of(source, folder)
    written = seed_path(source)
    if written is None:
        return {}
    try:
        target = (folder / source.path.parent / written).resolve()
        if not target.is_relative_to(folder) or not target.is_file():
            return {}
        return {written: target.read_bytes().decode("utf-8-sig")}  # line ends in cells stay
    except UnicodeDecodeError as error:
        message = f"the seed {written!r} cannot be read as UTF-8 text: {error}"
    except (OSError, ValueError, RuntimeError) as error:
        message = f"the seed {written!r} cannot be read: {error}"
    advice = "Save it as a CSV file in UTF-8."
    problems.append(Problem(place=Place(path=source.path), message=message, advice=advice))
    return None


def read_models(
    sources: Iterable[ModelSource],
    shared: SharedFiles,
    problems: list[Problem],
    unread: Unread,
    known: KnownModels | None = None,
) -> list[Model]:
    """The models of texts; those that cannot be read are reported, and noted in ``unread``.

    Those in ``known`` are not read again.
    """

    def read(source: ModelSource) -> Model:
        return read_model(
            source, functions=shared.functions, signals=shared.signals, audits=shared.audits
        )

    models: list[Model] = []
    for source in sources:
        try:
            model = known.model(source, read) if known is not None else read(source)
        except ModelInvalid as error:
            problems += error.problems
            unread.add(source.path, source.text)
            unread.flawed += [error.model] if error.model is not None else []
        else:
            models.append(model)
    return models


def sources_read(configuration: Configuration) -> tuple[ModelName, ...]:
    """The sources that models read, sorted.

    A project whose sources are not declared yet cannot be loaded; its models can be read.

    Raises:
        ProjectInvalid: A file cannot be read, so that what its models read is not known.
    """
    problems: list[Problem] = []
    unread = Unread()
    python = read_shared_files(configuration, problems)
    texts = model_sources(configuration, python, problems, unread)
    models = read_models(texts, python, problems, unread)
    if problems:
        raise ProjectInvalid(problems)
    enabled = [model for model in models if model.enabled]
    written = {model.name for model in enabled}
    return tuple(sorted({parent for model in enabled for parent in model.parents} - written))
