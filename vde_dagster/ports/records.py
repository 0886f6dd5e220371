"""Parts of the state: units of work (rule R5), late data, held leases and paused models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.late.marks import HighWaterMark, MarkMove
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.late.question import Question
from vde_dagster.core.ledger.unit_of_work import Intent, Publication, UnitOfWork
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pauses import Pause

if TYPE_CHECKING:
    from vde_dagster.ports.state import Lease


class WorkRecords(Protocol):
    """A part of the state; see `vde_dagster.ports.state.State`."""

    def record_intent(self, intent: Intent, *, lease: Lease) -> None:
        """Record a unit of work before it stages anything.

        Raises:
            Conflict: The version is being dropped.
            LeaseLost: The lease on the version is not held any more.
        """
        ...

    def record_staged(self, work_id: str, publication: Publication, *, lease: Lease) -> None:
        """Record what a unit of work is about to publish.

        Raises:
            LeaseLost: The lease on the version is not held any more.
        """
        ...

    def finalize(self, work_id: str, *, lease: Lease) -> tuple[LedgerEntry, ...]:
        """Record a published unit of work: ledger, D-SHAs, mark and session in one transaction.

        Returns the entries of the intervals that it has set, as they are afterwards. Recording it
        again changes nothing.

        Raises:
            LeaseLost: The lease on the version is not held any more.
            LedgerMismatch: The changes do not fit the ledger; nothing was changed.
        """
        ...

    def abandon(
        self, work_id: str, *, reason: str, lease: Lease, refused: Publication | None = None
    ) -> None:
        """Record that a unit of work will not be published.

        What audits ``refused`` is what it would have published, if a person accepts that.
        """
        ...

    def record_accepted(
        self,
        intent: Intent,
        results: Sequence[AuditResult],
        publication: Publication,
        *,
        lease: Lease,
    ) -> None:
        """Record a unit of work that publishes what audits refused another one, as staged.

        Raises:
            Conflict: The version is being dropped.
            LeaseLost: The lease on the version is not held any more.
        """
        ...

    def open_work(self, key: VersionKey) -> Sequence[UnitOfWork]:
        """Units of work on a version that are neither done nor abandoned, oldest first."""
        ...

    def unfinished(self, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
        """Those of these versions that have a unit of work that is neither done nor abandoned."""
        ...

    def failed(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, UnitOfWork]:
        """The newest unit of work of each of these versions, where it was abandoned.

        Versions are absent whose newest unit of work is open or done, and those without any.
        """
        ...

    def work(self, work_id: str) -> UnitOfWork | None:
        """One unit of work."""
        ...

    def works(self, work_ids: Iterable[str]) -> Mapping[str, UnitOfWork]:
        """Units of work by their ids; ids that were never recorded are absent."""
        ...

    def record_audits(self, work_id: str, results: Sequence[AuditResult], *, lease: Lease) -> None:
        """Record what audits found among the staged rows of a unit of work.

        Raises:
            LeaseLost: The lease on the version is not held any more.
        """
        ...

    def audited(self, key: VersionKey, *, limit: int) -> Sequence[UnitOfWork]:
        """Units of work of a version whose rows were audited, newest first."""
        ...

    def accepted(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, tuple[UnitOfWork, ...]]:
        """Published units of work of these versions whose rows a person accepted, oldest first.

        Versions without any are absent.
        """
        ...


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLease:
    """A lease that is held, expired or not, and what is known of the process.

    ``host`` and ``pid`` are None for a lease of a release that did not store them. ``is_over`` if
    it has expired, or the process is known to have ended: then any process may take it.
    ``runs_here`` if the process is seen to run on this machine.
    """

    resource: str
    holder: str
    epoch: int
    expires_at: datetime
    host: str | None
    pid: int | None
    command: str
    is_over: bool
    runs_here: bool


class HeldLeases(Protocol):
    """A part of the state; see `vde_dagster.ports.state.State`."""

    def leases(self) -> Sequence[HeldLease]:
        """The leases that are held, by resource; those that were given back are absent."""
        ...

    def free_lease(self, lease: HeldLease) -> None:
        """Take a lease from a holder that has ended. Nothing more can be written under it.

        Raises:
            Conflict: Another process has it by now; nothing was changed.
        """
        ...


class Pauses(Protocol):
    """A part of the state; see `vde_dagster.ports.state.State`."""

    def pauses(self, environment: str) -> Mapping[ModelName, Pause]:
        """The paused models of an environment."""
        ...

    def pause(self, pauses: Sequence[Pause]) -> None:
        """Pause models, all or none. One that is paused already gets the new time and reason."""
        ...

    def resume(self, environment: str, models: Iterable[ModelName]) -> None:
        """End the pauses of models, all or none; no error for one that is not paused."""
        ...
