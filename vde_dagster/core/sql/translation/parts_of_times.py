"""Parts of times: Spark's names of them, and expressions for those that Spark lacks."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.translation.time_texts import SNOWFLAKE_PARTS
from vde_dagster.core.sql.translation.values import TRINO, kind_of, refused


def extracted(node: exp.Extract, source: str) -> exp.Expr:
    """EXTRACT of a part of a time, by the name that Spark has for it."""
    name, time = node.name.upper(), node.expression
    if name == "DATE":
        return exp.Cast(this=time, to=exp.DataType.build("DATE"))
    if name == "SECOND" and source not in _FRACTIONS:
        return exp.Cast(this=node.copy(), to=exp.DataType.build("INT"))
    if name == "EPOCH":
        instant = exp.Cast(this=time, to=exp.DataType.build("TIMESTAMP"))
        micros = exp.Anonymous(this="UNIX_MICROS", expressions=[instant])
        exact = exp.Cast(this=micros, to=exp.DataType.build("DECIMAL(20, 0)"))
        return exp.paren(exp.Div(this=exact, expression=exp.Literal.number(1_000_000)))
    if name in ("DOW", "DAY_OF_WEEK", "DAYOFWEEK") and source in TRINO:
        name = "ISODOW"
    if name in _NAMES:
        node.set("this", exp.Var(this=_NAMES[name]))
    return node


_NAMES: Final = {
    "ISODOW": "DAYOFWEEK_ISO",
    "DAYOFWEEKISO": "DAYOFWEEK_ISO",
    "ISOYEAR": "YEAROFWEEK",
    "ISOWEEK": "WEEK",
    "DAYOFYEAR": "DOY",
}


_FRACTIONS: Final = frozenset({"postgres", "redshift"})
"""Dialects in which seconds have a fraction, as in Spark."""


def weekday(node: exp.DayOfWeekIso, source: str) -> exp.Expr:
    """The day of a week that begins on Monday with 1."""
    return exp.Extract(this=exp.Var(this="DAYOFWEEK_ISO"), expression=node.this)


def week(node: exp.Week, source: str) -> exp.Expr:
    """The number of a week of ISO's calendar."""
    return exp.WeekOfYear(this=node.this)


def written(node: exp.ToChar, source: str) -> exp.Expr:
    """Snowflake's TO_CHAR of a time.

    Raises:
        Refused: What it writes is no time.
    """
    form = node.args.get("format")
    if form is None or kind_of(node.this, source) not in ("date", "time", "instant"):
        advice = "Write CAST(... AS TIMESTAMP) around the time in it"
        raise refused(node, "writes what is not known to be a time", advice)
    text = form.name
    for theirs, ours in SNOWFLAKE_PARTS:
        text = text.replace(theirs, ours)
    return exp.TimeToStr(this=node.this, format=exp.Literal.string(text))


def move_as_time(node: exp.Expr, source: str) -> None:
    """A date that is moved by an interval is a time in these dialects, and a date in Spark."""
    day = node.args["this"]
    is_sum = isinstance(node, exp.Add | exp.Sub)
    moves = source in _BECOME_TIMES and node.expression.find(exp.Interval) if is_sum else None
    if (moves or (not is_sum and source == "redshift")) and kind_of(day, source) == "date":
        node.set("this", exp.Cast(this=day, to=exp.DataType.build("TIMESTAMP")))


_BECOME_TIMES: Final = frozenset({"postgres", "redshift", "duckdb", "bigquery"})
