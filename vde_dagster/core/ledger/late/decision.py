"""What a session of a version does, or why it does nothing, with the evidence for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from vde_dagster.core.ledger.late.history import ProcessingUri
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.late.question import Question
from vde_dagster.core.model.late_data import LateDataMode
from vde_dagster.core.names import ModelName, env_option
from vde_dagster.core.time.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFound:
    """What was found of one tracked source: its marks before and after, and what is new.

    ``evidence`` names the partitions of new files; it is empty where none of their rows
    can be late.
    """

    before: HighWaterMark | None
    after: HighWaterMark
    evidence: tuple[ProcessingUri, ...] = ()

    @property
    def name(self) -> ModelName:
        """The source."""
        return self.after.source

    @property
    def has_moved(self) -> bool:
        """Whether the mark moves."""
        return self.before != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToLoad:
    """The session would load nothing; ``reason`` says why, for a person.

    ``sources`` and ``pending`` are what is to be recorded all the same, so that what is known of
    the sources does not depend on Iceberg snapshots that may expire.
    """

    reason: str
    sources: tuple[SourceFound, ...] = ()
    pending: tuple[Pending, ...] = ()

    @property
    def has_moved(self) -> bool:
        """Whether a mark moves."""
        return any(each.has_moved for each in self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """What happened to a source cannot be loaded by a session; a person has to decide."""

    reason: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a session does in one commit.

    ``fill`` intervals are loaded whole from the sources as of their marks after it. Of a stateless
    session, rows of the files added in between are appended where they fall into ``loaded``.
    ``rewrite`` is what was done to rows that are loaded already, for a person: then all of it is
    in ``fill`` (rule R7). Of a stateful session, ``late`` is the part of ``fill`` that is loaded
    already, and ``limit`` is up to when all sources are complete.
    """

    mode: LateDataMode = LateDataMode.STATELESS
    sources: tuple[SourceFound, ...]
    fill: tuple[Interval, ...]
    loaded: tuple[Interval, ...] = ()
    rewrite: str = ""
    late: tuple[Interval, ...] = ()
    limit: datetime | None = None
    pending: tuple[Pending, ...] = ()
    question: Question | None = field(default=None, compare=False, repr=False)

    @property
    def only(self) -> SourceFound:
        """The one source of a stateless session."""
        (found,) = self.sources
        return found

    @property
    def evidence(self) -> tuple[ProcessingUri, ...]:
        """The partitions with new files, of all sources."""
        return tuple(uri for each in self.sources for uri in each.evidence)

    @property
    def marks(self) -> tuple[HighWaterMark, ...]:
        """The marks after the session."""
        return tuple(each.after for each in self.sources)

    @property
    def why_again(self) -> str:
        """Why rows of what is loaded may change, for people; empty where they stay as they are."""
        if self.rewrite:
            return self.rewrite
        if self.mode is LateDataMode.STATEFUL:
            late = f"rows of {named(self.sources)} have changed since it was loaded"
            return late if self.late else ""
        if self.is_first:
            return "no session loaded its rows, so all of it is loaded again"
        if self.evidence:
            return f"late rows of {named(self.sources)} have arrived since its high-water mark"
        return ""

    @property
    def is_first(self) -> bool:
        """Whether no mark was true of what is loaded before."""
        return all(each.before is None for each in self.sources)


Decision = NothingToLoad | Stop | Load


def named(sources: Sequence[SourceFound]) -> str:
    """The sources with something new, for people; all of them if that is not known of any."""
    new = [each for each in sources if each.evidence] or sources
    return ", ".join(str(each.name) for each in new)


MISSING: Final = Stop(
    reason="the source does not exist in the catalog",
    advice="Create the source table, or correct the name under late_data.",
)
_RELOADING: Final = "`vde catch-up MODEL --reload`"
RELOAD: Final = f"{_RELOADING} reloads all of it from the source as it is now."


def reloading(model: ModelName, environment: str) -> str:
    """The command that loads all of a model again from its sources, as texts quote it."""
    return f"`vde catch-up {model}{env_option(environment)} --reload`"


def addressed(decision: Decision, model: ModelName, environment: str) -> Decision:
    """A decision whose advice names the model and the environment that it is about."""
    if not isinstance(decision, Stop):
        return decision
    advice = decision.advice.replace(_RELOADING, reloading(model, environment))
    return replace(decision, advice=advice)
