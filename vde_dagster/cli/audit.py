"""`vde audit`: what the audits of a model find among the rows that are held now."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options, timing
from vde_dagster.cli.audits import print_result
from vde_dagster.cli.model_choice import chosen
from vde_dagster.cli.printing import note, print_json
from vde_dagster.cli.query import answer_on_views

if TYPE_CHECKING:
    from vde_dagster.cli.query import Engine
    from vde_dagster.core.names import ModelName, TableName

_ROWS: Final = 10


@click.command("audit")
@click.argument("model", type=options.model, metavar="MODEL")
@options.ENVIRONMENT
@timing.START
@timing.END
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_ROWS,
    show_default=True,
    help="Show at most this many bad rows of each audit.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
    show_default=True,
    help="Who reads rows, as for `vde query`.",
)
@options.shared
@click.pass_context
def command(
    ctx: click.Context,
    model: ModelName,
    *,
    environment: str,
    start: datetime | None,
    end: datetime | None,
    limit: int,
    engine: Engine,
    output: str,
    folder: Path,
) -> None:
    """Run all audits of MODEL on the rows that its version in an environment holds now.

    Writes nothing. Exit code 1 if a blocking audit finds bad rows. With --start or --end only rows
    of that time are audited.
    """
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.app.inspect.held_audits import audit_held
    from vde_dagster.app.inspect.rendering import whole_units
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    binding = shown_binding(project.services, environment)
    catalog = project.configuration.catalog.name
    node = chosen(binding.graph, model, catalog=catalog, where=environment)
    asked = None
    if start is not None or end is not None:
        asked = whole_units(node.model, timing.one_range(start, end))

    def ask(
        sql: str, read: Collection[TableName], most: int
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        del read  # they are named in the query
        answer = answer_on_views(project, sql, read=(), views={}, limit=most, engine=engine)
        return answer.columns, answer.rows

    found = audit_held(project.services, ask, binding, node.name, asked, limit=limit)
    if output == "json":
        print_json(
            {
                "model": str(node.name),
                "environment": environment,
                "start": found.interval.start,
                "end": found.interval.end,
                "passed": not found.stops,
                "audits": found.results,
            }
        )
    else:
        for each in found.results:
            print_result(each)
        if not found.results:
            note(f"{node.name} has no audits.")
    if found.stops:
        ctx.exit(1)
