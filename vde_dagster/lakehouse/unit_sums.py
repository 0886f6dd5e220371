"""The sums of rows by the interval unit that each belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from vde_dagster.core.dsha import RowSum
from vde_dagster.core.intervals import EPOCH, Interval, IntervalUnit
from vde_dagster.core.time_formats import ISO_DATE, TimeFormat
from vde_dagster.core.work import TimeAxisSpec
from vde_dagster.lakehouse.digest import row_sums
from vde_dagster.lakehouse.tables import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

_SECONDS: Final = {
    IntervalUnit.FIVE_MINUTE: 300,
    IntervalUnit.QUARTER_HOUR: 900,
    IntervalUnit.HALF_HOUR: 1800,
    IntervalUnit.HOUR: 3600,
    IntervalUnit.DAY: 86400,
}
_TEXTS: Final = ("string", "bigint")


def unit_sums(
    rows: DataFrame, axis: TimeAxisSpec, algorithm: str
) -> Mapping[Interval | None, RowSum]:
    """The sums of rows by their units; under None those of rows whose column holds no time."""
    sums: dict[Interval | None, RowSum] = {}
    time_of = _time_of(axis)
    for key, found in row_sums(rows, algorithm, _unit_key(axis)).items():
        instant = time_of(key)
        unit = None
        if instant is not None:
            start = axis.unit.floor(instant)
            unit = Interval(start, axis.unit.following(start))
        sums[unit] = sums.get(unit, RowSum()) + found
    return sums


def _unit_key(axis: TimeAxisSpec) -> SparkColumn:
    """What rows of one unit have in common: its start in microseconds, or a text or number."""
    column = F.col(quoted(axis.column))
    if axis.type in _TEXTS:
        return column.cast("string")
    instant = column.cast("timestamp")  # the session's zone is UTC
    if axis.unit in _SECONDS:
        micros = F.unix_micros(instant)
        return micros - F.pmod(micros, F.lit(_SECONDS[axis.unit] * 1_000_000))
    return F.unix_micros(F.date_trunc(axis.unit.value, instant))


def _time_of(axis: TimeAxisSpec) -> Callable[[object], datetime | None]:
    """Reads what `_unit_key` gives for a row."""
    if axis.type in _TEXTS:
        written = TimeFormat(axis.format or ISO_DATE)
        return lambda key: written.read(str(key))
    return lambda key: EPOCH + timedelta(microseconds=key) if isinstance(key, int) else None
