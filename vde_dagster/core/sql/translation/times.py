"""Times moved, compared and cut: Spark's functions of the same names differ.

Spark's DATE_ADD gives dates, its DATEDIFF counts elapsed units and not borders, its TRUNC has no
unit smaller than a month, and an interval of Spark is a literal, of months or of seconds.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from vde_dagster.core.sql.translation.type_names import time_in, whole_number_in
from vde_dagster.core.sql.translation.values import NotInSpark, kind_of, refused
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.sql_units import TRUNC_NAMES

_Type = exp.DataType.Type
FORWARD: Final = (exp.DateAdd, exp.TsOrDsAdd, exp.TimestampAdd, exp.DatetimeAdd)
BACKWARD: Final = (exp.DateSub, exp.TimestampSub, exp.DatetimeSub)
DIFFERENCES: Final = (exp.DateDiff, exp.TsOrDsDiff, exp.DatetimeDiff)
CUTS: Final = (exp.DateTrunc, exp.TimestampTrunc, exp.DatetimeTrunc)


def name_of(source: Dialect) -> str:
    """A dialect's name in lower case."""
    return type(source).__name__.lower()


def moved(node: exp.Expr, source: Dialect) -> exp.Expr:
    """A time moved by a length, as the sum of both.

    Raises:
        Refused: The type of the time is not known and matters, or Spark has no such unit.
    """
    amount = node.args["expression"]
    interval = amount if isinstance(amount, exp.Interval) else node
    number = interval.args["this"] if interval is amount else amount
    factor, unit = _length(_moving_unit(interval, source), node)
    forward = not isinstance(node, BACKWARD)
    written = _whole_number(number)
    if written is None:
        _refuse_fraction(node, number, source)
    if written is not None:
        forward = forward is (written >= 0)
        length: exp.Expr = _interval(abs(written) * factor, unit)
    else:
        length = exp.Mul(this=_operand(number), expression=_interval(factor, unit))
    total = (exp.Add if forward else exp.Sub)(
        this=_operand(_time(node, name_of(source))), expression=length
    )
    if written is None and unit == "DAY" and node.this.is_type(_Type.DATE):
        return exp.cast(total, _Type.DATE)  # a product of an interval may have hours
    inside = isinstance(node.parent, exp.Binary | exp.Unary | exp.Bracket)
    return exp.paren(total, copy=False) if inside else total


def _refuse_fraction(node: exp.Expr, number: exp.Expr, source: Dialect) -> None:
    name = name_of(source)
    if kind_of(number, name) in ("decimal", "double", "text"):
        advice = f"Write CAST(... AS {whole_number_in(name)}) around the number in it"
        raise refused(node, "moves by what may be no whole number", advice)


def _time(node: exp.Expr, source: str) -> exp.Expr:
    """The operand as a time: a literal text of a date or a time is cast."""
    time: exp.Expr = node.this
    if time.is_type(_Type.DATE, *exp.DataType.TEMPORAL_TYPES):
        return time
    text = time.name if isinstance(time, exp.Literal) and time.is_string else ""
    form = time.name.lower().rsplit("_", maxsplit=1)[-1] if isinstance(time, exp.Parameter) else ""
    if form == "ds" or _DATE.fullmatch(text):
        return exp.cast(time, _Type.DATE)
    if form in ("ts", "tstz") or _TIMESTAMP.fullmatch(text):
        return exp.cast(time, _Type.TIMESTAMP)
    raise NotInSpark(
        "what {} gives depends on a type that is not known",
        node,
        advice=f"Write CAST(... AS DATE) or CAST(... AS {time_in(source)}) around the time in it.",
    )


_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?")


def interval(node: exp.Interval, source: Dialect) -> exp.Expr:
    """An interval as Spark can read it: of a column, as the product with one unit.

    Raises:
        Refused: It mixes months and days, or has a part of a unit.
    """
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return node
    if unit is None:
        _refuse_mixture(node, source)
        return node
    name = _unit(node, source)
    factor, known = _length(name, node)
    number = node.this
    written = _whole_number(number)
    if written is not None:
        return node if name == unit.name.upper().rstrip("S") else _interval(written * factor, known)
    if isinstance(number, exp.Literal):
        raise refused(node, "is a part of a unit", "Write whole ones of a smaller unit")
    _refuse_fraction(node, number, source)
    inner = number.this if isinstance(number, exp.Paren) else number
    return exp.paren(exp.Mul(this=_operand(inner), expression=_interval(factor, known)), copy=False)


def _refuse_mixture(node: exp.Interval, source: Dialect) -> None:
    text = node.this.name
    parts = [unit.upper().removesuffix("S") for unit in _PART.findall(text)]
    names = [source.DATE_PART_MAPPING.get(each, each) for each in parts]
    known = bool(names) and names == parts and all(each in _LENGTHS for each in names)
    months = [_LENGTHS[each][1] == "MONTH" for each in names if each in _LENGTHS]
    if not _PARTS.fullmatch(text) or not known or len(set(months)) > 1:
        raise NotInSpark(
            "Spark cannot read the interval {}",
            node,
            advice="Write one interval for each unit, such as `t + INTERVAL '1' MONTH + INTERVAL "
            "'2' DAY`.",
        )


_PART: Final = re.compile(r"[+-]?\d+\s*([A-Za-z]+)")
_PARTS: Final = re.compile(r"\s*([+-]?\d+\s+[A-Za-z]+\s*)+")


