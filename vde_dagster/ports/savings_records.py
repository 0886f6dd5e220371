"""What the state knows of computation that was saved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from vde_dagster.core.ledger.savings import Saved, Saving, SavingTotal
from vde_dagster.core.model.snapshot import VersionKey


class SavingsRecords(Protocol):
    """A part of the state; see `vde_dagster.ports.state.State`."""

    def record_saving(self, saving: Saving) -> None:
        """Record what was not computed. The same occasion of a model again changes nothing.

        It only reports what happened, so no lease is needed for it.
        """
        ...

    def savings(
        self, *, environment: str | None = None, since: datetime | None = None
    ) -> Sequence[SavingTotal]:
        """What was recorded, summed up by environment, model and kind, in this order.

        Args:
            environment: Of this one only; None for all.
            since: Recorded at this instant or later; None for all that was ever recorded.
        """
        ...

    def totals(
        self, keys: Iterable[VersionKey], *, without: Collection[str] = ()
    ) -> Mapping[VersionKey, Saved]:
        """The rows of these versions, and what computing them took; absent if there are none.

        The time that the intervals cover is given for every kind of model.

        Args:
            keys: The versions.
            without: Units of work, by id, whose rows do not count.
        """
        ...

    def recording_savings_since(self) -> datetime:
        """When this state began to record what was not computed."""
        ...

    def computed_elsewhere(
        self, environment: str, *, since: datetime | None = None
    ) -> Mapping[VersionKey, Saved]:
        """What an environment shows or reads now and other environments computed, by version.

        Only entries with the status computed count. The time that the intervals cover is given for
        every kind of model.

        Args:
            environment: Its name; the result is empty if there is none of this name.
            since: Only what was computed at this instant or later, and all of versions that the
                environment was first promoted to then.
        """
        ...
