"""`vde status`: what is behind in an environment, since when, why, and what computes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.printing import console, instant, print_json
from vde_dagster.cli.spelling import vde

if TYPE_CHECKING:
    from datetime import datetime

    from vde_dagster.app.inspect.status import EnvironmentStatus, ModelStatus

    Line = tuple[ModelStatus, str]

_NAME: Final = 40
"""Names up to this length make a column."""


@click.command("status", short_help="Show what is behind in an environment, and why.")
@click.argument("environment", type=options.environment, default="prod", metavar="[ENV]")
@click.option("--check", is_flag=True, help="Exit code 1 if something is due, stale or gone.")
@options.FORMAT
@options.PROJECT
@options.WITH_DEBUG
@click.pass_context
def command(
    ctx: click.Context, environment: str, *, check: bool, output: str, folder: Path
) -> None:
    """Show what is behind in ENV (prod by default), since when and why, and what computes it.

    Lists the models of ENV that are due, stale (inputs are late or changed), waiting for their
    inputs, or gone (somebody dropped the table or view). It is found from the state and from
    Iceberg metadata: no Spark is started, and nothing is computed.

    Exit codes: 0 if the check itself worked, whatever it found; with --check, 1 if something is
    due, stale or gone. Models that only wait for their inputs do not count.
    """
    from vde_dagster.app.inspect.status import look_at_environment
    from vde_dagster.composition import VdeProject

    status = look_at_environment(VdeProject.load(folder).services, environment)
    if output == "json":
        print_json(_facts(status))
    else:
        _print(status)
    if check and status.is_behind:
        ctx.exit(1)


def _print(status: EnvironmentStatus) -> None:
    if status.is_up_to_date:
        click.echo(
            f"{status.environment} is up to date: nothing due, nothing stale {_looked(status)}."
        )
        return
    click.echo(f"Status of {status.environment}{_clock(status)} {_looked(status)}")
    run = f"`{vde('run', status.environment)}`"
    _section("Late or changed upstream", list(_stale(status)), f"{run} computes it.")
    _section("Behind, and not computed", list(_kept(status, elsewhere=False)))
    _section(
        "Behind, and left to the environment that owns it", list(_kept(status, elsewhere=True))
    )
    _section(
        "Downstream of what is computed",
        list(_following(status)),
        f"{run} checks it after the models that it reads.",
    )
    _section("Due", list(_due(status)), f"{run} computes it.")
    _section("Waits", list(_waiting(status)))
    _section("MANAGED tables past their lag", list(_managed(status)))
    _section(
        "Begun by an earlier process", list(_unfinished(status)), f"{run} finishes or undoes it."
    )
    _section("Gone", list(_gone(status)))
    if status.dropped_views:
        names = ", ".join(map(str, status.dropped_views))
        click.echo(f"\nDropped by somebody: the views of {names}.\n{run} makes them again.")
    if not status.is_behind:
        click.echo("\nNothing is stale, and nothing can be computed yet.")


def _looked(status: EnvironmentStatus) -> str:
    models = f"{status.looked_at:,} model{'' if status.looked_at == 1 else 's'}"
    return f"(looked at {models} at {_time(status.at)})"


def _clock(status: EnvironmentStatus) -> str:
    return f" at {_time(status.now)}" if status.now else ", whose clock has no time yet"


def _time(when: datetime) -> str:
    from vde_dagster.core.time.intervals import format_instant

    return format_instant(when.replace(second=0, microsecond=0))


def _section(title: str, lines: list[Line], end: str = "") -> None:
    """Print a title with its lines; nothing if there are no lines."""
    if not lines:
        return
    click.echo(f"\n{title}")
    width = min(_NAME, max(len(str(each.node.name)) for each, _ in lines))
    for each, text in lines:
        console().print(
            f"  {str(each.node.name).ljust(width)}  {text}", markup=False, soft_wrap=True
        )
    if end:
        click.echo(end)


def _stale(status: EnvironmentStatus) -> Iterator[Line]:
    """The stale intervals that are computed for themselves, not only since others are."""
    from vde_dagster.core.planning.work_text import counted_ranges, since_text
    from vde_dagster.core.time.intervals import subtract

    for each in status.models:
        found = each.staleness
        own = subtract(found.intervals, found.following) if found is not None else ()
        if found is not None and own:
            how = " by a session" if found.session else ""
            text = f"{counted_ranges(each.node, own)}{since_text(found)}{how}: {found.reason}"
            yield each, text


def _kept(status: EnvironmentStatus, *, elsewhere: bool) -> Iterator[Line]:
    """What is behind, and is computed by no run of this environment."""
    from vde_dagster.core.planning.work_text import kept_text

    for each in status.models:
        found = each.staleness
        is_kept = found is not None and (bool(found.kept) or not found.intervals)
        if found is not None and is_kept and (each.owner is not None) == elsewhere:
            yield each, kept_text(each.node, found)


def _following(status: EnvironmentStatus) -> Iterator[Line]:
    from vde_dagster.core.planning.work_text import counted_ranges

    for each in status.models:
        if each.staleness is not None and each.staleness.following:
            yield each, counted_ranges(each.node, each.staleness.following)


def _due(status: EnvironmentStatus) -> Iterator[Line]:
    from vde_dagster.core.planning.work_text import counted_ranges

    for each in status.models:
        if each.due:
            yield each, counted_ranges(each.node, each.due)


def _waiting(status: EnvironmentStatus) -> Iterator[Line]:
    for each in status.models:
        if each.waits:
            yield each, "; ".join(map(str, each.waits))


def _managed(status: EnvironmentStatus) -> Iterator[Line]:
    for each in status.models:
        if each.managed is not None:
            refresh = f"`{vde('refresh', '--env', status.environment)}` makes it again"
            waits = f"; it waits: {each.managed.waits_for}" if each.managed.waits_for else ""
            yield each, f"{each.managed.reason}: {refresh}{waits}"


def _unfinished(status: EnvironmentStatus) -> Iterator[Line]:
    for each in status.models:
        if each.is_unfinished:
            yield each, "work was begun and not ended"


def _gone(status: EnvironmentStatus) -> Iterator[Line]:
    for each in status.models:
        if each.lost is not None:
            kind, way = ("view", each.lost.owner) if each.lost.owner else ("table", "")
            how = (
                f"a plan of {way} makes it again" if way else "restore it, or write another `stamp`"
            )
            yield each, f"its {kind} {each.lost.table} is not there: {how}"


def _facts(status: EnvironmentStatus) -> dict[str, object]:
    return {
        "environment": status.environment,
        "now": instant(status.now) if status.now else None,
        "looked_at": instant(status.at),
        "looked_at_models": status.looked_at,
        "up_to_date": status.is_up_to_date,
        "behind": status.is_behind,
        "dropped_views": [str(name) for name in status.dropped_views],
        "models": [_model_facts(each) for each in status.models],
    }


def _model_facts(each: ModelStatus) -> dict[str, object]:
    from vde_dagster.cli.intervals import wait_facts
    from vde_dagster.cli.plan_facts import ranges_facts, stale_facts

    return {
        "model": str(each.node.name),
        "kind": each.node.model.kind.keyword,
        "version": each.version,
        "owner": each.owner,
        "due": ranges_facts(each.node, each.due),
        "stale": stale_facts(each.node, each.staleness),
        "waits": "; ".join(map(str, each.waits)) or None,
        "waits_for": [wait_facts(wait) for wait in each.waits],
        "managed": each.managed.reason if each.managed is not None else None,
        "unfinished": each.is_unfinished,
        "lost_table": each.lost.table if each.lost is not None else None,
    }
