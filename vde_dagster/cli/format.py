"""`vde format`: one layout for all SQL models, without a change of their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import note, print_json
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from vde_dagster.app.project_files.formatting import Formatted


@click.command("format")
@click.argument(
    "files", type=click.Path(exists=True, path_type=Path), nargs=-1, metavar="[FILES...]"
)
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change.")
@options.shared
def command(files: tuple[Path, ...], *, check: bool, diff: bool, output: str, folder: Path) -> None:
    """Format the SQL models in FILES (files or folders; all of the project by default).

    Before a file is written, the new text is parsed again: it must declare the same model, with the
    same fingerprint. If it does not, the file is left as it is and named.
    """
    from vde_dagster.app.project_files.formatting import format_files, write_formatted
    from vde_dagster.project.configuration import read_configuration

    configuration = read_configuration(folder)
    done = format_files(configuration, [path.resolve() for path in files] or None)
    writes = not (check or diff)
    if writes:
        write_formatted(configuration.folder, done)
    if output == "json":
        print_json({"written": writes, "files": [_facts(each, diff=diff) for each in done]})
    else:
        _print(done, folder, writes=writes, diff=diff)
    _refuse(done, check=check)


def _refuse(done: Sequence[Formatted], *, check: bool) -> None:
    left = [f"{each.path} ({', '.join(each.differs)})" for each in done if each.differs]
    if left:
        raise Refused(
            f"left as they are, since formatting would change these models: "
            f"{'; '.join(left)}. This is a fault of the formatter; please report it."
        )
    if check and any(each.changes for each in done):
        raise Refused("not formatted", advice="run the command without --check.")


def _print(done: Sequence[Formatted], folder: Path, *, writes: bool, diff: bool) -> None:
    changing = [each for each in done if each.changes]
    for each in changing:
        if diff:
            click.echo(each.diff(), nl=False)
        else:
            click.echo(f"{'formatted' if writes else 'would change'} {folder / each.path}")
    same = len(done) - len(changing)
    said = f"{len(changing)} {'formatted' if writes else 'would change'}, {same} unchanged."
    note(said if done else "There is no SQL model to format.")


def _facts(each: Formatted, *, diff: bool) -> dict[str, object]:
    facts: dict[str, object] = {
        "path": each.path.as_posix(),
        "changes": each.changes,
        "differs": list(each.differs),
    }
    return facts | ({"diff": each.diff()} if diff else {})
