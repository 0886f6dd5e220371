"""`vde savings`: hours, rows and seconds that were not computed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options, timing
from vde_dagster.cli.printing import as_text, console, instant, note, print_json

if TYPE_CHECKING:
    from vde_dagster.app.evaluate.savings import SavingsReport
    from vde_dagster.core.ledger.savings import Saved

_COLUMNS: Final = ("environment", "model", "saving", "intervals", "hours", "rows", "seconds")
_UNKNOWN: Final = "unknown"


@click.command("savings")
@click.argument(
    "environment", type=options.environment, required=False, default=None, metavar="[ENV]"
)
@timing.SINCE
@options.FORMAT
@options.PROJECT
@options.WITH_DEBUG
def command(
    *, environment: str | None, since: datetime | timedelta | None, output: str, folder: Path
) -> None:
    """Show the computation that was saved in ENV, or in all environments, by model.

    Reused: intervals that were due to be computed and were kept, since nothing that they follow
    from had changed. Adopted: an existing table that was kept after an upstream edit, since the
    data of all inputs stayed equal. Shared: what another environment computed, and ENV shows or
    reads now.
    """
    from vde_dagster.app.evaluate.savings import report_savings
    from vde_dagster.composition import VdeProject

    services = VdeProject.load(folder).services
    if isinstance(since, timedelta):
        since = timing.before(services.clock.now(), since)
    report = report_savings(services, environment, since=since)
    if output == "json":
        print_json(_facts(report))
    elif report.savings:
        _print(report)
    else:
        note(f"Nothing was reused, adopted or shared{_period(report)}. {_recorded(report)}")


def _facts(report: SavingsReport) -> dict[str, object]:
    return {
        "environment": report.environment,
        "since": instant(report.since) if report.since is not None else None,
        "recorded_since": instant(report.recorded_since),
        "savings": [
            {
                "environment": each.environment,
                "model": str(each.model),
                "saving": each.kind.value,
                **_sum(each.saved),
            }
            for each in report.savings
        ],
        "totals": [{"saving": kind.value, **_sum(saved)} for kind, saved in report.totals.items()],
    }


def _sum(saved: Saved) -> dict[str, object]:
    return {
        "intervals": saved.intervals,
        "hours": None if saved.hours is None else round(saved.hours, 3),
        "rows": saved.rows,
        "seconds": None if saved.seconds is None else round(saved.seconds, 3),
        "untimed": saved.untimed,
    }


def _print(report: SavingsReport) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    where = report.environment or "all environments"
    table = Table(
        title=f"Not computed in {where}{_period(report)}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
    )
    for column in _COLUMNS:
        right = column in ("intervals", "hours", "rows", "seconds")
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    for each in report.savings:
        named = (each.environment, str(each.model), each.kind.value)
        table.add_row(*map(Text, (*named, *_cells(each.saved))))
    table.add_section()
    for kind, saved in report.totals.items():
        table.add_row("", "total", kind.value, *_cells(saved), style="bold")
    console().print(table)
    click.echo(_recorded(report))
    untimed = sum(each.saved.untimed for each in report.savings)
    if untimed:
        click.echo(f"Of {as_text(untimed)} intervals it is not known how long they took.")


def _cells(saved: Saved) -> Iterator[str]:
    yield as_text(saved.intervals)
    yield "" if saved.hours is None else f"{saved.hours:,.2f}".rstrip("0").rstrip(".")
    yield as_text(saved.rows)
    yield _UNKNOWN if saved.seconds is None else f"{saved.seconds:,.1f}"


def _period(report: SavingsReport) -> str:
    return "" if report.since is None else f" since {_minute(report.since)}"


def _recorded(report: SavingsReport) -> str:
    return f"What is reused and adopted is recorded since {_minute(report.recorded_since)}."


def _minute(at: datetime) -> str:
    from vde_dagster.core.time.intervals import format_instant

    return f"{format_instant(at.replace(second=0, microsecond=0))} UTC"
