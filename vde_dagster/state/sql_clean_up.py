"""The part of the state for removing what nothing refers to, in a database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from vde_dagster.core.clean_up.pinning import Named
from vde_dagster.core.clean_up.references import ReadingView, References, Times, Tombstone
from vde_dagster.core.clean_up.sweeping import Sweep
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.state import Environment, Lease
from vde_dagster.state import (
    clean_up,
    environments,
    leases,
    named,
    old_detail,
    reference_lock,
    references,
)
from vde_dagster.state.database import chunks
from vde_dagster.state.state_database import StateDatabase


class SqlCleanUp:
    """Implements `vde_dagster.ports.clean_up.CleanUp`."""

    _database: StateDatabase

    def begin_removal(
        self, name: str, *, expected_revision: int, plan_id: str, lease: Lease, author: str = ""
    ) -> Environment:
        """Add a last revision to an environment, not finished, that shows nothing.

        Raises:
            Conflict: Its revision is not the expected one.
            LeaseLost: The lease was taken over.
        """
        with self._database.write() as connection:
            leases.check(connection, lease)
            return environments.begin(
                connection,
                name,
                expected_revision=expected_revision,
                plan_id=plan_id,
                snapshots=(),
                author=author,
                removes=True,
            )

    def identity(self) -> str:
        """The id of this state, which is made if there is none."""
        self._database.make()
        with self._database.read() as connection:
            return clean_up.identity(connection)

    def release_unfilled(self, environment: str, *, lease: Lease) -> None:
        """Let nobody own what an environment owns and nothing came of (rule R9)."""
        with self._database.write() as connection:
            leases.check(connection, lease)
            environments.release_unfilled(connection, environment)

    def references(self) -> References:
        """Everything that refers to versions now."""
        with self._database.read() as connection:
            return references.references(connection)

    def used(self) -> Mapping[str, datetime]:
        """When each environment was planned or promoted last."""
        with self._database.read() as connection:
            return references.used(connection)

    def record_sweep(self, views: Sequence[ReadingView], times: Times) -> Sweep:
        """Decide what is unreachable, and record it."""
        with self._database.write() as connection:
            reference_lock.while_deciding(connection)
            return clean_up.record_sweep(connection, views, times)

    def begin_drop(
        self,
        key: VersionKey,
        views: Sequence[ReadingView],
        times: Times,
        *,
        lease: Lease,
        uuid: str = "",
        location: str = "",
    ) -> bool:
        """Forget a version that may still be dropped. Returns whether it may.

        Raises:
            LeaseLost: The lease was taken over.
        """
        with self._database.write() as connection:
            reference_lock.while_deciding(connection)
            return clean_up.begin_drop(
                connection, key, views, times, lease=lease, uuid=uuid, location=location
            )

    def drops(self) -> tuple[Tombstone, ...]:
        """The versions whose drop was begun and not finished."""
        with self._database.read() as connection:
            return references.drops(connection)

    def finish_drop(self, key: VersionKey) -> None:
        """Record that nothing is left of a version."""
        with self._database.write() as connection:
            clean_up.finish_drop(connection, key)

    def named_snapshots(self) -> Named:
        """Everything that names Iceberg snapshots now."""
        with self._database.write() as connection:
            # No unit of work of a lower number is recorded after this.
            reference_lock.while_deciding(connection)
            number = named.newest_number(connection)
        with self._database.read() as connection:
            return named.everything(connection, number)

    def named_since(self, number: int, key: VersionKey | None = None) -> Named:
        """What may name Iceberg snapshots of a version, or of others, since a moment ago."""
        with self._database.read() as connection:
            return named.since(connection, number, key)

    def closed_before(self, work_ids: Collection[str], ttl: timedelta) -> frozenset[str]:
        """Those of these units of work that were closed longer ago than this."""
        with self._database.read() as connection:
            return clean_up.closed_before(connection, work_ids, ttl)

    def prune(self, ttl: timedelta, *, branches: Collection[str] = ()) -> int:
        """Delete what was closed longer ago than this and nothing needs.

        What is large is read apart from writing, and written part by part, so that nobody waits for
        it. Each part is left as it is or is done, so it does no harm to stop in between.
        """
        with self._database.read() as connection:
            until = clean_up.ago(connection, ttl)
            gone = sorted(clean_up.old_work(connection, until) - {*branches})
        for some in chunks(gone):
            with self._database.write() as connection:
                clean_up.delete_work(connection, some)
        with self._database.write() as connection:
            reference_lock.while_deciding(connection)
            less = clean_up.prune(connection, until)
        return len(gone) + less + self._compact(until)

    def _compact(self, until: int) -> int:
        """Compact what is older than an instant; returns how many rows there are less."""
        with self._database.write() as connection:
            less = old_detail.forget_questions(connection, until)
        with self._database.read() as connection:
            spans = old_detail.spans(connection)
        for first in spans:
            with self._database.write() as connection:
                old_detail.forget_publications(connection, until, first)
        return less
