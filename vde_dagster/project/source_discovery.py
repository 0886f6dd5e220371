"""Which tables a project's models read and none of them writes, declared or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.model import Model, ModelSource
from vde_dagster.core.names import ModelName
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.model_files import read_model, seed_path
from vde_dagster.project.settings import texts_of


def sources_read(configuration: Configuration) -> tuple[ModelName, ...]:
    """The sources that models read, sorted.

    A project whose sources are not declared yet cannot be loaded; its models can be read.

    Raises:
        ProjectInvalid: A model cannot be read, so that what it reads is not known.
    """
    models: list[Model] = []
    problems: list[Problem] = []
    for source in model_files(configuration, problems):
        try:
            models.append(read_model(source))
        except ProjectInvalid as error:
            problems += error.problems
    if problems:
        raise ProjectInvalid(problems)
    enabled = [model for model in models if model.enabled]
    written = {model.name for model in enabled}
    return tuple(sorted({parent for model in enabled for parent in model.parents} - written))


def model_files(configuration: Configuration, problems: list[Problem]) -> Iterator[ModelSource]:
    """Every model's text with the macros that it may use, and with a seed's rows."""
    folder = configuration.folder
    macros = {
        path.relative_to(folder).as_posix(): text
        for path, text in _texts(folder / "macros", ("*.py",), folder, problems)
    }
    for path, text in _texts(folder / "models", ("*.sql", "*.py"), folder, problems):
        source = ModelSource(
            path=path.relative_to(folder),
            text=text,
            defaults=texts_of(configuration.defaults, configuration.variables),
            attachments=macros,
        )
        rows = seed_path(source)
        if rows is not None and (path.parent / rows).is_file():
            content = (path.parent / rows).read_text("utf-8-sig", errors="replace")
            source = replace(source, attachments={**macros, rows: content})
        yield source


def _texts(
    inside: Path, patterns: tuple[str, ...], folder: Path, problems: list[Problem]
) -> Iterator[tuple[Path, str]]:
    for path in sorted(path for pattern in patterns for path in inside.rglob(pattern)):
        if path.name.startswith("_"):
            continue
        try:
            yield path, path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            place = Place(path=path.relative_to(folder))
            message = f"the file cannot be read as UTF-8 text: {error}"
            problems.append(Problem(place=place, message=message, advice="Save it in UTF-8."))