def between(node: exp.Expr, source: Dialect) -> exp.Expr:
    """How many units are between two times: dialects count borders or whole units.

    Raises:
        Refused: Spark has no such unit, or its weeks begin on another day.
    """
    end, start = node.args["this"], node.args["expression"]
    name = _moving_unit(node, source) if node.args.get("unit") is not None else "DAY"
    counts_borders = node.args.get("date_part_boundary") or name_of(source) in _COUNT_BORDERS
    if node.args.get("unit") is None or (counts_borders and name == "DAY"):
        return exp.DateDiff(this=end, expression=start)
    if not counts_borders:
        return node
    if name not in _LENGTHS or (name == "WEEK" and name_of(source) not in _MONDAYS):
        raise _unknown_unit(name, node)
    unit = exp.Var(this=name)
    borders = [exp.TimestampTrunc(this=each, unit=unit.copy()) for each in (end, start)]
    count = exp.DateDiff(this=borders[0], expression=borders[1], unit=unit)
    return exp.cast(count, _Type.BIGINT)


_COUNT_BORDERS: Final = frozenset({"tsql", "redshift", "clickhouse"})
"""Dialects that count borders of days: a minute before and after midnight are a day apart."""

_MONDAYS: Final = frozenset({"snowflake", "duckdb", "postgres", "clickhouse", "bigquery"})
"""Dialects in whose tree WEEK begins on Monday; BigQuery's other weeks have a name of their own."""


def cut(node: exp.Expr, source: Dialect) -> exp.Expr:
    """A time cut to a unit. Spark's TRUNC gives NULL for units smaller than a month.

    Raises:
        Refused: Spark has no such unit, or its weeks begin on another day.
    """
    name = _unit(node, source)
    if name not in _LENGTHS:
        raise _unknown_unit(name, node)
    if name_of(source) == "duckdb":
        return exp.TimestampTrunc(this=node.this, unit=exp.Var(this=name))
    is_date = node.this.is_type(_Type.DATE) and name_of(source) in _DATES_STAY
    if (isinstance(node, exp.DateTrunc) or is_date) and name in TRUNC_NAMES:
        found: exp.Expr = exp.func("DATE_TRUNC", exp.Literal.string(name), node.this)
        return exp.cast(found, _Type.DATE)
    if is_date or (isinstance(node, exp.DateTrunc) and node.this.is_type(_Type.DATE)):
        return exp.Cast(this=node.this, to=exp.DataType(this=_Type.DATE))
    return exp.TimestampTrunc(this=node.this, unit=exp.Var(this=name))


_DATES_STAY: Final = frozenset({"snowflake", "trino", "presto", "bigquery", "tsql"})
"""Dialects in which a date that is cut stays a date."""


def literal_of(grain: Grain) -> tuple[int, str]:
    """A unit as a number of units that Spark's interval literals have."""
    if grain.months:
        return grain.months, Grain.MONTH.name
    return (7, Grain.DAY.name) if grain is Grain.WEEK else (1, grain.name)


_LENGTHS: Final = {each.name: literal_of(each) for each in Grain}


def _length(name: str, node: exp.Expr) -> tuple[int, str]:
    if name not in _LENGTHS:
        raise _unknown_unit(name, node)
    return _LENGTHS[name]


def _interval(number: int, unit: str) -> exp.Interval:
    return exp.Interval(this=exp.Literal.string(str(number)), unit=exp.Var(this=unit))


def _operand(node: exp.Expr) -> exp.Expr:
    return exp.paren(node, copy=False) if isinstance(node, exp.Binary | exp.Neg) else node


def _whole_number(node: exp.Expr) -> int | None:
    """The whole number of a literal, with or without quotes and sign; None for anything else."""
    inner, sign = node, 1
    while isinstance(inner, exp.Neg | exp.Paren):
        sign = -sign if isinstance(inner, exp.Neg) else sign
        inner = inner.this
    if not isinstance(inner, exp.Literal):
        return None
    try:
        return sign * int(inner.name)
    except ValueError:
        return None


def _moving_unit(node: exp.Expr, source: Dialect) -> str:
    """A unit by which times are moved or counted: a day of the year or of the week is a day."""
    unit = node.args.get("unit")
    written = unit.name.upper() if unit is not None else ""
    return "DAY" if name_of(source) == "tsql" and written in _DAYS else _unit(node, source)


_DAYS: Final = frozenset({"DAYOFYEAR", "DY", "Y", "WEEKDAY", "DW", "W"})


def _unit(node: exp.Expr, source: Dialect) -> str:
    """A unit of time in capitals; weeks that begin on Monday are WEEK."""
    unit = node.args.get("unit")
    if isinstance(unit, exp.WeekStart):
        return "WEEK" if unit.name.upper() == "MONDAY" else f"WEEK({unit.name})"
    name = unit.name.upper() if unit is not None else "DAY"
    name = source.DATE_PART_MAPPING.get(name, name)
    name = name if name in _LENGTHS else name.removesuffix("S")
    return "WEEK" if name in ("ISOWEEK", "WEEKISO") else name


def _unknown_unit(name: str, node: exp.Expr) -> NotInSpark:
    return NotInSpark(
        f"Spark cannot count by {name} as {{}} does",
        node,
        advice="Write it with a unit that Spark has (weeks begin on Monday there), or write the "
        "model in Spark's dialect.",
    )
