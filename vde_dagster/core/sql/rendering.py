"""Renders a canonical query as the query of one evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlglot import ErrorLevel, exp

from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.errors import SQL_ERRORS, first_line
from vde_dagster.core.sql.macros import (
    date_literal,
    timestamp_literal,
    timestamp_ntz_literal,
)
from vde_dagster.core.sql.table_names import model_name_of
from vde_dagster.core.time.formats import ISO_DATE, first_written
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import Interval


def within(
    column: exp.Column, interval: Interval, *, time_type: str, time_format: str = ""
) -> exp.Expr:
    """The condition that a time column is in an interval, in the column's own type.

    A DATE stands for the midnight that starts the day; a text or a number stands for the start of
    the smallest unit that its format writes.
    """
    low, high = (
        _border(each, time_type.lower(), time_format or ISO_DATE)
        for each in (interval.start, interval.end)
    )
    return exp.and_(column >= low, column < high)


def _border(instant: datetime, time_type: str, time_format: str) -> exp.Expr:
    """The first value of a type that is not before an instant, as a literal."""
    match time_type:
        case "date":
            return date_literal(Grain.DAY.ceil(instant))
        case "timestamp_ntz":
            return timestamp_ntz_literal(instant)
        case "string" | "bigint":
            text = first_written(instant, time_format)
            is_text = time_type == "string"
            return exp.Literal.string(text) if is_text else exp.Literal.number(int(text))
        case _:
            return timestamp_literal(instant)


def inline(query: exp.Query, bodies: Mapping[ModelName, exp.Query]) -> exp.Query:
    """A copy of a query with views replaced by their own queries, as sub-queries.

    ``bodies`` maps the name of a view to its query, in which its own views are inlined already.

    Raises:
        Refused: A view is read in a way that only a table can be read in.
    """
    inlined = query.copy()
    for table in list(inlined.find_all(exp.Table)):
        name = model_name_of(table)
        is_read = isinstance(table.parent, exp.From | exp.Join | exp.Subquery)
        if is_read and name is not None and name in bodies:
            if any(table.args.get(key) for key in ("version", "when", "system_time")):
                raise Refused(
                    f"{name} is read as of a version or a time, but it is not a table: its query "
                    "is inlined in downstream queries",
                    advice="Read its upstream tables as of a version or a time.",
                )
            subquery = bodies[name].copy().subquery(table.alias_or_name, copy=False)
            if table.alias_column_names:
                subquery.set("alias", table.args["alias"].copy())
            for key in ("joins", "laterals", "pivots", "sample"):
                subquery.set(key, table.args.get(key))
            table.replace(subquery)
    return inlined


def spark_text(statement: exp.Expr) -> str:
    """A statement in Spark's SQL, every identifier quoted.

    Raises:
        Refused: A part of it has no form there.
    """
    try:
        return statement.sql(dialect="spark", identify=True, unsupported_level=ErrorLevel.RAISE)
    except (*SQL_ERRORS, RecursionError) as error:
        what = "query" if isinstance(statement, exp.Query) else f"{statement.key} statement"
        nested = isinstance(error, RecursionError)
        reason = "it is nested too deeply" if nested else first_line(error).rstrip(".")
        raise Refused(
            f"the {what} cannot be written in Spark's SQL: {reason}",
            advice="Write that part differently, for example with a function that Spark also has.",
        ) from error
