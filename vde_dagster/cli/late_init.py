"""`vde late init`: a `late_data` property for a model that has none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import note, print_json
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.unresolved import guess

if TYPE_CHECKING:
    pass


@click.command("init", short_help="Propose a late_data property for a model.")
@click.argument("model", type=options.model, metavar="MODEL")
@options.shared
def init(*, model: ModelName, output: str, folder: Path) -> None:
    """Propose a late_data property for MODEL, from its query and its sources' metadata.

    The property is printed, and on standard error why it is so. Nothing is written, and Spark is
    not started.
    """
    from vde_dagster.app.inspect.late_report import late_proposal
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    graph, name = project.files.graph, model.within(project.configuration.catalog.name)
    if name not in graph:
        known = [str(node.name) for node in graph]
        raise Refused(f"there is no model {name}", advice=guess(str(name), known).strip())
    found = late_proposal(project.services, graph, name)
    if output == "json":
        print_json({"model": name, "late_data": found.text, "proposal": found})
        return
    click.echo(found.text)
    note(f"{found.mode.value}: {found.why}.")
    for each in found.sources:
        if each.why:
            column = f" by {each.tracked_by}" if each.tracked_by else ""
            note(f"{each.name} is tracked{column}: {each.why}.")
    for left, why in found.left_out:
        note(f"{left} is not tracked: {why}.")
