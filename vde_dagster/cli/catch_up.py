"""`vde catch-up`: sessions that find late rows and load each exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.facts import union
from vde_dagster.core.errors import EvaluationFailed, Refused, as_sentence
from vde_dagster.core.ledger.late.decision import Decision, Load, NothingToLoad, SourceFound, Stop
from vde_dagster.core.ledger.late.pending import pending_text
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import format_instant

if TYPE_CHECKING:
    from vde_dagster.app.binding import Binding
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.composition import VdeProject


@click.command("catch-up")
@click.argument("model", type=options.model, required=False, metavar="[MODEL]")
@click.option("--explain", is_flag=True, help="Only show what a session would do, and why.")
@click.option(
    "--reload",
    is_flag=True,
    help="Load all of MODEL again from its source as it is now. Rows gone there are lost.",
)
@options.ENVIRONMENT
@options.shared
def catch_up_command(
    call: Call, *, model: ModelName | None, explain: bool, reload: bool, environment: str
) -> None:
    """Run one catch-up session of MODEL, or of every model with late data.

    A session finds, from Iceberg metadata, the rows that arrived in the source since the last
    session, and loads them in one commit. If there is nothing to load, Spark is not started. If
    one model cannot be loaded, the others still are.
    """
    if reload and model is None:
        raise click.UsageError("--reload needs the MODEL that is to be loaded again.")
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.app.catch_up.detecting import detect, late_models

    services = call.services
    binding = shown_binding(services, environment)
    names = (model.within(call.catalog),) if model is not None else late_models(binding)
    pauses = services.state.pauses(environment) if model is None else {}
    sessions: list[dict[str, object]] = []
    stopped: list[str] = []
    for name in names:
        decision: Decision = (
            NothingToLoad(reason=f"it is {pauses[name]}")
            if name in pauses
            else detect(services, binding, name, reload=reload)
        )
        loaded = None
        if isinstance(decision, Load) and not explain:
            try:
                decision, loaded = _load(call.project, binding, name, reload=reload)
            except (Refused, EvaluationFailed) as error:
                if len(names) == 1:
                    raise
                decision = Stop(reason=error.message.rstrip("."), advice=as_sentence(error.advice))
        if isinstance(decision, Stop):
            stopped.append(str(name))
        sessions.append(_document(name, decision, loaded))
        if not call.is_json:
            click.echo("\n".join(_lines(name, decision, loaded)))
    none = [] if names else [f"No model of {environment} has late data."]
    call.answer({"environment": environment, "explain": explain, "sessions": sessions}, none)
    if stopped and not explain:
        raise Refused(f"not loaded: {', '.join(stopped)}.")


def _document(name: ModelName, decision: Decision, loaded: Evaluated | None) -> dict[str, object]:
    entry: dict[str, object] = {"model": name, "decision": union(Decision, decision)}
    if loaded is None:
        return entry
    seconds = round(loaded.seconds, 3)
    return entry | {"rows": loaded.rows, "seconds": seconds, "work_id": loaded.work_id}


def _load(
    project: VdeProject, binding: Binding, name: ModelName, *, reload: bool
) -> tuple[Decision, Evaluated | None]:
    """Run a session. It decides again under its lease, as another may have loaded the rows."""
    from vde_dagster.orchestration.jobs import run_catch_up

    outcome = run_catch_up(project, binding, name, reload=reload)
    if isinstance(outcome, NothingToLoad):
        return outcome, None
    assert outcome.session is not None, "a session says what it loaded"
    return outcome.session, outcome


def _lines(name: ModelName, decision: Decision, loaded: Evaluated | None) -> Iterator[str]:
    match decision:
        case NothingToLoad(reason=reason):
            yield f"{name}: nothing to load ({reason})."
        case Stop(reason=reason, advice=advice):
            yield f"{name}: stopped, {reason}."
            if advice:
                yield f"  {advice}"
        case Load():
            if loaded is None:
                yield f"{name}: a session would load"
            else:
                yield f"{name}: loaded {loaded.rows:,} rows in {loaded.seconds:.1f} s."
            yield from _evidence(decision)
        case unreachable:
            assert_never(unreachable)


def _evidence(decision: Load) -> Iterator[str]:
    if decision.rewrite:
        yield f"  {decision.rewrite}, so all that is loaded is overwritten"
    for each in decision.fill:
        yield f"  whole: {format_instant(each.start)} to {format_instant(each.end)}"
    for uri in decision.evidence:
        yield f"  new: {uri.as_json()}, {uri.rows:,} rows in {uri.files} new files"
    for source in decision.sources:
        yield f"  {moved_text(source)}"
    if decision.pending:
        yield f"  pending: {pending_text(decision.pending)}"


def moved_text(source: SourceFound) -> str:
    """How the high-water mark of a source moves."""
    before = source.before.iceberg_snapshot_id if source.before else "the beginning"
    return f"source {source.name}: Iceberg snapshot {before} to {source.after.iceberg_snapshot_id}"
