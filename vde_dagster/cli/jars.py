"""`vde jars`: Spark's jars, resolved once into the user's cache."""

from __future__ import annotations

from pathlib import Path

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import print_json


@click.command("jars")
@options.shared
def command(*, output: str, folder: Path) -> None:
    """Download the jars that Spark needs in addition to its own, and print their paths.

    They are resolved from Maven once and kept in the user's cache; the first plan that computes
    something does the same by itself. In a project they are those of its catalog, and its settings
    `spark.conf.spark.jars.*` apply.
    """
    from vde_dagster.composition import spark_jars
    from vde_dagster.lakehouse.jars import resolve_jars
    from vde_dagster.project.configuration import read_configuration
    from vde_dagster.project.project_file import FILE_NAME

    in_project = (folder / FILE_NAME).is_file()
    paths = spark_jars(read_configuration(folder)) if in_project else resolve_jars()
    if output == "json":
        print_json({"jars": [str(path) for path in paths]})
    else:
        for path in paths:
            click.echo(path)
