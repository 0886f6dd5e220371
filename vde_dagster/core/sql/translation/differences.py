"""Functions and operators that mean something else in other dialects than in Spark.

sqlglot keeps their names: but in Spark ``/`` divides whole numbers into fractions, a date less a
date is an interval, a DECIMAL has no fraction. Here the syntax tree is changed so that the SQL
for Spark means the same; what depends on an unknown type is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, Final, TypeVar, cast

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema

from vde_dagster.core.errors import Refused
from vde_dagster.core.sql.dialects import is_spark
from vde_dagster.core.sql.spark.operator_levels import with_parentheses
from vde_dagster.core.sql.translation import times
from vde_dagster.core.sql.translation.changes import change_of
from vde_dagster.core.sql.translation.parts_of_times import move_as_time
from vde_dagster.core.sql.translation.proven import unproven_parts
from vde_dagster.core.sql.translation.type_names import double_in, whole_number_in
from vde_dagster.core.sql.translation.values import NotInSpark
from vde_dagster.core.sql.written_parts import keep_number, number_parts, written_part

_Type = exp.DataType.Type
ExprT = TypeVar("ExprT", bound=exp.Expr)
Unclear = tuple[exp.Expr, Refused]
"""A part of a query, and why it has no single meaning in Spark."""
_Refusal = tuple[exp.Expr, NotInSpark]


def with_spark_meaning(
    query: exp.Expr, *, dialect: str, schema: MappingSchema, original: exp.Expr
) -> tuple[Unclear, ...]:
    """Change a query so that its parts mean in Spark what they mean in its dialect.

    Args:
        query: Every column is bound to its table or sub-query; it may have time macros.
        dialect: The one that it was written in.
        schema: The columns of the tables that it reads, with their types.
        original: The query as it was parsed; messages show its parts for those that
            `number_parts` gave their numbers.

    Returns:
        What has no single meaning in Spark, or depends on a type that is not known.
    """
    refusals = _given_sparks_meaning(query, Dialect.get_or_raise(dialect), schema)
    written = partial(written_part, original=original, dialect=dialect)
    return tuple((node, why.refusal(written)) for node, why in refusals)


def _given_sparks_meaning(
    query: exp.Expr, source: Dialect, schema: MappingSchema
) -> list[_Refusal]:
    if is_spark(source):
        return _changed(query.find_all(exp.TsOrDsAdd), _days)
    _annotate(query, schema)
    name = times.name_of(source)
    for moved in list(query.find_all(exp.Add, exp.Sub, *times.FORWARD, *times.BACKWARD)):
        move_as_time(moved, name)
    _annotate(query, schema)
    unclear = [
        *_changed(query.find_all(exp.Cast), lambda node: _cast(node, source)),
        *_changed(_zoned(query), _without_zone),
        *_changed(query.find_all(exp.Extract, exp.DayOfWeek), lambda node: _weekday(node, source)),
        *_changed(query.find_all(exp.Sub), lambda node: _days_between(node, source)),
    ]
    divisions = [node for node in query.find_all(exp.Div) if node.args.get("typed")]
    if divisions:
        _annotate(query, schema, sure_of=_SURE)
        unclear += _changed(divisions, lambda node: _divided(node, source))
    _annotate(query, schema)
    moving = query.find_all(*times.FORWARD, *times.BACKWARD)
    unclear += [
        *_changed(moving, lambda node: times.moved(node, source)),
        *_changed(query.find_all(exp.Interval), lambda node: times.interval(node, source)),
        *_changed(query.find_all(*times.DIFFERENCES), lambda node: times.between(node, source)),
        *_changed(query.find_all(*times.CUTS), lambda node: times.cut(node, source)),
    ]
    _annotate(query, schema)
    refused = {id(node) for node, _ in unclear}
    inner_first = [each for each in reversed([*query.walk()]) if id(each) not in refused]
    unclear += _changed(inner_first, lambda node: change_of(node, name))
    with_parentheses(query)
    return unclear


def part_with_spark_meaning(
    part: ExprT, *, dialect: str, functions: Collection[str] = ()
) -> tuple[ExprT, tuple[Unclear, ...]]:
    """A translated copy of something other than a query, such as a key or a statement.

    The types of its columns are not known, so what depends on them is reported; so is what has no
    proven translation. ``functions`` are those that the model creates, in lower case.
    """
    refused = tuple(unproven_parts(part, dialect=dialect, functions=functions))
    if refused:
        return part.copy(), refused
    around = exp.Tuple(expressions=[part.copy()])
    number_parts(around.expressions[0])
    schema = MappingSchema(dialect=dialect)
    unclear = with_spark_meaning(around, dialect=dialect, schema=schema, original=part)
    return cast("ExprT", around.expressions[0]), unclear


def with_precision(kind: exp.DataType, dialect: str) -> exp.DataType:
    """A type as wide as in its dialect, also inside others; ``kind`` is not changed.

    Spark's DECIMAL alone has no fraction, and its FLOAT has 32 bits.
    """
    found = Dialect.get_or_raise(dialect)
    if is_spark(found):
        return kind
    wider = kind.transform(_wider, times.name_of(found))
    assert isinstance(wider, exp.DataType), "a type stays one"
    return wider


def _wider(node: exp.Expr, source: str) -> exp.Expr:
    if not isinstance(node, exp.DataType):
        return node
    if source in _DOUBLES and node.this == _Type.FLOAT:
        return exp.DataType(this=_Type.DOUBLE)
    if node.this != _Type.DECIMAL or node.expressions:
        return node
    digits = _DECIMALS.get(source, (38, 18))
    sized = [exp.DataTypeParam(this=exp.Literal.number(each)) for each in digits]
    return exp.DataType(this=_Type.DECIMAL, expressions=sized)  # one that was read has a line


_DOUBLES: Final = frozenset({"tsql", "postgres", "redshift", "snowflake", "oracle"})
"""Dialects in which FLOAT has 64 bits."""

_DECIMALS: Final = {
    "bigquery": (38, 9),
    "duckdb": (18, 3),
    "mysql": (10, 0),
    "presto": (38, 0),
    "redshift": (18, 0),
    "snowflake": (38, 0),
    "trino": (38, 0),
    "tsql": (18, 0),
}
"""The digits of a DECIMAL without any; elsewhere as many as fit into Spark's widest."""


