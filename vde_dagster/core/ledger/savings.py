"""What was not computed: hours of data, rows, and the seconds that computing them took.

There is no saving by reuse for a nondeterministic model: it has no traces, so it is computed each
time that it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum

from vde_dagster.core.ledger.dsha import total
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName


class SavingKind(Enum):
    """Why something was not computed.

    - ``REUSED``: it was asked for and kept, since nothing that its rows follow from had changed
      (rule R2). It counts each time.
    - ``ADOPTED``: an environment showed its existing version in place of a new one, since all that
      it reads has equal rows (rule R6). It counts once for each plan.
    - ``SHARED``: an environment shows or reads rows that another one computed (rule R9).
    """

    REUSED = "reused"
    ADOPTED = "adopted"
    SHARED = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What was not computed.

    ``intervals`` counts entries of the ledger; what is made at once is one. ``time`` is the length
    of time that they cover; None where the model is not loaded by interval. ``seconds`` are those
    that computing them took, None where that is known of none of them; ``untimed`` counts those of
    which it is not known.
    """

    intervals: int = 0
    time: timedelta | None = None
    rows: int = 0
    seconds: float | None = None
    untimed: int = 0

    @classmethod
    def by(cls, entries: Sequence[LedgerEntry], *, by_interval: bool) -> Saved:
        """What keeping these entries saves.

        Args:
            entries: Of one version, with rows.
            by_interval: Whether its model is loaded interval by interval.
        """
        lengths = (each.interval.end - each.interval.start for each in entries)
        seconds = [each.trace.seconds for each in entries if each.trace is not None]
        return cls(
            intervals=len(entries),
            time=sum(lengths, timedelta()) if by_interval else None,
            rows=total(each.rows for each in entries).rows,
            seconds=sum(seconds) if seconds else None,
            untimed=len(entries) - len(seconds),
        )

    @property
    def hours(self) -> float | None:
        """The length of time that was not computed, in hours; None as for ``time``."""
        return None if self.time is None else self.time / timedelta(hours=1)

    @property
    def without_time(self) -> Saved:
        """The same of a model that is not loaded by interval."""
        return replace(self, time=None)

    def __add__(self, other: Saved) -> Saved:
        """Both; what is known of one of them only is that one's."""
        times = [each for each in (self.time, other.time) if each is not None]
        seconds = [each for each in (self.seconds, other.seconds) if each is not None]
        return Saved(
            intervals=self.intervals + other.intervals,
            time=sum(times, timedelta()) if times else None,
            rows=self.rows + other.rows,
            seconds=sum(seconds) if seconds else None,
            untimed=self.untimed + other.untimed,
        )

    def __sub__(self, part: Saved) -> Saved:
        """What is left without a part of it."""
        timed = self.intervals - self.untimed - (part.intervals - part.untimed)
        return Saved(
            intervals=self.intervals - part.intervals,
            time=None if self.time is None else self.time - (part.time or timedelta()),
            rows=self.rows - part.rows,
            seconds=(self.seconds or 0.0) - (part.seconds or 0.0) if timed else None,
            untimed=self.untimed - part.untimed,
        )


def total_saved(parts: Iterable[Saved]) -> Saved:
    """All of them together."""
    return sum(parts, Saved())


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """One occasion on which something of a version was not computed.

    ``occasion`` is the id of the evaluation that kept it, or of the plan that adopted the version.
    A model is recorded once for each.
    """

    occasion: str
    key: VersionKey
    environment: str
    kind: SavingKind
    saved: Saved


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingTotal:
    """All that was not computed of a model in an environment for one reason."""

    environment: str
    model: ModelName
    kind: SavingKind
    saved: Saved

    @property
    def order(self) -> tuple[str, str, str]:
        """By environment, model and kind."""
        return self.environment, str(self.model), self.kind.value
