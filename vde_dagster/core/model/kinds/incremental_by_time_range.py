"""INCREMENTAL_BY_TIME_RANGE: an evaluation replaces exactly the rows of its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from vde_dagster.core.columns import Column
from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.layout import time_partition
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import OverwriteIntervals, TimeAxisSpec, Write
from vde_dagster.core.time.formats import axis_type
from vde_dagster.core.time.intervals import IntervalUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalByTimeRange(KindFacts):
    """The rows of the evaluated intervals are replaced, by a time column.

    ``time_format`` is empty for a column of a date or timestamp type, and for a text column in
    ISO dates; otherwise it is how the column's text (or number) writes an instant, in the codes of
    Python's ``strftime``. ``written_format`` is that format as the model has it, for people only.
    ``lookback`` and ``batch_size`` count interval units. ``independent`` is its author's word that
    the rows of a unit are the same whatever else is evaluated with it.
    """

    keyword: ClassVar[str] = "INCREMENTAL_BY_TIME_RANGE"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.BY_INTERVAL
    time_column: str = field()  # no default, though the facts of all kinds have one
    """Column with the time of a row, in UTC; `(day, 'yyyyMMdd')` with a
    [format](#formats-and-zones).
    """
    time_format: str = ""
    written_format: str = field(default="", compare=False)
    lookback: int = 0
    batch_size: int | None = None
    forward_only: bool = False
    disable_restatement: bool = False
    partition_by_time_column: bool = True
    """The table is partitioned by the time column, unless `partitioned_by` names this column."""
    independent: bool = False

    def write(self, what: Evaluation) -> Write:
        """Overwrite the interval, also where the query returns no rows for it."""
        return OverwriteIntervals(
            intervals=(what.interval,), axis=self.time_axis(what.columns, what.unit)
        )

    def time_axis(self, columns: Sequence[Column], unit: IntervalUnit) -> TimeAxisSpec:
        """The time column; one whose type is not known is taken for a timestamp."""
        types = {each.name.lower(): each.type for each in columns}
        known = axis_type(types.get(self.time_column, "unknown"))
        return TimeAxisSpec(
            column=self.time_column,
            type=known if known not in ("", "unknown") else "timestamp",
            unit=unit,
            format=self.time_format,
        )

    def laid_out(self, storage: Storage, columns: Sequence[Column], unit: IntervalUnit) -> Storage:
        """Partitioned by its time, unless the model says how or that it is not (seed 001)."""
        fields = storage.partitioned_by
        if not self.partition_by_time_column or any(
            each.column == self.time_column for each in fields
        ):
            return storage
        by_time = time_partition(self.time_axis(columns, unit))
        return replace(storage, partitioned_by=(by_time, *fields))
