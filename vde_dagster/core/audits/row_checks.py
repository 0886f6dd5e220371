"""Built-in audits of each row for itself. What is NULL fails only where an audit says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from sqlglot import exp

from vde_dagster.core.audits.arguments import Given
from vde_dagster.core.audits.floats import is_nan

UUID: Final = r"\A[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\z"
EMAIL: Final = r"\A[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+\z"
URL: Final = r"\A(?i)(https?|ftp)://[^\s/?#]+([/?#]\S*)?\z"
"""Patterns of the form only, in what Java's and RE2's regular expressions have in common."""


def outside(value: exp.Expr, given: Given) -> exp.Expr:
    """The condition that a value lies outside of ``min_v`` and ``max_v``.

    The bounds themselves lie inside unless ``inclusive`` is false. Either may be missing.
    """
    inclusive = given.flag("inclusive", default=True)
    below, above = (exp.LT, exp.GT) if inclusive else (exp.LTE, exp.GTE)
    tests = [
        operator(this=value.copy(), expression=given.one(name))
        for name, operator in (("min_v", below), ("max_v", above))
        if name in given
    ]
    return exp.or_(*tests)


def _is_null(given: Given) -> exp.Expr:
    return exp.or_(*(each.is_(exp.null()) for each in given.many("columns")))


def _is_in(given: Given) -> exp.Expr:
    return exp.In(this=given.one("column"), expressions=given.many("is_in"))


def _in_no_range(given: Given) -> exp.Expr:
    value = given.one("column")
    return exp.or_(outside(value, given), is_nan(value))


def _length(given: Given) -> exp.Expr:
    return exp.Length(this=given.one("column"))


def _any(given: Given, test: Callable[[exp.Expr, exp.Expr], exp.Expr]) -> exp.Expr:
    return exp.or_(*(test(given.one("column"), each) for each in given.many("patterns")))


def _regex(text: exp.Expr, pattern: exp.Expr) -> exp.Expr:
    return exp.RegexpLike(this=text, expression=pattern)


def _like(text: exp.Expr, pattern: exp.Expr) -> exp.Expr:
    # Engines differ in whether a backslash escapes unless the query says so.
    like = exp.Like(this=text, expression=pattern)
    return exp.Escape(this=like, expression=exp.Literal.string("\\"))


def _is_other(pattern: str, given: Given) -> exp.Expr:
    return exp.not_(_regex(given.one("column"), exp.Literal.string(pattern)))


FAILS: Final[Mapping[str, Callable[[Given], exp.Expr]]] = {
    "not_null": _is_null,
    "accepted_values": lambda given: exp.not_(_is_in(given)),
    "not_accepted_values": _is_in,
    "accepted_range": _in_no_range,
    "forall": lambda given: exp.not_(exp.and_(*given.many("criteria"))),
    "not_empty_string": lambda given: given.one("column").eq(""),
    "string_length_equal": lambda given: _length(given).neq(given.one("v")),
    "string_length_between": lambda given: outside(_length(given), given),
    "match_regex_pattern_list": lambda given: exp.not_(_any(given, _regex)),
    "not_match_regex_pattern_list": lambda given: _any(given, _regex),
    "match_like_pattern_list": lambda given: exp.not_(_any(given, _like)),
    "not_match_like_pattern_list": lambda given: _any(given, _like),
    "valid_uuid": partial(_is_other, UUID),
    "valid_email": partial(_is_other, EMAIL),
    "valid_url": partial(_is_other, URL),
}
"""When a row fails, by the name of the audit (docs/reference/audits.md)."""
