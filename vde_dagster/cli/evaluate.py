"""`vde evaluate`: the rows that a model would return."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options, timing
from vde_dagster.cli.model_choice import ENVIRONMENT, chosen
from vde_dagster.cli.printing import console, instant, note, print_json

if TYPE_CHECKING:
    from vde_dagster.core.names import ModelName

_ROWS: Final = 50


@click.command("evaluate")
@click.argument("model", type=options.model)
@ENVIRONMENT
@timing.START
@timing.END
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_ROWS,
    show_default=True,
    help="Print at most this many rows.",
)
@options.shared
def command(
    model: ModelName,
    *,
    environment: str | None,
    start: datetime | None,
    end: datetime | None,
    limit: int,
    output: str,
    folder: Path,
) -> None:
    """Compute MODEL as its file is now, show its rows, and write nothing.

    It reads what a plan would give the models that it reads: they have to be loaded. With an
    environment it is the model that this shows, over what this shows. Without --start and --end it
    is the last interval that could be evaluated now.
    """
    from vde_dagster.app.inspect.rendering import bind_models, preview, whole_units
    from vde_dagster.cli.query import Answer, as_table
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.time.intervals import format_instant

    project = VdeProject.load(folder)
    binding = bind_models(project, environment)
    node = chosen(
        binding.graph,
        model,
        catalog=project.configuration.catalog.name,
        where=binding.environment,
    )
    asked = None
    if start is not None or end is not None:
        asked = whole_units(node.model, timing.one_range(start, end))
    found = preview(project.services, binding, node.name, asked, limit=limit)
    answer = Answer(columns=found.columns, rows=found.rows, more=found.more)
    if output == "json":
        times = {"start": instant(found.interval.start), "end": instant(found.interval.end)}
        facts = {"model": str(node.name), "environment": environment, **times}
        print_json(facts | answer.as_json())
        return
    console().print(as_table(answer))
    if node.model.kind.is_by_interval or node.model.kind.is_whole:
        first, last = format_instant(found.interval.start), format_instant(found.interval.end)
        note(f"{node.name} from {first} to {last}; nothing was written.")
    if found.more:
        note(f"The first {limit} rows; --limit shows more.")
