"""Built-in audits of rows among others: keys, sequences, ranges, and outliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from vde_dagster.core.audits.arguments import Given
from vde_dagster.core.audits.floats import double, is_finite, is_nan
from vde_dagster.core.audits.values import OWN_PREFIX, THIS_MODEL, FailingRows, Unique

_ROWS: Final = f"{OWN_PREFIX}rows"


def unique_values(given: Given) -> Unique | FailingRows:
    """A row fails where another one has its value in any of the columns."""
    columns = given.many("columns")
    if len(columns) == 1:
        return Unique(key=tuple(columns), condition=given.condition)
    return FailingRows(query=repeated([[each] for each in columns], given.condition))


def unique_combination_of_columns(given: Given) -> Unique:
    """A row fails where another one has its values in all of the columns."""
    return Unique(key=tuple(given.many("columns")), condition=given.condition)


def repeated(keys: Sequence[Sequence[exp.Expr]], condition: exp.Expr | None) -> exp.Select:
    """The rows that share any of some keys with another row; NULL is the same as NULL."""
    names = [f"{OWN_PREFIX}times_{index}" for index in range(len(keys))]
    counts = [
        exp.Window(this=exp.Count(this=exp.Star(), big_int=True), partition_by=list(key)).as_(name)
        for key, name in zip(keys, names, strict=True)
    ]
    inner = _where(exp.select(exp.Star(), *counts).from_(_this()), condition)
    more = [exp.GT(this=exp.column(name), expression=exp.Literal.number(1)) for name in names]
    return exp.select(exp.Star()).from_(inner.subquery(_ROWS)).where(exp.or_(*more))


def z_score(given: Given) -> FailingRows:
    """A row fails where its value is further from the mean than so many standard deviations.

    Both are those of the sample, as DOUBLE. Without any deviation no finite value fails. A value
    that is NaN or infinite does, and counts in neither.
    """
    mean, deviation = (exp.column(f"{OWN_PREFIX}{each}") for each in ("mean", "deviation"))
    value = double(given.one("column"))
    finite = _if(is_finite(value), value)
    figures = _where(
        exp.select(
            exp.Avg(this=finite).as_(mean.name),
            exp.StddevSamp(this=finite.copy()).as_(deviation.name),
        ).from_(_this()),
        given.condition,
    )
    distance = exp.Abs(this=exp.Sub(this=value, expression=mean))
    most = exp.Mul(this=given.one("threshold"), expression=deviation)
    far = exp.and_(
        exp.GT(this=deviation.copy(), expression=exp.Literal.number(0)),
        exp.GT(this=distance, expression=most),
    )
    fails = exp.or_(exp.not_(is_finite(value)), far)
    rows = exp.select(_star(_ROWS)).from_(_this(_ROWS))
    joined = rows.join(figures.subquery(f"{OWN_PREFIX}all"), join_type="cross")
    return FailingRows(query=joined.where(given.where(fails)))


def sequential_values(given: Given) -> FailingRows:
    """A row fails where no row has its value less one interval, unless its value is the least.

    It fails, too, where another row has its value, and where adding an interval leaves the value
    as it is, like NaN and the infinities. NULL is in no sequence.
    """
    value, first, due, times = (
        exp.column(f"{OWN_PREFIX}{each}") for each in ("value", "first", "due", "times")
    )
    column = given.one("column")
    step = given.one("interval") if "interval" in given else exp.Literal.number(1)
    there = given.where(exp.not_(exp.Is(this=column, expression=exp.Null())))
    count = exp.Window(this=exp.Count(this=exp.Star(), big_int=True), partition_by=[column.copy()])
    rows = exp.select(exp.Star(), column.copy().as_(value.name), count.as_(times.name))
    following = exp.Add(this=column.copy(), expression=step)
    endless = exp.EQ(
        this=value.copy(), expression=exp.Add(this=value.copy(), expression=step.copy())
    )
    least = exp.Min(this=column.copy()).as_(first.name)
    gap = exp.and_(
        exp.Is(this=due.copy(), expression=exp.Null()),
        exp.GT(this=value.copy(), expression=first),
    )
    again = exp.GT(this=times, expression=exp.Literal.number(1))
    return FailingRows(
        query=exp.select(_star(_ROWS))
        .from_(rows.from_(_this()).where(there).subquery(_ROWS))
        .join(
            exp.select(following.as_(due.name))
            .distinct()
            .from_(_this())
            .where(there)
            .subquery(f"{_ROWS}_due"),
            on=exp.EQ(this=value, expression=due),
            join_type="left",
        )
        .join(
            exp.select(least).from_(_this()).where(there).subquery(f"{_ROWS}_first"),
            join_type="cross",
        )
        .where(exp.or_(again, gap, endless))
    )


def mutually_exclusive_ranges(given: Given) -> FailingRows:
    """A row fails where its range [lower, upper) overlaps another row's, or is empty or reversed.

    It fails, too, where a bound is NaN. A bound that is NULL is open. With ``partition_by`` only
    rows of one key are compared.
    """
    lower, upper = given.one("lower_bound_column"), given.one("upper_bound_column")
    keys = given.many("partition_by") if "partition_by" in given else []
    is_range = exp.Coalesce(
        this=exp.LT(this=lower, expression=upper), expressions=[exp.Boolean(this=True)]
    )
    before = _Side(name="before", keys=keys, lower=lower, after=False)
    after = _Side(name="after", keys=keys, lower=lower, after=True)
    inner = exp.select(
        exp.Star(),
        before.over(exp.Sum(this=_one_if(is_range)), "rows"),
        before.over(exp.Sum(this=_one_if(exp.and_(is_range, _is_null(upper)))), "open"),
        before.over(exp.Max(this=_if(is_range, upper)), "bound"),
        after.over(exp.Sum(this=_one_if(is_range)), "rows"),
        after.over(exp.Sum(this=_one_if(exp.and_(is_range, _is_null(lower)))), "open"),
        after.over(exp.Min(this=_if(is_range, lower)), "bound"),
    ).from_(_this())
    met_before = _met(
        before, _is_null(lower), exp.GT(this=before.column("bound"), expression=lower.copy())
    )
    met_after = _met(
        after, _is_null(upper), exp.LT(this=after.column("bound"), expression=upper.copy())
    )
    fails = exp.or_(
        exp.GTE(this=lower.copy(), expression=upper.copy()),
        is_nan(lower),
        is_nan(upper),
        exp.and_(is_range.copy(), exp.or_(met_before, met_after)),
    )
    rows = _where(inner, given.condition).subquery(_ROWS)
    return FailingRows(query=exp.select(exp.Star()).from_(rows).where(fails))


class _Side:
    """Aggregates over the rows before or after one, in the order of the lower bounds.

    Rows of one lower bound come in any order: whichever is first, both see each other.
    """

    def __init__(
        self, *, name: str, keys: Sequence[exp.Expr], lower: exp.Expr, after: bool
    ) -> None:
        self._name, self._keys, self._lower, self._after = name, keys, lower, after

    def column(self, what: str) -> exp.Column:
        return exp.column(f"{OWN_PREFIX}{self._name}_{what}")

    def over(self, aggregate: exp.Expr, what: str) -> exp.Expr:
        rest = ("UNBOUNDED", "FOLLOWING") if self._after else (exp.Literal.number(1), "PRECEDING")
        first = (exp.Literal.number(1), "FOLLOWING") if self._after else ("UNBOUNDED", "PRECEDING")
        frame = exp.WindowSpec(
            kind="ROWS", start=first[0], start_side=first[1], end=rest[0], end_side=rest[1]
        )
        ordered = exp.Ordered(this=self._lower.copy(), nulls_first=True)
        window = exp.Window(
            this=aggregate,
            partition_by=[each.copy() for each in self._keys],
            order=exp.Order(expressions=[ordered]),
            spec=frame,
        )
        return window.as_(self.column(what).name)


def _met(side: _Side, own_is_open: exp.Expr, overlaps: exp.Expr) -> exp.Expr:
    zero = exp.Literal.number(0)
    some = exp.GT(this=side.column("rows"), expression=zero)
    open_there = exp.GT(this=side.column("open"), expression=zero.copy())
    return exp.and_(some, exp.or_(own_is_open, open_there, overlaps))


def _one_if(condition: exp.Expr) -> exp.Expr:
    return exp.case().when(condition.copy(), "1").else_("0")


def _if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.case().when(condition.copy(), value.copy())


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=value.copy(), expression=exp.Null())


def _where(query: exp.Select, condition: exp.Expr | None) -> exp.Select:
    return query if condition is None else query.where(condition)


def _this(alias: str = "") -> exp.Expr:
    table = exp.to_table(THIS_MODEL)
    return table.as_(alias) if alias else table


def _star(table: str) -> exp.Column:
    return exp.Column(this=exp.Star(), table=exp.to_identifier(table))
