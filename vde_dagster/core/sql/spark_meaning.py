"""What other dialects mean by functions and operators that Spark has with another meaning.

sqlglot writes ``/``, DATEADD, DATEDIFF and DATE_TRUNC with Spark's words. But Spark divides whole
numbers into fractions, its DATE_ADD gives dates, its DATEDIFF counts elapsed units and not borders,
and its TRUNC knows no unit below a month. Here the syntax tree is changed so that what is written
for Spark says what the dialect means; what depends on a type that is not known is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sqlglot import exp
from sqlglot.dialects import Hive
from sqlglot.dialects.dialect import Dialect
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema

from vde_dagster.core.errors import Refused
from vde_dagster.core.sql.macros import macros_in

_Type = exp.DataType.Type


def with_spark_meaning(query: exp.Query, *, dialect: str, schema: MappingSchema) -> None:
    """Change a query so that its parts mean in Spark what they mean in its dialect.

    Args:
        query: Every column is bound to its table or sub-query; time macros may stand in it.
        dialect: The one that it was written in.
        schema: The columns of the tables that it reads, with their types.

    Raises:
        Refused: What a part means depends on a type that is not known, or is nothing in Spark.
    """
    source = Dialect.get_or_raise(dialect)
    if isinstance(source, Hive):
        for node in query.find_all(exp.TsOrDsAdd):
            _refuse_interval_of_days(node)
        return
    _annotate(query, schema)
    if _class(source) in _COUNT_DAYS:
        for difference in [each for each in query.find_all(exp.Sub) if _is_of_dates(each)]:
            days = exp.DateDiff(this=difference.left, expression=difference.right)
            difference.replace(days)
    divisions = [node for node in query.find_all(exp.Div) if node.args.get("typed")]
    if divisions:
        _annotate(query, schema, sure_of=_SURE)
        for division in divisions:
            division.replace(_divided(division))
    _annotate(query, schema)
    for moved in list(query.find_all(exp.DateAdd, exp.DateSub, exp.TsOrDsAdd)):
        moved.replace(_moved(moved, source))
    for between in list(query.find_all(exp.DateDiff, exp.TsOrDsDiff)):
        between.replace(_between(between, source))
    for cut in list(query.find_all(exp.DateTrunc, exp.TimestampTrunc)):
        cut.replace(_cut(cut, source))


def _annotate(
    query: exp.Query, schema: MappingSchema, *, sure_of: Collection[type[exp.Expr]] | None = None
) -> None:
    """Give parts of a query their types: all, or with ``sure_of`` those of these classes."""
    for node in query.walk():
        node.type = None
    for name, macro in macros_in(query):
        macro.type = _MACROS[name.rsplit("_", maxsplit=1)[1]]
    assert schema.dialect is not None, "the schema has the query's dialect"
    metadata = schema.dialect.EXPRESSION_METADATA.items()
    known = {key: how for key, how in metadata if sure_of is None or key in sure_of}
    annotate_types(query, schema, expression_metadata=known, overwrite_types=False)


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
        exp.Add,
        exp.Alias,
        exp.Case,
        exp.Cast,
        exp.Coalesce,
        exp.Count,
        exp.DateDiff,
        exp.Div,
        exp.Filter,
        exp.If,
        exp.Literal,
        exp.Max,
        exp.Min,
        exp.Mod,
        exp.Mul,
        exp.Neg,
        exp.Paren,
        exp.Sub,
        exp.Subquery,
        exp.Window,
    }
)
"""What has the same type in every dialect; the sum of whole numbers, for one, has not."""


_COUNT_DAYS: Final = frozenset({"postgres", "redshift", "duckdb", "snowflake", "oracle"})
"""Dialects in which a date less a date is a number of days; in Spark it is an interval."""


def _is_of_dates(node: exp.Sub) -> bool:
    return node.left.is_type(_Type.DATE) and node.right.is_type(_Type.DATE)


def _divided(node: exp.Div) -> exp.Expr:
    """A division as its dialect does it: that of whole numbers is whole, cut towards zero."""
    sides = (node.left, node.right)
    if all(each.is_type(*exp.DataType.INTEGER_TYPES) for each in sides):
        whole = exp.IntDiv(this=node.left, expression=node.right)
        whole.type = _Type.BIGINT
        return whole
    if not any(each.is_type(*exp.DataType.REAL_TYPES) for each in sides):
        raise Refused(
            f"whether `{node.sql()}` is a whole number or a fraction depends on types that are not "
            "known. Write CAST(... AS DOUBLE) around one side for a fraction, or "
            "CAST(... AS BIGINT) around both for a whole number."
        )
    node.set("typed", False)
    return node


def _moved(node: exp.Expr, source: Dialect) -> exp.Expr:
    """A time moved by a length, as the sum of both: Spark's DATE_ADD would give a date."""
    amount = node.args["expression"]
    interval = amount if isinstance(amount, exp.Interval) else node
    name, number = _unit(interval, source), interval.args["this"] if interval is amount else amount
    if name not in _LENGTHS:
        raise _unknown_unit(name, node)
    factor, unit = _LENGTHS[name]
    forward = not isinstance(node, exp.DateSub)
    written = _whole_number(number)
    if written is not None:
        forward = forward is (written >= 0)
        length: exp.Expr = _interval(abs(written) * factor, unit)
    elif not node.this.type or node.this.is_type(_Type.UNKNOWN, *exp.DataType.TEXT_TYPES):
        raise Refused(
            f"what `{node.sql()}` gives depends on a type that is not known. Write "
            "CAST(... AS DATE) or CAST(... AS TIMESTAMP) around the time in it."
        )
    elif unit == "DAY" and node.this.is_type(_Type.DATE):
        days = exp.Mul(
            this=_operand(number), expression=exp.Literal.number(factor if forward else -factor)
        )
        return exp.TsOrDsAdd(this=node.this, expression=days)
    else:
        length = exp.Mul(this=_operand(number), expression=_interval(factor, unit))
    total = (exp.Add if forward else exp.Sub)(this=_operand(node.this), expression=length)
    inside = isinstance(node.parent, exp.Binary | exp.Unary | exp.Bracket)
    return exp.paren(total, copy=False) if inside else total


