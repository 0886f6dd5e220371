"""Conversion of time zones by Spark's two functions for it.

Spark's session is in UTC. An instant has one local time in a zone, but a local time is two instants
when clocks are turned back, and dialects choose different ones, so only UTC is converted back.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.translation.read_texts import time_of_text
from vde_dagster.core.sql.translation.values import NotInSpark, kind_of, refused

_ZONE: Final = re.compile(r"[A-Z][A-Za-z_]+/[A-Za-z_/+-]+")
_UTC: Final = frozenset({"UTC", "ETC/UTC", "GMT", "Z"})


def _zone_of(node: exp.Expr, whole: exp.Expr) -> str:
    name = node.name if isinstance(node, exp.Literal) and node.is_string else ""
    if name.upper() in _UTC or _ZONE.fullmatch(name):
        return name
    raise NotInSpark(
        "the zone of {} is read in another way by Spark",
        whole,
        advice="Write it as a region in quotes, such as 'Europe/Berlin', or as 'UTC'.",
    )


def _clocks(time: exp.Expr, zone: str) -> exp.Expr:
    """The local time of a zone at an instant."""
    if zone.upper() in _UTC:
        return time
    return exp.Anonymous(this="FROM_UTC_TIMESTAMP", expressions=[time, exp.Literal.string(zone)])


def _back(node: exp.Expr) -> NotInSpark:
    return refused(
        node,
        "takes what the clocks of a zone show for an instant, which is two instants where clocks "
        "are turned back, and Spark takes the other one",
        "Convert from UTC, or write the model in Spark's dialect with TO_UTC_TIMESTAMP",
    )


def at_zone(node: exp.AtTimeZone, source: str) -> exp.Expr:
    """AT TIME ZONE: from an instant to the zone's local time, or from a local time to an instant.

    Raises:
        Refused: Which of both it is is not known, or a local time is converted to an instant.
    """
    zone = _zone_of(node.args["zone"], node)
    if source == "bigquery":  # it stands in EXTRACT and CAST, of instants only
        return _clocks(node.this, zone)
    given = _sense(node.this)
    if zone.upper() in _UTC and given in ("time", "instant"):
        other = "TIMESTAMPTZ" if given == "time" else "TIMESTAMP"
        return exp.Cast(this=node.this, to=exp.DataType.build(other))
    if given == "time":
        raise _back(node)
    if given != "instant":
        raise NotInSpark(
            "whether {} is an instant in {} depends on a type that is not known",
            node.this,
            node,
            advice="Write CAST(... AS TIMESTAMPTZ) around it where it is one, in UTC.",
        )
    return exp.Cast(this=_clocks(node.this, zone), to=exp.DataType.build("TIMESTAMP"))


def _sense(node: exp.Expr) -> str:
    """Whether a time is an instant or a local time by its SQL; a column does not say it."""
    if isinstance(node, exp.Paren):
        return _sense(node.this)
    if not isinstance(node, exp.Cast):
        return ""
    if node.to.is_type(exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ):
        return "instant"
    return "time" if kind_of(node, "") == "time" else ""


def clocks_of(node: exp.Datetime | exp.Date, source: str) -> exp.Expr:
    """BigQuery's DATETIME(instant, zone) and DATE(instant, zone).

    Raises:
        Refused: The zone is none that Spark reads in the same way.
    """
    time_of_text(node, source)
    zone = node.args.get("expression") or node.args.get("zone")
    kind = "TIMESTAMP" if isinstance(node, exp.Datetime) else "DATE"
    to = exp.DataType.build(kind, dialect="spark")
    if zone is None:
        return exp.Cast(this=node.this, to=to)
    return exp.Cast(this=_clocks(node.this, _zone_of(zone, node)), to=to)


def instant_of(node: exp.Timestamp, source: str) -> exp.Expr:
    """BigQuery's TIMESTAMP(time, zone): only of UTC.

    Raises:
        Refused: The zone is another one.
    """
    time_of_text(node, source)
    zone = node.args.get("expression") or node.args.get("zone")
    if zone is not None and _zone_of(zone, node).upper() not in _UTC:
        raise _back(node)
    return exp.Cast(this=node.this, to=exp.DataType.build("TIMESTAMP", dialect="spark"))


def converted(node: exp.ConvertTimezone, source: str) -> exp.Expr:
    """CONVERT_TIMEZONE of Snowflake and Redshift, from UTC.

    Raises:
        Refused: The time is not one of UTC.
    """
    time, zone = node.args["timestamp"], _zone_of(node.args["target_tz"], node)
    if _zone_of(node.args["source_tz"], node).upper() not in _UTC:
        raise _back(node)
    return _clocks(time, zone)
