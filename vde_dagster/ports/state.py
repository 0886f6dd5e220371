"""The durable state: snapshots, environments, the ledger, work, leases and marks.

Every method is one short transaction. No transaction is open between two calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from vde_dagster.core.errors import Conflict
from vde_dagster.core.ledger.entries import LedgerDigests, LedgerEntry, LedgerSum
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.savings import Saved
from vde_dagster.core.ledger.staleness import LastLook
from vde_dagster.core.model.fingerprint import Fingerprint
from vde_dagster.core.model.snapshot import ModelSnapshot, Revision, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.clean_up import CleanUp
from vde_dagster.ports.records import HeldLeases, LateDataRecords, Pauses, WorkRecords


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """An environment: its revision (1 for the first promotion) and what it shows.

    ``promoting`` says whether the promotion to this revision was started and is not finished yet;
    then ``snapshots`` are the ones that are being promoted. ``hidden`` are models that it binds but
    has no views of. ``author`` is who promoted, empty where that is not known. ``taken`` is the
    revision, of this environment or another one, that was promoted; None where it was a project's
    files. At a revision that ``is_removed`` the environment was removed. One that ``is_forgotten``
    has left the history: its versions may be dropped, and ``snapshots`` are not all that it showed.
    """

    name: str
    revision: int
    plan_id: str
    promoted_at: datetime
    snapshots: Mapping[ModelName, ModelSnapshot]
    promoting: bool = False
    hidden: frozenset[ModelName] = frozenset()
    author: str = ""
    taken: Revision | None = None
    is_removed: bool = False
    is_forgotten: bool = False

    def shows(self, key: VersionKey) -> bool:
        """Whether it shows this version of its model."""
        own = self.snapshots.get(key.model)
        return own is not None and own.key == key


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write something, until it expires. Each time it is taken the epoch rises."""

    resource: str
    holder: str
    epoch: int


def environment_resource(environment: str) -> str:
    """The name of the lease that is needed to change what an environment shows."""
    return f"environment:{environment}"


VIEW_NUMBERS: Final = "view numbers"
"""The resource whose epoch is the number of the last swap of views; it is never held."""


def version_resource(key: VersionKey) -> str:
    """The name of the lease that is needed to write a version."""
    return f"version:{key.model}:{key.version}"


class LeaseHeld(Conflict):
    """Another process holds the lease; nothing was written."""


class LeaseLost(Conflict):
    """Another process holds the lease by now; nothing was written."""


