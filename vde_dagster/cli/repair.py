"""`vde repair`: what is wrong between the record of a model and its table, and repairing it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.model_choice import chosen
from vde_dagster.cli.printing import print_json
from vde_dagster.cli.spelling import whole

if TYPE_CHECKING:
    from vde_dagster.app.recover.recovery import Repaired
    from vde_dagster.core.ledger.damage import Damage
    from vde_dagster.core.names import ModelName


@click.command("repair")
@click.argument("model", type=options.model)
@options.ENVIRONMENT
@click.option("--dry-run", is_flag=True, help="Only say what is wrong and what repairs it.")
@options.shared
@click.pass_context
def command(
    ctx: click.Context,
    model: ModelName,
    *,
    environment: str,
    dry_run: bool,
    output: str,
    folder: Path,
) -> None:
    """Find what is wrong with the table and view of MODEL, and repair it without losing rows.

    Work that an earlier process began is finished or undone. A table that another program wrote to
    or rolled back is put back to the Iceberg snapshot that was recorded last; the rows of the other
    program stay in the table under the tag `before_repair_<Iceberg snapshot>`. No Spark is started.

    What needs rows that are not there is reported with the command that computes them: tables and
    views that somebody dropped, and data files that somebody deleted. Each data file is looked for
    in storage, and none is read.

    Exit codes: 0 if nothing is wrong any more, 1 otherwise; with --dry-run, 0 if nothing is wrong.
    """
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.app.recover.recovery import repair
    from vde_dagster.composition import VdeProject

    project = VdeProject.load(folder)
    binding = shown_binding(project.services, environment)
    catalog = project.configuration.catalog.name
    name = chosen(binding.graph, model, catalog=catalog, where=environment).name
    found = repair(project.services, binding, name, dry_run=dry_run)
    if output == "json":
        print_json(_facts(found, environment, dry_run=dry_run))
    else:
        click.echo(whole("\n".join(_lines(found, dry_run=dry_run)), folder))
    if not found.is_sound or (dry_run and found.repaired is not None):
        ctx.exit(1)


def _lines(found: Repaired, *, dry_run: bool) -> Iterator[str]:
    from vde_dagster.core.ledger.damage import described

    name = found.key.model
    if found.finished:
        units = "unit" if found.finished == 1 else "units"
        yield f"{name}: finished {found.finished} {units} of work of an earlier process."
    if found.repaired is not None:
        yield f"{described(found.key, found.repaired)}."
        back = "would be" if dry_run else "is"
        yield f"It {back} at the Iceberg snapshot {found.repaired.recorded} again; no row is lost."
    if found.left is not None:
        yield f"{described(found.key, found.left)}."
    elif found.dropped is not None:
        yield f"{name}: its view {found.dropped} is missing."
    if found.advice:
        yield found.advice
    if found.is_sound and found.repaired is None:
        yield f"{name} is as recorded: nothing to repair."


def _facts(found: Repaired, environment: str, *, dry_run: bool) -> dict[str, object]:
    from vde_dagster.core.ledger.damage import described

    def text(damage: Damage | None) -> str | None:
        return described(found.key, damage) if damage is not None else None

    return {
        "environment": environment,
        "model": found.key.model,
        "table": found.key.table,
        "dry_run": dry_run,
        "sound": found.is_sound and not (dry_run and found.repaired is not None),
        "finished": found.finished,
        "repaired": text(found.repaired),
        "restored_to": found.repaired.recorded if found.repaired is not None else None,
        "left": text(found.left),
        "dropped_view": found.dropped,
        "advice": found.advice or None,
    }
