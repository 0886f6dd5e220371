"""Built-in audits of rows among others: keys, sequences, ranges, and outliers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sqlglot import exp

from vde_dagster.core.audits.arguments import Given
from vde_dagster.core.audits.floats import double, is_finite, is_nan
from vde_dagster.core.audits.values import OWN_PREFIX, THIS_MODEL, Check, FailingRows, Unique

_ROWS: Final = f"{OWN_PREFIX}rows"


def _unique_values(given: Given) -> Check:
    """A row fails where another one has its value in any of the columns."""
    columns = given.many("columns")
    if len(columns) == 1:
        return Unique(key=tuple(columns), condition=given.condition)
    return FailingRows(query=repeated([[each] for each in columns], given.condition))


def _unique_combination(given: Given) -> Unique:
    """A row fails where another one has its values in all of the columns."""
    return Unique(key=tuple(given.many("columns")), condition=given.condition)


def repeated(keys: Sequence[Sequence[exp.Expr]], condition: exp.Expr | None) -> exp.Select:
    """The rows that share any of some keys with another row; NULL is the same as NULL."""
    times = [_own(f"times_{index}") for index in range(len(keys))]
    counts = [_times(key).as_(each.name) for key, each in zip(keys, times, strict=True)]
    rows = exp.select(exp.Star(), *counts).from_(THIS_MODEL).where(condition)
    return (
        exp.select(exp.Star()).from_(rows.subquery(_ROWS)).where(exp.or_(*(t > 1 for t in times)))
    )


def _z_score(given: Given) -> FailingRows:
    """A row fails where its value is further from the mean than so many standard deviations.

    Both are those of the sample, as DOUBLE. Without any deviation no finite value fails. A value
    that is NaN or infinite does, and counts in neither.
    """
    mean, deviation = _own("mean"), _own("deviation")
    value = double(given.one("column"))
    finite = exp.case().when(is_finite(value), value)
    figures = exp.select(
        exp.Avg(this=finite).as_(mean.name),
        exp.StddevSamp(this=finite.copy()).as_(deviation.name),
    )
    far = exp.and_(deviation > 0, exp.Abs(this=value - mean) > given.one("threshold") * deviation)
    fails = exp.or_(exp.not_(is_finite(value)), far)
    everything = figures.from_(THIS_MODEL).where(given.condition).subquery(f"{OWN_PREFIX}all")
    rows = exp.select(f"{_ROWS}.*").from_(exp.to_table(THIS_MODEL).as_(_ROWS))
    return FailingRows(query=rows.join(everything, join_type="cross").where(given.where(fails)))


def _sequential_values(given: Given) -> FailingRows:
    """A row fails where no row has its value less one interval, unless its value is the least.

    It fails, too, where another row has its value, and where adding an interval leaves the value
    as it is, like NaN and the infinities. NULL is in no sequence.
    """
    value, first, due, times = map(_own, ("value", "first", "due", "times"))
    column = given.one("column")
    step = given.one("interval") if "interval" in given else exp.Literal.number(1)
    there = given.where(exp.not_(column.is_(exp.null())))
    shown = (exp.Star(), column.copy().as_(value.name), _times([column]).as_(times.name))
    rows = exp.select(*shown).from_(THIS_MODEL).where(there)
    following = exp.select((column + step).as_(due.name)).distinct().from_(THIS_MODEL).where(there)
    least = exp.select(exp.Min(this=column).as_(first.name)).from_(THIS_MODEL).where(there)
    gap = exp.and_(due.is_(exp.null()), value > first)
    endless = value.eq(value + step)
    return FailingRows(
        query=exp.select(f"{_ROWS}.*")
        .from_(rows.subquery(_ROWS))
        .join(following.subquery(f"{_ROWS}_due"), on=value.eq(due), join_type="left")
        .join(least.subquery(f"{_ROWS}_first"), join_type="cross")
        .where(exp.or_(times > 1, gap, endless))
    )


def _mutually_exclusive_ranges(given: Given) -> FailingRows:
    """A row fails where its range [lower, upper) overlaps another row's, or is empty or reversed.

    It fails, too, where a bound is NaN. A bound that is NULL is open. With ``partition_by`` only
    rows of one key are compared. Rows of one lower bound come in any order: whichever is first,
    both see each other.
    """
    lower, upper = given.one("lower_bound_column"), given.one("upper_bound_column")
    keys = given.many("partition_by") if "partition_by" in given else []
    is_range = exp.Coalesce(this=lower < upper, expressions=[exp.true()])
    figures, overlapping = [], []
    for name, start, end, own, other in (
        ("before", "UNBOUNDED PRECEDING", "1 PRECEDING", lower, upper),
        ("after", "1 FOLLOWING", "UNBOUNDED FOLLOWING", upper, lower),
    ):
        rows, is_open, bound = (_own(f"{name}_{each}") for each in ("rows", "open", "bound"))
        farthest = exp.Max if name == "before" else exp.Min
        is_other_open = exp.and_(is_range, other.is_(exp.null()))
        for aggregate, figure in (
            (exp.Sum(this=exp.case().when(is_range, "1").else_("0")), rows),
            (exp.Sum(this=exp.case().when(is_other_open, "1").else_("0")), is_open),
            (farthest(this=exp.case().when(is_range, other)), bound),
        ):
            (first, first_side), (last, last_side) = start.split(), end.split()
            frame = exp.WindowSpec(
                kind="ROWS", start=first, start_side=first_side, end=last, end_side=last_side
            )
            ordered = exp.Order(expressions=[exp.Ordered(this=lower.copy(), nulls_first=True)])
            window = exp.Window(
                this=aggregate,
                partition_by=[each.copy() for each in keys],
                order=ordered,
                spec=frame,
            )
            figures.append(window.as_(figure.name))
        meets = bound > own if name == "before" else bound < own
        overlapping.append(exp.and_(rows > 0, exp.or_(own.is_(exp.null()), is_open > 0, meets)))
    fails = exp.or_(
        lower >= upper, is_nan(lower), is_nan(upper), exp.and_(is_range, exp.or_(*overlapping))
    )
    rows_with = exp.select(exp.Star(), *figures).from_(THIS_MODEL).where(given.condition)
    return FailingRows(query=exp.select(exp.Star()).from_(rows_with.subquery(_ROWS)).where(fails))


def _own(name: str) -> exp.Column:
    return exp.column(f"{OWN_PREFIX}{name}")


def _times(key: Sequence[exp.Expr]) -> exp.Window:
    """How many rows have a row's key."""
    rows = exp.Count(this=exp.Star(), big_int=True)
    return exp.Window(this=rows, partition_by=[each.copy() for each in key])


GROUPS: Final[Mapping[str, Callable[[Given], Check]]] = {
    "unique_values": _unique_values,
    "unique_combination_of_columns": _unique_combination,
    "z_score": _z_score,
    "sequential_values": _sequential_values,
    "mutually_exclusive_ranges": _mutually_exclusive_ranges,
}
"""What fails of an audit, by its name (docs/reference/audits.md)."""
