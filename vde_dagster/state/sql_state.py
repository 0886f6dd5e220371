"""``ports.state.State`` on SQLite or Postgres: each method is one short transaction.

In addition to what the port says, every method that writes may raise ``Conflict`` when the database
stayed locked for the whole lock time-out and ``Refused`` when a newer release has moved the state
forward (nothing was written then), and ``OutcomeUnknown`` when the connection broke during the
commit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta

from sqlalchemy import Engine

from vde_dagster.core.clean_up.pinning import Named
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.fingerprint import Fingerprint
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.state import clean_up, late_data
from vde_dagster.state import environments as revisions
from vde_dagster.state import leases as lease_rows
from vde_dagster.state import ledger as ledgers
from vde_dagster.state import references as referring
from vde_dagster.state import snapshots as stored_snapshots
from vde_dagster.state import units_of_work as work_rows
from vde_dagster.state.database import LOCK_TIMEOUT, chunks, open_engine
from vde_dagster.state.pairs import while_deciding
from vde_dagster.state.state_database import StateDatabase, reading, writing


class SqlState:
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
    store_snapshots = writing(stored_snapshots.store_snapshots)
    environment = reading(revisions.shown)
    revision = reading(revisions.revision)
    environments = reading(revisions.names)
    owners = reading(stored_snapshots.owners_of)
    versions = reading(stored_snapshots.versions)
    adopted = reading(revisions.adopted)
    begin_promotion = writing(revisions.begin_promotion)
    begin_removal = writing(revisions.begin_removal)
    finish_promotion = writing(revisions.finish)
    release_unfilled = writing(revisions.release_unfilled)

    def snapshots(
        self, ids: Iterable[tuple[ModelName, Fingerprint]]
    ) -> Mapping[tuple[ModelName, str], ModelSnapshot]:
        """Stored snapshots among these, by (name, fingerprint digest)."""
        with self._database.read() as connection:
            return stored_snapshots.stored(connection, ((name, each.digest) for name, each in ids))

    def drifted(self, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
        """Those of these versions that may hold rows of another definition than their own."""
        wanted = tuple(keys)
        with self._database.read() as connection:
            return revisions.drifted(connection, wanted) | work_rows.drifted(connection, wanted)

    # Leases
    acquire_lease = writing(lease_rows.acquire)
    renew_lease = writing(lease_rows.renew)
    release_lease = writing(lease_rows.release)
    lease_holder = reading(lease_rows.holder)
    next_view_number = writing(lease_rows.next_view_number)
    leases = reading(lease_rows.held)
    free_lease = writing(lease_rows.free)

    # The ledger
    ledger = reading(ledgers.entries_of)
    holdings = reading(ledgers.holdings)
    changed_since = reading(ledgers.changed_since)
    digests = reading(ledgers.digests)
    newest_computed = reading(ledgers.newest_computed)
    sums = reading(ledgers.sums)
    loaded = reading(ledgers.loaded)
    entries_within = reading(ledgers.entries_within)
    last_looks = reading(ledgers.last_looks)
    record_looks = writing(ledgers.record_looks)
    heads = reading(work_rows.heads)
    outdate = writing(ledgers.outdate)

    # Units of work
    record_intent = writing(work_rows.record_intent)
    record_staged = writing(work_rows.record_staged)
    finalize = writing(work_rows.finalize)
    abandon = writing(work_rows.abandon)
    record_accepted = writing(work_rows.record_accepted)
    open_work = reading(work_rows.open_work)
    unfinished = reading(work_rows.unfinished)
    failed = reading(work_rows.failed)
    works = reading(work_rows.find)
    record_audits = writing(work_rows.record_audits)
    audited = reading(work_rows.audited)
    accepted = reading(work_rows.accepted)

    def work(self, work_id: str) -> UnitOfWork | None:
        """One unit of work."""
        return self.works([work_id]).get(work_id)

    # Late data, and paused models
    marks = reading(late_data.marks)
    pending = reading(late_data.pending)
    mark_moves = reading(late_data.mark_moves)
    question = reading(late_data.question)
    unlisted = reading(late_data.unlisted)
    record_listed = writing(late_data.record_listed)
    record_detected = writing(late_data.record_detected)
    sessions = reading(work_rows.sessions)
    pauses = reading(late_data.pauses)
    pause = writing(late_data.pause)
    resume = writing(late_data.resume)

    # Removing what nothing refers to
    references = reading(referring.references)
    used = reading(referring.used)
    record_sweep = writing(clean_up.record_sweep)
    begin_drop = writing(clean_up.begin_drop)
    drops = reading(referring.drops)
    finish_drop = writing(clean_up.finish_drop)
    named_since = reading(referring.since)
    closed_before = reading(clean_up.closed_before)

    def identity(self) -> str:
        """The id of this state, which is made if there is none."""
        self._database.make()
        with self._database.read() as connection:
            return clean_up.identity(connection)

    def named_snapshots(self) -> Named:
        """Everything that names Iceberg snapshots now."""
        with self._database.write() as connection:
            # No unit of work of a lower number is recorded after this.
            while_deciding(connection)
            number = referring.newest_number(connection)
        with self._database.read() as connection:
            return referring.everything(connection, number)

    def prune(self, ttl: timedelta, *, branches: Collection[str] = ()) -> int:
        """Delete what was closed longer ago than this and nothing needs.

        What is large is read apart from writing, and written part by part, so that no process waits
        for it. Each part is left as it is or is done, so it does no harm to stop in between.
        """
        with self._database.read() as connection:
            until = clean_up.ago(connection, ttl)
            gone = sorted(clean_up.old_work(connection, until) - {*branches})
        for some in chunks(gone):
            with self._database.write() as connection:
                clean_up.delete_work(connection, some)
        with self._database.write() as connection:
            while_deciding(connection)
            less = clean_up.prune(connection, until)
        return len(gone) + less + self._compact(until)

    def _compact(self, until: int) -> int:
        """Compact what is older than an instant; returns how many rows there are less."""
        with self._database.write() as connection:
            less = clean_up.forget_questions(connection, until)
        with self._database.read() as connection:
            spans = clean_up.spans(connection)
        for first in spans:
            with self._database.write() as connection:
                clean_up.forget_publications(connection, until, first)
        return less
