"""`vde audit`, `vde audits` and `vde publish`: what audits find, and who overrules them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
from rich.text import Text

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.looks.query import answer_on_views
from vde_dagster.cli.printing import Printed, table
from vde_dagster.cli.spelling import vde
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState
from vde_dagster.core.listing import plural

if TYPE_CHECKING:
    from vde_dagster.cli.looks.query import Engine
    from vde_dagster.core.audits.values import AuditResult
    from vde_dagster.core.ledger.unit_of_work import UnitOfWork
    from vde_dagster.core.model.snapshot import VersionKey
    from vde_dagster.core.names import ModelName, TableName


_OUTCOMES = {"done": "published", "abandoned": "not published"}


@options.command("audits")
@click.argument("model", metavar="MODEL")
@options.limit(1, "Show the audits of this many table commits, newest first.")
@options.ENVIRONMENT
def audits_command(call: Call, *, model: str, limit: int, environment: str) -> None:
    """Show the audit results of MODEL's latest evaluation, with failing rows.

    It covers the versions that ENV shows or can be rolled back to, and that of the files. Rows that
    failed a blocking audit were not published. They stay on a branch of the model's table until its
    next publication; the branch is named, too.

    For example:

        vde audits mart.revenue --limit 3
    """
    name = call.name(model)
    works = _audited(call, name, environment, limit)
    gone = _no_longer_refused(works)
    found = [_document(each, gone) for each in works]
    call.answer(
        {"model": str(name), "environment": environment, "work": found},
        (line for each in works for line in _work_lines(each, gone)),
        otherwise=f"No audit of {name} has run yet in {environment}. "
        f"`{call.vde('audit', str(name), '--env', environment)}` runs them on its current rows.",
    )


def _no_longer_refused(works: Sequence[UnitOfWork]) -> dict[str, UnitOfWork]:
    """What published after each unit of work of these, newest first: a refused branch ends then."""
    later: dict[VersionKey, UnitOfWork] = {}
    gone: dict[str, UnitOfWork] = {}
    for work in works:
        key = work.intent.key
        if key in later:
            gone[work.intent.work_id] = later[key]
        if work.state is UnitOfWorkState.DONE:
            later[key] = work
    return gone


def _audited(call: Call, name: ModelName, environment: str, limit: int) -> list[UnitOfWork]:
    """The units of work of the versions that an environment shows or has shown, and of the files.

    A new version that its audits refuse is in the files alone, and one that a rollback needs is in
    an earlier revision.

    Raises:
        Refused: There is no such model.
    """
    from vde_dagster.app.inspect.rendering import bind_models
    from vde_dagster.app.promote.swapping import kept_revisions

    state = call.services.state
    planned = bind_models(call.project, None)
    shown = state.environment(environment)
    revisions = [shown, *kept_revisions(call.services, shown)] if shown is not None else []
    known = [planned.snapshots, *(each.snapshots for each in revisions)]
    if not any(name in each for each in known):
        call.model(planned.graph, name)
    keys = {each[name].key for each in known if name in each}
    works = [work for key in keys for work in state.audited(key, limit=limit)]
    return sorted(works, key=lambda work: work.started_at, reverse=True)[:limit]


def _document(work: UnitOfWork, gone: Mapping[str, UnitOfWork]) -> dict[str, object]:
    return {
        "work_id": work.intent.work_id,
        "started_at": work.started_at,
        "state": work.state.value,
        "branch": None if work.intent.work_id in gone else work.refused_rows,
        "intervals": work.intent.intervals,
        "audits": work.audits,
        "accepted": work.intent.accepted,
    }


def _work_lines(work: UnitOfWork, gone: Mapping[str, UnitOfWork]) -> Iterator[Printed]:
    status = _OUTCOMES.get(work.state.value, "not finished")
    times = ", ".join(map(str, work.intent.intervals))
    intent = work.intent
    by = f"version {intent.key.version[:8]} in {intent.environment}"
    yield f"{work.started_at:%Y-%m-%d %H:%M:%S} UTC, {by}, {times}: {status}"
    for result in work.audits:
        yield from _result_lines(result)
    if work.intent.accepted is not None:
        yield Text(f"  {work.intent.accepted}", style="yellow")
    branch, after = work.refused_rows, gone.get(work.intent.work_id)
    accepted = after.intent.accepted if after is not None else None
    if branch and accepted is not None and accepted.work_id == work.intent.work_id:
        yield Text("  Its rows were accepted and published.", style="yellow")
    elif branch and after is not None:
        yield "  The refused rows were removed: others were published since."
    elif branch:
        yield f"  The refused rows are in {branch} until the next publication."
        names = dict.fromkeys(each.name for each in work.audits if each.stops)
        accepts = [word for name in names for word in ("--accept", name)]
        again = vde("publish", work.intent.work_id, *accepts, "--reason", "TEXT")
        yield f"  To publish them anyway: {again}"


def _result_lines(result: AuditResult) -> Iterator[Printed]:
    """One audit's result for people, with the first of its failing rows."""
    if result.passed:
        yield f"  {result.name}: passed"
        return
    yield Text(f"  {result.message}", style="red" if result.blocking else "yellow")
    rows = table(*result.columns)
    for row in result.sample:
        rows.add_row(*("NULL" if each is None else str(each) for each in row))
    if result.sample:
        yield rows


