"""`vde catch-up` and `vde late explain`: what sessions load, and what they are decided from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

import click

from vde_dagster.cli import options
from vde_dagster.cli.call import Call
from vde_dagster.cli.facts import fields_of, union
from vde_dagster.core.errors import EvaluationFailed, Refused, as_sentence
from vde_dagster.core.ledger.late.decision import Decision, Load, NothingToLoad, SourceFound, Stop
from vde_dagster.core.ledger.late.pending import pending_text
from vde_dagster.core.ledger.late.question import (
    LateRows,
    Question,
    StatefulQuestion,
    StatelessQuestion,
    TrackedHistory,
)
from vde_dagster.core.ledger.late.stateless import is_rebuilt
from vde_dagster.core.listing import plural
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, format_instant

if TYPE_CHECKING:
    from vde_dagster.app.binding import Binding
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.app.inspect.late_report import Explained
    from vde_dagster.composition import VdeProject


@options.command("catch-up")
@click.argument("model", type=options.model, required=False, metavar="[MODEL]")
@click.option("--explain", is_flag=True, help="Only show what a session would do, and why.")
@click.option(
    "--reload",
    is_flag=True,
    help="Reload all of MODEL from its source as it is now. Rows that it has dropped are lost.",
)
@options.ENVIRONMENT
def catch_up_command(
    call: Call, *, model: ModelName | None, explain: bool, reload: bool, environment: str
) -> None:
    """Run one catch-up session of MODEL, or of every model with late data.

    A session finds, from Iceberg metadata, the rows that arrived in the source since the last
    session, and loads them in one commit, each row once. If there is nothing to load, Spark is not
    started.

    If loaded rows of the source may have changed, `on_source_rewrite` of the model decides:
    `overwrite` loads all due intervals again, `stop` loads nothing until --reload. A source that
    was dropped and created again always stops the model.

    Exit codes: 0 if all models are up to date, 1 if a model could not be loaded. Other models are
    loaded nevertheless.

    For example:

        vde catch-up staging.events --explain
    """
    if reload and model is None:
        raise click.UsageError("--reload needs the MODEL to reload.")
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.app.catch_up.detecting import detect, late_models
    from vde_dagster.app.catch_up.listing import late_data_listed

    services = call.services
    binding = shown_binding(services, environment)
    names = (model.within(call.catalog),) if model is not None else late_models(binding)
    pauses = services.state.pauses(environment) if model is None else {}
    sessions: list[dict[str, object]] = []
    stopped: list[str] = []
    with nullcontext() if explain else late_data_listed(services):
        for name in names:
            decision: Decision = (
                NothingToLoad(reason=f"it is {pauses[name]}")
                if name in pauses
                else detect(services, binding, name, reload=reload)
            )
            loaded = None
            if isinstance(decision, Load) and not explain:
                alone = len(names) == 1
                decision, loaded = _tried(call.project, binding, name, reload=reload, alone=alone)
            if isinstance(decision, Stop):
                stopped.append(str(name))
            sessions.append(_document(name, decision, loaded))
            if not call.is_json:
                click.echo("\n".join(session_lines(name, decision, loaded)))
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


def _tried(
    project: VdeProject, binding: Binding, name: ModelName, *, reload: bool, alone: bool
) -> tuple[Decision, Evaluated | None]:
    """Run a session. What is refused is an error only if the model was asked for ``alone``."""
    try:
        return _load(project, binding, name, reload=reload)
    except (Refused, EvaluationFailed) as error:
        if alone:
            raise
        return Stop(reason=error.message.rstrip("."), advice=as_sentence(error.advice)), None


def _load(
    project: VdeProject, binding: Binding, name: ModelName, *, reload: bool
) -> tuple[Decision, Evaluated | None]:
    """Run a session. It decides again under its lease, as another may have loaded the rows."""
    from vde_dagster.orchestration.jobs.runs import run_catch_up

    outcome = run_catch_up(project, binding, name, reload=reload)
    if isinstance(outcome, NothingToLoad):
        return outcome, None
    assert outcome.session is not None, "a session says what it loaded"
    return outcome.session, outcome


def session_lines(
    name: ModelName, decision: Decision, loaded: Evaluated | None = None
) -> Iterator[str]:
    """What `vde catch-up` prints of a model."""
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
                yield f"{name}: loaded {plural(loaded.rows, 'row')} in {loaded.seconds:.1f} s."
                yield from _merged(loaded)
            yield from _evidence(decision)
        case unreachable:
            assert_never(unreachable)


def _merged(loaded: Evaluated) -> Iterator[str]:
    """What became of changes of keys; nothing where rows are no changes."""
    if loaded.merged is not None:
        found = loaded.merged
        yield (
            f"  changes: {found.inserted:,} inserted, {found.updated:,} updated, {found.hidden:,} "
            f"hidden from readers, {found.without_effect:,} without effect"
        )


def _evidence(decision: Load) -> Iterator[str]:
    if decision.rewrite:
        yield f"  {decision.rewrite}, so all loaded intervals are overwritten"
    filled = "due" if _takes_new_rows_alone(decision) else "whole"
    for each in decision.fill:
        yield f"  {filled}: {format_instant(each.start)} to {format_instant(each.end)}"
    for uri in decision.evidence:
        yield f"  new: {uri.as_json()}, {_counted(uri.rows, uri.files)}"
    for source in decision.sources:
        yield f"  {moved_text(source)}"
    if decision.pending:
        yield f"  pending: {pending_text(decision.pending)}"


def _takes_new_rows_alone(load: Load) -> bool:
    """Whether a session reads new files and nothing else, also for what became due."""
    asked = load.question
    rules = asked.without_times if isinstance(asked, StatelessQuestion) else None
    return rules is not None and not rules.by_time and not is_rebuilt(load)


def _counted(rows: int, files: int) -> str:
    return f"{plural(rows, 'row')} in {plural(files, 'new file')}"


def moved_text(source: SourceFound) -> str:
    """How the high-water mark of a source moves."""
    after = f"Iceberg snapshot {source.after.iceberg_snapshot_id}"
    if source.before is None:
        return f"source {source.name}: from the beginning to {after}"
    return f"source {source.name}: Iceberg snapshot {source.before.iceberg_snapshot_id} to {after}"


_RANGES = 5


@options.command("explain", None, "Show what a session would load, and why.")
@options.MODEL
@click.option(
    "--session",
    metavar="ID",
    help="Explain a past session, as stored; `vde late sessions` lists the ids.",
)
@options.ENVIRONMENT
def explain(call: Call, *, model: ModelName, session: str | None, environment: str) -> None:
    """Show what the next session of MODEL would do, or a past one did, with its evidence.

    The evidence is the changes of each source since its high-water mark, up to when the source is
    complete, and the loaded and late intervals.

    For example:

        vde late explain staging.events --env prod
    """
    from vde_dagster.app.inspect.late_report import explain_next, explain_session

    binding, (name,) = late_models_of(call, environment, model)
    if session is None:
        found = explain_next(call.services, binding, name)
    else:
        found = explain_session(call.services, binding, name, session)
    call.answer({"environment": environment, **fields_of(found)}, explained_lines(found))


def late_models_of(
    call: Call, environment: str, model: ModelName | None
) -> tuple[Binding, tuple[ModelName, ...]]:
    """What an environment shows, and the model that was asked for, or all with late data.

    Raises:
        Refused: There is no such environment, or the model has no late data.
    """
    from vde_dagster.app.binding import shown_binding
    from vde_dagster.app.catch_up.detecting import late_models

    binding = shown_binding(call.services, environment)
    late = late_models(binding)
    if model is None:
        return binding, late
    name = model.within(call.catalog)
    if name not in late:
        names = ", ".join(map(str, late)) or "none"
        raise Refused(f"{name} has no late_data here", advice=f"models that have it: {names}.")
    return binding, (name,)


def explained_lines(found: Explained) -> Iterator[str]:
    """What `vde late explain` prints."""
    if found.work is not None:
        began = format_instant(found.work.started_at.replace(microsecond=0))
        yield f"{found.name}, session {found.work.intent.work_id}, started {began}"
    else:
        yield f"{found.name}, what a session would do now"
    if found.question is None and found.work is not None:
        yield "  the evidence for its decision is not stored"
    elif found.question is not None:
        yield from (f"  {line}" for line in _question_lines(found.question))
    yield from (f"  {line}" for line in _decision_lines(found.decision, found.question))


def _question_lines(asked: Question) -> Iterator[str]:
    policy = asked.policy
    rules = [f"on_source_rewrite {policy.on_source_rewrite.value}"]
    if policy.catchup_threshold is not None:
        rules.append(f"catchup_threshold {policy.catchup_threshold}")
    if policy.is_stateful:
        rules.append(f"load_type {policy.load_type.value}")
    yield f"mode {policy.mode.value}; {'; '.join(rules)}"
    yield f"the project's clock: {format_instant(asked.now)}"
    for each in _sources(asked):
        yield from _source_lines(each)
    yield f"loaded: {_ranges(asked.loaded)}"
    match asked:
        case StatelessQuestion():
            timeless = asked.without_times
            if asked.history.changes and (timeless is None or timeless.by_time):
                where = "any time" if asked.touched is None else _ranges(asked.touched)
                yield f"rows of new files are at: {where}"
            for said, times in (
                ("held back by signals", asked.held_back),
                ("pending before", [each.interval for each in asked.pending]),
                ("rows of earlier columns, to be overwritten", asked.outgrown),
            ):
                if times:
                    yield f"{said}: {_ranges(times)}"
            if timeless is not None:
                end = "new rows are added, or the table is rebuilt"
                yield f"its rows belong to no interval: {end}"
        case StatefulQuestion():
            limit = format_instant(asked.limit) if asked.limit is not None else "not known for all"
            yield f"all sources complete to: {limit}"
            yield f"due and not loaded: {_ranges(asked.missing)}"
            yield from (f"late: {_late_text(each)}" for each in asked.late)
        case unreachable:
            assert_never(unreachable)


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
    complete = f"; complete to {format_instant(source.complete_to)}" if source.complete_to else ""
    yield f"source {source.name}: {history.status.value}; {mark}, now at {head}{complete}"
    counted = Counter(each.operation.value for each in history.changes)
    if counted:
        what = ", ".join(f"{number} {name}" for name, number in counted.items())
        files = sum(uri.files for each in history.changes for uri in each.added)
        rows = sum(uri.rows for each in history.changes for uri in each.added)
        yield f"  since the mark: {what}; {_counted(rows, files)}"


def _decision_lines(decision: Decision, asked: Question | None) -> Iterator[str]:
    match decision:
        case NothingToLoad(reason=reason):
            yield f"so nothing is loaded: {reason}"
        case Stop(reason=reason, advice=advice):
            yield f"so the session stops: {reason}. {advice}"
            return
        case Load():
            yield from _loading_lines(replace(decision, question=asked))
        case unreachable:
            assert_never(unreachable)
    for each in decision.pending:
        yield f"and pending: {each.interval}, {each.reason.text}"


def _loading_lines(load: Load) -> Iterator[str]:
    asked = load.question
    if isinstance(asked, StatelessQuestion) and asked.without_times and is_rebuilt(load):
        why = f": {load.rewrite}" if load.rewrite else ""
        yield f"so the table is rebuilt from all rows of its source{why}"
        return
    if load.rewrite:
        yield f"rows that were loaded have changed: {load.rewrite}"
    if _takes_new_rows_alone(load):
        yield "so the rows of new files are added"
        if load.fill:
            yield f"and these intervals then count as loaded: {_ranges(load.fill)}"
        return
    if load.evidence and load.loaded:
        yield f"so rows are added to: {_ranges(load.loaded)}"
    if load.fill:
        yield f"so these intervals are loaded as a whole: {_ranges(load.fill)}"


def _ranges(times: Sequence[Interval]) -> str:
    if not times:
        return "nothing"
    if len(times) > _RANGES:
        start, end = format_instant(times[0].start), format_instant(times[-1].end)
        return f"{len(times):,} ranges from {start} to {end}"
    return ", ".join(map(str, times))
