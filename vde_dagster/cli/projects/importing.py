"""`vde import`: a project of another tool, written as one of ours."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.projects.examples import project_name
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import ProjectInvalid, Refused
from vde_dagster.core.listing import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vde_dagster.core.errors import Problem
    from vde_dagster.project.importing.draft import Draft

_SCRIPTS: Final = {"sqlmesh": "sqlmesh_dump.py", "dbt": "dbt_forms.py"}
_NAMES: Final = {"sqlmesh": "SQLMesh", "dbt": "dbt"}
_LAST_LINES: Final = 15
_TO: Final = click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="The new project's folder, which must be empty or missing.",
)


@click.group("import")
def import_command() -> None:
    """Convert a project of another tool to plain SQL and Python models.

    IMPORT.md in the new folder lists everything that was converted, that differs, or that has no
    counterpart, and what is left for you to edit, with files and lines. The last part is printed,
    too. The exit code is 0 even if something is left to edit.
    """


@import_command.command("sqlmesh", short_help="Import a SQLMesh project, as SQLMesh reads it.")
@click.argument(
    "folders", type=click.Path(path_type=Path, file_okay=False), nargs=-1, metavar="[DIR...]"
)
@_TO
@click.option(
    "--python",
    "interpreter",
    default=sys.executable,
    metavar="FILE",
    help="A Python whose environment has SQLMesh; by default the one that runs this.",
)
@click.option(
    "--from",
    "written",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The script's output from another machine, instead of DIR.",
)
@options.WITH_DEBUG
def sqlmesh_command(
    *, folders: Sequence[Path], target: Path, interpreter: str, written: Path | None
) -> None:
    """Convert the SQLMesh project in DIR; several folders can form one project.

    SQLMesh reads the project: it fills in macros, Jinja and blueprints. SQLGlot translates other
    dialects to Spark's. Nothing is written to DIR, and SQLMesh is not needed afterwards. If both
    tools cannot run on one machine, run the script of `vde import script sqlmesh` there.

    For example:

        vde import sqlmesh old_shop --to shop
    """
    from vde_dagster.project.importing.sqlmesh_project import sqlmesh_draft

    if bool(folders) == (written is not None):
        raise click.UsageError("give either folders of a SQLMesh project, or --from FILE.")
    _refuse_taken(target)
    document = _read(written) if written else _dumped(folders, interpreter)
    today = datetime.now(UTC).date()
    _write(sqlmesh_draft(document, name=project_name(target), today=today), target)


@import_command.command("dbt", short_help="Import a dbt project, from the files that dbt wrote.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@_TO
@click.option(
    "--incremental",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The manifest in which is_incremental() is true, or its folder.",
)
@click.option(
    "--python",
    "interpreter",
    metavar="FILE",
    help="A Python whose environment has dbt: FOLDER is then the project itself.",
)
@click.option("--profiles-dir", metavar="DIR", help="dbt's own; FOLDER if it has profiles.yml.")
@click.option("--target", "profile", metavar="NAME", help="dbt's own, with --python.")
@options.WITH_DEBUG
def dbt_command(
    *,
    folder: Path,
    target: Path,
    incremental: Path | None,
    interpreter: str | None,
    profiles_dir: str | None,
    profile: str | None,
) -> None:
    """Convert the dbt project of a target folder.

    FOLDER has manifest.json with compiled code, and catalog.json; dbt itself is not needed. FOLDER
    can also be the output of the script of `vde import script dbt`, which knows what
    is_incremental() adds. With --python, FOLDER is the dbt project itself, and dbt reads it with
    that script.

    Nothing is written to the dbt project, and the warehouse is not queried. SQLGlot translates the
    SQL to Spark's dialect.

    For example:

        vde import dbt target --to shop
    """
    from vde_dagster.project.importing.dbt_project import dbt_draft
    from vde_dagster.project.importing.dbt_target import read_target

    _refuse_taken(target)
    if interpreter is None:
        found = read_target(folder, incremental)
    else:
        own = str(folder) if (folder / "profiles.yml").is_file() else None
        given = {"--profiles-dir": profiles_dir or own, "--target": profile}
        more = [part for key, value in given.items() if value for part in (key, value)]
        with TemporaryDirectory() as written:
            _run_script(interpreter, "dbt", [written, "--project-dir", str(folder), *more])
            found = read_target(Path(written), catalog=folder / "target" / "catalog.json")
    _write(dbt_draft(found, name=project_name(target)), target)


@import_command.command("script", short_help="Print the script that reads a project elsewhere.")
@click.argument("tool", type=click.Choice(sorted(_SCRIPTS)))
@options.WITH_DEBUG
def script_command(*, tool: str) -> None:
    """Print the script that reads a project of TOOL where TOOL is installed.

    Use it if both tools cannot run on one machine. For SQLMesh, run `python dump.py DIR >
    project.json` there and `vde import sqlmesh --from project.json --to NEW` here. For dbt, run
    `python forms.py OUT --project-dir DIR` there and `vde import dbt OUT --to NEW` here.

    For example:

        vde import script sqlmesh > dump.py
    """
    click.echo(_script(tool), nl=False)


def _script(tool: str) -> str:
    return (files("vde_dagster.project.importing") / _SCRIPTS[tool]).read_text("utf-8")


def _refuse_taken(target: Path) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Refused(
            f"{target} is not empty, and nothing was written", advice="Name a new folder."
        )


def _dumped(folders: Sequence[Path], interpreter: str) -> dict[str, Any]:
    """What SQLMesh knows of a project, read by the script in the environment where it is."""
    return _document(_run_script(interpreter, "sqlmesh", list(map(str, folders))), "the script")


def _run_script(interpreter: str, tool: str, arguments: Sequence[str]) -> str:
    """What the script of a tool printed where the tool is."""
    command = [interpreter, "-", *arguments]
    script, name = _script(tool), _NAMES[tool]
    try:
        done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Refused(f"{interpreter} cannot be run: {error.strerror}") from error
    if re.search(rf"No module named '({tool}|agate)[.']", done.stderr):
        raise Refused(
            f"{name} is not installed in the environment of {interpreter}",
            advice="Name its Python with --python. If both tools cannot run on one machine, "
            f"*Coming from {name}* in the documentation lists the next steps.",
        )
    if done.returncode != 0:
        last = "\n".join((done.stderr + done.stdout).strip().splitlines()[-_LAST_LINES:])
        raise Refused(f"{name} cannot load this project:\n{last}", advice="Fix that first.")
    return done.stdout


def _read(path: Path) -> dict[str, Any]:
    try:
        return _document(path.read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path} cannot be read: {error}") from error


def _document(text: str, what: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Refused(f"{what} did not write JSON: {error}") from error
    return found if isinstance(found, dict) else {}


def _write(draft: Draft, target: Path) -> None:
    """Write a draft, load it as any command would, and write the report of both."""
    from vde_dagster.lakehouse.spark.function_names import spark_functions
    from vde_dagster.project.importing.draft import Group
    from vde_dagster.project.importing.functions import with_unknown_functions
    from vde_dagster.project.importing.writing import REPORT, report, write_draft
    from vde_dagster.project.loading import load_for_comparison

    draft = with_unknown_functions(draft, spark_functions())
    write_draft(draft, target)
    problems: Sequence[Problem] = ()
    warnings: Sequence[Problem] = ()
    try:
        warnings = load_for_comparison(target).warnings
    except ProjectInvalid as error:
        problems = error.problems
    (target / REPORT).write_text(report(draft, problems, warnings), "utf-8")
    edits = [each for each in draft.remarks if each.group is Group.EDIT]
    files_to_edit = {str(each.place.path) for each in problems} | {each.path for each in edits}
    click.echo(f"A project with {plural(len(draft.models), 'model')} in SQL is in {target}.")
    click.echo(f"{target / REPORT} lists what was converted and what was not.")
    if files_to_edit:
        click.echo(f"{plural(len(files_to_edit), 'file')} to edit before it runs:")
        for path in sorted(files_to_edit):
            click.echo(f"  {path}")
        return
    click.echo("Next:")
    click.echo(f"  {vde('test', '--project', target)}")
    click.echo(f"  {vde('plan', 'dev', '--project', target)}")