def _operand(node: exp.Expr) -> exp.Expr:
    return exp.paren(node, copy=False) if isinstance(node, exp.Binary | exp.Neg) else node


_LENGTHS: Final = {
    "YEAR": (12, "MONTH"),
    "QUARTER": (3, "MONTH"),
    "MONTH": (1, "MONTH"),
    "WEEK": (7, "DAY"),
    "DAY": (1, "DAY"),
    "HOUR": (1, "HOUR"),
    "MINUTE": (1, "MINUTE"),
    "SECOND": (1, "SECOND"),
    "MILLISECOND": (1, "MILLISECOND"),
    "MICROSECOND": (1, "MICROSECOND"),
}
"""Units as so many of one that Spark's literals of intervals know."""


def _interval(number: int, unit: str) -> exp.Interval:
    return exp.Interval(this=exp.Literal.string(str(number)), unit=exp.Var(this=unit))


def _whole_number(node: exp.Expr) -> int | None:
    """What a literal says, with or without quotes and sign; None for anything else."""
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


def _between(node: exp.Expr, source: Dialect) -> exp.Expr:
    """How many units lie between two times: dialects differ in counting borders or whole units."""
    end, start = node.args["this"], node.args["expression"]
    name = _unit(node, source) if node.args.get("unit") is not None else "DAY"
    counts_borders = node.args.get("date_part_boundary") or _class(source) in _COUNT_BORDERS
    if node.args.get("unit") is None or (counts_borders and name == "DAY"):
        return exp.DateDiff(this=end, expression=start)
    if not counts_borders:
        return node
    if name not in _LENGTHS or (name == "WEEK" and _class(source) not in _MONDAYS):
        raise _unknown_unit(name, node)
    unit = exp.Var(this=name)
    borders = [exp.TimestampTrunc(this=each, unit=unit.copy()) for each in (end, start)]
    return exp.DateDiff(this=borders[0], expression=borders[1], unit=unit)


_COUNT_BORDERS: Final = frozenset({"tsql", "redshift", "clickhouse"})
"""Dialects in which one minute before and after midnight are a day apart; sqlglot knows others."""

_MONDAYS: Final = frozenset({"snowflake", "duckdb", "postgres", "clickhouse", "bigquery"})
"""Dialects in whose tree WEEK begins on Monday; BigQuery's other weeks have a name of their own."""


def _cut(node: exp.Expr, source: Dialect) -> exp.Expr:
    """A time cut to a unit. Spark's TRUNC gives NULL for units below a month."""
    name = _unit(node, source)
    if name not in _LENGTHS:
        raise _unknown_unit(name, node)
    if isinstance(node, exp.DateTrunc) and name in ("YEAR", "QUARTER", "MONTH", "WEEK"):
        node.set("unit", exp.Literal.string(name))
        return node
    if isinstance(node, exp.DateTrunc) and node.this.is_type(_Type.DATE):
        return exp.Cast(this=node.this, to=exp.DataType(this=_Type.DATE))
    return exp.TimestampTrunc(this=node.this, unit=exp.Var(this=name))


def _unit(node: exp.Expr, source: Dialect) -> str:
    """A unit of time in capitals; weeks that begin on Monday are WEEK."""
    unit = node.args.get("unit")
    if isinstance(unit, exp.WeekStart):
        return "WEEK" if unit.name.upper() == "MONDAY" else f"WEEK({unit.name})"
    name = unit.name.upper() if unit is not None else "DAY"
    name = source.DATE_PART_MAPPING.get(name, name)
    return "WEEK" if name in ("ISOWEEK", "WEEKISO") else name


def _unknown_unit(name: str, node: exp.Expr) -> Refused:
    return Refused(
        f"Spark cannot count by {name} as `{node.sql()}` does. Write it with a unit that Spark has "
        "(weeks begin on Monday there), or in Spark's own functions."
    )


def _class(source: Dialect) -> str:
    return type(source).__name__.lower()


def _refuse_interval_of_days(node: exp.TsOrDsAdd) -> None:
    if node.expression.find(exp.Interval) is not None:
        raise Refused(
            "DATE_ADD and DATE_SUB take a number of days in Spark, and no interval. Write "
            "`DATE_SUB(day, 30)`, or `time - INTERVAL 30 DAYS`; or declare the dialect that the "
            "model is written in, such as `dialect bigquery`."
        )
