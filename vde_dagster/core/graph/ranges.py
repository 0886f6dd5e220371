"""Intervals as people count them: "72 hours, 2013-01-01 to 2013-01-04"."""

from __future__ import annotations

from collections.abc import Sequence

from vde_dagster.core.graph.graph import Node
from vde_dagster.core.model import counted as counting
from vde_dagster.core.time.intervals import Interval, IntervalUnit, format_instant


def count(node: Node, missing: Sequence[Interval]) -> int:
    """How many intervals these ranges are; a table that is built as a whole is one."""
    return counting.count(node.model, missing)


def units(node: Node, ranges: Sequence[Interval]) -> str:
    """How many intervals these ranges are, with their noun: "3 hours" or "the whole table"."""
    return counting.units(node.model, ranges)


def counted(node: Node, missing: Sequence[Interval]) -> str:
    """What has to be evaluated, for people; empty if that is nothing."""
    if not missing:
        return ""
    if not node.model.kind.is_by_interval:
        return "create the view" if node.model.kind.is_view else "the whole table"
    return "; ".join(_range(node.model.unit, each) for each in missing)


def _range(unit: IntervalUnit, interval: Interval) -> str:
    start, end = format_instant(interval.start), format_instant(interval.end)
    return f"{counting.in_units(unit, [interval])}, {start} to {end}"
