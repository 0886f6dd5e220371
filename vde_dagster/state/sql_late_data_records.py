"""The part of the state for late data that needs no lease, in a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vde_dagster.core.ledger.late.marks import HighWaterMark, MarkMove
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.late.question import Question
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.ports.late_data_records import Unlisted
from vde_dagster.state import late_data, units_of_work
from vde_dagster.state.state_database import StateDatabase


class SqlLateDataRecords:
    """Implements `vde_dagster.ports.late_data_records.LateDataRecords`."""

    _database: StateDatabase

    def marks(self, key: VersionKey) -> Mapping[ModelName, HighWaterMark]:
        """The high-water marks of a version, by source."""
        with self._database.read() as connection:
            return late_data.marks(connection, key)

    def pending(self, keys: Iterable[VersionKey]) -> Mapping[VersionKey, tuple[Pending, ...]]:
        """What is known of the sources of these versions and not loaded."""
        with self._database.read() as connection:
            return late_data.pending(connection, keys)

    def mark_moves(self, key: VersionKey) -> tuple[MarkMove, ...]:
        """How the high-water marks of a version moved last, by source."""
        with self._database.read() as connection:
            return late_data.mark_moves(connection, key)

    def question(self, work_id: str) -> Question | None:
        """What a session was decided from; None if that is not stored."""
        with self._database.read() as connection:
            return late_data.question(connection, work_id)

    def unlisted(self, *, limit: int) -> tuple[Unlisted, ...]:
        """The sessions and marks that the catalog's tables do not show yet, oldest first."""
        with self._database.read() as connection:
            return late_data.unlisted(connection, limit=limit)

    def record_listed(self, numbers: Iterable[int]) -> None:
        """Record that the catalog's tables show these. Doing it again changes nothing."""
        with self._database.write() as connection:
            late_data.record_listed(connection, numbers)

    def sessions(self, key: VersionKey, *, limit: int) -> Sequence[UnitOfWork]:
        """Catch-up sessions of a version, newest first."""
        with self._database.read() as connection:
            return units_of_work.sessions(connection, key, limit=limit)
