"""What was not computed: hours of data, rows, and the seconds that computing them took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from vde_dagster.core.ledger.dsha import total
from vde_dagster.core.ledger.entries import LedgerEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What was not computed.

    ``intervals`` counts entries of the ledger; what is made at once is one. ``time`` is the length
    of time that they cover; None where the model is not loaded by interval. ``seconds`` are those
    that computing them took, as far as that is known; None where it is known of none of them.
    """

    intervals: int = 0
    time: timedelta | None = None
    rows: int = 0
    seconds: float | None = None

    @classmethod
    def by(cls, entries: Sequence[LedgerEntry], *, by_interval: bool) -> Saved:
        """What keeping these entries saves.

        Args:
            entries: Of one version, with rows.
            by_interval: Whether its model is loaded interval by interval.
        """
        lengths = (entry.interval.end - entry.interval.start for entry in entries)
        return cls(
            intervals=len(entries),
            time=sum(lengths, timedelta()) if by_interval else None,
            rows=total(entry.rows for entry in entries).rows,
            seconds=_known(entry.trace.seconds for entry in entries if entry.trace is not None),
        )

    def __sub__(self, part: Saved) -> Saved:
        """What is left without a part of it."""
        seconds = None if self.seconds is None else self.seconds - (part.seconds or 0.0)
        return Saved(
            intervals=self.intervals - part.intervals, rows=self.rows - part.rows, seconds=seconds
        )

    @property
    def hours(self) -> float | None:
        """The length of time that was not computed, in hours; None as for ``time``."""
        return None if self.time is None else self.time / timedelta(hours=1)


def total_saved(parts: Iterable[Saved]) -> Saved:
    """All of them together; what is known of one of them only is that one's."""
    every = list(parts)
    times = [part.time for part in every if part.time is not None]
    return Saved(
        intervals=sum(part.intervals for part in every),
        time=sum(times, timedelta()) if times else None,
        rows=sum(part.rows for part in every),
        seconds=_known(part.seconds for part in every if part.seconds is not None),
    )


def _known(seconds: Iterable[float]) -> float | None:
    values = list(seconds)
    return sum(values) if values else None
