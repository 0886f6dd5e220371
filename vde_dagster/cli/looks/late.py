"""`vde late`: what is known of late data, what sessions did, and a `late_data` to begin with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, assert_never

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.facts import fields_of
from vde_dagster.cli.printing import Note
from vde_dagster.cli.runs.catch_up import explain, late_models_of, moved_text
from vde_dagster.cli.spelling import vde
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad, Stop
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.unresolved import guess
from vde_dagster.core.time.intervals import format_instant

if TYPE_CHECKING:
    from vde_dagster.app.inspect.late_report import LateReport
    from vde_dagster.core.graph.graph import Node
    from vde_dagster.core.ledger.late.marks import HighWaterMark
    from vde_dagster.core.ledger.unit_of_work import UnitOfWork


@click.group("late")
def late_command() -> None:
    """Show high-water marks, pending late rows and past catch-up sessions.

    Nothing is written, and Spark is not started.
    """


late_command.add_command(explain)


@options.command("status", late_command, "Show marks, pending rows, and what a session would do.")
@click.argument("model", type=options.model, required=False, metavar="[MODEL]")
@options.ENVIRONMENT
def status(call: Call, *, model: ModelName | None, environment: str) -> None:
    """Show the late data of MODEL, or of every model with late data.

    It lists the high-water mark of each source, pending rows with the reason, and what a session
    would do now.

    For example:

        vde late status staging.events
    """
    from vde_dagster.app.inspect.late_report import late_reports

    binding, names = late_models_of(call, environment, model)
    found = late_reports(call.services, binding, names)
    models = [{**fields_of(each), "commands": _commands(each, environment)} for each in found]
    call.answer(
        {"environment": environment, "models": models},
        (line for each in found for line in late_lines(each, environment)),
        otherwise=f"No model of {environment} has late data.",
    )


@options.command("sessions", late_command, "Show past sessions of a model, newest first.")
@options.MODEL
@options.limit(10, "Show at most this many.")
@options.ENVIRONMENT
def sessions(call: Call, *, model: ModelName, limit: int, environment: str) -> None:
    """Show what the latest sessions of MODEL found, loaded and left pending, newest first.

    For example:

        vde late sessions staging.events --limit 3
    """
    from vde_dagster.app.inspect.late_report import past_sessions

    binding, (name,) = late_models_of(call, environment, model)
    found = past_sessions(call.services, binding, name, limit=limit)
    facts = [{"session": each, "written": _written(each)} for each in found]
    call.answer(
        {"model": name, "environment": environment, "sessions": facts},
        (line for each in found for line in _session_lines(each, binding.node(name))),
        otherwise=f"No session of {name} has run yet.",
    )


def _commands(found: LateReport, environment: str) -> list[str | None]:
    """What loads each of what is pending; None if a session does, once sources are complete.

    It is None, too, where the environment that may load it does not show the model.
    """
    from vde_dagster.core.ledger.late.pending import loading_arguments

    if found.filler is not None and not found.filler.shows:
        return [None] * len(found.pending)
    owner = found.owner or environment
    loading = (loading_arguments(found.name, owner, each) for each in found.pending)
    return [None if words is None else vde(*words) for words in loading]


def late_lines(found: LateReport, environment: str) -> Iterator[str]:
    """What `vde late status` prints of a model."""
    yield f"{found.name} ({found.mode.value})"
    yield from (f"  mark: {_mark_text(each)}" for each in found.marks)
    for each, command in zip(found.pending, _commands(found, environment), strict=True):
        yield f"  pending: {each.interval}, {each.reason.text}"
        if command:
            yield f"    to load it: {command}"
    if found.filler is not None and found.filler.shows:
        yield f"  its sessions run in {found.owner}, which owns its version"
    yield f"  {_decision_text(found, environment)}"


def _mark_text(mark: HighWaterMark) -> str:
    complete = f", complete to {format_instant(mark.complete_to)}" if mark.complete_to else ""
    return f"{mark.source} at Iceberg snapshot {mark.iceberg_snapshot_id}{complete}"


def _decision_text(found: LateReport, environment: str) -> str:
    filler, way = found.filler, ""
    if filler is not None and not filler.shows:  # no session runs before it is shown there
        way = filler.computes
    match found.decision:
        case NothingToLoad(reason=reason):
            return f"nothing to load: {reason}"
        case Stop(reason=reason, advice=advice):
            return f"stopped: {reason}. {way or advice}"
        case Load():
            command = vde("catch-up", str(found.name), "--env", found.owner or environment)
            return f"ready to load: {way or f'`{command}`'}"
        case unreachable:
            assert_never(unreachable)


def _session_lines(work: UnitOfWork, node: Node) -> Iterator[str]:
    session = work.intent.session
    assert session is not None, "only sessions are asked for"
    started = format_instant(work.started_at.replace(microsecond=0))
    yield f"{work.intent.work_id}: {work.state.value}, started {started}"
    for each in session.sources:
        yield f"  {moved_text(each)}"
    if written := _written(work):
        did = "wrote" if node.time_axis is not None else "wrote rows, recorded for"
        yield f"  {did} {', '.join(map(str, written))}"
    yield from (f"  left pending: {each.interval}, {each.reason.text}" for each in session.pending)
    if work.reason:
        yield f"  {work.reason}"


def _written(work: UnitOfWork) -> Sequence[object]:
    from vde_dagster.core.time.intervals import merge

    changes = work.publication.changes if work.publication is not None else ()
    return merge(each.interval for each in changes)


@options.command("init", late_command, "Propose a late_data property for a model.")
@options.MODEL
def init(call: Call, *, model: ModelName) -> None:
    """Propose a late_data property for MODEL, from its query and its sources' metadata.

    The property is printed, for you to put into the MODEL block. Its reasons go to standard error.
    For a keyed model without `sequence_by`, it lists columns that may serve as one.

    For example:

        vde late init staging.events
    """
    from vde_dagster.app.inspect.late_report import late_proposal

    graph, name = call.project.files.graph, model.within(call.catalog)
    if name not in graph:
        known = [str(node.name) for node in graph]
        raise Refused(f"there is no model {name}", advice=guess(str(name), known).strip())
    found = late_proposal(call.services, graph, name)
    whys = [f"{found.mode.value}: {found.why}."]
    for each in found.sources:
        if each.why:
            column = f" by {each.tracked_by}" if each.tracked_by else ""
            whys.append(f"{each.name} is tracked{column}: {each.why}.")
    whys += [f"{left} is not tracked: {why}." for left, why in found.left_out]
    document = {"model": name, "late_data": found.text, "proposal": found}
    call.answer(document, [found.text, *map(Note, whys)])
