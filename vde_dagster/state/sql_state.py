"""``ports.state.State`` on SQLite or Postgres: each method is one short transaction.

In addition to what the port says, every method that writes may raise ``Conflict`` when the database
stayed locked for the whole lock time-out and ``Refused`` when a newer release has moved the state
forward (nothing was written then), and ``OutcomeUnknown`` when the connection broke during the
commit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Engine

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.ledger.entries import LedgerDigests, LedgerEntry, LedgerSum
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.ledger.last_look import LastLook
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.savings import Saved
from vde_dagster.core.ledger.unit_of_work import Intent, Publication, UnitOfWork
from vde_dagster.core.model.fingerprint import Fingerprint
from vde_dagster.core.model.snapshot import ModelSnapshot, Revision, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import Environment, Lease, version_resource
from vde_dagster.state import (
    clean_up,
    environments,
    late_data,
    leases,
    ledger,
    reference_lock,
    row_sums,
    savings,
    units_of_work,
)
from vde_dagster.state import snapshots as stored_snapshots
from vde_dagster.state.database import LOCK_TIMEOUT, open_engine
from vde_dagster.state.sql_clean_up import SqlCleanUp
from vde_dagster.state.sql_late_data_records import SqlLateDataRecords
from vde_dagster.state.sql_leases import SqlLeases
from vde_dagster.state.sql_pauses import SqlPauses
from vde_dagster.state.state_database import StateDatabase


class SqlState(SqlLeases, SqlLateDataRecords, SqlPauses, SqlCleanUp):
    """The state in a database. Threads may share it; processes open their own.

    Args:
        engine: Made by ``state.database.open_engine``.
        moves: Whether the schema is created and moved forward now; else the first write creates it.

    Raises:
        Refused: The state was written by a newer release, or an earlier one and is not moved.
    """

    def __init__(self, engine: Engine, *, moves: bool = True) -> None:
        self._database = StateDatabase(engine, moves=moves)

    @classmethod
    def open(
        cls, url: str, *, lock_timeout: timedelta = LOCK_TIMEOUT, moves: bool = True
    ) -> SqlState:
        """The state at a SQLAlchemy URL, ``sqlite:///path`` or ``postgresql://...``.

        Raises:
            Refused: The URL is wrong, the database cannot be reached, or its state is newer, or
                earlier and not moved.
        """
        return cls(open_engine(url, lock_timeout=lock_timeout), moves=moves)

    def close(self) -> None:
        """Close the connections that are idle. The state can still be used."""
        self._database.engine.dispose()

    # Snapshots and environments
    def snapshots(
        self, ids: Iterable[tuple[ModelName, Fingerprint]]
    ) -> Mapping[tuple[ModelName, str], ModelSnapshot]:
        """Stored snapshots among these, by (name, fingerprint digest)."""
        with self._database.read() as connection:
            return stored_snapshots.stored(connection, ((name, each.digest) for name, each in ids))

    def store_snapshots(
        self,
        snapshots: Sequence[ModelSnapshot],
        *,
        environment: str,
        shows: Collection[VersionKey] = (),
    ) -> None:
        """Store what is not stored yet; versions without an owner get this one.

        Raises:
            Conflict: One of the versions is being dropped.
        """
        with self._database.write() as connection:
            reference_lock.while_adding(connection)
            stored = (each.unbounded.key for each in snapshots)
            reference_lock.refer(connection, [*stored, *shows])
            stored_snapshots.store(connection, snapshots, environment=environment)
            clean_up.plan(connection, shows, environment=environment)

    def environment(self, name: str, *, revision: int | None = None) -> Environment | None:
        """The latest revision of an environment, or the given one."""
        with self._database.read() as connection:
            return environments.shown(connection, name, revision=revision)

    def revision(self, name: str) -> int:
        """The revision of what an environment shows; 0 if there is none."""
        with self._database.read() as connection:
            return environments.revision(connection, name)

    def environments(self) -> Sequence[str]:
        """The names of all environments, sorted."""
        with self._database.read() as connection:
            return environments.names(connection)

    def owners(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, str]:
        """The owner of each of these versions that has one."""
        with self._database.read() as connection:
            return stored_snapshots.owners_of(connection, keys)

    def versions(
        self, definitions: Iterable[tuple[ModelName, Fingerprint]]
    ) -> Mapping[VersionKey, tuple[VersionKey, ...]]:
        """The versions of stored snapshots of equal definitions that did not drift."""
        with self._database.read() as connection:
            return stored_snapshots.versions(connection, definitions)

    def drifted(self, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
        """Those of these versions that may hold rows of another definition than their own."""
        wanted = tuple(keys)
        with self._database.read() as connection:
            promoted = environments.drifted(connection, wanted)
            return promoted | units_of_work.drifted(connection, wanted)

    def adopted(self, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
        """Those of these versions that production or their owner adopted for another definition."""
        with self._database.read() as connection:
            return environments.adopted(connection, keys)

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
        """Add the next revision of an environment, not finished, and store its looks.

        Raises:
            Conflict: Its revision is not the expected one.
            LeaseLost: The lease was taken over.
            Refused: A snapshot is not stored, a model is given twice, or production would show a
                version that is bounded.
        """
        with self._database.write() as connection:
            reference_lock.while_adding(connection)
            leases.check(connection, lease)
            reference_lock.refer(connection, [each.key for each in snapshots])
            ledger.record_looks(connection, looks or {})
            return environments.begin(
                connection,
                name,
                expected_revision=expected_revision,
                plan_id=plan_id,
                snapshots=snapshots,
                hidden=hidden,
                author=author,
                taken=taken,
            )

    def finish_promotion(self, name: str, *, plan_id: str) -> Environment:
        """Mark a begun promotion as finished; production becomes the owner of what it shows.

        Raises:
            Refused: No promotion of this plan was begun.
            Conflict: A later promotion began before this one was finished.
        """
        with self._database.write() as connection:
            return environments.finish(connection, name, plan_id=plan_id)

    # The ledger and work
    def ledger(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, tuple[LedgerEntry, ...]]:
        """The entries of each of these versions, sorted by interval."""
        with self._database.read() as connection:
            return ledger.entries_of(connection, keys)

    def holdings(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, Holding]:
        """The summary of each of these ledgers."""
        with self._database.read() as connection:
            return ledger.holdings(connection, keys)

    def changed_since(self, key: VersionKey, number: int) -> tuple[LedgerEntry, ...]:
        """The entries that were written after a change of a version, sorted by interval."""
        with self._database.read() as connection:
            return ledger.changed_since(connection, key, number)

    def digests(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, LedgerDigests]:
        """The D-SHAs of all entries of each of these versions."""
        with self._database.read() as connection:
            return ledger.digests(connection, keys)

    def newest_computed(self, key: VersionKey, *, limit: int) -> tuple[LedgerEntry, ...]:
        """The last computed entries of a version, sorted by interval."""
        with self._database.read() as connection:
            return ledger.newest_computed(connection, key, limit=limit)

    def sums(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, LedgerSum]:
        """What all entries of each of these versions add up to."""
        with self._database.read() as connection:
            return row_sums.sums(connection, keys)

    def loaded(
        self, keys: Iterable[VersionKey], *, before: datetime | None = None
    ) -> Mapping[VersionKey, Mapping[str, Saved]]:
        """The rows of these versions that count as computed, by who computed them."""
        with self._database.read() as connection:
            return savings.loaded(connection, keys, before=before)

    def entries_within(
        self, key: VersionKey, times: Sequence[Interval] | None
    ) -> tuple[LedgerEntry, ...]:
        """The entries of a version that overlap some times, sorted by interval."""
        with self._database.read() as connection:
            return ledger.entries_within(connection, key, times)

    def last_looks(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, LastLook]:
        """The last comparison of each of these versions with its inputs."""
        with self._database.read() as connection:
            return ledger.last_looks(connection, keys)

    def record_looks(self, looks: Mapping[VersionKey, LastLook]) -> None:
        """Store looks at versions."""
        with self._database.write() as connection:
            ledger.record_looks(connection, looks)

    def heads(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, int]:
        """The Iceberg snapshot at which each version's ledger is true."""
        with self._database.read() as connection:
            return units_of_work.heads(connection, keys)

    def record_intent(self, intent: Intent, *, lease: Lease) -> None:
        """Record a unit of work; the same one again changes nothing.

        Raises:
            LeaseLost: The lease was taken over.
            Refused: Another unit of work has this id.
        """
        with self._database.write() as connection:
            reference_lock.while_adding(connection)
            leases.check(connection, lease)
            reference_lock.refer(connection, [intent.key])
            units_of_work.record_intent(connection, intent)

    def record_staged(self, work_id: str, publication: Publication, *, lease: Lease) -> None:
        """Record what a unit of work is about to publish; staging again replaces it.

        Raises:
            LeaseLost: The lease was taken over.
            Refused: The work is unknown, abandoned, or done with another publication.
        """
        with self._database.write() as connection:
            leases.check(connection, lease)
            units_of_work.record_staged(connection, work_id, publication)

    def finalize(self, work_id: str, *, lease: Lease) -> tuple[LedgerEntry, ...]:
        """Record a published unit of work; again changes nothing."""
        with self._database.write() as connection:
            leases.check(connection, lease)
            return units_of_work.finalize(connection, work_id)

    def outdate(
        self,
        times: Mapping[VersionKey, Sequence[Interval]],
        *,
        reason: str,
        lease: Lease,
        rebuilt: Collection[VersionKey] = (),
    ) -> None:
        """Mark the entries of versions at these times as to be evaluated again, all or none.

        Raises:
            LeaseLost: The lease was taken over.
            Conflict: Another process writes one of the versions right now.
        """
        with self._database.write() as connection:
            leases.check(connection, lease)
            leases.keep_free(connection, sorted(map(version_resource, times)))
            ledger.outdate(connection, times, reason=reason, rebuilt=rebuilt)

    def abandon(
        self, work_id: str, *, reason: str, lease: Lease, refused: Publication | None = None
    ) -> None:
        """Record that a unit of work will not be published; again changes nothing.

        Raises:
            LeaseLost: The lease was taken over.
            Refused: The work is unknown or done.
        """
        with self._database.write() as connection:
            leases.check(connection, lease)
            units_of_work.abandon(connection, work_id, reason=reason, refused=refused)

    def record_accepted(
        self,
        intent: Intent,
        results: Sequence[AuditResult],
        publication: Publication,
        *,
        lease: Lease,
    ) -> None:
        """Record a unit of work as staged, with its intent and what its audits found.

        Raises:
            Conflict: The version is being dropped.
            LeaseLost: The lease was taken over.
            Refused: Another unit of work has this id.
        """
        with self._database.write() as connection:
            reference_lock.while_adding(connection)
            leases.check(connection, lease)
            reference_lock.refer(connection, [intent.key])
            units_of_work.record_intent(connection, intent)
            units_of_work.record_audits(connection, intent.work_id, results)
            units_of_work.record_staged(connection, intent.work_id, publication)

    def open_work(self, key: VersionKey) -> Sequence[UnitOfWork]:
        """Units of work that are neither done nor abandoned, oldest first."""
        with self._database.read() as connection:
            return units_of_work.open_work(connection, key)

    def unfinished(self, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
        """Those of these versions with work that is neither done nor abandoned."""
        with self._database.read() as connection:
            return units_of_work.unfinished(connection).intersection(keys)

    def failed(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, UnitOfWork]:
        """The newest unit of work of each of these versions, where it was abandoned."""
        with self._database.read() as connection:
            return units_of_work.failed(connection, keys)

    def work(self, work_id: str) -> UnitOfWork | None:
        """One unit of work."""
        with self._database.read() as connection:
            return units_of_work.find(connection, [work_id]).get(work_id)

    def works(self, work_ids: Iterable[str]) -> Mapping[str, UnitOfWork]:
        """Units of work by their ids; ids that were never recorded are absent."""
        with self._database.read() as connection:
            return units_of_work.find(connection, work_ids)

    def record_audits(self, work_id: str, results: Sequence[AuditResult], *, lease: Lease) -> None:
        """Record what audits found among the rows of a unit of work.

        Raises:
            LeaseLost: The lease was taken over.
            Refused: The work is unknown.
        """
        with self._database.write() as connection:
            leases.check(connection, lease)
            units_of_work.record_audits(connection, work_id, results)

    def audited(self, key: VersionKey, *, limit: int) -> Sequence[UnitOfWork]:
        """Units of work of a version whose rows were audited, newest first."""
        with self._database.read() as connection:
            return units_of_work.audited(connection, key, limit=limit)

    def accepted(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, tuple[UnitOfWork, ...]]:
        """Published units of work of these versions whose rows a person accepted, oldest first."""
        with self._database.read() as connection:
            return units_of_work.accepted(connection, keys)

    # Late data (see also `SqlLateDataRecords`)
    def record_detected(
        self,
        key: VersionKey,
        marks: Sequence[HighWaterMark],
        pending: tuple[Pending, ...],
        *,
        lease: Lease,
    ) -> None:
        """Move high-water marks of a version without loading anything.

        Raises:
            LeaseLost: The lease was taken over; nothing was changed.
        """
        with self._database.write() as connection:
            leases.check(connection, lease)
            late_data.record_detected(connection, key, marks, pending)
