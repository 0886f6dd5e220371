"""How many intervals some ranges of a model are, as people count them: "3 hours"."""

from __future__ import annotations

from collections.abc import Sequence

from vde_dagster.core.model.model import Model
from vde_dagster.core.time.intervals import Interval, IntervalUnit, merge


def count(model: Model, ranges: Sequence[Interval]) -> int:
    """How many intervals these ranges are; what is made at once is one."""
    if not model.kind.is_by_interval:
        return len(ranges)
    return _cells(model.unit, ranges)


def in_units(unit: IntervalUnit, ranges: Sequence[Interval]) -> str:
    """How many intervals of a unit these ranges are, with their noun: "3 hours"."""
    cells = _cells(unit, ranges)
    return f"{cells:,} {_noun(unit)}{'' if cells == 1 else 's'}"


def _cells(unit: IntervalUnit, ranges: Sequence[Interval]) -> int:
    """How many units the ranges lie in: a kept table may hold parts of them, of a finer unit."""
    return sum(map(unit.count, merge(map(unit.widen, ranges))))


def units(model: Model, ranges: Sequence[Interval]) -> str:
    """How many intervals these ranges are, with their noun: "3 hours"; what is whole is "all"."""
    return in_units(model.unit, ranges) if model.kind.is_by_interval else "all"


def _noun(unit: IntervalUnit) -> str:
    if unit is IntervalUnit.FIVE_MINUTE:
        return "5-minute interval"
    return unit.name.lower().replace("_", "-")
