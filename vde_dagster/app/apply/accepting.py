"""Publishing what blocking audits refused, on a person's word (rules R4, R5, R7, R8 and R9).

The rows are on the branch that the refused unit of work has left. They are published by a unit of
work of its own, which is recorded as staged together with who accepted it and why: closed work is
never opened again, and what a crash interrupts is finished as any other work. Nothing is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from vde_dagster.app.binding import Binding, bind_environment, bind_plan, bind_revision
from vde_dagster.app.catch_up.listing import late_data_listed
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.evaluate.evaluation import owned, recovering
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import look_at
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.plan.resolving import bounds_of
from vde_dagster.app.promote.swapping import kept_revisions
from vde_dagster.app.publish.foreign_writes import head_of
from vde_dagster.app.publish.publishing import give_up_after, publish, record
from vde_dagster.app.services import Services
from vde_dagster.app.staleness.late_upstream import why_stale
from vde_dagster.core.audits.results import as_accepted
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.acceptance import acceptable
from vde_dagster.core.ledger.entries import (
    LedgerChange,
    LedgerMismatch,
    LedgerOperation,
    touched,
)
from vde_dagster.core.ledger.late.question import StatelessQuestion
from vde_dagster.core.ledger.unit_of_work import Acceptance, Intent, Publication, UnitOfWork
from vde_dagster.ports.catalog import TableMoved
from vde_dagster.ports.state import Lease


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepting:
    """What a person accepts: a unit of work, the audits that refused it, and why.

    Rows that no audit looked at, since they would leave nothing where there is something, are not
    among it (rule R8).
    """

    work_id: str
    audits: Collection[str]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What was published, and by which versions."""

    done: Evaluated
    binding: Binding
    acceptance: Acceptance


def publish_refused(
    services: Services, files: Callable[[], Graph], accepting: Accepting
) -> Accepted:
    """Publish the rows of a unit of work that audits refused.

    Args:
        services: The ports.
        files: The models of the project's files, which are asked for if the environment does not
            show the version: a new one that audits refused was not promoted.
        accepting: What is accepted.

    Raises:
        Refused: There is nothing to publish, something else is wrong with it than what was
            accepted, or its table or inputs have other rows by now. Nothing was published.
        Conflict: Another process writes this version right now.
        ForeignWrite: Another program wrote to the version's table.
    """
    if not accepting.reason.strip():
        raise Refused("no reason was given for publishing the rows", advice="say it.")
    work = _refused_work(services, accepting.work_id)
    _refuse_if_published(services, work)
    acceptable(work, accepting.audits)
    binding = _binding_of(services, files, work)
    owned(services, binding, work.intent.key.model)
    with (
        late_data_listed(services),
        recovering(services, binding, work.intent.key) as (lease, _),
    ):
        return _published(services, binding, accepting, lease)


def _refused_work(services: Services, work_id: str) -> UnitOfWork:
    work = services.state.work(work_id)
    if work is None:
        raise Refused(
            f"no unit of work {work_id} is recorded",
            advice="`vde audits MODEL` shows those whose rows were refused.",
        )
    return work


def _refuse_if_published(services: Services, work: UnitOfWork) -> None:
    key = work.intent.key
    for each in services.state.accepted([key]).get(key, ()):
        accepted = each.intent.accepted
        if accepted is not None and accepted.work_id == work.intent.work_id:
            raise Refused(
                f"the rows of {accepted.work_id} have already been published by "
                f"{each.intent.work_id}: {accepted}. Nothing was changed"
            )


def _binding_of(services: Services, files: Callable[[], Graph], work: UnitOfWork) -> Binding:
    """What the environment runs, will run once the project's files are planned, or has run."""
    environment, key = work.intent.environment, work.intent.key
    shown = bind_environment(services, environment)
    if shown is not None and _runs(shown, work):
        return shown
    before = _earlier(services, work)
    if before is not None:
        return before
    stays = bounds_of(shown.snapshots) if shown is not None else {}
    planned = bind_plan(plan_environment(services, files(), environment, stays=stays))
    if _runs(planned, work):
        return planned
    raise Refused(
        f"{work.intent.work_id} has rows of the version {key.version} of {key.model}, which no "
        f"revision of {environment} shows and the project's files no longer define. Nothing was "
        "published",
        advice=f"Check out the files that define it, or leave the rows: {environment} does not "
        "need them.",
    )


def _earlier(services: Services, work: UnitOfWork) -> Binding | None:
    """A revision of the environment that ran the version: a rollback to it waits for the rows."""
    shown = services.state.environment(work.intent.environment)
    revisions = kept_revisions(services, shown) if shown is not None else ()
    found = next((each for each in revisions if each.shows(work.intent.key)), None)
    return bind_revision(services, found) if found is not None else None


def _runs(binding: Binding, work: UnitOfWork) -> bool:
    snapshot = binding.snapshots.get(work.intent.key.model)
    return snapshot is not None and snapshot.key == work.intent.key


