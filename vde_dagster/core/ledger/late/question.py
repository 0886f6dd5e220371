"""What a session is decided from: evidence that is stored with it, so that it can be repeated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core.ledger.late.history import SourceHistory
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.model.late_data import LateDataPolicy
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, IntervalUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutTimes:
    """What counts if rows belong to no interval, so that nothing but the whole can be overwritten.

    It is ``by_time`` if the query takes the rows of an interval by their time, and not all that
    there are. ``outdated`` if a user asked for all of it again. The table is rebuilt only if
    ``may_rebuild``: its model may forbid that.
    """

    by_time: bool = False
    outdated: bool = False
    may_rebuild: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StatelessQuestion:
    """All that a stateless session is decided from.

    - ``policy`` is what the model says. ``start`` and ``unit`` are the model's, and ``now`` is the
      project's clock.
    - ``mark`` is None if none is true of what is loaded, as before the first load. ``history`` is
      the source's since the mark.
    - ``loaded`` has what the version's table holds, merged. ``touched`` is the time of the model
      that the rows in new files can belong to, by metadata; None if that is not known.
    - ``pending`` is what earlier sessions left. ``held_back`` is what signals hold back of what is
      not loaded.
    - To the ``outgrown`` intervals, which have rows of earlier columns, no rows can be added: that
      is known once rows are staged.
    - ``without_times`` is set for a kind whose rows have no time column.
    """

    policy: LateDataPolicy
    mark: HighWaterMark | None
    history: SourceHistory
    loaded: tuple[Interval, ...]
    touched: tuple[Interval, ...] | None = None
    pending: tuple[Pending, ...] = ()
    start: datetime
    now: datetime
    unit: IntervalUnit
    held_back: tuple[Interval, ...] = ()
    outgrown: tuple[Interval, ...] = ()
    without_times: WithoutTimes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedHistory:
    """A tracked source: its mark, what happened to it since, and up to when it is complete."""

    name: ModelName
    mark: HighWaterMark | None
    history: SourceHistory
    complete_to: datetime | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether it has been written, and it is not known up to when it is complete."""
        return self.history.head is not None and self.complete_to is None


def unknown_times(names: Iterable[ModelName]) -> str:
    """Why nothing is loaded of sources whose files do not say which times they have."""
    sources = ", ".join(map(str, names))
    return (
        f"it is not known up to when {sources} is complete: it has no rows, its files lack "
        "statistics on the tracked column, or a row has no time in it. Set its table property "
        "`vde.valid-to` in the job that loads it, or track a column that has a time in every row"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRows:
    """Loaded time of a version of which these sources have other rows now.

    ``removed`` if rows were only taken away, as by a source that keeps its last days. It is not
    ``tracked`` if late_data names none of the sources.
    """

    interval: Interval
    sources: tuple[ModelName, ...]
    removed: bool = False
    tracked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulQuestion:
    """All that a stateful session is decided from.

    ``late`` are disjoint. ``missing`` is what is due, not loaded, and can be computed now.
    ``unit`` and ``start`` are the model's, and ``now`` is the project's clock. ``limit`` is up to
    when all sources are complete; None if that is not known of one.
    """

    policy: LateDataPolicy
    sources: tuple[TrackedHistory, ...]
    late: tuple[LateRows, ...]
    missing: tuple[Interval, ...]
    loaded: tuple[Interval, ...]
    unit: IntervalUnit
    start: datetime
    now: datetime
    limit: datetime | None


Question = StatelessQuestion | StatefulQuestion
