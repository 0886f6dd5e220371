"""Numbers: Spark's functions of the same names round, divide and widen in other ways.

Its cast of a fraction to a whole number cuts, its CEIL of a DOUBLE is a whole number, and what it
divides has other digits.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.translation.edges import written_number
from vde_dagster.core.sql.translation.read_texts import read_text
from vde_dagster.core.sql.translation.texts_of_values import advised_text, is_written_alike
from vde_dagster.core.sql.translation.type_names import advised_type, double_in, whole_number_in
from vde_dagster.core.sql.translation.values import (
    TRINO,
    UNKNOWN,
    call,
    cast_to,
    kind_of,
    kind_of_type,
    operand,
    refused,
)

_OF_NO_TYPE: Final = (exp.Column, exp.Anonymous)
"""What a cast gives its type: a column of a statement or a key, and the model's own functions."""


def rounded_cast(node: exp.Cast, source: str) -> exp.Expr:
    """A cast of a number: other dialects round a fraction to a whole number, Spark cuts it.

    Raises:
        Refused: The dialect's rule is not known, or what is cast has no known type.
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
    """A text of a value: only whole numbers, dates and decimals are written alike everywhere."""
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
"""To how many letters a text is cut whose length is not written."""

_LONGEST: Final = len("-2147483648")


def border(node: exp.Ceil | exp.Floor, source: str) -> exp.Expr:
    """CEIL and FLOOR of a DOUBLE are a DOUBLE; Spark makes a whole number of it."""
    given = kind_of(node.this, source)
    if not given:
        raise refused(node, UNKNOWN, "Cast the number in it to its type")
    if given == "double":
        return _of_double(node)
    if given == "integer" and source in _INTEGERS_BECOME_DOUBLE:
        return cast_to(node.copy(), "DOUBLE")
    return node


def _of_double(whole: exp.Expr) -> exp.Expr:
    """CEIL or FLOOR of a DOUBLE: one of 2^52 or more, or none that is finite, is as it is."""
    number = whole.this
    small = exp.LT(this=exp.Abs(this=number.copy()), expression=exp.Literal.number(2**52))
    found = exp.If(this=small, true=cast_to(whole.copy(), "DOUBLE"), false=number.copy())
    return _as_double(found)


def _as_double(node: exp.Expr) -> exp.Expr:
    """A part for Spark that is known to be a DOUBLE."""
    node.type = exp.DataType.Type.DOUBLE
    return node


_INTEGERS_BECOME_DOUBLE: Final = frozenset({"postgres", "bigquery", "duckdb"})


def rounded(node: exp.Round, source: str) -> exp.Expr:
    """ROUND, which in Postgres takes the even neighbour of a DOUBLE's half.

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
    """TRUNC of a number, towards zero, in its own type; of a time its day.

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
        return _as_double(exp.If(this=negative, true=_of_double(up), false=_of_double(down)))
    return exp.If(this=negative, true=up, false=down)


def average(node: exp.Avg, source: str) -> exp.Expr:
    """AVG of whole numbers: a whole number in T-SQL and Redshift, exact in Postgres and Snowflake.

    Raises:
        Refused: The type of what is averaged is not known where it matters.
    """
    given = kind_of(node.this, source)
    if not given and source in ("postgres", "redshift", "snowflake", "tsql", "mysql", "trino"):
        raise refused(node, UNKNOWN, "Cast what is in it to its own type")
    if source == "redshift" and _is_wide(node.this):
        advice = "Cast what is in it to INTEGER for a whole number, or to DECIMAL(38, 6)"
        raise refused(node, "has digits that the manual does not say for a BIGINT", advice)
    if given == "integer" and source in ("tsql", "redshift"):
        node.set("this", cast_to(node.this, "DECIMAL(38, 12)"))
        whole: exp.Expr = node
        while isinstance(whole.parent, exp.Window | exp.Filter) and whole.arg_key == "this":
            whole = whole.parent
        cut = cast_to(whole.copy(), "BIGINT")
        cut.type = cut.args["to"]
        if whole is node:
            return cut
        whole.replace(cut)
    if given == "integer" and source in _AVERAGES:
        node.set("this", cast_to(node.this, _AVERAGES[source]))
    if given == "decimal" and source == "duckdb":
        node.set("this", cast_to(node.this, "DOUBLE"))
    if given == "decimal" and source == "postgres" and _scale(node.this) <= _DIGITS:
        node.set("this", cast_to(node.this, _AVERAGES[source]))
    return node


def _is_wide(node: exp.Expr) -> bool:
    return node.is_type(exp.DataType.Type.BIGINT)


_DIGITS: Final = 12


_AVERAGES: Final = {
    "postgres": f"DECIMAL(38, {_DIGITS})",
    "snowflake": "DECIMAL(38, 2)",
    "mysql": "DECIMAL(38, 0)",
}
"""As what whole numbers are averaged, so that the average has the dialect's digits: four more."""


