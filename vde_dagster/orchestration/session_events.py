"""One catch-up session in Dagster: it is run, and every interval and check is reported."""

from __future__ import annotations

from collections.abc import Callable, Generator

import dagster as dg

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import Services
from vde_dagster.core.errors import VdeError
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.names import ModelName
from vde_dagster.orchestration.checks import AuditWatch, CheckNames, check_events
from vde_dagster.orchestration.known_events import events_of
from vde_dagster.orchestration.metadata import SESSION, Keys, Metadata, session_metadata
from vde_dagster.orchestration.provenance import input_provenance
from vde_dagster.orchestration.step_log import log_units, logged_progress

Outcome = Evaluated | NothingToLoad


def session_events(
    context: dg.OpExecutionContext,
    services: Services,
    binding: Binding,
    name: ModelName,
    *,
    keys: Keys,
    names: CheckNames,
    load: Callable[[], Outcome],
) -> Generator[object, None, Outcome]:
    """Run a session: an event for each check and each interval that it wrote.

    Args:
        context: That of the op.
        services: The ports.
        binding: What the environment runs.
        name: The model.
        keys: The asset keys of the model and what it reads.
        names: What the checks of models are called where a translator changes that.
        load: Runs the session.

    Returns:
        What the session did.
    """
    audits, node = AuditWatch.begin(services, binding, name), binding.node(name)
    parents = [keys[each] for each in node.model.parents]
    provenance = input_provenance(context.instance, parents)
    try:
        with logged_progress(context.log, services.engine.progress):
            outcome = load()
    except VdeError:
        yield from check_events([audits], keys, names=names)
        raise
    if isinstance(outcome, NothingToLoad):
        context.log.info(f"{name}: nothing to load: {outcome.reason}")
    else:
        log_units(context.log, services, binding, [outcome])
        tag_session(context, outcome)
        yield from events_of(context.instance, binding, node, keys, outcome, provenance=provenance)
        yield from check_events([audits], keys, [outcome], names)
    return outcome


def tag_session(context: dg.OpExecutionContext, done: Evaluated) -> None:
    """Give a run the id of a session that it ran, by which the session can be found again."""
    if done.session is not None:
        tag = f"{SESSION}{done.key.model}"
        context.instance.add_run_tags(context.run_id, {tag: done.work_id})


def outcome_metadata(outcome: Outcome) -> Metadata:
    """What a session found, for the step that ran it."""
    if isinstance(outcome, NothingToLoad):
        return {"vde/reason": outcome.reason}
    session = session_metadata(outcome.session) if outcome.session is not None else {}
    return {"vde/rows_written": outcome.rows, **session}