class State(WorkRecords, LateDataRecords, HeldLeases, Pauses, CleanUp, Protocol):
    """Everything that has to survive a process."""

    # Snapshots and environments
    def snapshots(
        self, ids: Iterable[tuple[ModelName, Fingerprint]]
    ) -> Mapping[tuple[ModelName, str], ModelSnapshot]:
        """Stored snapshots among these, by (name, fingerprint digest)."""
        ...

    def store_snapshots(
        self,
        snapshots: Sequence[ModelSnapshot],
        *,
        environment: str,
        shows: Collection[VersionKey] = (),
    ) -> None:
        """Store what is not stored yet, and make ``environment`` owner of versions without one.

        A stored snapshot is never changed. One that is bounded is stored as it is elsewhere, and
        ``environment`` owns the bounded version. The versions that a plan ``shows`` are kept for it
        from then on (rule R12).

        Raises:
            Conflict: One of the versions is being dropped; nothing was stored.
        """
        ...

    def environment(self, name: str, *, revision: int | None = None) -> Environment | None:
        """What an environment shows, or showed at a revision; None if there is none.

        One that was removed shows nothing.
        """
        ...

    def revision(self, name: str) -> int:
        """The revision of what an environment shows; 0 if there is none.

        It is that of `environment`, without the models.
        """
        ...

    def environments(self) -> Sequence[str]:
        """The names of all environments, sorted."""
        ...

    def owners(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, str]:
        """The environment that may write each of these versions (rule R9)."""
        ...

    def versions(
        self, definitions: Iterable[tuple[ModelName, Fingerprint]]
    ) -> Mapping[VersionKey, tuple[VersionKey, ...]]:
        """The versions of stored snapshots of equal definitions that did not drift, sorted.

        Definitions are equal if the data parts of their fingerprints are. They are given, and
        returned, by the version that their fingerprints give. Those without a stored snapshot are
        absent.
        """
        ...

    def drifted(self, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
        """Those of these versions that may hold rows of another definition than their own.

        They are those that were written for a drifted snapshot, and those that production or their
        owner, which may write them at any time, was promoted to for one. A snapshot that is only
        stored, or shown by an environment that does not write the version, changes no row.
        """
        ...

    def adopted(self, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
        """Those of these versions that production or their owner adopted for another definition.

        What they held then is equal for both (rule R6); what was written since need not be.
        """
        ...

    def begin_promotion(
        self,
        name: str,
        *,
        expected_revision: int,
        plan_id: str,
        snapshots: Sequence[ModelSnapshot],
        lease: Lease,
        hidden: Collection[ModelName] = (),
        author: str = "",
        taken: Revision | None = None,
        looks: Mapping[VersionKey, LastLook] | None = None,
    ) -> Environment:
        """Record that an environment is about to show these stored snapshots, except hidden ones.

        Their version, its bound, who decided about them, and whether they drifted are recorded as
        given here; all else is as it was stored. See `Environment` for ``author`` and ``taken``.
        The ``looks`` are stored with it (rule R10), or nothing is.

        Raises:
            Conflict: Its revision is not ``expected_revision`` (0 for a new environment), or one of
                the versions is being dropped.
            LeaseLost: The lease on the environment is not held any more.
            Refused: It is production, and one of the versions is bounded.
        """
        ...

    def begin_removal(
        self, name: str, *, expected_revision: int, plan_id: str, lease: Lease, author: str = ""
    ) -> Environment:
        """Record that an environment is about to show nothing any more.

        It is finished as a promotion is: `finish_promotion`.

        Raises:
            Conflict: Its revision is not ``expected_revision``.
            LeaseLost: The lease on the environment is not held any more.
        """
        ...

    def finish_promotion(self, name: str, *, plan_id: str) -> Environment:
        """Record that the views of a started promotion are swapped. Repeating it is not an error.

        Production becomes the owner of every version that it shows (rule R9). What it showed before
        has no owner until another plan stores it. A removed environment owns nothing: an
        environment that shows one of its versions is the owner from then on, if there is one.
        """
        ...

    # Leases
    def acquire_lease(self, resource: str, *, holder: str, ttl: timedelta) -> Lease:
        """Take a free or expired lease; a holder may take its own again (with a higher epoch).

        Raises:
            LeaseHeld: It is held; the text names the holder and until when.
        """
        ...

    def renew_lease(self, lease: Lease, *, ttl: timedelta) -> None:
        """Hold a lease for another ``ttl`` from now.

        Raises:
            LeaseLost: It was taken over.
        """
        ...

    def release_lease(self, lease: Lease) -> None:
        """Give a lease back. No error if it was taken over meanwhile."""
        ...

    def lease_holder(self, resource: str) -> str:
        """Who holds a lease that has not expired; empty if there is none."""
        ...

    def next_view_number(self, lease: Lease | None = None, *, above: int = 0) -> int:
        """The number of a swap of views that do not move at once, above all given before.

        A process that gets it first and reads after that what the views are to show has read later
        than all with lower numbers, so a catalog lets the higher number win, whichever comes last.
        The `NUMBERS_OF_A_SWAP` from it on are its own.

        Args:
            lease: What has to be held still. So of two holders of an environment the later one has
                the higher number, and a process that lost its lease gets none.
            above: It is above this number, too.

        Raises:
            LeaseLost: The lease was taken over.
        """
        ...

    # The ledger (see also `WorkRecords`)
    def ledger(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, tuple[LedgerEntry, ...]]:
        """The entries of each of these versions, sorted by interval; absent if it has none."""
        ...

    def holdings(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, Holding]:
        """A summary of each of these ledgers; absent if a version has no entry.

        Reading it costs the same however many entries there are. It is updated in the transaction
        that changes an entry.
        """
        ...

    def changed_since(self, key: VersionKey, number: int) -> tuple[LedgerEntry, ...]:
        """The entries that were written after a change of a version, sorted by interval.

        Args:
            key: The version.
            number: The number of the change; see `vde_dagster.core.ledger.holdings.Holding`.
        """
        ...

    def digests(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, LedgerDigests]:
        """The D-SHAs of all entries of each of these versions; absent if a version has no entry.

        They and the last entries are as of one moment. It is much faster than reading all entries.
        """
        ...

    def newest_computed(self, key: VersionKey, *, limit: int) -> tuple[LedgerEntry, ...]:
        """The last computed entries of a version, at most ``limit``, sorted by interval."""
        ...

    def sums(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, LedgerSum]:
        """What all entries of each of these versions add up to; absent if a version has no entry.

        The database sums them up, so it is much faster than reading them.
        """
        ...

    def loaded(
        self, keys: Iterable[VersionKey], *, before: datetime | None = None
    ) -> Mapping[VersionKey, Mapping[str, Saved]]:
        """The rows of these versions that count as computed, by the environment that computed them.

        A version without any is absent. The time that the intervals cover is given for every kind
        of model.

        Args:
            keys: The versions.
            before: Only what was computed before this instant.
        """
        ...

    def entries_within(
        self, key: VersionKey, times: Sequence[Interval] | None
    ) -> tuple[LedgerEntry, ...]:
        """The entries of a version that overlap some times, sorted by interval.

        Args:
            key: The version.
            times: Merged; None for all that there are.
        """
        ...

    def last_looks(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, LastLook]:
        """The last comparison of each of these versions with its inputs, if there was one."""
        ...

    def record_looks(self, looks: Mapping[VersionKey, LastLook]) -> None:
        """Store looks at versions. A look stays true, so no lease is needed for it."""
        ...

    def heads(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, int]:
        """The Iceberg snapshot at which each version's ledger is true: the last one recorded.

        Versions for which none was recorded are absent.
        """
        ...

    def outdate(
        self,
        times: Mapping[VersionKey, Sequence[Interval]],
        *,
        reason: str,
        lease: Lease,
        rebuilt: Collection[VersionKey] = (),
    ) -> None:
        """Mark the entries of versions at these times as to be evaluated again, all or none.

        The entries are outdated from then on, until they are recorded again. A unit of work whose
        lease on one of the versions had expired can record nothing any more.

        Args:
            times: The times of each version.
            reason: Why, for people.
            lease: On whatever the caller changes, such as an environment.
            rebuilt: The versions that must be computed again even if nothing that they depend on
                has changed (rule R2).

        Raises:
            LeaseLost: The lease is not held any more.
            Conflict: Another process writes one of the versions right now; nothing was marked.
        """
        ...

    # Late data (see also `LateDataRecords`)
    def record_detected(
        self,
        key: VersionKey,
        moved: Sequence[HighWaterMark],
        left: tuple[Pending, ...],
        *,
        lease: Lease,
    ) -> None:
        """Move high-water marks of a version to what was detected, if nothing of it is loaded.

        ``left`` is all that is detected and not loaded from then on, in the same transaction.

        Raises:
            LeaseLost: The lease on the version is not held any more; nothing was changed.
        """
        ...
