"""Conversions that give the same value in Spark's ANSI mode and in DuckDB, or fail in both."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.duckdb.types import (
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    VOID,
    NotTheSame,
    SparkType,
    common,
    decimal,
    type_named,
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
)

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?")


def _cast(node: exp.Expr, scope: Scope) -> Value:
    """CAST, which the parser calls TryCast where it was written; other functions are Casts, too."""
    if node.args.get("safe"):
        raise NotTheSame("TRY_CAST")
    if type(node) is exp.Cast and node.args["to"].is_type(exp.DataType.Type.TIMESTAMP):
        raise NotTheSame("TO_TIMESTAMP")
    kind = type_named(node.args["to"].sql("spark"))
    return Value(node=converted(scope.value(node.this), kind), type=kind)


def converted(value: Value, kind: SparkType) -> exp.Expr:
    """A value as `CAST` converts it.

    Raises:
        NotTheSame: The engines convert it in two ways.
    """
    old = value.type
    exact = old.is_decimal and kind == DOUBLE and old.precision <= EXACT_DOUBLE
    if old == kind:
        return value.node
    if isinstance(value.literal, str) and (kind == DATE or kind.is_time):
        return _written_time(value.literal, kind)
    if (old == DOUBLE or old.is_decimal) and kind.is_integer:
        return cast(call("trunc", value.node), kind)
    if old == DATE and kind == STRING:
        return _text_of_day(value.node)
    if old.is_decimal and kind == STRING and old.precision == old.scale:
        # DuckDB writes no zero before the point of a type that has no place for one.
        return cast(cast(value.node, decimal(old.precision + 1, old.scale)), kind)
    if exact or (old.is_integer and kind.is_integer) or (old.name, kind.name) in _ALIKE:
        return cast(exp.Null() if old == VOID else value.node, kind)
    raise NotTheSame(f"a cast from {old} to {kind}")


def _alike() -> frozenset[tuple[str, str]]:
    integers = ("tinyint", "smallint", "int", "bigint")
    times = ("timestamp", "timestamp_ntz")
    others = ("boolean", "decimal", "double", "string", "date")
    return frozenset(
        [("void", each) for each in (*integers, *times, *others)]
        + [("decimal", "decimal"), ("decimal", "string"), ("boolean", "string")]
        + [(each, to) for each in integers for to in ("decimal", "double", "string")]
        + [("boolean", each) for each in integers]
        + [("date", each) for each in times]
        + [(each, to) for each in times for to in ("date", *times)]
    )


_ALIKE: Final = _alike()


def _text_of_day(day: exp.Expr) -> exp.Expr:
    year = call("year", day)
    outside = exp.Or(
        this=exp.LT(this=year, expression=number(1)),
        expression=exp.GT(this=year.copy(), expression=number(9999)),
    )
    return checked(outside, "a year without four digits", cast(day.copy(), STRING))


def _written_time(written: str, kind: SparkType) -> exp.Expr:
    utc = written.removesuffix("+00:00")
    text = utc if kind == TIMESTAMP and _TIME.fullmatch(utc) else written
    whole = _DAY.fullmatch(text) or (_TIME.fullmatch(text) if kind != DATE else None)
    if whole is None:
        raise NotTheSame(f"the text {text!r} as a {kind}")
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise NotTheSame(f"the text {text!r} as a {kind}") from error
    return cast(exp.Literal.string(text), kind)


def _day(node: exp.Expr, scope: Scope) -> Value:
    """TO_DATE, and what sqlglot puts around the argument of functions of days."""
    return as_day(scope.value(node.this))


def as_day(value: Value) -> Value:
    """A time as its day in UTC.

    Raises:
        NotTheSame: It is no time.
    """
    if value.type != DATE and not value.type.is_time:
        raise NotTheSame(f"a {value.type} as a date")
    return Value(node=converted(value, DATE), type=DATE)


def meeting(one: Value, other: Value) -> tuple[exp.Expr, exp.Expr]:
    """Two values as they are compared: a text in quotes is read as a time next to one.

    Raises:
        NotTheSame: Spark converts them by other rules.
    """
    sides = []
    for value, beside in ((one, other), (other, one)):
        is_time = beside.type == DATE or beside.type.is_time
        is_text = value.type == STRING and value.literal is not None
        kind = beside.type if is_text and is_time else value.type
        sides.append(Value(node=converted(value, kind), type=kind, literal=value.literal))
    kind = common(each.type for each in sides)
    left, right = (converted(each, kind) for each in sides)
    return left, right


CASTS: Final[dict[type[exp.Expr], tuple[str, Rule]]] = {
    exp.Cast: ("this to", _cast),
    exp.TryCast: ("this to", _cast),
    exp.TsOrDsToDate: ("this safe", _day),
}
"""Each with the arguments that may be given, and how it is translated."""
