"""`vde late`: what is known of late data, and what sessions did."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import click

from vde_dagster.cli import options
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.late_explain import explain
from vde_dagster.cli.late_facts import late_names, load_command, opened
from vde_dagster.cli.late_init import init
from vde_dagster.cli.printing import instant, note, print_json
from vde_dagster.cli.spelling import vde
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad, Stop
from vde_dagster.core.names import ModelName

if TYPE_CHECKING:
    from vde_dagster.app.inspect.late_report import LateReport
    from vde_dagster.core.ledger.late.marks import HighWaterMark
    from vde_dagster.core.ledger.unit_of_work import UnitOfWork


@click.group("late")
def command() -> None:
    """Show what is known of late data: high-water marks, what is pending, and past sessions."""


command.add_command(explain)
command.add_command(init)


@command.command("status", short_help="Show marks, what is pending, and what a session would do.")
@click.argument("model", type=options.model, required=False, metavar="[MODEL]")
@options.ENVIRONMENT
@options.shared
def status(*, model: ModelName | None, environment: str, output: str, folder: Path) -> None:
    """Show the late data of MODEL, or of every model that loads it by sessions.

    That is, for each source up to which change it is known, what is known and not loaded with the
    reason, and what a session would do now. Nothing is written, and Spark is not started.
    """
    from vde_dagster.app.inspect.late_report import late_reports

    project, binding = opened(folder, environment)
    names = late_names(project, binding, model)
    found = late_reports(project.services, binding, names)
    if output == "json":
        models = [_document(each, environment) for each in found]
        print_json({"environment": environment, "models": models})
        return
    if not found:
        note(f"No model of {environment} has late data.")
    for each in found:
        click.echo("\n".join(_status_lines(each, environment)))


@command.command("sessions", short_help="Show past sessions of a model, newest first.")
@click.argument("model", type=options.model, metavar="MODEL")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Show at most this many.",
)
@options.ENVIRONMENT
@options.shared
def sessions(*, model: ModelName, limit: int, environment: str, output: str, folder: Path) -> None:
    """Show what the latest sessions of MODEL found, did and left pending."""
    from vde_dagster.app.inspect.late_report import past_sessions

    project, binding = opened(folder, environment)
    (name,) = late_names(project, binding, model)
    found = past_sessions(project.services, binding, name, limit=limit)
    if output == "json":
        sessions = [{"session": each, "written": _written(each)} for each in found]
        print_json({"model": name, "environment": environment, "sessions": sessions})
        return
    if not found:
        note(f"No session of {name} has run yet.")
    for each in found:
        click.echo("\n".join(_session_lines(each)))


def _document(found: LateReport, environment: str) -> dict[str, object]:
    owner = found.owner or environment
    commands = [load_command(found.name, owner, each) for each in found.pending]
    return {**fields_of(found), "commands": commands}


def _status_lines(found: LateReport, environment: str) -> list[str]:
    lines = [f"{found.name} ({found.mode.value})"]
    lines += [f"  mark: {_mark_text(each)}" for each in found.marks]
    for each in found.pending:
        lines.append(f"  pending: {each.interval}, {each.reason.text}")
        if command := load_command(found.name, found.owner or environment, each):
            lines.append(f"    to load it: {command}")
    if found.owner not in (None, environment):
        lines.append(f"  its sessions run in {found.owner}, which owns its version")
    return [*lines, f"  {_decision_text(found)}"]


def _mark_text(mark: HighWaterMark) -> str:
    complete = f", complete to {instant(mark.complete_to)}" if mark.complete_to else ""
    return f"{mark.source} at Iceberg snapshot {mark.iceberg_snapshot_id}{complete}"


def _decision_text(found: LateReport) -> str:
    match found.decision:
        case NothingToLoad(reason=reason):
            return f"nothing to load: {reason}"
        case Stop(reason=reason, advice=advice):
            return f"stopped: {reason}. {advice}"
        case Load():
            return f"there is something to load: `{vde('catch-up', str(found.name))}`"
        case unreachable:
            assert_never(unreachable)


def _session_lines(work: UnitOfWork) -> list[str]:
    session = work.intent.session
    assert session is not None, "only sessions are asked for"
    lines = [f"{work.intent.work_id}: {work.state.value}, begun {instant(work.started_at)}"]
    for each in session.sources:
        before = each.before.iceberg_snapshot_id if each.before else "the beginning"
        lines.append(
            f"  source {each.name}: Iceberg snapshot {before} to {each.after.iceberg_snapshot_id}"
        )
    written = [str(each) for each in _written(work)]
    if written:
        lines.append(f"  wrote {', '.join(written)}")
    lines += [f"  left pending: {each.interval}, {each.reason.text}" for each in session.pending]
    return [*lines, *([f"  {work.reason}"] if work.reason else [])]


def _written(work: UnitOfWork) -> Sequence[object]:
    from vde_dagster.core.time.intervals import merge

    changes = work.publication.changes if work.publication is not None else ()
    return merge(each.interval for each in changes)
