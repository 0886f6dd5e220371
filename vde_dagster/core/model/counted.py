"""How many intervals some ranges of a model are, as people count them: "3 hours"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vde_dagster.core.model.model import Model
from vde_dagster.core.time.intervals import Interval, IntervalUnit

_NOUNS: Final = {
    IntervalUnit.FIVE_MINUTE: "5-minute interval",
    IntervalUnit.QUARTER_HOUR: "quarter-hour",
    IntervalUnit.HALF_HOUR: "half-hour",
    IntervalUnit.HOUR: "hour",
    IntervalUnit.DAY: "day",
    IntervalUnit.MONTH: "month",
    IntervalUnit.YEAR: "year",
}


def count(model: Model, ranges: Sequence[Interval]) -> int:
    """How many intervals these ranges are; what is made at once is one."""
    if not model.kind.is_by_interval:
        return len(ranges)
    return sum(1 for each in ranges for _ in model.unit.cells(each))


def in_units(unit: IntervalUnit, ranges: Sequence[Interval]) -> str:
    """How many intervals of a unit these ranges are, with their noun: "3 hours"."""
    cells = sum(1 for each in ranges for _ in unit.cells(each))
    return f"{cells:,} {_NOUNS[unit]}{'' if cells == 1 else 's'}"


def units(model: Model, ranges: Sequence[Interval]) -> str:
    """How many intervals these ranges are, with their noun: "3 hours"; what is whole is "all"."""
    return in_units(model.unit, ranges) if model.kind.is_by_interval else "all"
