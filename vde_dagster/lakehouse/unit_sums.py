"""The sums of rows by the interval unit that each belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.time.formats import ISO_DATE, TimeFormat
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import EPOCH, Interval
from vde_dagster.lakehouse.digest import row_sums
from vde_dagster.lakehouse.tables import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

_MICROSECOND: Final = Grain.MICROSECOND.longest
_DAY_MICROS: Final = Grain.DAY.longest // _MICROSECOND


def unit_sums(
    rows: DataFrame, axis: TimeAxisSpec, algorithm: str
) -> Mapping[Interval | None, RowSum]:
    """The sums of rows by their units; under None those of rows whose column has no time."""
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
    """A key that the rows of a unit, or of a day in it, share: microseconds, a text or number."""
    column = F.col(quoted(axis.column))
    if axis.is_formatted:
        return column.cast("string")
    micros = _micros(column, axis.type)
    # Months and years are grouped by days: no function is used that asks for the session's zone,
    # which a model's own statements may have set.
    length = min(axis.unit.longest, Grain.DAY.longest) // _MICROSECOND
    return micros - F.pmod(micros, F.lit(length))


def _micros(column: SparkColumn, axis_type: str) -> SparkColumn:
    """Microseconds since 1970 to the minute at least; the clock's reading of types without zone."""
    match axis_type:
        case "date":
            return F.unix_date(column).cast("bigint") * F.lit(_DAY_MICROS)
        case "timestamp_ntz":
            # Spark takes it for a time of the session's zone wherever it makes a number of it.
            minutes = F.hour(column) * F.lit(60) + F.minute(column)
            return _micros(column.cast("date"), "date") + minutes.cast("bigint") * F.lit(60_000_000)
        case _:
            return F.unix_micros(column.cast("timestamp"))


def _time_of(axis: TimeAxisSpec) -> Callable[[object], datetime | None]:
    """Reads what `_unit_key` gives for a row."""
    if axis.is_formatted:
        written = TimeFormat(axis.format or ISO_DATE)
        return lambda key: written.read(str(key))
    return lambda key: EPOCH + timedelta(microseconds=key) if isinstance(key, int) else None
