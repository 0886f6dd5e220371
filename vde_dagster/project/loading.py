"""A project's folder, read whole: every file is looked at before any problem is told."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.graph import Graph, build_graph
from vde_dagster.core.model import Model, ModelSource
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.project.column_properties import column_type
from vde_dagster.project.configuration import Configuration, Defaults, find_configuration
from vde_dagster.project.model_files import external_source, read_model, seed_path
from vde_dagster.project.problems import WARNINGS
from vde_dagster.project.settings import texts_of
from vde_dagster.project.signals import load_signals
from vde_dagster.project.user_macros import load_user_macros
from vde_dagster.project.view_names import ambiguous_names
from vde_dagster.project.yaml_document import Entry, Reader

EXTERNAL_MODELS = "external_models.yaml"
_LOG: Final = logging.getLogger(WARNINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFiles:
    """What the files of a project say, checked."""

    configuration: Configuration
    graph: Graph
    warnings: tuple[Problem, ...] = ()


def load_files(configuration: Configuration) -> ProjectFiles:
    """Read all models of a project. What they warn of is logged, too.

    Raises:
        ProjectInvalid: Something is wrong in any file, or the models do not fit together. The
            graph is checked as far as the files that can be read allow.
    """
    return _load(configuration, [])


def load_project(folder: Path) -> ProjectFiles:
    """Read a project's folder whole: ``vde.yaml`` and all models, with all problems at once.

    Raises:
        ProjectInvalid: The folder is no project, or something is wrong in any of its files.
    """
    configuration, problems = find_configuration(folder)
    return _load(configuration, list(problems))


def _load(configuration: Configuration, problems: list[Problem]) -> ProjectFiles:
    unread = _Unread()
    macros, gates = (_python_files(configuration.folder, each, problems) for each in _PYTHON)
    functions, found = load_user_macros(macros)
    signals = load_signals(gates)
    problems += (*found, *signals.problems)
    models: list[Model] = []
    for source in _sources(configuration, {**macros, **gates}, problems, unread):
        try:
            models.append(read_model(source, functions=functions, signals=signals))
        except ProjectInvalid as error:
            problems += error.problems
            unread.add(source.path, source.text)
    enabled = [model for model in models if model.enabled]
    disabled = {model.name for model in models if not model.enabled}
    problems += ambiguous_names(enabled, configuration.naming)
    try:
        graph = build_graph(enabled, unread=unread, disabled=disabled)
    except ProjectInvalid as error:
        raise ProjectInvalid([*problems, *error.problems]) from None
    if problems:
        raise ProjectInvalid(problems)
    warnings = tuple(each for model in enabled for each in model.warnings)
    for warning in warnings:
        _LOG.warning("%s", warning)
    return ProjectFiles(configuration=configuration, graph=graph, warnings=warnings)


_PYTHON: Final = ("macros", "signals")


def _python_files(folder: Path, kind: str, problems: list[Problem]) -> dict[str, str]:
    """The files of macros or signals, by their path in the project."""
    found: dict[str, str] = {}
    for path in sorted((folder / kind).rglob("*.py")):
        if path.name.startswith("_"):
            continue
        relative = path.relative_to(folder)
        text = _text(path, relative, problems)
        if text is not None:
            found[relative.as_posix()] = text
    return found


def _text(path: Path, relative: Path, problems: list[Problem]) -> str | None:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        message = f"the file cannot be read as UTF-8 text: {error}"
        advice = "Save it as a text file in UTF-8."
        problems.append(Problem(place=Place(path=relative), message=message, advice=advice))
        return None


class _Unread:
    """Which models may stand in the files that could not be read, as well as can be told."""

    def __init__(self) -> None:
        self.names: set[ModelName] = set()
        self.every = False

    def add(self, path: Path, text: str) -> None:
        """A file: the name that its path gives, and those that its text seems to declare."""
        parts = path.with_suffix("").parts[1:]
        for written in (".".join(parts[-2:]), *_DECLARED.findall(text)):
            with contextlib.suppress(InvalidName):
                self.names.add(ModelName.parse(written))

    def __contains__(self, name: object) -> bool:
        return self.every or name in self.names


_DECLARED: Final = re.compile(
    r"""(?:\bname\s+|\bmodel\s*\(\s*|\bname\s*=\s*)["'`]?([\w.]+)""", re.IGNORECASE
)


def _sources(
    configuration: Configuration,
    python: Mapping[str, str],
    problems: list[Problem],
    unread: _Unread,
) -> Iterator[ModelSource]:
    folder, defaults = configuration.folder, configuration.defaults
    yield from _externals(folder, defaults, problems, unread)
    settings = texts_of(defaults, configuration.variables)
    models = folder / "models"
    for path in sorted((*models.rglob("*.sql"), *models.rglob("*.py"))):
        if path.name.startswith("_"):
            continue
        relative = path.relative_to(folder)
        text = _text(path, relative, problems)
        if text is None:
            unread.add(relative, "")
            continue
        source = ModelSource(path=relative, text=text, defaults=settings)
        attached = {**python, **_attachments(source, folder, problems)}
        yield replace(source, attachments=attached)


def _attachments(source: ModelSource, folder: Path, problems: list[Problem]) -> dict[str, str]:
    """The file that a SEED model names, where it lies in the project, links followed."""
    written = seed_path(source)
    if written is None:
        return {}
    try:
        target = (folder / source.path.parent / written).resolve()
        if not target.is_relative_to(folder) or not target.is_file():
            return {}
        return {written: target.read_text("utf-8-sig")}
    except UnicodeDecodeError as error:
        message = f"the seed {written!r} cannot be read as UTF-8 text: {error}"
    except (OSError, ValueError, RuntimeError) as error:
        message = f"the seed {written!r} cannot be read: {error}"
    advice = "Save it as a CSV file in UTF-8."
    problems.append(Problem(place=Place(path=source.path), message=message, advice=advice))
    return {written: ""}


def _externals(
    folder: Path, defaults: Defaults, problems: list[Problem], unread: _Unread
) -> Iterator[ModelSource]:
    path = folder / EXTERNAL_MODELS
    if not path.is_file():
        return
    reader = Reader()
    root = reader.file(path, Path(EXTERNAL_MODELS))
    if root is None:
        unread.every = True
    elif root.value is not None or root.children:
        message = "this is a list of sources, each with `name` and `columns`"
        reader.add(root.place, message, "Start each source with `- name: schema.name`.")
        unread.every = True
    for entry in root.items if root is not None else ():
        source = _external(entry, reader, defaults, unread)
        if source is not None:
            yield source
    problems += reader.problems


def _external(
    entry: Entry, reader: Reader, defaults: Defaults, unread: _Unread
) -> ModelSource | None:
    reader.known(entry, ("columns", "description", "name"), "a source")
    written = entry.children.get("name")
    if written is None:
        advice = "Add a line like `name: raw.orders`."
        reader.add(entry.place, "the source has no name", advice)
        return None
    try:
        name = ModelName.parse(reader.text(written, "unnamed"))
    except InvalidName as error:
        reader.add(written.place, str(error), "Write it like `name: raw.orders`.")
        return None
    columns = reader.mapping(entry.children.get("columns"))
    if not columns:
        reader.add(entry.place, f"the source {name} has no columns", "List them with their types.")
    types = {column: column_type(written) for column, written in columns.items()}
    wrong = [column for column, kind in types.items() if kind is None]
    for column in wrong:
        place = entry.children["columns"].children[column].place
        message = f"{columns[column]!r} is no type of a column"
        reader.add(place, message, "Write a Spark type, such as bigint, string or timestamp.")
    if wrong or not columns:
        unread.names.add(name)
        return None
    known = {column: kind for column, kind in types.items() if kind is not None}
    return external_source(name, known, place=entry.place, defaults=defaults)
