"""Intervals as people count them: "72 hours, 2013-01-01 to 2013-01-04"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vde_dagster import kinds
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval, IntervalUnit, format_instant
from vde_dagster.core.kind import View

_NOUNS: Final = {
    IntervalUnit.FIVE_MINUTE: "5-minute interval",
    IntervalUnit.QUARTER_HOUR: "quarter-hour",
    IntervalUnit.HALF_HOUR: "half-hour",
    IntervalUnit.HOUR: "hour",
    IntervalUnit.DAY: "day",
    IntervalUnit.MONTH: "month",
    IntervalUnit.YEAR: "year",
}


def count(node: Node, missing: Sequence[Interval]) -> int:
    """How many intervals these ranges are; what is made at once is one."""
    if not kinds.is_by_interval(node.model):
        return len(missing)
    return sum(1 for each in missing for _ in node.model.unit.cells(each))


def units(node: Node, ranges: Sequence[Interval]) -> str:
    """How many intervals these ranges are, with their noun: "3 hours"; what is whole is that."""
    if not kinds.is_by_interval(node.model):
        return "all"
    cells = count(node, ranges)
    return f"{cells:,} {_NOUNS[node.model.unit]}{'' if cells == 1 else 's'}"


def counted(node: Node, missing: Sequence[Interval]) -> str:
    """What has to be evaluated, for people; empty where that is nothing."""
    if not missing:
        return ""
    if not kinds.is_by_interval(node.model):
        return "make the view" if isinstance(node.model.kind, View) else "the whole table"
    return "; ".join(_range(node.model.unit, each) for each in missing)


def _range(unit: IntervalUnit, interval: Interval) -> str:
    cells = sum(1 for _ in unit.cells(interval))
    noun = _NOUNS[unit] + ("" if cells == 1 else "s")
    return f"{cells:,} {noun}, {format_instant(interval.start)} to {format_instant(interval.end)}"
