"""Decisions of sessions with what they were made from: the next one, and those that are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.detecting import question
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.late.deciding import decide
from vde_dagster.core.ledger.late.decision import Decision, Load, NothingToLoad
from vde_dagster.core.ledger.late.question import Question
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.names import ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A decision of a model's session, and what it was made from.

    ``work`` is the session that was decided; None for the next one. ``question`` is None if it is
    not stored, as for old sessions and those of earlier releases, or if the project's clock has no
    time yet.
    """

    name: ModelName
    decision: Decision
    question: Question | None
    work: UnitOfWork | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A stored decision that was made again from what it was made from.

    ``again`` is None if that is not stored.
    """

    work: UnitOfWork
    again: Decision | None

    @property
    def is_same(self) -> bool:
        """Whether both decisions are equal."""
        return self.again == self.work.intent.session


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


def replay(works: Sequence[UnitOfWork], services: Services) -> tuple[Replayed, ...]:
    """Decide sessions again, each from what is stored of it. Nothing is loaded or written."""
    return tuple(_replayed(services, work) for work in works)


def _replayed(services: Services, work: UnitOfWork) -> Replayed:
    asked = services.state.question(work.intent.work_id)
    return Replayed(work=work, again=None if asked is None else decide(asked))


def differences(stored: Load, again: Decision) -> list[str]:
    """In what two decisions differ, for people."""
    if not isinstance(again, Load):
        return [f"it would load nothing now: {again.reason}"]
    names = ("mode", "sources", "fill", "loaded", "rewrite", "late", "limit", "pending")
    return [
        f"{name}: {getattr(stored, name)} then, {getattr(again, name)} now"
        for name in names
        if getattr(stored, name) != getattr(again, name)
    ]
