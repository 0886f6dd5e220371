"""`vde format` and `vde create-external-models`: files of a project that commands write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.printing import Note, Printed
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from vde_dagster.app.project_files.external_models import Declaration
    from vde_dagster.app.project_files.formatting import Formatted
    from vde_dagster.project.sources.external_entries import ColumnChange


@options.command("format")
@click.argument(
    "files", type=click.Path(exists=True, path_type=Path), nargs=-1, metavar="[FILES...]"
)
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change.")
def format_command(call: Call, *, files: tuple[Path, ...], check: bool, diff: bool) -> None:
    """Format the SQL models in FILES (files or folders; all of the project by default).

    It changes white space only, in the style of sqlfmt: a MODEL block or a statement is on one line
    if it fits. Statements that sqlfmt cannot lay out stay as they are.

    Before a file is written, the new text is parsed again: it must declare the same model, with the
    same fingerprint. If it does not, the file is reported and left unchanged. If a file cannot be
    read as a model, nothing is written.

    For example:

        vde format --check
    """
    from vde_dagster.app.project_files.formatting import format_files, write_formatted
    from vde_dagster.project.configuration import read_configuration

    configuration = read_configuration(call.folder)
    done = format_files(configuration, [path.resolve() for path in files] or None)
    writes = not (check or diff)
    if writes:
        write_formatted(configuration.folder, done)
    facts = [_format_facts(each, diff=diff) for each in done]
    lines = _format_lines(done, call.folder, writes=writes, diff=diff)
    call.answer({"written": writes, "files": facts}, lines)
    left = [f"{each.path} ({', '.join(each.differs)})" for each in done if each.differs]
    if left:
        raise Refused(
            f"left unchanged, since formatting would change these models: "
            f"{'; '.join(left)}. This is a bug in the formatter; please report it."
        )
    if check and any(each.changes for each in done):
        raise Refused("not formatted", advice="run the command without --check.")


def _format_lines(
    done: Sequence[Formatted], folder: Path, *, writes: bool, diff: bool
) -> Iterator[Printed]:
    what = "formatted" if writes else "would change"
    changing = [each for each in done if each.changes]
    for each in changing:
        yield each.diff().removesuffix("\n") if diff else f"{what} {folder / each.path}"
    said = f"{len(changing)} {what}, {len(done) - len(changing)} unchanged."
    yield Note(said if done else "There is no SQL model to format.")


def _format_facts(each: Formatted, *, diff: bool) -> dict[str, object]:
    facts = {"path": each.path.as_posix(), "changes": each.changes, "differs": each.differs}
    return facts | ({"diff": each.diff()} if diff else {})


@options.command("create-external-models")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if the file would change.")
def create_external_models_command(call: Call, *, check: bool) -> None:
    """Write the columns and types of every source that models read to external_models.yaml.

    They come from the catalog's metadata, without Spark and Java. New sources are added, with the
    comments of their columns, and columns that differ are corrected. Everything else in the file is
    unchanged, even sources that no model reads. It works before the sources are declared.

    Exit codes: 0 if the file is right, 1 if models read a table that neither the catalog nor the
    file describes; with --check, 1 if the file would change.

    For example:

        vde create-external-models --check
    """
    from vde_dagster.app.project_files.external_models import declare_sources, write_declaration
    from vde_dagster.project.loading import sources_read
    from vde_dagster.project.sources.declared_sources import EXTERNAL_MODELS

    configuration = call.project.configuration
    read = sources_read(configuration)
    path = configuration.folder / EXTERNAL_MODELS
    found = declare_sources(call.services.catalog, path, read, name=call.catalog)
    if not check:
        write_declaration(found)
    document = {
        "file": found.path.name,
        "changed": found.changes,
        "written": found.changes and not check,
        "added": found.refreshed.added,
        "updated": found.refreshed.updated,
        "missing": found.survey.missing,
        "untyped": found.survey.untyped,
        "unread": found.unread,
    }
    call.answer(document, _declared_lines(found, check=check))
    if found.undeclared:
        raise Refused(
            f"models read {', '.join(map(str, found.undeclared))}, which neither the catalog "
            f"nor {path.name} describes",
            advice=f"Load it, correct its name in the models, or declare it in {path.name} by "
            "hand.",
        )
    if check and found.changes:
        raise Refused(
            f"{path.name} differs from the catalog", advice="run the command without --check."
        )


def _declared_lines(declaration: Declaration, *, check: bool) -> Iterator[str]:
    refreshed, survey = declaration.refreshed, declaration.survey
    name = declaration.path.name
    for each in refreshed.added:
        yield f"+ {each}: {len(survey.tables[each].columns)} columns"
    for each, changes in refreshed.updated.items():
        yield f"~ {each}: {', '.join(map(_change, changes)) or 'the order of its columns'}"
    for each in survey.missing:
        if each in refreshed.declared:
            yield f"  {each}: not in the catalog; its entry is unchanged"
    for each, columns in survey.untyped.items():
        yield f"  {each}: Spark has no name for the types of {', '.join(columns)}; left unchanged"
    for each in declaration.unread:
        yield f"  {each}: read by no model; its entry is unchanged"
    is_written = "would change" if check else "is written"
    yield f"{name} {is_written if declaration.changes else 'stays as it is'}."


def _change(change: ColumnChange) -> str:
    if change.old is None:
        return f"+ {change.column} {change.new}"
    if change.new is None:
        return f"- {change.column}"
    return f"{change.column} {change.old} -> {change.new}"