def _changed(nodes: Iterable[exp.Expr], change: Callable[[Any], exp.Expr]) -> list[_Refusal]:
    """Replace each node by one with the same meaning in Spark; returns those without one."""
    unclear: list[_Refusal] = []
    for node in list(nodes):
        try:
            changed = change(node)
        except NotInSpark as error:
            unclear.append((node, error))
            continue
        if changed is not node:
            changed.type = changed.type or node.type
            keep_number(changed, of=node)
            node.replace(changed)
    return unclear


def _annotate(
    query: exp.Expr, schema: MappingSchema, *, sure_of: Collection[type[exp.Expr]] | None = None
) -> None:
    """Give parts of a query their types: all, or with ``sure_of`` those of these classes."""
    assert schema.dialect is not None, "the schema has the query's dialect"
    metadata = schema.dialect.EXPRESSION_METADATA.items()
    known = {key: how for key, how in metadata if sure_of is None or key in sure_of}
    annotate_types(
        query, schema, expression_metadata={**known, exp.Parameter: {"annotator": _macro}}
    )


def _macro(_: object, node: exp.Expr) -> exp.Expr:
    form = node.name.lower().rsplit("_", maxsplit=1)[-1]
    node.type = exp.DataType(this=_MACROS.get(form, _Type.UNKNOWN))
    return node


_MACROS: Final = {
    "ds": _Type.VARCHAR,
    "date": _Type.DATE,
    "dt": _Type.TIMESTAMPTZ,
    "dtntz": _Type.TIMESTAMPNTZ,
    "ts": _Type.VARCHAR,
    "tstz": _Type.VARCHAR,
    "epoch": _Type.BIGINT,
    "millis": _Type.BIGINT,
    "hour": _Type.INT,
}
"""The types of the forms of time macros."""

_SURE: Final = frozenset(
    {
        exp.Abs,
        exp.Add,
        exp.Alias,
        exp.Case,
        exp.Cast,
        exp.Coalesce,
        exp.Count,
        exp.CountIf,
        exp.DateDiff,
        exp.Div,
        exp.Filter,
        exp.FirstValue,
        exp.Greatest,
        exp.If,
        exp.Lag,
        exp.LastValue,
        exp.Lead,
        exp.Least,
        exp.Length,
        exp.Literal,
        exp.Max,
        exp.Min,
        exp.Mod,
        exp.Mul,
        exp.Neg,
        exp.Null,
        exp.Nullif,
        exp.Paren,
        exp.RowNumber,
        exp.Sub,
        exp.Subquery,
        exp.Window,
    }
)
"""Nodes with the same type in every dialect; the sum of whole numbers, for one, is none."""


