"""Which function changes which part of another dialect, so that it means the same in Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from vde_dagster.core.sql.translation.edges import check_edges
from vde_dagster.core.sql.translation.numbers import (
    average,
    compared,
    divided,
    doubled,
    greatest,
    literal,
    whole_number,
    without_error,
)
from vde_dagster.core.sql.translation.parts_of_times import extracted, week, weekday, written
from vde_dagster.core.sql.translation.read_texts import time_of_text
from vde_dagster.core.sql.translation.rounding import border, cut_number, rounded, rounded_cast
from vde_dagster.core.sql.translation.texts import (
    added,
    alike,
    connected,
    element,
    end_of_text,
    joined,
    length,
    listed,
    part_of_text,
    pattern,
    size,
    trimmed,
)
from vde_dagster.core.sql.translation.zones import at_zone, clocks_of, converted, instant_of

Change = Callable[[Any, str], exp.Expr]
CHANGES: Final[dict[type[exp.Expr], Change]] = {
    exp.Cast: rounded_cast,
    exp.TryCast: rounded_cast,
    exp.Ceil: border,
    exp.Floor: border,
    exp.Round: rounded,
    exp.Trunc: cut_number,
    exp.Avg: average,
    exp.Div: divided,
    exp.Log: doubled,
    exp.Ln: doubled,
    exp.Sqrt: doubled,
    exp.EQ: compared,
    exp.NEQ: compared,
    exp.NullSafeEQ: compared,
    exp.NullSafeNEQ: compared,
    exp.GT: compared,
    exp.GTE: compared,
    exp.LT: compared,
    exp.LTE: compared,
    exp.Exp: doubled,
    exp.Pow: doubled,
    exp.Concat: joined,
    exp.DPipe: joined,
    exp.ConcatWs: joined,
    exp.Greatest: greatest,
    exp.Least: greatest,
    exp.Substring: part_of_text,
    exp.Left: end_of_text,
    exp.Right: end_of_text,
    exp.Bracket: element,
    exp.Length: length,
    exp.Trim: trimmed,
    exp.ArraySize: size,
    exp.GroupConcat: listed,
    exp.TsOrDsToDate: time_of_text,
    exp.TsOrDsToTimestamp: time_of_text,
    exp.TsOrDsToDatetime: time_of_text,
    exp.TimeStrToTime: time_of_text,
    exp.Like: alike,
    exp.ILike: alike,
    exp.RegexpLike: pattern,
    exp.RegexpILike: pattern,
    exp.RegexpReplace: pattern,
    exp.RegexpExtract: pattern,
    exp.Extract: extracted,
    exp.DayOfWeekIso: weekday,
    exp.Week: week,
    exp.ToChar: written,
    exp.AtTimeZone: at_zone,
    exp.ConvertTimezone: converted,
    exp.Datetime: clocks_of,
    exp.Date: clocks_of,
    exp.Timestamp: instant_of,
}
"""The function that changes each class of node, for every dialect that is not Spark's own."""


def change_of(node: exp.Expr, source: str) -> exp.Expr:
    """A part of a query changed so that it means in Spark what it means in its dialect.

    Raises:
        Refused: It has no single meaning in Spark.
    """
    check_edges(node, source)
    if source in _SIXTY_FOUR and isinstance(node, exp.Add | exp.Sub | exp.Mul):
        return whole_number(node, source)
    if source == "mysql" and isinstance(node, exp.And | exp.Or):
        return connected(node, source)
    if source == "mysql" and isinstance(node, exp.Mod | exp.IntDiv):
        return without_error(node, source)
    if source == "tsql" and isinstance(node, exp.Add):
        return added(node, source)
    if source == "bigquery" and isinstance(node, exp.Literal):
        return literal(node, source)
    change = CHANGES.get(type(node))
    return node if change is None else change(node, source)


_SIXTY_FOUR: Final = frozenset({"bigquery", "snowflake", "mysql"})
"""Dialects whose whole numbers have 64 bits or more when they are added."""
