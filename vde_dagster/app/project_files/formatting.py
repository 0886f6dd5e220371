"""Formatting model files. A new text is only used if it declares exactly the same model."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from vde_dagster.core.errors import Problem, ProjectInvalid, Refused
from vde_dagster.core.model.model import Model, ModelSource, Query
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.file_writing import read_as_written, replace_text
from vde_dagster.project.formatting.models import format_model
from vde_dagster.project.loading import SharedFiles, model_sources, read_shared_files
from vde_dagster.project.model_files import read_model
from vde_dagster.project.unread import Unread

_BOM = "\ufeff"
_PLACED: Final = ("body", "source", "place", "warnings", "unsupported")
"""Parts of a model that have lines of its file in them."""


Formatter = Callable[..., str]
"""Formats the text of a model's file, as `format_model` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatted:
    """A model file's text as it is, and as it would be.

    ``path`` is relative to the project. ``differs`` names in what the formatted text's model would
    differ; such a file is left alone, since that is a fault of the formatter.
    """

    path: Path
    before: str
    after: str
    differs: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the file would differ, and is to be written."""
        return self.before != self.after and not self.differs

    def diff(self) -> str:
        """What would change, as a unified diff; empty if nothing would."""
        if not self.changes:
            return ""
        name = self.path.as_posix()
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(
                self.before.splitlines(keepends=True),
                self.after.splitlines(keepends=True),
                f"a/{name}",
                f"b/{name}",
            )
        )


def format_files(
    configuration: Configuration,
    wanted: Collection[Path] | None,
    formatter: Formatter = format_model,
) -> tuple[Formatted, ...]:
    """The SQL models of a project, formatted; nothing is written.

    Args:
        configuration: The project.
        wanted: Files and folders of the project, as absolute paths; None for all of it.
        formatter: What formats a text.

    Raises:
        Refused: A wanted path is not a file of a SQL model of this project.
        ProjectInvalid: A file cannot be read as a model; all problems of all files at once.
    """
    problems: list[Problem] = []
    python = read_shared_files(configuration, problems)
    every = model_sources(configuration, python, problems, Unread())
    sources = [each for each in every if each.path.suffix == ".sql"]
    if wanted is not None:
        sources = _chosen(configuration.folder, sources, wanted)
    done: list[Formatted] = []
    for source in sources:
        try:
            done.append(_formatted(configuration, source, python, formatter))
        except ProjectInvalid as error:
            problems += error.problems
    if problems:
        raise ProjectInvalid(problems)
    return tuple(done)


def write_formatted(folder: Path, done: Collection[Formatted]) -> None:
    """Write what changes, each file whole.

    Raises:
        Conflict: One of the files was changed meanwhile; it stays as it is.
        Refused: A file cannot be written.
    """
    for each in done:
        if each.changes:
            replace_text(folder / each.path, each.before, each.after)


def _chosen(
    folder: Path, sources: Collection[ModelSource], wanted: Collection[Path]
) -> list[ModelSource]:
    chosen: dict[Path, ModelSource] = {}
    for path in wanted:
        found = [each for each in sources if (folder / each.path).is_relative_to(path)]
        if not found:
            raise Refused(
                f"{path} is not a SQL model of this project",
                advice=f"Models are the .sql files in {folder / 'models'} whose names do not start "
                "with an underscore.",
            )
        chosen |= {each.path: each for each in found}
    return [chosen[path] for path in sorted(chosen)]


def _formatted(
    configuration: Configuration,
    found: ModelSource,
    python: SharedFiles,
    formatter: Formatter,
) -> Formatted:
    before = read_as_written(configuration.folder / found.path) or ""
    # What is compared with the file when it is written is what was formatted.
    plain = before.removeprefix(_BOM).replace("\r\n", "\n").replace("\r", "\n")
    source = replace(found, text=plain)
    model = read_model(source, functions=python.functions, signals=python.signals)
    text = formatter(plain, path=source.path, dialect=configuration.defaults.dialect)
    newline = "\r\n" if "\r\n" in before else "\n"
    changed = replace(source, text=text)
    return Formatted(
        path=source.path,
        before=before,
        after=(_BOM if before.startswith(_BOM) else "") + text.replace("\n", newline),
        differs=tuple(_differences(model, changed, python)) if text != plain else (),
    )


def _differences(model: Model, formatted: ModelSource, python: SharedFiles) -> Iterator[str]:
    """In what the model of a formatted text differs from the one before."""
    try:
        again = read_model(formatted, functions=python.functions, signals=python.signals)
    except ProjectInvalid as error:
        yield f"it could no longer be read ({error.problems[0].message})"
        return
    for each in fields(Model):
        same = getattr(model, each.name) == getattr(again, each.name)
        if each.name not in _PLACED and not same:
            yield each.name
    if _dialect(model) != _dialect(again):
        yield "dialect"
    before, after = _statements(model), _statements(again)
    if before != after:
        yield "its statements"
    elif _comments(model) - _comments(again) or _placed(before) != _placed(after):
        yield "its comments"


def _statements(model: Model) -> list[exp.Expr]:
    query = model.body
    return [*query.before, query.expression, *query.after] if isinstance(query, Query) else []


def _placed(statements: Collection[exp.Expr]) -> list[list[str] | None]:
    """The comments of each part of statements, in order."""
    return [node.comments or None for tree in statements for node in tree.walk()]


def _comments(model: Model) -> set[str]:
    """Every comment of a file, also those that are not part of the model, and every hint."""
    tokens = Dialect.get_or_raise(_dialect(model) or None).tokenize(model.source.text)
    return {comment.strip() for token in tokens for comment in token.comments}


def _dialect(model: Model) -> str:
    return model.body.dialect if isinstance(model.body, Query) else ""