def _scale(node: exp.Expr) -> int:
    if isinstance(node, exp.Paren | exp.Neg):
        return _scale(node.this)
    if isinstance(node, exp.Literal):
        return len(node.name.partition(".")[2])
    kind = node.type
    digits = kind.expressions if kind is not None else []
    return int(digits[1].name) if len(digits) > 1 else 0


def _logarithm(node: exp.Log) -> exp.Expr:
    """LOG of one number, which sqlglot reads as that to the base of ten and prints as another.

    Raises:
        Refused: Its base is another one, which Spark divides logarithms for.
    """
    number = node.args.get("expression")
    if number is None:
        return call("LOG10", node.this)
    if written_number(node.this) == _TEN:
        return call("LOG10", number)
    advice = "Divide two natural logarithms, or use LOG10"
    raise refused(node, "is not exact in Spark, as LOG(2, 536870912) shows", advice)


_TEN: Final = 10


def doubled(node: exp.Expr, source: str) -> exp.Expr:
    """Roots, powers and logarithms, which Spark makes a DOUBLE of.

    Raises:
        Refused: The dialect makes something else of the number's type.
    """
    given = [kind_of(each, source) for each in node.iter_expressions()]
    exact = "decimal" in given and source in ("postgres", "redshift", "bigquery", "duckdb")
    whole = isinstance(node, exp.Pow) and source == "tsql" and given[0] != "double"
    if exact or whole or "" in given:
        what = UNKNOWN if "" in given else "is no DOUBLE, as it is in Spark"
        raise refused(node, what, f"Cast the numbers in it to {double_in(source)}")
    if isinstance(node, exp.Sqrt) and source == "mysql":
        negative = exp.LT(this=operand(node.this.copy()), expression=exp.Literal.number(0))
        return exp.If(this=negative, true=exp.null(), false=node.copy())
    made = _logarithm(node) if isinstance(node, exp.Log) else node
    infinite = isinstance(node, exp.Log | exp.Ln) and source in _INFINITE
    return _unbounded(made, node) if infinite else made


_INFINITE: Final = frozenset({"duckdb", *TRINO})
"""Dialects in which a DOUBLE divided by zero, and the logarithm of zero, is infinite."""


def _unbounded(made: exp.Expr, node: exp.Expr) -> exp.Expr:
    """A logarithm of zero, which is NULL in Spark, and of less, which is no number."""
    number = node.args.get("expression") or node.this
    if isinstance(number, exp.Literal) and number.name.strip("0.") != "":
        return made
    zero = exp.Literal.number(0)
    is_zero = exp.EQ(this=operand(number.copy()), expression=zero)
    is_less = exp.LT(this=operand(number.copy()), expression=zero.copy())
    low = cast_to(exp.Literal.string("-Infinity"), "DOUBLE")
    none = cast_to(exp.Literal.string("NaN"), "DOUBLE")
    ifs = [exp.If(this=is_zero, true=low), exp.If(this=is_less, true=none)]
    return _as_double(exp.Case(ifs=ifs, default=made.copy()))


_NUMBERS: Final = frozenset({"integer", "decimal", "double"})


def compared(node: exp.Binary, source: str) -> exp.Expr:
    """A comparison, in which MySQL and T-SQL take TRUE for 1.

    Raises:
        Refused: The sides are of different kinds, which Spark makes equal in its own way.
    """
    sides = {each: kind_of(each, source) for each in (node.left, node.right)}
    if isinstance(node.right, exp.Any) or not {*sides.values()} & _NUMBERS:
        return node
    for side, kind in sides.items():
        if kind == "boolean" and source in ("mysql", "tsql"):
            side.replace(cast_to(side.copy(), "INT"))
        elif kind == "boolean":
            advice = f"Cast the condition to {whole_number_in(source)}"
            raise refused(node, "compares a number with TRUE or FALSE", advice)
        elif kind == "text" and not isinstance(side.unnest(), exp.Literal | exp.Parameter):
            advice = f"Cast the text to {whole_number_in(source)}"
            raise refused(node, "compares a number with a text", advice)
    return node


