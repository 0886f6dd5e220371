"""`vde late explain`: what sessions are decided from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import click

from vde_dagster.cli import options
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.late_facts import late_names, opened
from vde_dagster.cli.printing import instant, print_json
from vde_dagster.core.ledger.late.decision import Decision, Load, NothingToLoad, Stop
from vde_dagster.core.ledger.late.question import (
    LateRows,
    Question,
    StatefulQuestion,
    StatelessQuestion,
    TrackedHistory,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

if TYPE_CHECKING:
    from vde_dagster.app.inspect.late_report import Explained
    from vde_dagster.core.ledger.late.pending import Pending

_RANGES = 5


@click.command("explain", short_help="Show what a session is decided from, and why.")
@click.argument("model", type=options.model, metavar="MODEL")
@click.option(
    "--session",
    metavar="ID",
    help="Of a past session, as it was stored; `vde late sessions` has the ids.",
)
@options.ENVIRONMENT
@options.shared
def explain(
    *, model: ModelName, session: str | None, environment: str, output: str, folder: Path
) -> None:
    """Show what the next session of MODEL would do, or a past one did, and the evidence for it.

    That is, what happened to each source since its high-water mark, up to when it is complete, what
    is loaded, and what is late. Nothing is written, and Spark is not started.
    """
    from vde_dagster.app.inspect.late_report import explain_next, explain_session

    project, binding = opened(folder, environment)
    (name,) = late_names(project, binding, model)
    if session is None:
        found = explain_next(project.services, binding, name)
    else:
        found = explain_session(project.services, binding, name, session)
    if output == "json":
        print_json({"environment": environment, **fields_of(found)})
        return
    click.echo("\n".join(_lines(found)))


def _lines(found: Explained) -> Iterator[str]:
    if found.work is not None:
        began = instant(found.work.started_at)
        yield f"{found.name}, session {found.work.intent.work_id}, begun {began}"
    else:
        yield f"{found.name}, what a session would do now"
    if found.question is None and found.work is not None:
        yield "  what it was decided from is not stored"
    elif found.question is not None:
        yield from (f"  {line}" for line in _question_lines(found.question))
    yield from (f"  {line}" for line in _decision_lines(found.decision))


def _question_lines(asked: Question) -> Iterator[str]:
    policy = asked.policy
    rules = [f"on_source_rewrite {policy.on_source_rewrite.value}"]
    if policy.catchup_threshold is not None:
        rules.append(f"catchup_threshold {policy.catchup_threshold}")
    if policy.is_stateful:
        rules.append(f"load_type {policy.load_type.value}")
    yield f"mode {policy.mode.value}; {'; '.join(rules)}"
    yield f"the project's clock: {instant(asked.now)}"
    for each in _sources(asked):
        yield from _source_lines(each)
    yield f"loaded: {_ranges(asked.loaded)}"
    match asked:
        case StatelessQuestion():
            yield from _stateless_lines(asked)
        case StatefulQuestion():
            yield from _stateful_lines(asked)
        case unreachable:
            assert_never(unreachable)


def _stateless_lines(asked: StatelessQuestion) -> Iterator[str]:
    if asked.history.changes:
        where = "any time" if asked.touched is None else _ranges(asked.touched)
        yield f"rows of new files are at: {where}"
    if asked.held_back:
        yield f"held back by signals: {_ranges(asked.held_back)}"
    if asked.pending:
        yield f"pending before: {_ranges([each.interval for each in asked.pending])}"
    if asked.outgrown:
        yield f"rows of earlier columns, to be overwritten: {_ranges(asked.outgrown)}"
    if asked.without_times is not None:
        yield "its rows belong to no interval: new rows are appended, or the table is rebuilt"


def _stateful_lines(asked: StatefulQuestion) -> Iterator[str]:
    limit = instant(asked.limit) if asked.limit is not None else "not known of all"
    yield f"all sources are complete to: {limit}"
    yield f"due and not loaded: {_ranges(asked.missing)}"
    for each in asked.late:
        yield f"late: {_late_text(each)}"


def _late_text(late: LateRows) -> str:
    names = ", ".join(map(str, late.sources))
    how = "has lost rows" if late.removed else "has other rows now"
    return f"{late.interval}, {names} {how}{'' if late.tracked else ', and is not tracked'}"


def _sources(asked: Question) -> Sequence[TrackedHistory]:
    match asked:
        case StatefulQuestion(sources=sources):
            return sources
        case StatelessQuestion(policy=policy, mark=mark, history=history):
            complete = history.head.complete_to if history.head is not None else None
            (name,) = policy.sources
            return (TrackedHistory(name=name, mark=mark, history=history, complete_to=complete),)
        case unreachable:
            assert_never(unreachable)


def _source_lines(source: TrackedHistory) -> Iterator[str]:
    mark = (
        f"mark at Iceberg snapshot {source.mark.iceberg_snapshot_id}" if source.mark else "no mark"
    )
    history = source.history
    head = history.head.iceberg_snapshot_id if history.head is not None else "none"
    complete = f"; complete to {instant(source.complete_to)}" if source.complete_to else ""
    yield f"source {source.name}: {history.status.value}; {mark}, now at {head}{complete}"
    counted = Counter(each.operation.value for each in history.changes)
    if counted:
        what = ", ".join(f"{number} {name}" for name, number in counted.items())
        files = sum(uri.files for each in history.changes for uri in each.added)
        rows = sum(uri.rows for each in history.changes for uri in each.added)
        yield f"  since the mark: {what}; {rows:,} rows in {files:,} new files"


def _decision_lines(decision: Decision) -> Iterator[str]:
    match decision:
        case NothingToLoad(reason=reason, pending=pending):
            yield f"so nothing is loaded: {reason}"
            yield from _pending_lines(pending)
        case Stop(reason=reason, advice=advice):
            yield f"so it stops: {reason}. {advice}"
        case Load():
            if decision.rewrite:
                yield f"rows that were loaded have changed: {decision.rewrite}"
            if decision.evidence and decision.loaded:
                yield f"so rows are added to: {_ranges(decision.loaded)}"
            if decision.fill:
                yield f"so these are loaded whole: {_ranges(decision.fill)}"
            yield from _pending_lines(decision.pending)
        case unreachable:
            assert_never(unreachable)


def _pending_lines(pending: Sequence[Pending]) -> Iterator[str]:
    for each in pending:
        yield f"and pending: {each.interval}, {each.reason.text}"


def _ranges(times: Sequence[Interval]) -> str:
    if not times:
        return "nothing"
    if len(times) > _RANGES:
        return f"{len(times):,} ranges from {instant(times[0].start)} to {instant(times[-1].end)}"
    return ", ".join(map(str, times))
