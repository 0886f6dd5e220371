"""`vde refresh`: MANAGED tables that are older than their target lag are rebuilt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import print_json
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused

if TYPE_CHECKING:
    from vde_dagster.app.catch_up.managed import Freshness
    from vde_dagster.app.evaluate.evaluated import Evaluated


@click.command("refresh", short_help="Rebuild MANAGED tables that are out of date.")
@click.option("--explain", is_flag=True, help="Only show what would be rebuilt, and why.")
@options.ENVIRONMENT
@options.FORMAT
@options.PROJECT
@options.WITH_DEBUG
def command(*, explain: bool, environment: str, output: str, folder: Path) -> None:
    """Rebuild every MANAGED table whose target lag has passed and whose inputs changed since.

    Such tables are found from the state and from Iceberg metadata, without Spark. A table that
    reads a model which has to be evaluated first is left as it is, with the command to run.
    """
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.app.catch_up.managed import managed_tables, refresh_managed
    from vde_dagster.composition import VdeProject

    services = VdeProject.load(folder).services
    binding = bind_environment(services, environment)
    if binding is None:
        raise Refused(
            f"there is no environment {environment}", advice="`vde environments` lists them."
        )
    facts: list[dict[str, object]] = []
    looked = ((each, None) for each in managed_tables(services, binding))
    for found, made in looked if explain else refresh_managed(services, binding):
        facts.append(_facts(found, made))
        if output == "text":
            click.echo(_line(found, made, environment))
    if output == "json":
        print_json({"environment": environment, "explain": explain, "tables": facts})
    elif not facts:
        click.echo(f"{environment} has no MANAGED table that was made.")


def _line(found: Freshness, made: Evaluated | None, environment: str) -> str:
    if made is not None:
        return f"{found.name}: rebuilt, {made.rows:,} rows, since {found.reason}"
    if found.waits_for:
        return (
            f"{found.name} is not fresh, since {found.reason}, and stays as it is: "
            f"{found.waits_for}. Run `{vde('plan', environment)}`, apply it, and refresh again."
        )
    state = "would be rebuilt, since" if found.is_stale else "is fresh:"
    return f"{found.name} {state} {found.reason}"


def _facts(found: Freshness, made: Evaluated | None) -> dict[str, object]:
    return {
        "model": str(found.name),
        "stale": found.is_stale,
        "reason": found.reason,
        "changed": [str(each) for each in found.changed],
        "waits_for": found.waits_for or None,
        "rows": made.rows if made is not None else None,
        "work_id": made.work_id if made is not None else None,
    }
