"""Built-in audits of all rows together: a few figures of them, and when these are bad."""

from __future__ import annotations

from sqlglot import exp

from vde_dagster.core.audits.arguments import Given
from vde_dagster.core.audits.floats import double, is_finite
from vde_dagster.core.audits.row_checks import outside
from vde_dagster.core.audits.values import Total

_ROWS = "row_count"
_NOT_FINITE = "not_finite"


def number_of_rows(given: Given) -> Total:
    """All fail where there are not more rows than the threshold (0 by default)."""
    least = given.one("threshold") if "threshold" in given else exp.Literal.number(0)
    fails = exp.LTE(this=exp.column(_ROWS), expression=least)
    return Total(figures=((_ROWS, rows_of(given)),), fails=fails)


def at_least_one(given: Given) -> Total:
    """All fail where there are rows, and each has NULL."""
    values = "value_count"
    fails = exp.and_(_some_rows(), exp.EQ(this=exp.column(values), expression=_zero()))
    return Total(figures=((_ROWS, rows_of(given)), (values, _values(given))), fails=fails)


def not_constant(given: Given) -> Total:
    """All fail where there are rows, and they have fewer than two different values; NULL is none.

    Comparing the least and the greatest value shows it, so no set of all values is built.
    """
    low, high = "least", "greatest"
    constant = exp.EQ(this=exp.column(low), expression=exp.column(high))
    no_value = exp.Is(this=exp.column(low), expression=exp.Null())
    fails = exp.and_(_some_rows(), exp.or_(constant, no_value))
    figures = (
        (_ROWS, rows_of(given)),
        (low, exp.Min(this=_where(given, given.one("column")))),
        (high, exp.Max(this=_where(given, given.one("column")))),
    )
    return Total(figures=figures, fails=fails)


def not_null_proportion(given: Given) -> Total:
    """All fail where there are rows, and the part of them that is not NULL is below the threshold.

    Compared as a product, which is exact where a quotient is rounded.
    """
    values = "value_count"
    enough = exp.Mul(this=given.one("threshold"), expression=exp.column(_ROWS))
    fails = exp.and_(_some_rows(), exp.LT(this=exp.column(values), expression=enough))
    return Total(figures=((_ROWS, rows_of(given)), (values, _values(given))), fails=fails)


def mean_in_range(given: Given) -> Total:
    """All fail where the mean of the values, as DOUBLE, lies outside; without any there is none.

    They fail as well where a value is NaN or infinite; the mean is that of the other ones.
    """
    return _in_range(given, "mean", exp.Avg)


def stddev_in_range(given: Given) -> Total:
    """All fail where the sample's standard deviation lies outside; of one value there is none.

    They fail as well where a value is NaN or infinite; the deviation is that of the other ones.
    """
    return _in_range(given, "deviation", exp.StddevSamp)


def rows_of(given: Given) -> exp.Expr:
    """The number of the rows that an audit is about."""
    condition = given.condition
    if condition is None:
        return exp.Count(this=exp.Star(), big_int=True)
    return exp.CountIf(this=condition)


def _in_range(given: Given, name: str, aggregate: type[exp.AggFunc]) -> Total:
    value, figure = double(given.one("column")), exp.column(name)
    strange = exp.CountIf(this=given.where(exp.not_(is_finite(value))))
    finite = exp.case().when(given.where(is_finite(value)), value)
    fails = exp.or_(
        outside(figure, given),
        exp.not_(is_finite(figure)),  # too large for a DOUBLE
        exp.GT(this=exp.column(_NOT_FINITE), expression=_zero()),
    )
    return Total(figures=((name, aggregate(this=finite)), (_NOT_FINITE, strange)), fails=fails)


def _values(given: Given) -> exp.Expr:
    return exp.Count(this=_where(given, given.one("column")), big_int=True)


def _where(given: Given, value: exp.Expr) -> exp.Expr:
    """A value of the rows that an audit is about, NULL for the others."""
    condition = given.condition
    return value if condition is None else exp.case().when(condition, value)


def _some_rows() -> exp.Expr:
    return exp.GT(this=exp.column(_ROWS), expression=_zero())


def _zero() -> exp.Expr:
    return exp.Literal.number(0)
