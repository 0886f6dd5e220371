"""`vde create-external-models`: the sources' columns, from the catalog into the project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import print_json
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from vde_dagster.app.project_files.external_models import Declaration
    from vde_dagster.project.sources.external_entries import ColumnChange


@click.command("create-external-models")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if the file would change.")
@options.shared
def command(*, check: bool, output: str, folder: Path) -> None:
    """Write the columns and types of every source that models read to external_models.yaml.

    They come from the catalog's metadata. New sources are added and columns that differ are
    corrected. Everything else in the file stays as it is, also sources that no model reads.
    """
    from vde_dagster.app.project_files.external_models import declare_sources, write_declaration
    from vde_dagster.composition import VdeProject
    from vde_dagster.project.loading import sources_read
    from vde_dagster.project.sources.declared_sources import EXTERNAL_MODELS

    project = VdeProject.load(folder)
    read = sources_read(project.configuration)
    path = project.configuration.folder / EXTERNAL_MODELS
    own = project.configuration.catalog.name
    declaration = declare_sources(project.services.catalog, path, read, name=own)
    if not check:
        write_declaration(declaration)
    if output == "json":
        print_json(_document(declaration, check=check))
    else:
        click.echo("\n".join(_lines(declaration, check=check)))
    _refuse(declaration, check=check)


def _refuse(declaration: Declaration, *, check: bool) -> None:
    name = declaration.path.name
    if declaration.undeclared:
        raise Refused(
            f"models read {', '.join(map(str, declaration.undeclared))}, which neither the catalog "
            f"nor {name} describes",
            advice=f"Load it, correct its name in the models, or declare it in {name} by hand.",
        )
    if check and declaration.changes:
        raise Refused(f"{name} differs from the catalog", advice="run the command without --check.")


def _lines(declaration: Declaration, *, check: bool) -> Iterator[str]:
    refreshed, survey = declaration.refreshed, declaration.survey
    name = declaration.path.name
    for each in refreshed.added:
        yield f"+ {each}: {len(survey.tables[each].columns)} columns"
    for each, changes in refreshed.updated.items():
        yield f"~ {each}: {', '.join(map(_change, changes)) or 'the order of its columns'}"
    for each in survey.missing:
        if each in refreshed.declared:
            yield f"  {each}: not in the catalog; its entry stays as it is"
    for each, columns in survey.untyped.items():
        yield f"  {each}: Spark has no name for the types of {', '.join(columns)}; left as it is"
    for each in declaration.unread:
        yield f"  {each}: read by no model; its entry stays as it is"
    if not declaration.changes:
        yield f"{name} stays as it is."
    else:
        yield f"{name} would change." if check else f"{name} is written."


def _change(change: ColumnChange) -> str:
    if change.old is None:
        return f"+ {change.column} {change.new}"
    if change.new is None:
        return f"- {change.column}"
    return f"{change.column} {change.old} -> {change.new}"


def _document(declaration: Declaration, *, check: bool) -> dict[str, object]:
    refreshed, survey = declaration.refreshed, declaration.survey
    return {
        "file": declaration.path.name,
        "changed": declaration.changes,
        "written": declaration.changes and not check,
        "added": refreshed.added,
        "updated": refreshed.updated,
        "missing": survey.missing,
        "untyped": survey.untyped,
        "unread": declaration.unread,
    }
