"""`vde environments`, `vde history` and `vde savings`: what environments show, and since when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.printing import (
    as_text,
    instant,
    table,
)
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused
from vde_dagster.core.listing import some

if TYPE_CHECKING:
    from datetime import datetime

    from rich.table import Table

    from vde_dagster.app.inspect.environment_diff import Promoted
    from vde_dagster.core.ledger.savings import Saved
    from vde_dagster.ports.state import Environment


@options.command("environments")
def environments_command(call: Call) -> None:
    """List the environments of a project: revision, promotion, plan, expiry and number of models.

    For example:

        vde environments
    """
    from vde_dagster.core.clean_up.sweeping import expires_at

    state, times = call.services.state, call.project.configuration.times
    shown = [each for name in state.environments() if (each := state.environment(name))]
    used = state.used() if shown else {}
    ends = {each.name: expires_at(each.name, used, times) for each in shown}
    call.answer(
        {"environments": [_document(each, ends[each.name]) for each in shown]},
        [_environments(shown, ends)] if shown else [],
        otherwise=f"There is no environment yet. `{vde('plan', 'prod')}` creates the first.",
    )


def _document(shown: Environment, end: datetime | None) -> dict[str, object]:
    models = {name: each.version for name, each in sorted(shown.snapshots.items())}
    return {**fields_of(shown), "expires_at": end, "models": models}


def _environments(environments: list[Environment], ends: Mapping[str, datetime | None]) -> Table:
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
    return rows


_NAMED: Final = 4


@options.command("history")
@click.argument("environment", type=options.environment, default="prod", metavar="[ENV]")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, metavar="N", help="How many, newest first."
)
def history_command(call: Call, *, environment: str, limit: int) -> None:
    """List the promotions of an environment (prod by default): who, when, by which plan, and what.

    `vde rollback ENV --to REVISION` returns to any listed revision whose data is still kept. The
    author is `user@machine`. VDE_USER sets the user, and VDE_AUTHOR the whole text, such as in CI.

    For example:

        vde history prod --limit 5
    """
    from vde_dagster.app.inspect.environment_diff import history

    found = list(history(call.services, environment, limit=limit))
    if not found:
        known = ", ".join(call.services.state.environments()) or "none"
        raise Refused(f"there is no environment {environment}", advice=f"There are: {known}.")
    revisions = [
        {
            **fields_of(each),
            "bounded": each.bounded(previews=False),
            "previews": each.bounded(previews=True),
        }
        for each in found
    ]
    call.answer({"environment": environment, "revisions": revisions}, [_revisions(found)])


def _revisions(found: Sequence[Promoted]) -> Table:
    whole = ("revision", "promoted at (UTC)", "by", "plan")
    rows = (
        (
            str(each.shown.revision),
            f"{each.shown.promoted_at:%Y-%m-%d %H:%M:%S}",
            each.shown.author or "not known",
            each.shown.plan_id[:8],
            "; ".join(_changes(each)) or "nothing",
        )
        for each in found
    )
    return table(*whole, "what changed", right=("revision",), whole=whole, rows=rows)


def _changes(each: Promoted) -> Iterator[str]:
    shown = each.shown
    if shown.promoting:
        yield "not finished"
    if shown.is_removed:
        yield "the environment was removed"
    if shown.is_forgotten:
        yield "no longer kept"
    if shown.taken is not None:
        back = shown.taken.environment == shown.name
        yield f"back to revision {shown.taken.number}" if back else f"took {shown.taken}"
    for what, names in (
        ("added", each.added),
        ("removed", each.removed),
        ("another version of", each.versions),
        ("another definition, same rows, of", each.definitions),
        ("bounded:", each.bounded(previews=False)),
        ("preview of", each.bounded(previews=True)),
    ):
        if names:
            yield f"{what} {some(names, _NAMED)}"


@options.command("savings")
@click.argument(
    "environment", type=options.environment, required=False, default=None, metavar="[ENV]"
)
@options.SINCE
def savings_command(call: Call, *, environment: str | None, since: datetime | timedelta) -> None:
    """Show the computation that ENV, or each environment, saved, by model.

    Kept: loaded before the time of --since, and not computed again since. Shared: computed by
    another environment. For each model it shows intervals, hours of data, rows, and the seconds
    that computing them took. Only the state is read.

    For example:

        vde savings prod --since "7 days ago"
    """
    from vde_dagster.app.evaluate.savings import savings

    if isinstance(since, timedelta):
        since = options.before(call.services.clock.now(), since)
    rows = [
        {
            "environment": saving.environment,
            "model": str(saving.model),
            "saving": saving.kind.value,
            **_sum(saving.saved),
        }
        for saving in savings(call.services, environment, since=since)
    ]
    call.answer(
        {"environment": environment, "since": instant(since), "savings": rows},
        [_savings(rows, f"Not computed since {instant(since)}")] if rows else [],
        otherwise=f"Nothing has been kept since {instant(since)}, and nothing is shared.",
    )


def _sum(saved: Saved) -> dict[str, object]:
    return {
        "intervals": saved.intervals,
        "hours": None if saved.hours is None else round(saved.hours, 3),
        "rows": saved.rows,
        "seconds": None if saved.seconds is None else round(saved.seconds, 3),
    }


def _savings(rows: list[dict[str, object]], title: str) -> Table:
    numbers = ("intervals", "hours", "rows", "seconds")
    cells = ([*map(as_text, row.values())] for row in rows)
    return table(*rows[0], title=title, right=numbers, whole=[*rows[0]], rows=cells)
