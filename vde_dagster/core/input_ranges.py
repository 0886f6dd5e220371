"""Which instants of each parent a rendered query reads (DESIGN.md section 4.1).

Where every scan of a parent is bounded by literals on the parent's time column, the answer is the
union of those bounds; in every other case it is the whole table. Too wide is safe, too narrow never
is, so only conditions whose meaning is certain are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from vde_dagster.core.intervals import Interval, IntervalUnit, merge
from vde_dagster.core.names import ModelName
from vde_dagster.core.rendering import model_name_of

MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class WholeTable:
    """Every row of the parent may be read."""


WHOLE: Final = WholeTable()
InputRange = WholeTable | tuple[Interval, ...]
"""The whole table, or merged intervals in whole units of the parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """By which column, in which units, a parent's rows belong to intervals."""

    column: str
    unit: IntervalUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """Inclusive start and exclusive end; None where a scan is not bounded on that side."""

    start: datetime | None = None
    end: datetime | None = None

    def narrowed(self, other: _Bounds) -> _Bounds:
        starts = [each for each in (self.start, other.start) if each is not None]
        ends = [each for each in (self.end, other.end) if each is not None]
        return _Bounds(start=max(starts, default=None), end=min(ends, default=None))


def input_ranges(
    rendered: exp.Query, *, axes: Mapping[ModelName, TimeAxis | None]
) -> dict[ModelName, InputRange]:
    """The range that a rendered query reads of each table in ``axes`` that it names.

    Args:
        rendered: A qualified query with literals in place of macros.
        axes: Each parent with its time axis; None for a parent without intervals.
    """
    ranges: dict[ModelName, InputRange] = {}
    for scope in traverse_scope(rendered):
        for alias, table in scope.sources.items():
            name = model_name_of(table) if isinstance(table, exp.Table) else None
            if name is None or name not in axes:
                continue
            ranges[name] = _union(ranges.get(name), _range_of(scope, alias, axes[name]))
    return ranges


def _union(known: InputRange | None, found: InputRange) -> InputRange:
    if known is None or isinstance(found, WholeTable):
        return found
    if isinstance(known, WholeTable):
        return known
    return merge([*known, *found])


def _range_of(scope: Scope, alias: str, axis: TimeAxis | None) -> InputRange:
    if axis is None:
        return WHOLE
    try:
        bounds = _Bounds()
        for condition in _certain_conditions(scope, alias):
            bounds = bounds.narrowed(_bounds_of(condition, alias, axis.column))
        if bounds.start is None or bounds.end is None:
            return WHOLE
        if bounds.end <= bounds.start:
            return ()
        return (axis.unit.widen(Interval(bounds.start, bounds.end)),)
    except (OverflowError, ValueError):
        return WHOLE  # bounds at the end of time, such as 9999-12-31, have no border after them


def _certain_conditions(scope: Scope, alias: str) -> Iterator[exp.Expr]:
    """Conjuncts that drop every row of ``alias`` for which they are not true.

    WHERE does so after any join, since a comparison is not true for the NULLs of an outer join. ON
    does so for both sides of an inner join and for the joined table of a left join.
    """
    select = scope.expression
    if not isinstance(select, exp.Select):
        return
    where = select.args.get("where")
    if where is not None:
        yield from _conjuncts(where.this)
    joins: Iterable[exp.Join] = select.args.get("joins") or []
    outer = {join.side for join in joins} & {"RIGHT", "FULL"}
    for join in joins:
        condition = join.args.get("on")
        if condition is None or outer:
            continue
        joined = join.this.alias_or_name
        inner = not join.side and join.kind in ("", "INNER")
        if inner or (join.side == "LEFT" and joined == alias and join.kind in ("", "OUTER")):
            yield from _conjuncts(condition)


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def _bounds_of(condition: exp.Expr, alias: str, column: str) -> _Bounds:
    def is_axis(node: exp.Expr) -> bool:
        return (
            isinstance(node, exp.Column)
            and node.table == alias
            and node.name.lower() == column.lower()
        )

    if isinstance(condition, exp.Between):
        if not is_axis(condition.this) or condition.args.get("symmetric"):
            return _Bounds()
        low, high = _instant(condition.args["low"]), _instant(condition.args["high"])
        return _Bounds(start=low, end=_after(high))
    if isinstance(condition, exp.GT | exp.GTE | exp.LT | exp.LTE | exp.EQ):
        return _bounds_of_comparison(condition, is_axis)
    return _Bounds()


def _bounds_of_comparison(condition: exp.Binary, is_axis: Callable[[exp.Expr], bool]) -> _Bounds:
    left, right = condition.left, condition.right
    operator: type[exp.Expr] = type(condition)
    if is_axis(right):
        left, right, operator = right, left, _MIRRORED[operator]
    if not is_axis(left) or (value := _instant(right)) is None:
        return _Bounds()
    if operator is exp.EQ:
        return _Bounds(start=value, end=_after(value))
    if operator in (exp.GT, exp.GTE):
        return _Bounds(start=value)
    return _Bounds(end=value if operator is exp.LT else _after(value))


_MIRRORED: Final[dict[type[exp.Expr], type[exp.Expr]]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}


def _after(instant: datetime | None) -> datetime | None:
    return None if instant is None else instant + MICROSECOND


def _instant(node: exp.Expr) -> datetime | None:
    """The instant that a literal stands for; None for everything else."""
    date, zoned = False, False
    if isinstance(node, exp.Cast) and node.to.is_type(*_TIME_TYPES):
        date, zoned = node.to.is_type("date"), node.to.is_type("timestamptz", "timestampltz")
        node = node.this
    literal = isinstance(node, exp.Literal) and node.is_string
    found = _INSTANT.fullmatch(node.name) if literal else None
    if found is None or (date and found["time"]):
        return None  # a date drops the time of day
    try:
        instant = datetime.fromisoformat(node.name)
    except ValueError:
        return None
    if instant.tzinfo is None:
        return instant.replace(tzinfo=UTC)
    # What an offset means for a type without a zone differs between engines.
    return instant.astimezone(UTC) if zoned or not instant.utcoffset() else None


_TIME_TYPES: Final = ("date", "timestamp", "timestamptz", "timestampntz", "timestampltz")
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?P<time>[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
