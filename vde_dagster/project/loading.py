"""A project's folder, read whole: every file is looked at before any problem is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.graph import Graph, build_graph
from vde_dagster.core.model import Model, ModelSource
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.project.configuration import Configuration, Defaults
from vde_dagster.project.model_files import external_source, read_model
from vde_dagster.project.yaml_document import Entry, Reader

EXTERNAL_MODELS = "external_models.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFiles:
    """What the files of a project say, checked."""

    configuration: Configuration
    graph: Graph


def load_files(configuration: Configuration) -> ProjectFiles:
    """Read all models of a project.

    Raises:
        ProjectInvalid: Something is wrong in any file, or the models do not fit together. The
            graph is checked as far as the files that can be read allow.
    """
    problems: list[Problem] = []
    models: list[Model] = []
    for source in _sources(configuration, problems):
        try:
            models.append(read_model(source))
        except ProjectInvalid as error:
            problems += error.problems
    unread = bool(problems)
    try:
        graph = build_graph(models)
    except ProjectInvalid as error:
        # A file that could not be read may be the parent that others miss: tell its problem only.
        missed = "neither a model of this project"
        problems += [each for each in error.problems if not (unread and missed in each.message)]
        raise ProjectInvalid(problems or error.problems) from None
    if problems:
        raise ProjectInvalid(problems)
    return ProjectFiles(configuration=configuration, graph=graph)


def _sources(configuration: Configuration, problems: list[Problem]) -> Iterator[ModelSource]:
    folder, defaults = configuration.folder, configuration.defaults
    yield from _externals(folder, defaults, problems)
    models = folder / "models"
    for path in sorted((*models.rglob("*.sql"), *models.rglob("*.py"))):
        if path.name.startswith("_"):
            continue
        relative = path.relative_to(folder)
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            message = f"the file cannot be read as UTF-8 text: {error}"
            problems.append(Problem(place=Place(path=relative), message=message))
            continue
        yield ModelSource(
            path=relative,
            text=text,
            defaults=defaults.as_texts(),
            attachments=_attachments(path, text, folder, problems),
        )


def _attachments(path: Path, text: str, folder: Path, problems: list[Problem]) -> dict[str, str]:
    """The seed files that a model's text names, inside the project."""
    if path.suffix != ".sql" or "seed" not in text.lower():
        return {}
    found: dict[str, str] = {}
    for word in text.replace('"', "'").split("'")[1::2]:
        if not word.lower().endswith(".csv"):
            continue
        target = (path.parent / word).resolve()
        if not target.is_relative_to(folder) or not target.is_file():
            continue
        try:
            found[word] = target.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            place = Place(path=target.relative_to(folder))
            message = f"the seed cannot be read as UTF-8 text: {error}"
            problems.append(Problem(place=place, message=message))
    return found


def _externals(folder: Path, defaults: Defaults, problems: list[Problem]) -> Iterator[ModelSource]:
    path = folder / EXTERNAL_MODELS
    if not path.is_file():
        return
    reader = Reader()
    root = reader.document(path.read_text("utf-8"), Path(EXTERNAL_MODELS))
    for entry in root.items if root is not None else ():
        source = _external(entry, reader, defaults)
        if source is not None:
            yield source
    problems += reader.problems


def _external(entry: Entry, reader: Reader, defaults: Defaults) -> ModelSource | None:
    reader.known(entry, ("columns", "description", "name"), "a source")
    try:
        name = ModelName.parse(reader.text(entry.children.get("name"), ""))
    except InvalidName as error:
        reader.add(entry.place, str(error))
        return None
    columns = reader.mapping(entry.children.get("columns"))
    if not columns:
        reader.add(entry.place, f"the source {name} has no columns", "List them with their types.")
    return external_source(name, columns, place=entry.place, defaults=defaults)
