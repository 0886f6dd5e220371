"""The texts of a project's folder: its models with all files that belong to them.

All commands read models here, so that a model means the same to each of them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Place, Problem, ProjectInvalid
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.core.names import InvalidName, ModelName
from vde_dagster.project.audits import Audits, load_audits
from vde_dagster.project.cache.models import KnownModels
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.macros.files import load_user_macros
from vde_dagster.project.macros.user import UserMacro
from vde_dagster.project.model_files import read_model, seed_path
from vde_dagster.project.python_models import modules_of
from vde_dagster.project.settings import texts_of
from vde_dagster.project.signals import Signals, load_signals
from vde_dagster.project.text_files import NotReadable, project_text


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFiles:
    """The macros, signals and audits of a project, and the texts that define them."""

    texts: Mapping[str, str]
    functions: Mapping[str, UserMacro]
    signals: Signals
    audits: Audits


def read_shared_files(configuration: Configuration, problems: list[Problem]) -> SharedFiles:
    """Run the files of macros and of signals, and read those of audits.

    What is wrong in them is added to ``problems``.
    """
    folder = configuration.folder
    macros, gates = (_texts(folder / each, folder, ".py", problems) for each in _PYTHON)
    queries = _texts(folder / "audits", folder, ".sql", problems)
    functions, found = load_user_macros(macros)
    signals = load_signals(gates)
    audits = load_audits(queries, dialect=configuration.defaults.dialect)
    problems += (*found, *signals.problems, *audits.problems)
    return SharedFiles(
        texts={**macros, **gates, **queries}, functions=functions, signals=signals, audits=audits
    )


_PYTHON: Final = ("macros", "signals")


def _texts(inner: Path, folder: Path, suffix: str, problems: list[Problem]) -> dict[str, str]:
    """The files of one folder, by their path in the project."""
    found: dict[str, str] = {}
    for path in sorted(inner.rglob(f"*{suffix}")):
        if path.name.startswith("_"):
            continue
        relative = path.relative_to(folder)
        text = _text(path, relative, problems)
        if text is not None:
            found[relative.as_posix()] = text
    return found


def _text(path: Path, relative: Path, problems: list[Problem]) -> str | None:
    try:
        return project_text(path)
    except NotReadable as error:
        place = Place(path=relative)
        problems.append(Problem(place=place, message=str(error), advice=error.advice))
        return None


class Unread:
    """Which models may be in the files that could not be read, as far as is known."""

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
        text = _text(path, relative, problems)
        if text is None:
            unread.add(relative, "")
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
        return {written: target.read_text("utf-8-sig")}
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
        except ProjectInvalid as error:
            problems += error.problems
            unread.add(source.path, source.text)
        else:
            models.append(model)
    return models
