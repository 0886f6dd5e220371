"""What the state knows of late data: marks, what is pending, sessions, and what is to be listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from vde_dagster.core.ledger.late.marks import HighWaterMark, MarkMove
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.late.question import Question
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlisted:
    """A session of a version that has ended or, without its id, marks of it that have moved."""

    number: int
    key: VersionKey
    session_id: str | None


class LateDataRecords(Protocol):
    """The part of the state for late data that needs no lease.

    Marks and what is pending are written with a unit of work, or by `State.record_detected`.
    """

    def marks(self, key: VersionKey) -> Mapping[ModelName, HighWaterMark]:
        """The high-water marks of a version, by source."""
        ...

    def pending(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, tuple[Pending, ...]]:
        """What is known of the sources of these versions and not loaded; absent if nothing is."""
        ...

    def mark_moves(self, key: VersionKey) -> tuple[MarkMove, ...]:
        """How the high-water marks of a version moved last, by source."""
        ...

    def question(self, work_id: str) -> Question | None:
        """What a session was decided from, as its intent had it; None if it is not stored."""
        ...

    def unlisted(self, *, limit: int) -> tuple[Unlisted, ...]:
        """The sessions and marks that the catalog's tables do not show yet, oldest first.

        They are noted in the transaction that ends a session or moves a mark.
        """
        ...

    def record_listed(self, numbers: Iterable[int]) -> None:
        """Record that the catalog's tables show these. Doing it again changes nothing."""
        ...

    def sessions(self, key: VersionKey, *, limit: int) -> Sequence[UnitOfWork]:
        """Units of work of a version that were catch-up sessions, newest first."""
        ...
