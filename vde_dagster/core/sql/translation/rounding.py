"""Rounding: Spark's functions of the same names round numbers and write them differently.

Its cast of a fraction to a whole number truncates, and its CEIL of a DOUBLE is a whole number.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.translation.edges import written_number
from vde_dagster.core.sql.translation.read_texts import read_text
from vde_dagster.core.sql.translation.texts_of_values import advised_text, is_written_alike
from vde_dagster.core.sql.translation.type_names import advised_type
from vde_dagster.core.sql.translation.values import (
    UNKNOWN,
    as_double,
    call,
    cast_to,
    kind_of,
    kind_of_type,
    operand,
    refused,
)

_OF_NO_TYPE: Final = (exp.Column, exp.Anonymous)
"""Nodes whose type only a cast says: columns of a statement or key, the model's functions."""


def rounded_cast(node: exp.Cast, source: str) -> exp.Expr:
    """A cast of a number: other dialects round a fraction to a whole number, Spark cuts it.

    Raises:
        Refused: The dialect's rule is not known, or the operand has no known type.
    """
    given = kind_of(node.this, source)
    to = kind_of_type(node.to)
    if to == "text":
        return _text_of(node, given, source)
    if to == "array" or given == "array":
        advice = "Leave the array as it is, or write the model in Spark's dialect"
        raise refused(node, "casts an array", advice)
    if to == "integer" and source == "snowflake":
        node.set("to", exp.DataType.build("BIGINT"))
    if given == "text":
        return read_text(node, source)
    untyped = not given and isinstance(node.this, _OF_NO_TYPE)
    if to != "integer" or given not in ("double", "decimal", "") or untyped:
        return node
    if not given:
        raise refused(node, UNKNOWN, advised_type(source))
    if source == "tsql":
        return node
    if source == "redshift" or (source == "mysql" and given == "double"):
        if _is_whole(node.this):
            return node
        other = "cast it to DECIMAL" if source == "mysql" else "write the model in Spark's dialect"
        advice = f"Write FLOOR or CEIL around the number in it, or {other}"
        raise refused(node, "rounds in a way that is not documented", advice)
    even = given == "double" and source in ("postgres", "duckdb")
    node.set("this", call("BROUND" if even else "ROUND", node.this, 0))
    return node


def _is_whole(node: exp.Expr) -> bool:
    """Whether a number has no fraction, whatever its type: then it is rounded alike everywhere."""
    match node:
        case exp.Ceil() | exp.Floor():
            return True
        case exp.Paren() | exp.Neg():
            return _is_whole(node.this)
        case exp.Cast() if kind_of_type(node.to) == "double":
            return _is_whole(node.this)
        case exp.If():
            large = isinstance(node.this, exp.LT) and isinstance(node.this.this, exp.Abs)
            other = node.args.get("false") or exp.null()
            return _is_whole(node.args["true"]) and (large or _is_whole(other))
        case _:
            return False


def _text_of(node: exp.Cast, given: str, source: str) -> exp.Expr:
    """A cast to a text: only whole numbers, dates and decimals are written alike everywhere."""
    untyped = not given and isinstance(node.this, _OF_NO_TYPE)
    if not untyped and not is_written_alike(given, source):
        what = "is written in another way by Spark" if given else UNKNOWN
        raise refused(node, what, advised_text(given, source))
    width = next((each.name for each in node.to.expressions), _WIDTHS.get(source, ""))
    if not width.isdigit() or source == "duckdb":
        node.set("to", exp.DataType.build("STRING", dialect="spark"))
        return node
    if source in ("bigquery", "snowflake", "redshift"):
        advice = "Cast without a length, and use SUBSTR where it should be cut"
        raise refused(node, "refuses longer texts, or counts their bytes", advice)
    if source == "tsql" and given in ("integer", "date") and int(width) < _LONGEST:
        advice = "Cast to VARCHAR(30), and use LEFT where it should be cut"
        raise refused(node, "may be too short for what it writes", advice)
    text = cast_to(node.this, "STRING")
    return exp.Left(this=text, expression=exp.Literal.number(width))


_WIDTHS: Final = {"tsql": "30"}
"""The length to which a text is cut if the type has none."""

_LONGEST: Final = len("-2147483648")


def border(node: exp.Ceil | exp.Floor, source: str) -> exp.Expr:
    """CEIL and FLOOR of a DOUBLE, which are a DOUBLE; in Spark they are a whole number."""
    given = kind_of(node.this, source)
    if not given:
        raise refused(node, UNKNOWN, "Cast the number in it to its type")
    if given == "double":
        return _of_double(node)
    if given == "integer" and source in _INTEGERS_BECOME_DOUBLE:
        return cast_to(node.copy(), "DOUBLE")
    return node


def _of_double(whole: exp.Expr) -> exp.Expr:
    """CEIL or FLOOR of a DOUBLE: one of 2^52 or more, or not finite, stays unchanged."""
    number = whole.this
    small = exp.LT(this=exp.Abs(this=number.copy()), expression=exp.Literal.number(2**52))
    found = exp.If(this=small, true=cast_to(whole.copy(), "DOUBLE"), false=number.copy())
    return as_double(found)


_INTEGERS_BECOME_DOUBLE: Final = frozenset({"postgres", "bigquery", "duckdb"})


def rounded(node: exp.Round, source: str) -> exp.Expr:
    """ROUND, which in Postgres rounds halves of a DOUBLE to the even neighbour.

    Raises:
        Refused: The rule for the number's type is not documented, or its type is not known.
    """
    given = kind_of(node.this, source)
    if not given:
        raise refused(node, UNKNOWN, "Cast the number in it to DECIMAL(18, 6)")
    digits = node.args.get("decimals")
    if digits is not None and written_number(digits) is None:
        raise refused(node, "has no fixed number of digits", "Write the digits as a number")
    if given == "double" and digits is not None and written_number(digits) != 0:
        advice = "Cast the number in it to DECIMAL(18, 6)"
        raise refused(node, "rounds a DOUBLE, which is no exact number", advice)
    if given == "double" and source == "postgres":
        return call("BROUND", node.this, 0)
    if given == "double" and source in ("redshift", "mysql"):
        advice = "Cast the number in it to DECIMAL(18, 6)"
        raise refused(node, "rounds a DOUBLE in a way that is not documented", advice)
    if given == "integer" and source in ("postgres", "redshift", "duckdb", "bigquery"):
        advice = "Leave ROUND out, or cast the number to DECIMAL(18, 6)"
        raise refused(node, "makes a fraction of a whole number", advice)
    return node


def cut_number(node: exp.Trunc, source: str) -> exp.Expr:
    """TRUNC of a number, towards zero, in its own type; TRUNC of a time to its day.

    Raises:
        Refused: The number's type is not known, or it is a whole one.
    """
    given = kind_of(node.this, source)
    if given in ("date", "time", "instant"):
        return cast_to(node.this, "DATE")
    if not given:
        raise refused(node, UNKNOWN, "Cast what is in it to its own type")
    if given == "integer":
        advice = "Leave TRUNC out: the number is whole"
        raise refused(node, "is a fraction in some dialects", advice)
    number = node.this
    negative = exp.LT(this=operand(number.copy()), expression=exp.Literal.number(0))
    up, down = exp.Ceil(this=number.copy()), exp.Floor(this=number.copy())
    if given == "double":
        return as_double(exp.If(this=negative, true=_of_double(up), false=_of_double(down)))
    return exp.If(this=negative, true=up, false=down)
