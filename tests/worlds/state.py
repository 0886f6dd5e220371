"""``ports.state.State`` in dictionaries: the contract in its plainest form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import RLock

from tests.worlds.savings import computed_elsewhere, totals_of
from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.fingerprint import Fingerprint
from vde_dagster.core.holding import Holding, holding_after
from vde_dagster.core.intervals import Interval, format_instant
from vde_dagster.core.last_look import LastLook
from vde_dagster.core.late_data import HighWaterMark, marks_after
from vde_dagster.core.ledger import LedgerEntry, apply_changes, entries_of
from vde_dagster.core.ledger import outdate as outdated
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.savings import Saved, Saving, SavingTotal
from vde_dagster.core.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.work import Intent, Publication, Work, WorkState
from vde_dagster.ports.clock import Clock
from vde_dagster.ports.state import Environment, Lease, LeaseLost, version_resource

_OPEN = (WorkState.INTENT, WorkState.STAGED)
_WRITTEN = (WorkState.STAGED, WorkState.DONE)


@dataclass(slots=True)
class _Tables:
    snapshots: dict[tuple[ModelName, str], ModelSnapshot] = field(default_factory=dict)
    owners: dict[VersionKey, str] = field(default_factory=dict)
    revisions: dict[str, list[Environment]] = field(default_factory=dict)
    leases: dict[str, tuple[Lease | None, int, datetime]] = field(default_factory=dict)
    ledger: dict[VersionKey, tuple[LedgerEntry, ...]] = field(default_factory=dict)
    holdings: dict[VersionKey, Holding] = field(default_factory=dict)
    numbers: dict[tuple[VersionKey, Interval], int] = field(default_factory=dict)
    looks: dict[VersionKey, LastLook] = field(default_factory=dict)
    work: dict[str, Work] = field(default_factory=dict)
    marks: dict[VersionKey, dict[ModelName, HighWaterMark]] = field(default_factory=dict)
    savings: dict[tuple[str, ModelName], tuple[Saving, datetime]] = field(default_factory=dict)


class MemoryState:
    """The state of one process, gone with it. Threads may share it.

    Args:
        clock: What leases expire by, and where the times in records come from.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._opened = clock.now()
        self._lock = RLock()
        self._held = _Tables()

    # Snapshots and environments
    def snapshots(
        self, ids: Iterable[tuple[ModelName, Fingerprint]]
    ) -> Mapping[tuple[ModelName, str], ModelSnapshot]:
        """Stored snapshots among these, by (name, fingerprint digest)."""
        with self._lock:
            stored = self._held.snapshots
            wanted = [(name, fingerprint.digest) for name, fingerprint in ids]
            return {each: stored[each] for each in wanted if each in stored}

    def store_snapshots(self, snapshots: Sequence[ModelSnapshot], *, environment: str) -> None:
        """Store what is not stored yet; versions without an owner get this one."""
        with self._lock:
            for given in snapshots:
                stored = self._held.snapshots.setdefault(
                    (given.name, given.fingerprint.digest), given
                )
                self._held.owners.setdefault(stored.key, environment)

    def environment(self, name: str, *, revision: int | None = None) -> Environment | None:
        """The latest revision of an environment, or the given one."""
        with self._lock:
            revisions = self._held.revisions.get(name, ())
            found = [each for each in revisions if revision in (None, each.revision)]
            return found[-1] if found else None

    def environments(self) -> Sequence[str]:
        """The names of all environments, sorted."""
        with self._lock:
            return tuple(sorted(self._held.revisions))

    def owners(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, str]:
        """The owner of each of these versions that has one."""
        with self._lock:
            return {key: self._held.owners[key] for key in keys if key in self._held.owners}

    def versions(
        self, definitions: Iterable[tuple[ModelName, Fingerprint]]
    ) -> Mapping[VersionKey, tuple[VersionKey, ...]]:
        """The versions of stored snapshots of equal definitions that did not drift."""
        with self._lock:
            found: dict[VersionKey, set[VersionKey]] = {}
            wanted = {VersionKey(name, each.data_version) for name, each in definitions}
            for each in self._held.snapshots.values():
                key = VersionKey(each.name, each.fingerprint.data_version)
                if key in wanted and not each.drifted:
                    found.setdefault(key, set()).add(each.key)
            return {key: tuple(sorted(each)) for key, each in found.items()}

    def drifted(self, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
        """Those of these versions that may hold rows of another definition than their own."""
        with self._lock:
            written = (
                work.intent.key
                for work in self._held.work.values()
                if work.intent.drifted and work.state in _WRITTEN
            )
            promoted = (each.key for each in self._promoted_by_writers() if each.drifted)
            return frozenset({*written, *promoted}.intersection(keys))

    def adopted(self, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
        """Those of these versions that whoever may write them adopted for another definition."""
        with self._lock:
            found = {each.key for each in self._promoted_by_writers() if each.is_adopted}
            return frozenset(found.intersection(keys))

    def _promoted_by_writers(self) -> Iterator[ModelSnapshot]:
        """All that production and owners of versions ever showed."""
        for name, revisions in self._held.revisions.items():
            for revision in revisions:
                for each in revision.snapshots.values():
                    if name in (PRODUCTION, self._held.owners.get(each.key)):
                        yield each

    def begin_promotion(
        self,
        name: str,
        *,
        expected_revision: int,
        plan_id: str,
        snapshots: Sequence[ModelSnapshot],
        lease: Lease,
        hidden: Collection[ModelName] = (),
    ) -> Environment:
        """Add the next revision of an environment, not finished.

        Raises:
            Conflict: Its revision is another one.
            LeaseLost: The lease was taken over.
            Refused: A snapshot is not stored, or a model is given twice.
        """
        with self._lock:
            self._check(lease)
            revisions = self._held.revisions.get(name, [])
            if len(revisions) != expected_revision:
                raise Conflict(
                    f"environment {name} is at revision {len(revisions)}, not "
                    f"{expected_revision}: another plan was applied meanwhile; plan again"
                )
            begun = Environment(
                name=name,
                revision=expected_revision + 1,
                plan_id=plan_id,
                promoted_at=self._clock.now(),
                snapshots=self._stored_by_name(snapshots),
                promoting=True,
                hidden=frozenset(each.name for each in snapshots if each.name in hidden),
            )
            self._held.revisions[name] = [*revisions, begun]
            return begun

    def finish_promotion(self, name: str, *, plan_id: str) -> Environment:
        """Mark a begun promotion as finished; production becomes the owner of what it shows.

        Raises:
            Refused: No promotion of this plan was begun.
            Conflict: A later promotion began before this one was finished.
        """
        with self._lock:
            revisions = self._held.revisions.get(name, [])
            begun = next((each for each in reversed(revisions) if each.plan_id == plan_id), None)
            if begun is None:
                raise Refused(
                    f"plan {plan_id} began no promotion of {name}; there is nothing to finish"
                )
            if not begun.promoting:
                return revisions[-1]
            if begun is not revisions[-1]:
                raise Conflict(
                    f"the promotion of {name} by plan {plan_id} was overtaken by plan "
                    f"{revisions[-1].plan_id} (revision {len(revisions)}); nothing was changed"
                )
            revisions[-1] = replace(begun, promoting=False)
            if name == PRODUCTION:
                shown = {each.key: PRODUCTION for each in begun.snapshots.values()}
                others = {k: v for k, v in self._held.owners.items() if v != PRODUCTION}
                self._held.owners = {**others, **shown}
            return revisions[-1]

    # Leases
    def acquire_lease(self, resource: str, *, holder: str, ttl: timedelta) -> Lease:
        """Take a free or expired lease, or one's own again, with a higher epoch.

        Raises:
            Conflict: Somebody else holds it.
            ValueError: The holder has no name.
        """
        if not holder:
            raise ValueError("a lease needs a holder")
        with self._lock:
            now = self._clock.now()
            held, epoch, until = self._held.leases.get(resource, (None, 0, now))
            if held is not None and held.holder != holder and until > now:
                raise _conflict(held, until)
            lease = Lease(resource=resource, holder=holder, epoch=epoch + 1)
            self._held.leases[resource] = (lease, lease.epoch, now + ttl)
            return lease

    def renew_lease(self, lease: Lease, *, ttl: timedelta) -> None:
        """Hold a lease for another ``ttl`` from now.

        Raises:
            LeaseLost: It was taken over or given back.
        """
        with self._lock:
            self._check(lease)
            self._held.leases[lease.resource] = (lease, lease.epoch, self._clock.now() + ttl)

    def release_lease(self, lease: Lease) -> None:
        """Give a lease back where it is still held."""
        with self._lock:
            held, epoch, until = self._held.leases.get(lease.resource, (None, 0, None))
            if held == lease and until is not None:
                self._held.leases[lease.resource] = (None, epoch, until)

    def lease_holder(self, resource: str) -> str:
        """Who holds a lease that has not expired; empty where nobody does."""
        with self._lock:
            now = self._clock.now()
            held, _, until = self._held.leases.get(resource, (None, 0, now))
            return held.holder if held is not None and until > now else ""

    # The ledger and work
    def ledger(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, tuple[LedgerEntry, ...]]:
        """What each of these versions holds, sorted by interval."""
        with self._lock:
            return {key: self._held.ledger[key] for key in keys if self._held.ledger.get(key)}

    def holdings(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, Holding]:
        """Each of these ledgers as a whole."""
        with self._lock:
            found = {key: self._held.holdings.get(key) for key in keys}
            return {key: each for key, each in found.items() if each is not None and each.recorded}

    def changed_since(self, key: VersionKey, number: int) -> tuple[LedgerEntry, ...]:
        """The entries that were written after a change of a version, sorted by interval."""
        with self._lock:
            numbers = self._held.numbers
            entries = self._held.ledger.get(key, ())
            return tuple(each for each in entries if numbers[key, each.interval] > number)

    def held_within(
        self, key: VersionKey, times: Sequence[Interval] | None
    ) -> tuple[LedgerEntry, ...]:
        """The entries of a version that overlap some times, sorted by interval."""
        with self._lock:
            return tuple(
                entry
                for entry in self._held.ledger.get(key, ())
                if times is None
                or any(entry.interval.intersection(each) is not None for each in times)
            )

    def last_looks(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, LastLook]:
        """The last comparison of each of these versions with its inputs."""
        with self._lock:
            return {key: self._held.looks[key] for key in keys if key in self._held.looks}

    def record_looks(self, looks: Mapping[VersionKey, LastLook]) -> None:
        """Keep what was seen of versions."""
        with self._lock:
            self._held.looks |= looks

    def heads(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, int]:
        """The Iceberg snapshot at which each version's ledger is true."""
        with self._lock:
            wanted = set(keys)
            heads: dict[VersionKey, int] = {}
            for work in self._held.work.values():
                published = work.publication.iceberg_snapshot_id if work.publication else None
                if (
                    work.intent.key in wanted
                    and work.state is WorkState.DONE
                    and published is not None
                ):
                    heads[work.intent.key] = published
            return heads

    def record_intent(self, intent: Intent, *, lease: Lease) -> None:
        """Record a unit of work; the same one again changes nothing.

        Raises:
            LeaseLost: The lease was taken over.
            Refused: Another unit of work has this id.
        """
        with self._lock:
            self._check(lease)
            recorded = Work(intent=intent, state=WorkState.INTENT, started_at=self._clock.now())
            if self._held.work.setdefault(intent.work_id, recorded).intent != intent:
                raise Refused(
                    f"work {intent.work_id} is recorded with another intent; take a new id"
                )

    def record_staged(self, work_id: str, publication: Publication, *, lease: Lease) -> None:
        """Record what a unit of work is about to publish; staging again replaces it.

        Raises:
            LeaseLost: The lease was taken over.
            Refused: The work is unknown, abandoned, or done with another publication.
        """
        with self._lock:
            self._check(lease)
            work = self._known(work_id)
            if work.state is WorkState.DONE and work.publication == publication:
                return
            if work.state not in _OPEN:
                raise Refused(f"work {work_id} is {work.state.value}; it cannot be staged any more")
            self._held.work[work_id] = replace(
                work, state=WorkState.STAGED, publication=publication
            )

    def finalize(self, work_id: str, *, lease: Lease) -> tuple[LedgerEntry, ...]:
        """Book a published unit of work; again changes nothing.

        Raises:
            LeaseLost: The lease was taken over.
            LedgerMismatch: The changes do not fit the ledger.
            Refused: The work is unknown, not staged, or abandoned.
        """
        with self._lock:
            self._check(lease)
            work = self._known(work_id)
            key, publication = work.intent.key, work.publication
            before = self._held.ledger.get(key, ())
            if work.state is WorkState.DONE and publication is not None:
                return entries_of(before, publication.changes)
            if work.state is not WorkState.STAGED or publication is None:
                raise Refused(
                    f"work {work_id} is {work.state.value}, not staged; it cannot be booked"
                )
            after = apply_changes(
                before,
                publication.changes,
                columns=publication.columns,
                work_id=work_id,
                iceberg_snapshot_id=publication.iceberg_snapshot_id,
                algorithm=publication.algorithm,
            )
            self._change(key, after)
            self._held.marks[key] = marks_after(
                self._held.marks.get(key, {}),
                publication.changes,
                moved=publication.mark,
                inputs=work.intent.inputs,
            )
            self._finish(work, WorkState.DONE)
            return entries_of(after, publication.changes)

    def outdate(
        self,
        times: Mapping[VersionKey, Sequence[Interval]],
        *,
        reason: str,
        lease: Lease,
        anew: Collection[VersionKey] = (),
    ) -> None:
        """Mark what versions hold of these times as to be evaluated again, all of it or nothing.

        Raises:
            LeaseLost: The lease was taken over.
            Conflict: Somebody writes one of the versions right now.
        """
        with self._lock:
            self._check(lease)
            now, resources = self._clock.now(), [version_resource(key) for key in times]
            for resource in resources:
                held, _, until = self._held.leases.get(resource, (None, 0, now))
                if held is not None and until > now:
                    raise _conflict(held, until)
            for resource in resources:
                _, epoch, until = self._held.leases.get(resource, (None, 0, now))
                self._held.leases[resource] = (None, epoch, until)
            for key, each in times.items():
                before = self._held.ledger.get(key, ())
                self._change(key, outdated(before, each, reason=reason, anew=key in anew))

    def _change(self, key: VersionKey, after: tuple[LedgerEntry, ...]) -> None:
        """Change a ledger, and count that where it is another one then."""
        old = {entry.interval: entry for entry in self._held.ledger.get(key, ())}
        new = {entry.interval: entry for entry in after}
        if old == new:
            return
        whole = holding_after(self._held.holdings.get(key, Holding()), after)
        changed = [each for each, entry in new.items() if old.get(each) != entry]
        self._held.numbers |= {(key, each): whole.number for each in changed}
        self._held.ledger[key] = after
        self._held.holdings[key] = whole

    def abandon(self, work_id: str, *, reason: str, lease: Lease) -> None:
        """Record that a unit of work will never be published; again changes nothing.

        Raises:
            LeaseLost: The lease was taken over.
            Refused: The work is unknown or done.
        """
        with self._lock:
            self._check(lease)
            work = self._known(work_id)
            if work.state is WorkState.DONE:
                raise Refused(f"work {work_id} is done; it cannot be abandoned")
            if work.state is not WorkState.ABANDONED:
                self._finish(replace(work, reason=reason), WorkState.ABANDONED)

    def open_work(self, key: VersionKey) -> Sequence[Work]:
        """Units of work that are neither done nor abandoned, oldest first."""
        with self._lock:
            return tuple(work for work in self._of(key) if work.state in _OPEN)

    def unfinished(self, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
        """Those of these versions with work that is neither done nor abandoned."""
        with self._lock:
            known = {each.intent.key for each in self._held.work.values() if each.state in _OPEN}
            return frozenset(known.intersection(keys))

    def work(self, work_id: str) -> Work | None:
        """One unit of work."""
        with self._lock:
            return self._held.work.get(work_id)

    def works(self, work_ids: Iterable[str]) -> Mapping[str, Work]:
        """Units of work by their ids; those that nobody recorded are absent."""
        with self._lock:
            known = self._held.work
            return {each: known[each] for each in work_ids if each in known}

    # Late data
    def marks(self, key: VersionKey) -> Mapping[ModelName, HighWaterMark]:
        """The high-water marks of a version, by source."""
        with self._lock:
            return dict(sorted(self._held.marks.get(key, {}).items()))

    def sessions(self, key: VersionKey, *, limit: int) -> Sequence[Work]:
        """Catch-up sessions of a version, newest first."""
        with self._lock:
            found = [work for work in self._of(key) if work.intent.session is not None]
            return tuple(reversed(found))[:limit]

    def record_audits(self, work_id: str, results: Sequence[AuditResult], *, lease: Lease) -> None:
        """Keep what audits found among the rows of a unit of work.

        Raises:
            LeaseLost: The lease was taken over.
            Refused: The work is unknown.
        """
        with self._lock:
            self._check(lease)
            work = self._known(work_id)
            self._held.work[work_id] = replace(work, audits=tuple(results))

    def audited(self, key: VersionKey, *, limit: int) -> Sequence[Work]:
        """Units of work of a version whose rows were audited, newest first."""
        with self._lock:
            found = [work for work in self._of(key) if work.audits]
            return tuple(reversed(found))[:limit]

    # What was not computed
    def record_saving(self, saving: Saving) -> None:
        """Record what was not computed. The same occasion of a model again changes nothing."""
        with self._lock:
            known = self._held.savings
            known.setdefault((saving.occasion, saving.key.model), (saving, self._clock.now()))

    def savings(
        self, *, environment: str | None = None, since: datetime | None = None
    ) -> Sequence[SavingTotal]:
        """What was recorded, summed up by environment, model and kind."""
        with self._lock:
            return totals_of(
                each
                for each, at in self._held.savings.values()
                if environment in (None, each.environment) and (since is None or at >= since)
            )

    def totals(
        self, keys: Iterable[VersionKey], *, without: Collection[str] = ()
    ) -> Mapping[VersionKey, Saved]:
        """What these versions hold, and what computing it took."""
        with self._lock:
            found = {
                key: [
                    each for each in self._held.ledger.get(key, ()) if each.work_id not in without
                ]
                for key in keys
            }
            return {key: Saved.by(each, by_interval=True) for key, each in found.items() if each}

    def recording_savings_since(self) -> datetime:
        """When this state began to record what was not computed."""
        return self._opened

    def computed_elsewhere(
        self, environment: str, *, since: datetime | None = None
    ) -> Mapping[VersionKey, Saved]:
        """What an environment shows or reads now and others computed, by version."""
        with self._lock:
            revisions = self._held.revisions.get(environment, ())
            return computed_elsewhere(revisions, self._held.ledger, self._held.work, since=since)

    def _of(self, key: VersionKey) -> list[Work]:
        """Units of work on a version in the order in which they were recorded."""
        return [work for work in self._held.work.values() if work.intent.key == key]

    def _known(self, work_id: str) -> Work:
        work = self._held.work.get(work_id)
        if work is None:
            raise Refused(f"no unit of work {work_id} is recorded")
        return work

    def _finish(self, work: Work, state: WorkState) -> None:
        finished = replace(work, state=state, finished_at=self._clock.now())
        self._held.work[work.intent.work_id] = finished

    def _check(self, lease: Lease) -> None:
        held, epoch, _ = self._held.leases.get(lease.resource, (None, 0, None))
        if held != lease:
            now = f"{held.holder} holds it" if held is not None else "it is free"
            raise LeaseLost(
                f"{lease.holder} no longer holds the lease {lease.epoch} on {lease.resource}: "
                f"{now} (epoch {epoch})"
            )

    def _stored_by_name(
        self, snapshots: Sequence[ModelSnapshot]
    ) -> Mapping[ModelName, ModelSnapshot]:
        """The stored form of these snapshots, each model once, as they shall be shown.

        Raises:
            Refused: A snapshot is not stored, or a model is given twice.
        """
        if len({each.name for each in snapshots}) != len(snapshots):
            raise Refused("an environment shows each model once; a model was given twice")
        stored = self._held.snapshots
        ids = sorted((each.name, each.fingerprint.digest) for each in snapshots)
        missing = [str(name) for name, digest in ids if (name, digest) not in stored]
        if missing:
            raise Refused(f"these snapshots are not stored: {', '.join(missing)}; store them first")
        return {
            each.name: replace(
                stored[each.name, each.fingerprint.digest],
                version=each.version,
                decided_by=each.decided_by,
                drifted=each.drifted,
            )
            for each in sorted(snapshots, key=lambda each: each.name)
        }


def _conflict(lease: Lease, until: datetime) -> Conflict:
    return Conflict(
        f"{lease.resource} is held by {lease.holder} until {format_instant(until)} UTC; "
        "wait for it, then try again"
    )
