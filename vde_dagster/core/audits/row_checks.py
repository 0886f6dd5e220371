"""Built-in audits of each row for itself. What is NULL fails only where an audit says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlglot import exp

from vde_dagster.core.audits.arguments import Given
from vde_dagster.core.audits.floats import is_nan
from vde_dagster.core.audits.values import EachRow

UUID: Final = r"\A[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\z"
EMAIL: Final = r"\A[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+\z"
URL: Final = r"\A(?i)(https?|ftp)://[^\s/?#]+([/?#]\S*)?\z"
"""Patterns of the form only, in what Java's and RE2's regular expressions have in common."""


def not_null(given: Given) -> EachRow:
    """A row fails where any of the columns is NULL."""
    tests = [exp.Is(this=each, expression=exp.Null()) for each in given.many("columns")]
    return _failing(given, exp.or_(*tests))


def accepted_values(given: Given) -> EachRow:
    """A row fails where the value is none of the list."""
    return _failing(given, exp.not_(_is_in(given)))


def not_accepted_values(given: Given) -> EachRow:
    """A row fails where the value is one of the list."""
    return _failing(given, _is_in(given))


def accepted_range(given: Given) -> EachRow:
    """A row fails where the value lies outside; NaN lies in no range."""
    value = given.one("column")
    return _failing(given, exp.or_(outside(value, given), is_nan(value)))


def forall(given: Given) -> EachRow:
    """A row fails where any criterion is false, as with a CHECK constraint."""
    return _failing(given, exp.not_(exp.and_(*given.many("criteria"))))


def not_empty_string(given: Given) -> EachRow:
    """A row fails where the text has no character; blanks are characters."""
    return _failing(given, exp.EQ(this=given.one("column"), expression=exp.Literal.string("")))


def string_length_equal(given: Given) -> EachRow:
    """A row fails where the text has another number of characters."""
    return _failing(given, exp.NEQ(this=_length(given), expression=given.one("v")))


def string_length_between(given: Given) -> EachRow:
    """A row fails where the number of characters lies outside."""
    return _failing(given, outside(_length(given), given))


def match_regex_pattern_list(given: Given) -> EachRow:
    """A row fails where no pattern is found in the text."""
    return _failing(given, exp.not_(_any(given, _regex)))


def not_match_regex_pattern_list(given: Given) -> EachRow:
    """A row fails where any pattern is found in the text."""
    return _failing(given, _any(given, _regex))


def match_like_pattern_list(given: Given) -> EachRow:
    """A row fails where the whole text is like no pattern."""
    return _failing(given, exp.not_(_any(given, _like)))


def not_match_like_pattern_list(given: Given) -> EachRow:
    """A row fails where the whole text is like any pattern."""
    return _failing(given, _any(given, _like))


def of_pattern(pattern: str) -> Callable[[Given], EachRow]:
    """An audit for which a row fails where a pattern is not found in the text."""

    def check(given: Given) -> EachRow:
        found = _regex(given.one("column"), exp.Literal.string(pattern))
        return _failing(given, exp.not_(found))

    return check


def outside(value: exp.Expr, given: Given) -> exp.Expr:
    """The condition that a value lies outside of ``min_v`` and ``max_v``.

    The bounds themselves lie inside unless ``inclusive`` is false. Either may be missing.
    """
    inclusive = given.flag("inclusive", default=True)
    downstream, upstream = (exp.LT, exp.GT) if inclusive else (exp.LTE, exp.GTE)
    pairs = [("min_v", downstream), ("max_v", upstream)]
    tests = [
        operator(this=value.copy(), expression=given.one(name))
        for name, operator in pairs
        if name in given
    ]
    return exp.or_(*tests)


def _failing(given: Given, fails: exp.Expr) -> EachRow:
    return EachRow(fails=given.where(fails))


def _is_in(given: Given) -> exp.In:
    return exp.In(this=given.one("column"), expressions=given.many("is_in"))


def _length(given: Given) -> exp.Expr:
    return exp.Length(this=given.one("column"))


def _any(given: Given, test: Callable[[exp.Expr, exp.Expr], exp.Expr]) -> exp.Expr:
    patterns: Sequence[exp.Expr] = given.many("patterns")
    return exp.or_(*[test(given.one("column"), each) for each in patterns])


def _regex(text: exp.Expr, pattern: exp.Expr) -> exp.Expr:
    return exp.RegexpLike(this=text, expression=pattern)


def _like(text: exp.Expr, pattern: exp.Expr) -> exp.Expr:
    # Engines differ in whether a backslash escapes unless the query says so.
    like = exp.Like(this=text, expression=pattern)
    return exp.Escape(this=like, expression=exp.Literal.string("\\"))
