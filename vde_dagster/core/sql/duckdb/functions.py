"""Functions of one row."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.duckdb.casts import as_day
from vde_dagster.core.sql.duckdb.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    NotTheSame,
    SparkType,
    decimal,
)
from vde_dagster.core.sql.duckdb.values import (
    EXACT_DOUBLE,
    Rule,
    Scope,
    Value,
    call,
    cast,
    checked,
    number,
    of_type,
    text_literal,
    whole_literal,
)

# -- numbers

_MOST_PLACES: Final = 6


def _round(node: exp.Expr, scope: Scope) -> Value:
    """Half up, of a double by the shortest text that stands for it, as Spark does.

    A number with so many digits that its double would be rounded again, and what is no number,
    make DuckDB fail.
    """
    value = scope.value(node.this)
    places = node.args.get("decimals")
    digits = whole_literal(places, scope, least=0) if places is not None else 0
    if value.type.is_integer:
        return Value(node=value.node, type=value.type)
    if value.type.is_decimal:
        scale = min(digits, value.type.scale)
        kind = decimal(value.type.precision - value.type.scale + 1 + scale, scale)
        return Value(node=cast(call("round", value.node, number(scale)), kind), type=kind)
    if value.type != DOUBLE or digits > _MOST_PLACES:
        raise NotTheSame(f"ROUND of a {value.type} to {digits} places")
    exact = cast(cast(value.node, STRING), decimal(EXACT_DOUBLE, digits))
    return Value(node=cast(exact, DOUBLE), type=DOUBLE)


def _to_whole(name: str) -> Rule:
    def make(node: exp.Expr, scope: Scope) -> Value:
        value = scope.value(node.this)
        if value.type == DOUBLE:
            kind = SparkType(name="bigint")
        elif value.type.is_decimal:
            kind = decimal(value.type.precision - value.type.scale + 1, 0)
        else:
            raise NotTheSame(f"{name} of a {value.type}")
        return Value(node=cast(call(name, value.node), kind), type=kind)

    return make


def _abs(node: exp.Expr, scope: Scope) -> Value:
    value = of_type(node.this, scope, "smallint", "int", "bigint", "decimal", "double")
    return Value(node=cast(call("abs", value.node), value.type), type=value.type)


# -- texts


def _length(node: exp.Expr, scope: Scope) -> Value:
    value = of_type(node.this, scope, "string")
    return Value(node=cast(call("length", value.node), INT), type=INT)


def _in_ascii(name: str) -> Rule:
    """A function that is alike for ASCII alone: the engines have other tables of letters."""

    def make(node: exp.Expr, scope: Scope) -> Value:
        value = of_type(node.this, scope, "string").node
        longer = exp.NEQ(this=call("strlen", value), expression=call("length", value.copy()))
        found = checked(longer, "letters outside of ASCII", call(name, value.copy()))
        return Value(node=found, type=STRING)

    return make


def _substring(node: exp.Expr, scope: Scope) -> Value:
    value = of_type(node.this, scope, "string")
    start = whole_literal(node.args.get("start"), scope, least=1)
    arguments = [value.node, number(start)]
    if (length := node.args.get("length")) is not None:
        arguments.append(number(whole_literal(length, scope, least=0)))
    return Value(node=call("substring", *arguments), type=STRING)


def _side(name: str) -> Rule:
    def make(node: exp.Expr, scope: Scope) -> Value:
        value = of_type(node.this, scope, "string")
        count = whole_literal(node.args["expression"], scope, least=0)
        return Value(node=call(name, value.node, number(count)), type=STRING)

    return make


def _trim(node: exp.Expr, scope: Scope) -> Value:
    """Spaces, and nothing else that looks like them."""
    value = of_type(node.this, scope, "string")
    names = {"": "trim", "LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim"}
    name = names[str(node.args.get("position") or "").upper()]
    return Value(node=call(name, value.node, exp.Literal.string(" ")), type=STRING)


def _replace(node: exp.Expr, scope: Scope) -> Value:
    value = of_type(node.this, scope, "string")
    sought = text_literal(node.args["expression"], scope)
    if not sought:
        raise NotTheSame("REPLACE of an empty text")
    put = of_type(node.args["replacement"], scope, "string")
    return Value(
        node=call("replace", value.node, exp.Literal.string(sought), put.node), type=STRING
    )


def _has(name: str) -> Rule:
    def make(node: exp.Expr, scope: Scope) -> Value:
        sides = [of_type(each, scope, "string") for each in (node.this, node.args["expression"])]
        return Value(node=call(name, *(each.node for each in sides)), type=BOOLEAN)

    return make


def _joined(node: exp.Expr, scope: Scope) -> Value:
    """CONCAT and ``||`` of texts: a null makes all of it null."""
    written = [node.this, node.args["expression"]] if isinstance(node, exp.DPipe) else []
    parts = [of_type(each, scope, "string").node for each in written or node.expressions]
    if not parts:
        raise NotTheSame("CONCAT of nothing")
    found = parts[0]
    for each in parts[1:]:
        found = exp.paren(exp.DPipe(this=found, expression=each, safe=False), copy=False)
    return Value(node=found, type=STRING)


def _type_name(node: exp.Expr, scope: Scope) -> Value:
    """TYPEOF: the type that is known already."""
    name = str(scope.value(node.this).type)
    return Value(node=cast(exp.Literal.string(name), STRING), type=STRING, literal=name)


# -- times

_CUTS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")


def _cut(node: exp.Expr, scope: Scope) -> Value:
    """DATE_TRUNC, whose weeks begin on Monday in both."""
    value = of_type(node.this, scope, "date", "timestamp", "timestamp_ntz")
    unit = node.args["unit"].name.upper()
    if unit not in _CUTS:
        raise NotTheSame(f"DATE_TRUNC by {unit}")
    cut = call("date_trunc", exp.Literal.string(unit.lower()), cast(value.node, TIMESTAMP))
    return Value(node=cast(cut, TIMESTAMP), type=TIMESTAMP)


def _part(name: str, *kinds: str, plus: int = 0) -> Rule:
    """A part of a time as an INT."""

    def make(node: exp.Expr, scope: Scope) -> Value:
        value = of_type(node.this, scope, *kinds)
        found = cast(call(name, value.node), INT)
        if plus:
            found = exp.paren(exp.Add(this=found, expression=number(plus)), copy=False)
        return Value(node=cast(found, INT) if plus else found, type=INT)

    return make


_DAYS: Final = ("date", "timestamp", "timestamp_ntz")
_TIMES: Final = ("timestamp", "timestamp_ntz")
_EXTRACTED: Final = {
    "YEAR": _DAYS,
    "QUARTER": _DAYS,
    "MONTH": _DAYS,
    "WEEK": _DAYS,
    "DAY": _DAYS,
    "HOUR": _TIMES,
    "MINUTE": _TIMES,
}


def _extract(node: exp.Expr, scope: Scope) -> Value:
    name = node.name.upper()
    if name not in _EXTRACTED:
        raise NotTheSame(f"EXTRACT of {name}")
    value = of_type(node.args["expression"], scope, *_EXTRACTED[name])
    return Value(node=cast(call(name.lower(), value.node), INT), type=INT)


def _days_between(node: exp.Expr, scope: Scope) -> Value:
    end, start = (as_day(scope.value(each)) for each in (node.this, node.args["expression"]))
    days = exp.Sub(this=end.node, expression=start.node)
    return Value(node=cast(exp.paren(days, copy=False), INT), type=INT)


def _days_added(node: exp.Expr, scope: Scope) -> Value:
    if node.args["unit"].name.upper() != "DAY":
        raise NotTheSame("a sum of a date and another unit than days")
    day = as_day(scope.value(node.this))
    count = of_type(node.args["expression"], scope, "tinyint", "smallint", "int")
    later = exp.Add(this=day.node, expression=exp.paren(cast(count.node, INT), copy=False))
    return Value(node=cast(exp.paren(later, copy=False), DATE), type=DATE)


FUNCTIONS: Final[dict[type[exp.Expr], tuple[str, Rule]]] = {
    exp.Round: ("this decimals", _round),
    exp.Ceil: ("this", _to_whole("ceil")),
    exp.Floor: ("this", _to_whole("floor")),
    exp.Abs: ("this", _abs),
    exp.Length: ("this", _length),
    exp.Upper: ("this", _in_ascii("upper")),
    exp.Lower: ("this", _in_ascii("lower")),
    exp.Substring: ("this start length", _substring),
    exp.Left: ("this expression", _side("left")),
    exp.Right: ("this expression", _side("right")),
    exp.Trim: ("this position", _trim),
    exp.Replace: ("this expression replacement", _replace),
    exp.StartsWith: ("this expression", _has("starts_with")),
    exp.EndsWith: ("this expression", _has("ends_with")),
    exp.Contains: ("this expression", _has("contains")),
    exp.Concat: ("expressions safe coalesce", _joined),
    exp.DPipe: ("this expression safe", _joined),
    exp.Typeof: ("this", _type_name),
    exp.TimestampTrunc: ("this unit", _cut),
    exp.Year: ("this", _part("year", *_DAYS)),
    exp.Quarter: ("this", _part("quarter", *_DAYS)),
    exp.Month: ("this", _part("month", *_DAYS)),
    exp.WeekOfYear: ("this", _part("week", *_DAYS)),
    exp.Day: ("this", _part("day", *_DAYS)),
    exp.DayOfMonth: ("this", _part("day", *_DAYS)),
    exp.DayOfYear: ("this", _part("dayofyear", *_DAYS)),
    exp.DayOfWeek: ("this", _part("dayofweek", *_DAYS, plus=1)),
    exp.Hour: ("this", _part("hour", *_TIMES)),
    exp.Minute: ("this", _part("minute", *_TIMES)),
    exp.Second: ("this", _part("second", *_TIMES)),
    exp.Extract: ("this expression", _extract),
    exp.DateDiff: ("this expression", _days_between),
    exp.TsOrDsAdd: ("this expression unit", _days_added),
}
"""Each with the arguments that may be given, and how it is translated."""
