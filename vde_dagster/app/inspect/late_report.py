"""What is known of late data in an environment: marks, what is pending, and past sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.detecting import detect, question
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.plan.fillers import Filler, fillers
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.late_data_proposal import Proposal, SourceMetadata, proposed
from vde_dagster.core.graph.render_model import tables_read
from vde_dagster.core.ledger.late.deciding import decide
from vde_dagster.core.ledger.late.decision import Decision, NothingToLoad, Stop, reloading
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.late.question import Question
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.late_data import LateDataMode
from vde_dagster.core.names import ModelName, TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class LateReport:
    """The late data of one model: what was recorded, and what a session would do now.

    ``owner`` is the environment that runs its sessions; None if the version has no owner yet.
    ``filler`` is that if it is another environment, which may not show the version.
    ``pending`` is what was recorded, or what a session would record that loads nothing.
    """

    name: ModelName
    mode: LateDataMode
    owner: str | None
    filler: Filler | None
    marks: tuple[HighWaterMark, ...]
    pending: tuple[Pending, ...]
    decision: Decision


def late_reports(
    services: Services, binding: Binding, names: Sequence[ModelName]
) -> tuple[LateReport, ...]:
    """The late data of some models that load it by sessions. Starts no Spark and writes nothing."""
    keys = [binding.key(name) for name in names]
    owners, pending = services.state.owners(keys), services.state.pending(keys)
    theirs = fillers(services, binding.environment, keys, owners)
    seen = Seen.above(services, binding, names)
    decisions = {key: detect(services, binding, key.model, seen=seen) for key in keys}
    return tuple(
        LateReport(
            name=key.model,
            mode=policy.mode,
            owner=owners.get(key),
            filler=theirs.get(key),
            marks=tuple(services.state.marks(key).values()),
            pending=_would_record(found) or pending.get(key, ()),
            decision=_elsewhere(found, key.model, binding.environment, theirs.get(key)),
        )
        for key, found in decisions.items()
        if (policy := binding.graph[key.model].model.late_data) is not None
    )


def _elsewhere(
    decision: Decision, name: ModelName, environment: str, filler: Filler | None
) -> Decision:
    """A decision whose advice is to be followed where sessions of the version run."""
    if filler is None or not isinstance(decision, Stop):
        return decision
    here, there = (reloading(name, each) for each in (environment, filler.environment))
    return replace(decision, advice=decision.advice.replace(here, there))


def _would_record(decision: Decision) -> tuple[Pending, ...]:
    return decision.pending if isinstance(decision, NothingToLoad) else ()


def past_sessions(
    services: Services, binding: Binding, name: ModelName, *, limit: int
) -> Sequence[UnitOfWork]:
    """The sessions of the version that an environment shows, newest first."""
    return services.state.sessions(binding.key(name), limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A decision of a model's session, and what it was made from.

    ``work`` is the session that was decided; None for the next one. ``question`` is None if it is
    not stored, as for old sessions, or if the project's clock has no time yet.
    """

    name: ModelName
    decision: Decision
    question: Question | None
    work: UnitOfWork | None = None


def explain_next(services: Services, binding: Binding, name: ModelName) -> Explained:
    """What a session would do now, and why. Starts no Spark and writes nothing.

    Raises:
        Refused: The model has no late data.
    """
    found = question(services, binding, name)
    if isinstance(found, NothingToLoad):
        return Explained(name=name, decision=found, question=None)
    return Explained(name=name, decision=decide(found), question=found)


def explain_session(
    services: Services, binding: Binding, name: ModelName, session_id: str
) -> Explained:
    """What a session did, and what that was decided from.

    Raises:
        Refused: The version that the environment shows has no session of this id.
    """
    work = services.state.work(session_id)
    if work is None or work.intent.session is None or work.intent.key != binding.key(name):
        raise Refused(
            f"{name} has no session {session_id} here",
            advice=f"`vde late sessions {name}` lists them.",
        )
    asked = services.state.question(session_id)
    return Explained(name=name, decision=work.intent.session, question=asked, work=work)


def late_proposal(services: Services, graph: Graph, name: ModelName) -> Proposal:
    """A `late_data` property for a model of the files.

    Raises:
        Refused: The model cannot have it, has it already, or reads nothing that can be tracked.
    """
    return proposed(graph, name, tuple(_metadata(services, graph, name)))


def _metadata(services: Services, graph: Graph, name: ModelName) -> Iterator[SourceMetadata]:
    for each in tables_read(graph, graph[name]):
        if graph[each].model.kind.is_source:
            table = services.catalog.table(TableName(each.schema, each.name))
            if table is not None:
                yield SourceMetadata(
                    name=each,
                    columns=table.columns,
                    partition_columns=table.partition_columns,
                )