def _cast(node: exp.Cast, source: Dialect) -> exp.Expr:
    node.set("to", with_precision(node.to, times.name_of(source)))
    return node


def _zoned(query: exp.Expr) -> list[exp.Expr]:
    converting = (exp.AtTimeZone, exp.ConvertTimezone, exp.Date, exp.Datetime, exp.Timestamp)
    zoned = (each for each in query.walk() if each.args.get("zone") is not None)
    return [each for each in zoned if not isinstance(each, converting)]


def _without_zone(node: exp.Expr) -> exp.Expr:
    zone = node.args["zone"]
    if not (isinstance(zone, exp.Literal) and zone.name.upper() in ("UTC", "ETC/UTC", "GMT", "Z")):
        raise NotInSpark(
            "Spark's functions take no time zone as {} does",
            node,
            advice="Convert the time before with DATETIME(time, zone).",
        )
    node.set("zone", None)  # a session's zone is UTC
    return node


def _weekday(node: exp.Expr, source: Dialect) -> exp.Expr:
    """A day of the week: 0 is Sunday in these dialects, and 1 in Spark."""
    part = node.this.name.upper() if isinstance(node, exp.Extract) else "DAYOFWEEK"
    name = times.name_of(source)
    if part not in ("DOW", "DAYOFWEEK") or name not in _FROM_ZERO:
        return node
    time = node.expression if isinstance(node, exp.Extract) else node.this
    first = exp.Sub(this=exp.DayOfWeek(this=time), expression=exp.Literal.number(1))
    return exp.paren(first, copy=False)


_FROM_ZERO: Final = frozenset({"postgres", "redshift", "snowflake", "duckdb"})


def _days_between(node: exp.Sub, source: Dialect) -> exp.Expr:
    dates = node.left.is_type(_Type.DATE) and node.right.is_type(_Type.DATE)
    if not dates or times.name_of(source) not in _COUNT_DAYS:
        return node
    return exp.DateDiff(this=node.left, expression=node.right)


_COUNT_DAYS: Final = frozenset(
    {
        "clickhouse",
        "duckdb",
        "exasol",
        "materialize",
        "oracle",
        "postgres",
        "redshift",
        "risingwave",
        "snowflake",
        "teradata",
    }
)
"""Dialects in which a date less a date is a number of days; in Spark it is an interval."""


def _divided(node: exp.Div, source: Dialect) -> exp.Expr:
    """A division as its dialect does it: that of whole numbers is whole, cut towards zero."""
    sides = (node.left, node.right)
    if all(each.is_type(*exp.DataType.INTEGER_TYPES) for each in sides):
        kind = node.type
        assert kind is not None, "the sides have types"
        return exp.Cast(this=exp.IntDiv(this=sides[0], expression=sides[1]), to=kind.copy())
    if not any(_is_fraction(each, source) for each in sides):
        fraction, whole = double_in(times.name_of(source)), whole_number_in(times.name_of(source))
        raise NotInSpark(
            "whether {} is a whole number or a fraction depends on what the dialect makes of its "
            "sides",
            node,
            advice=f"Write CAST(... AS {fraction}) around one side for a fraction, or CAST(... AS "
            f"{whole}) around both for a whole number.",
        )
    node.set("typed", False)
    return node


def _is_fraction(node: exp.Expr, source: Dialect) -> bool:
    if node.is_type(*exp.DataType.REAL_TYPES):
        return True
    if isinstance(node, exp.Window | exp.Filter):
        return _is_fraction(node.this, source)
    if isinstance(node, exp.Avg):
        return times.name_of(source) != "tsql"
    if isinstance(node, exp.Paren | exp.Neg | exp.Mul | exp.Add | exp.Sub):
        return any(_is_fraction(each, source) for each in node.iter_expressions())
    return False


def _days(node: exp.TsOrDsAdd) -> exp.Expr:
    if node.expression.find(exp.Interval) is not None:
        raise NotInSpark(
            "DATE_ADD and DATE_SUB take a number of days in Spark, and no interval",
            advice="Write `DATE_SUB(day, 30)`, or `time - INTERVAL 30 DAYS`; or declare the "
            "dialect that the model is written in, such as `dialect bigquery`.",
        )
    return node
