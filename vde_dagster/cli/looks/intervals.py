"""`vde intervals`: the loaded and the missing intervals of each model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.printing import table
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.ranges import count, counted
from vde_dagster.core.listing import first
from vde_dagster.core.time.intervals import ALWAYS, format_instant

if TYPE_CHECKING:
    from rich.table import Table

    from vde_dagster.app.inspect.interval_report import ModelIntervals
    from vde_dagster.core.graph.graph import Node
    from vde_dagster.core.names import ModelName
    from vde_dagster.core.planning.plan import Plan
    from vde_dagster.core.time.intervals import Interval

_RANGES: Final = 3
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


@options.command("intervals")
@click.argument("models", type=options.model, nargs=-1, metavar="[MODEL...]")
@options.SHOWN_BY
@options.START
@options.END
def intervals_command(
    call: Call,
    *,
    models: tuple[ModelName, ...],
    environment: str | None,
    start: datetime | None,
    end: datetime | None,
) -> None:
    """Show the loaded and the missing intervals of each MODEL, by default of all models.

    Missing intervals are those that a plan would evaluate now. If intervals are due and cannot be
    evaluated yet, it names what they wait for: a source, an upstream model and its first missing
    interval, a signal, another environment, or the clock. If nothing is missing, it prints when the
    next interval is due.

    FULL tables, views and seeds are built as a whole and count as one. --start and --end show only
    intervals that overlap the range. The command reads the state and Iceberg metadata only.

    For example:

        vde intervals mart.revenue --env prod
    """
    shown = options.any_range(start, end)
    from vde_dagster.app.inspect.interval_report import clipped, plan_models, report_intervals

    plan = plan_models(call.project, environment)
    wanted = _wanted(call, plan, models)
    reports = [
        clipped(each, shown)
        for each in report_intervals(call.services, plan)
        if not models or each.node.name in wanted
    ]
    found = [{**fields_of(each), "intervals": count(each.node, each.missing)} for each in reports]
    shows = environment is not None and plan.base_revision > 0
    call.answer(
        {"environment": plan.environment, "now": plan.now, "models": found},
        [_table(reports, title=_title(plan, shown, shows=shows))],
    )


def _title(plan: Plan, shown: Interval, *, shows: bool) -> str:
    """Whose intervals these are, and of which time.

    Args:
        plan: The plan for their models.
        shown: The range that was asked for.
        shows: Whether the models are those that the environment shows, and not those of the files.
    """
    now = plan.now.replace(second=0, microsecond=0) if plan.now else None
    at = f"at {format_instant(now)}" if now else "(the project's clock is not set yet)"
    whose = (
        f"what {plan.environment} shows" if shows else f"the files, planned for {plan.environment}"
    )
    first = f", from {format_instant(shown.start)}" if shown.start > _FIRST else ""
    last = f", to {format_instant(shown.end)}" if shown.end < _LAST else ""
    return f"Intervals of {whose} {at}{first}{last}"


def _wanted(call: Call, plan: Plan, models: Sequence[ModelName]) -> set[ModelName]:
    """The models that are asked for.

    Raises:
        Refused: One of them does not exist, or has no intervals of its own.
    """
    nodes = [call.model(plan.graph, name, plan.environment) for name in models]
    for node in nodes:
        name = node.name
        if node.model.kind.is_source:
            raise Refused(
                f"{name} is a source, written outside this project, so it has no intervals here."
            )
        if node.model.kind.is_embedded:
            raise Refused(f"{name} is EMBEDDED: it has no table, so it has no intervals.")
    return {node.name for node in nodes}


def _table(reports: Sequence[ModelIntervals], *, title: str) -> Table:
    from rich.text import Text

    columns = ("model", "unit", "cron", "from", "loaded", "missing", "inputs up to")
    rows = table(*columns, title=title, whole=("model", "unit"))
    for report in reports:
        model = report.node.model
        until = f" to {format_instant(model.end)}" if model.end else ""
        rows.add_row(
            Text(str(model.name)),
            model.unit.value.replace("_", " "),
            model.cron if model.cron_tz == "UTC" else f"{model.cron} {model.cron_tz}",
            f"{format_instant(model.start)}{until}",
            Text(_loaded_and_empty(report), style="green"),
            Text(_missing(report), style="yellow"),
            _complete_to(report),
        )
    return rows


def _loaded_and_empty(report: ModelIntervals) -> str:
    loaded = _loaded(report.node, report.loaded)
    empty = _loaded(report.node, report.empty)
    texts = [loaded, f"empty: {empty}" if empty else ""]
    for each in report.accepted:
        which = _loaded(report.node, each.intervals)
        texts.append(f"{which}: {', '.join(each.acceptance.audits)} {each.acceptance}")
    return "\n".join(filter(None, texts))


def _loaded(node: Node, loaded: Sequence[Interval]) -> str:
    if ALWAYS in loaded:
        return "made" if node.model.kind.is_view else "whole"
    ranges = [f"{format_instant(each.start)} to {format_instant(each.end)}" for each in loaded]
    return "\n".join(first(ranges, _RANGES))


def _missing(report: ModelIntervals) -> str:
    ranges = [counted(report.node, [each]) for each in report.missing]
    said = ["\n".join(first(ranges, _RANGES))] if ranges else []
    said += [f"waits: {each}" for each in report.waits]
    if not said and report.next_due is not None:
        said.append(f"nothing; next due {format_instant(report.next_due)}")
    return "\n".join(said)


def _complete_to(report: ModelIntervals) -> str:
    if report.complete_to is None:
        return ""
    return format_instant(report.complete_to.replace(second=0, microsecond=0))
