"""Units of work in the state: what each is about to do, has staged, and became of it (rule R5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.unit_of_work import Intent, Publication, UnitOfWork
from vde_dagster.core.model.snapshot import VersionKey

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
