"""What audits ask of floating-point numbers: NaN and the infinities are among their values.

Engines order NaN as greater than all numbers and equal to itself, and any aggregate over it is NaN.
So a comparison alone lets it pass wherever there is no upper bound.
"""

from __future__ import annotations

from sqlglot import exp


def double(value: exp.Expr) -> exp.Expr:
    """A number in the type in which means and deviations are taken."""
    return exp.cast(value, exp.DataType.Type.DOUBLE)


def is_finite(value: exp.Expr) -> exp.Expr:
    """The condition that a DOUBLE is neither NaN nor infinite; NULL for NULL."""
    return exp.Abs(this=value.copy()) < double(exp.Literal.string("Infinity"))


def is_nan(value: exp.Expr) -> exp.Expr:
    """The condition that a value of any type is NaN, which floating-point numbers alone can be.

    The text is compared since engines refuse to ask it of a date.
    """
    floating = exp.Lower(this=exp.Typeof(this=value.copy())).isin("double", "float")
    text = exp.Lower(this=exp.cast(value.copy(), exp.DataType.Type.TEXT))
    return exp.and_(floating, text.eq("nan"))
