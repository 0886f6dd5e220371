"""Built-in audits of all rows together: a few figures of them, and when these are bad."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from sqlglot import exp

from vde_dagster.core.audits.arguments import Given
from vde_dagster.core.audits.floats import double, is_finite
from vde_dagster.core.audits.row_checks import outside
from vde_dagster.core.audits.values import Total

_ROWS = exp.column("row_count")
_VALUES = exp.column("value_count")
_SOME_ROWS = _ROWS > 0


def rows_of(given: Given) -> exp.Expr:
    """The number of the rows that an audit is about."""
    condition = given.condition
    if condition is None:
        return exp.Count(this=exp.Star(), big_int=True)
    return exp.CountIf(this=condition)


def _total(fails: exp.Expr, **figures: exp.Expr) -> Total:
    return Total(figures=tuple(figures.items()), fails=fails)


def _number_of_rows(given: Given) -> Total:
    """All fail where there are not more rows than the threshold (0 by default)."""
    least = given.one("threshold") if "threshold" in given else 0
    return _total(least >= _ROWS, row_count=rows_of(given))


def _at_least_one(given: Given) -> Total:
    """All fail where there are rows, and each has NULL."""
    fails = exp.and_(_SOME_ROWS, _VALUES.eq(0))
    return _total(fails, row_count=rows_of(given), value_count=_count(given))


def _not_constant(given: Given) -> Total:
    """All fail where there are rows, and they have fewer than two different values; NULL is none.

    Comparing the least and the greatest value shows it, so no set of all values is built.
    """
    low, value = exp.column("least"), _column(given)
    constant = exp.or_(low.eq(exp.column("greatest")), low.is_(exp.null()))
    return _total(
        exp.and_(_SOME_ROWS, constant),
        row_count=rows_of(given),
        least=exp.Min(this=value),
        greatest=exp.Max(this=value.copy()),
    )


def _not_null_proportion(given: Given) -> Total:
    """All fail where there are rows, and the part of them that is not NULL is below the threshold.

    Compared as a product, which is exact where a quotient is rounded.
    """
    fails = exp.and_(_SOME_ROWS, given.one("threshold") * _ROWS > _VALUES)
    return _total(fails, row_count=rows_of(given), value_count=_count(given))


def _in_range(name: str, aggregate: type[exp.AggFunc], given: Given) -> Total:
    """All fail where the figure of the values, as DOUBLE, lies outside; without any there is none.

    They fail as well where a value is NaN or infinite; the figure is that of the other ones.
    """
    value, figure = double(given.one("column")), exp.column(name)
    strange = exp.CountIf(this=given.where(exp.not_(is_finite(value))))
    finite = exp.case().when(given.where(is_finite(value)), value)
    fails = exp.or_(
        outside(figure, given),
        exp.not_(is_finite(figure)),  # too large for a DOUBLE
        exp.column("not_finite") > 0,
    )
    return _total(fails, **{name: aggregate(this=finite), "not_finite": strange})


def _column(given: Given) -> exp.Expr:
    """The values of the rows that an audit is about, NULL for the others."""
    value, condition = given.one("column"), given.condition
    return value if condition is None else exp.case().when(condition, value)


def _count(given: Given) -> exp.Expr:
    return exp.Count(this=_column(given), big_int=True)


TOTALS: Final[Mapping[str, Callable[[Given], Total]]] = {
    "number_of_rows": _number_of_rows,
    "at_least_one": _at_least_one,
    "not_constant": _not_constant,
    "not_null_proportion": _not_null_proportion,
    "mean_in_range": partial(_in_range, "mean", exp.Avg),
    "stddev_in_range": partial(_in_range, "deviation", exp.StddevSamp),
}
"""The figures of an audit and when they are bad, by its name (docs/reference/audits.md)."""