@options.command("audit")
@options.MODEL
@options.ENVIRONMENT
@options.START
@options.END
@options.limit(10, "Show at most this many bad rows of each audit.")
@options.ENGINE
def audit_command(
    call: Call,
    *,
    model: ModelName,
    environment: str,
    start: datetime | None,
    end: datetime | None,
    limit: int,
    engine: Engine,
) -> None:
    """Run all audits of MODEL on the current rows of its version in an environment.

    It shows the number of bad rows of each audit, and some of them. Nothing is written: the
    recorded results of the version stay. With --start or --end only rows of that time are audited,
    widened to whole intervals.

    Exit codes: 0 if no blocking audit finds bad rows, 1 otherwise.

    For example:

        vde audit mart.revenue --limit 20
    """
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.app.inspect.held_audits import audit_held

    binding = shown_binding(call.services, environment)
    node = call.model(binding.graph, model, environment)
    asked = options.asked_range(node.model, start, end)

    def ask(
        sql: str, read: Collection[TableName], most: int
    ) -> tuple[tuple[str, ...], Sequence[tuple[object, ...]]]:
        del read  # they are named in the query
        answer = answer_on_views(call.project, sql, read=(), views={}, limit=most, engine=engine)
        return answer.columns, answer.rows

    found = audit_held(call.services, ask, binding, node.name, asked, limit=limit)
    document = {
        "model": str(node.name),
        "environment": environment,
        "start": found.interval.start,
        "end": found.interval.end,
        "passed": not found.stops,
        "audits": found.results,
    }
    texts = (line for each in found.results for line in _result_lines(each))
    call.answer(document, texts, otherwise=f"{node.name} has no audits.")
    if found.stops:
        call.end()


@options.command("publish")
@click.argument("work", metavar="WORK")
@click.option(
    "--accept",
    "audits",
    metavar="AUDIT",
    multiple=True,
    required=True,
    help="The name of an audit that refused the rows. Repeatable: name all of them.",
)
@click.option("--reason", metavar="TEXT", required=True, help="The reason, for later readers.")
def publish_command(call: Call, *, work: str, audits: tuple[str, ...], reason: str) -> None:
    """Publish the staged rows of the unit of work WORK as they are, although audits refused them.

    `vde audits MODEL` shows WORK and the failing rows. Nothing is computed. Who accepted the rows,
    when and why is recorded with them, and the asset check only warns from then on. A catch-up
    session moves its high-water marks as if no audit had failed.

    It is refused if the rows are published already, if their branch is missing, if another
    environment owns the version, or if the table or the inputs have other rows since. Then evaluate
    the model again. Rows that a rollback needs can be published, too: repeat the rollback then.

    For example:

        vde publish 0192f3c2a1b4 --accept not_null --reason "agreed with sales"
    """
    from vde_dagster.app.apply.accepting import Accepting, publish_refused
    from vde_dagster.orchestration.reporting.shown import report_accepted

    wanted = Accepting(work_id=work, audits=audits, reason=reason)
    done = publish_refused(call.services, lambda: call.project.files.graph, wanted)
    report_accepted(call.project, done)
    published, acceptance = done.done, done.acceptance
    document = {
        "environment": done.binding.environment,
        "model": published.key.model,
        "work_id": published.work_id,
        "acceptance": acceptance,
        "rows": published.rows,
        "intervals": [each.interval for each in published.entries],
    }
    rows, environment = plural(published.rows, "row"), done.binding.environment
    shown = call.services.state.environment(environment)
    further = f"{environment} does not show them yet: repeat the plan or rollback that failed."
    if shown is not None and shown.shows(published.key):
        further = f"`{call.vde('run', environment)}` computes the models downstream."
    lines = (
        f"Published {rows} of {published.key.model} in {done.done.interval}.",
        f"  {', '.join(acceptance.audits)}: {acceptance}",
        f"  {further}",
    )
    call.answer(document, lines)