def without_error(node: exp.Div | exp.IntDiv | exp.Mod, source: str) -> exp.Expr:
    """A division by zero that is NULL, as in MySQL; Spark fails."""
    node.set("expression", exp.Nullif(this=node.right, expression=exp.Literal.number(0)))
    return node


def greatest(node: exp.Greatest | exp.Least, source: str) -> exp.Expr:
    """GREATEST and LEAST are NULL where one of their values is; Spark skips those."""
    if source not in _NULLS_WIN:
        return node
    values = [node.this, *node.expressions]
    empty = exp.or_(*(exp.Is(this=operand(v.copy()), expression=exp.null()) for v in values))
    return exp.If(this=empty, true=exp.null(), false=node.copy())


_NULLS_WIN: Final = frozenset({"bigquery", "snowflake", "mysql", "trino", "presto"})


def whole_number(node: exp.Binary, source: str) -> exp.Expr:
    """Sums and products of whole numbers, which have 64 bits where Spark has 32."""
    sides = [kind_of(each, source) for each in (node.left, node.right)]
    if sides == ["integer", "integer"]:
        node.set("this", cast_to(operand(node.left), "BIGINT"))
    return node


def literal(node: exp.Literal, source: str) -> exp.Expr:
    """A number with a point is a DOUBLE in BigQuery, and exact in Spark."""
    if node.is_string or kind_of(node, source) != "double" or "e" in node.name.lower():
        return node
    return cast_to(node.copy(), "DOUBLE")


def _divided_by_zero(node: exp.Div) -> exp.Expr:
    """A division by zero that is infinite; Spark fails."""
    if _is_not_zero(node.right):
        return node
    infinite = cast_to(exp.Literal.string("Infinity"), "DOUBLE")
    is_zero = exp.EQ(this=operand(node.right.copy()), expression=exp.Literal.number(0))
    grown = exp.Mul(this=operand(node.left.copy()), expression=infinite)
    return _as_double(exp.If(this=is_zero, true=grown, false=node.copy()))


def _is_not_zero(node: exp.Expr) -> bool:
    number = isinstance(node, exp.Literal) and node.name.strip("0.") != ""
    return number or isinstance(node, exp.Nullif)


def divided(node: exp.Div, source: str) -> exp.Expr:
    """A division that is exact in its dialect, with the digits that it has there.

    Raises:
        Refused: The type of a side is not known where the number of digits depends on it.
    """
    kinds = [kind_of(each, source) for each in (node.left, node.right)]
    if source == "mysql":
        without_error(node, source)
    if source == "duckdb" and "double" not in kinds:
        node.set("this", cast_to(operand(node.left), "DOUBLE"))
    if source == "duckdb" or ("double" in kinds and source in _INFINITE):
        return _divided_by_zero(node)
    if "double" in kinds or source in ("tsql", "redshift"):
        return node
    if "" in kinds:
        types = f"DECIMAL(18, 6), {double_in(source)} or {whole_number_in(source)}"
        raise refused(node, UNKNOWN, f"Cast its sides to {types}")
    if source == "bigquery" and kinds == ["integer", "integer"]:
        return node
    scales = [_scale(each) for each in (node.left, node.right)]
    if source == "postgres":
        node.set("this", cast_to(operand(node.left), "DECIMAL(38, 16)"))
        return node
    if kinds != ["integer", "integer"]:
        node.set("this", cast_to(operand(node.left), "DECIMAL(30, 12)"))
    else:
        node.set("this", cast_to(operand(node.left), "DECIMAL(20, 0)"))
        node.set("expression", cast_to(operand(node.right), "DECIMAL(20, 0)"))
    digits = {
        "bigquery": 9,
        "snowflake": max(scales[0], min(scales[0] + 6, 12)),
        "mysql": scales[0] + 4,
    }
    return cast_to(node.copy(), f"DECIMAL(38, {digits.get(source, max(scales))})")
