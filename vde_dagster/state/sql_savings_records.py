"""The part of the state for computation that was saved, in a database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from vde_dagster.core.ledger.savings import Saved, Saving, SavingTotal
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.state import savings
from vde_dagster.state.state_database import StateDatabase


class SqlSavingsRecords:
    """Implements `vde_dagster.ports.savings_records.SavingsRecords`."""

    _database: StateDatabase

    def record_saving(self, saving: Saving) -> None:
        """Record what was not computed. The same occasion of a model again changes nothing."""
        with self._database.write() as connection:
            savings.record(connection, saving)

    def savings(
        self, *, environment: str | None = None, since: datetime | None = None
    ) -> Sequence[SavingTotal]:
        """What was recorded, summed up by environment, model and kind."""
        with self._database.read() as connection:
            return savings.totals(connection, environment=environment, since=since)

    def totals(
        self, keys: Iterable[VersionKey], *, without: Collection[str] = ()
    ) -> Mapping[VersionKey, Saved]:
        """The rows of these versions, and what computing them took."""
        with self._database.read() as connection:
            return savings.loaded(connection, keys, without=without)

    def recording_savings_since(self) -> datetime:
        """When this state began to record what was not computed."""
        with self._database.read() as connection:
            return savings.recording_since(connection)

    def computed_elsewhere(
        self, environment: str, *, since: datetime | None = None
    ) -> Mapping[VersionKey, Saved]:
        """What an environment shows or reads now and other ones computed, by version."""
        with self._database.read() as connection:
            return savings.computed_elsewhere(connection, environment, since=since)
