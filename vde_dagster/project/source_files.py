"""The texts of a project's folder: its models with all files that belong to them.

All commands read models here, so that a model means the same to each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from vde_dagster.core.errors import Place, Problem
from vde_dagster.core.model.model import Model, ModelSource
from vde_dagster.project.audits import Audits, load_audits
from vde_dagster.project.cache.models import KnownModels
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.macros.files import load_user_macros
from vde_dagster.project.macros.user import UserMacro
from vde_dagster.project.model_files import ModelInvalid, read_model, seed_path
from vde_dagster.project.python_models import modules_of
from vde_dagster.project.settings import texts_of
from vde_dagster.project.signals import Signals, load_signals
from vde_dagster.project.text_files import NotReadable, project_text
from vde_dagster.project.unread import Unread, declared_names


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
