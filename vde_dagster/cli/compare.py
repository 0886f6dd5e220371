"""`vde compare`: what a change of a project's files means, before any environment has it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from vde_dagster.cli import options
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.printing import console, print_json


@click.command("compare")
@click.argument("before")
@click.argument("after", required=False)
@click.option(
    "--strict-columns",
    is_flag=True,
    help="Removing or changing a column that no model reads is breaking, since others may read it "
    "(also strict_columns of AFTER's vde.yaml).",
)
@options.shared
def command(
    *, before: str, after: str | None, strict_columns: bool, output: str, folder: Path
) -> None:
    """Compare two revisions of a project, by their files alone.

    BEFORE and AFTER are folders with a project, or git revisions (a branch, a tag, a commit,
    HEAD~1) of the project in --project DIR. If a name is both, the folder is taken; git:NAME is the
    revision. Without AFTER it is the project's folder as it is now. Neither the work tree nor git
    is changed, and no environment need exist. Parsed models are cached in the project's folder
    .vde.

    Shows for each model whether it changed itself or only what it reads, in which category and why,
    which columns change, and whether it would be rebuilt. Definitions are compared, neither the
    versions that two environments show nor the rows of two tables.
    """
    from vde_dagster.app.inspect.compare import compare
    from vde_dagster.cli.compare_view import print_comparison

    found = compare(before, after, project=folder, strict_columns=strict_columns)
    if output == "json":
        counts = Counter(each.difference.change.value for each in found.models)
        print_json({**fields_of(found), "counts": counts})
    else:
        print_comparison(found, console())
