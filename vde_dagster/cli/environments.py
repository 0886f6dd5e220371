"""`vde environments`: what there is, and what each shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.printing import console, note, print_json, table
from vde_dagster.cli.spelling import vde

if TYPE_CHECKING:
    from datetime import datetime

    from vde_dagster.ports.state import Environment


@click.command("environments")
@options.shared
def command(*, output: str, folder: Path) -> None:
    """List the environments of a project, with the versions that each shows."""
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.clean_up.sweeping import expires_at

    project = VdeProject.load(folder)
    state, times = project.services.state, project.configuration.times
    shown = [each for name in state.environments() if (each := state.environment(name))]
    used = state.used() if shown else {}
    ends = {each.name: expires_at(each.name, used, times) for each in shown}
    if output == "json":
        print_json({"environments": [_document(each, ends[each.name]) for each in shown]})
    elif shown:
        _print(shown, ends)
    else:
        note(f"There is no environment yet. `{vde('plan', 'prod')}` makes the first.")


def _document(shown: Environment, end: datetime | None) -> dict[str, object]:
    models = {name: each.version for name, each in sorted(shown.snapshots.items())}
    return {**fields_of(shown), "expires_at": end, "models": models}


def _print(environments: list[Environment], ends: Mapping[str, datetime | None]) -> None:
    columns = ("environment", "revision", "promoted at (UTC)", "plan", "models", "expires (UTC)")
    rows = table(*columns, right=("revision", "models"), whole=columns)
    for each in environments:
        begun = "removal" if each.is_removed else "promotion"
        name = f"{each.name} ({begun} not finished)" if each.promoting else each.name
        when = f"{each.promoted_at:%Y-%m-%d %H:%M:%S}"
        models = sum(not snapshot.is_source for snapshot in each.snapshots.values())
        end = ends[each.name]
        until = "never" if end is None else f"{end:%Y-%m-%d %H:%M}"
        rows.add_row(name, str(each.revision), when, each.plan_id[:8], str(models), until)
    console().print(rows)
