"""Decisions of sessions with what they were made from: the next one, and those that are stored."""

from __future__ import annotations

from dataclasses import dataclass

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.detecting import question
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.late.deciding import decide
from vde_dagster.core.ledger.late.decision import Decision, NothingToLoad
from vde_dagster.core.ledger.late.question import Question
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.names import ModelName


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