def _published(
    services: Services, binding: Binding, accepting: Accepting, lease: Lease
) -> Accepted:
    """Under the version's lease everything is looked at again, and nothing of it can change."""
    started = services.clock.now()
    work = _refused_work(services, accepting.work_id)
    _refuse_if_published(services, work)
    publication, audits = acceptable(work, accepting.audits)
    _refuse_if_moved(services, binding, work, publication)
    acceptance = Acceptance(
        work_id=work.intent.work_id,
        audits=audits,
        reason=accepting.reason.strip(),
        author=services.author,
        accepted_at=started,
    )
    intent = _intent(services, binding, work, acceptance)
    key = intent.key
    results = tuple(as_accepted(each) for each in work.audits)
    services.state.record_accepted(intent, results, publication, lease=lease)
    services.state.renew_lease(lease, ttl=services.lease_ttl)
    try:
        publish(services, key, intent.base, publication)
    except TableMoved as error:
        give_up_after(services, key, intent.work_id, error, lease=lease)
        raise
    entries = record(services, binding.environment, key, intent.work_id, publication, lease=lease)
    done = Evaluated(
        work_id=intent.work_id,
        key=key,
        interval=intent.intervals[0],
        rows=sum(each.rows.rows for each in _written(publication)),
        entries=entries,
        iceberg_snapshot_id=publication.iceberg_snapshot_id,
        seconds=(services.clock.now() - started).total_seconds(),
        session=intent.session,
        reason=str(acceptance),
    )
    return Accepted(done=done, binding=binding, acceptance=acceptance)


def _intent(
    services: Services, binding: Binding, work: UnitOfWork, acceptance: Acceptance
) -> Intent:
    session = work.intent.session
    if session is not None:  # what it was decided from is stored once for each session
        session = replace(session, question=services.state.question(work.intent.work_id))
    return replace(
        work.intent,
        work_id=services.ids.new(),
        environment=binding.environment,
        session=session,
        accepted=acceptance,
    )


def _written(publication: Publication) -> tuple[LedgerChange, ...]:
    return tuple(e for e in publication.changes if e.operation is not LedgerOperation.KEEP)


def _refuse_if_moved(
    services: Services, binding: Binding, work: UnitOfWork, publication: Publication
) -> None:
    """Refuse rows that are not those which evaluating the model would give now.

    Raises:
        Refused: With the reason.
    """
    why = _why_moved(services, binding, work, publication)
    if why:
        environment = work.intent.environment
        shown = bind_environment(services, environment)
        again = f"`vde plan {environment}`"
        if shown is not None and _runs(shown, work):
            again = f"`vde run {environment}`"
        elif _earlier(services, work) is not None:
            again = f"`vde rollback {environment}`"
        raise Refused(
            f"the rows of {work.intent.work_id} are out of date: {why}. Nothing was published",
            advice=f"{again} computes what {work.intent.key.model} still lacks. If rows fail "
            "again, publish those.",
        )


def _why_moved(
    services: Services, binding: Binding, work: UnitOfWork, publication: Publication
) -> str:
    intent = work.intent
    head = head_of(services, intent.key)
    if head != intent.base:
        return (
            f"{intent.key.table} was at the Iceberg snapshot {intent.base} when they were staged, "
            f"and is at {head} now"
        )
    if intent.work_id not in services.catalog.branches(intent.key.table):
        return f"their branch of {intent.key.table} is missing"
    try:
        there = services.state.entries_within(intent.key, touched(publication.changes))
        entries = publication.recorded(there, intent.work_id)
    except LedgerMismatch as error:
        return error.message
    if intent.session is not None:
        return _why_other_marks(services, work)
    node = binding.node(intent.key.model)
    if not node.model.kind.follows_upstream:
        return ""
    states = InputStates(services=services, graph=binding.graph, snapshots=binding.snapshots)
    intervals = {each.interval for each in _written(publication)}
    look = look_at(
        binding.graph, states, node.name, [e for e in entries if e.interval in intervals]
    )
    return why_stale(look) if look.stale else ""


def _why_other_marks(services: Services, work: UnitOfWork) -> str:
    """Why a session would be decided otherwise by now; empty if it would not.

    Rows that have come since its marks are loaded by the next session, as always. One that loaded
    all again asked for no marks, and the table has not moved since.
    """
    session, key = work.intent.session, work.intent.key
    assert session is not None, "only sessions have marks"
    marks = services.state.marks(key)
    moved = [
        each.name
        for each in session.sources
        if each.before is not None and marks.get(each.name) != each.before
    ]
    if moved:
        return f"the high-water mark of {', '.join(map(str, moved))} has moved since"
    question = services.state.question(work.intent.work_id)
    known = services.state.pending([key]).get(key, ())
    if isinstance(question, StatelessQuestion) and question.pending != known:
        return "the pending late rows have changed since"
    return ""
