"""`vde savings`: hours, rows and seconds that were not computed."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vde_dagster.cli import options, timing
from vde_dagster.cli.printing import as_text, console, instant, note, print_json, table

if TYPE_CHECKING:
    from vde_dagster.core.ledger.savings import Saved


@click.command("savings")
@click.argument(
    "environment", type=options.environment, required=False, default=None, metavar="[ENV]"
)
@timing.SINCE
@options.shared
def command(
    *, environment: str | None, since: datetime | timedelta, output: str, folder: Path
) -> None:
    """Show what ENV, or each environment, shows and did not have to compute, by model.

    Kept: it was loaded before the time of --since, and was not computed again since then. Shared:
    another environment computed it.
    """
    from vde_dagster.app.evaluate.savings import savings
    from vde_dagster.composition import VdeProject

    services = VdeProject.load(folder).services
    if isinstance(since, timedelta):
        since = timing.before(services.clock.now(), since)
    rows = [
        {
            "environment": saving.environment,
            "model": str(saving.model),
            "saving": saving.kind.value,
            **_sum(saving.saved),
        }
        for saving in savings(services, environment, since=since)
    ]
    if output == "json":
        print_json({"environment": environment, "since": instant(since), "savings": rows})
    elif rows:
        _print(rows, f"Not computed since {instant(since)}")
    else:
        note(f"Nothing was kept since {instant(since)}, or is shared.")


def _sum(saved: Saved) -> dict[str, object]:
    return {
        "intervals": saved.intervals,
        "hours": None if saved.hours is None else round(saved.hours, 3),
        "rows": saved.rows,
        "seconds": None if saved.seconds is None else round(saved.seconds, 3),
    }


def _print(rows: list[dict[str, object]], title: str) -> None:
    numbers = ("intervals", "hours", "rows", "seconds")
    shown = table(*rows[0], title=title, right=numbers, whole=[*rows[0]])
    for row in rows:
        shown.add_row(*map(as_text, row.values()))
    console().print(shown)
