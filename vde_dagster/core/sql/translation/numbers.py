"""Arithmetic: Spark's functions of the same names divide, compare and widen differently.

Its quotients have other digits, and it fails where others return infinity.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.translation.edges import written_number
from vde_dagster.core.sql.translation.type_names import double_in, whole_number_in
from vde_dagster.core.sql.translation.values import (
    TRINO,
    UNKNOWN,
    as_double,
    call,
    cast_to,
    kind_of,
    operand,
    refused,
)


def average(node: exp.Avg, source: str) -> exp.Expr:
    """AVG of whole numbers: a whole number in T-SQL and Redshift, exact in Postgres and Snowflake.

    Raises:
        Refused: The type of what is averaged is not known, and it matters.
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
"""The type in which whole numbers are averaged, to get the dialect's digits: four more."""


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
        Refused: Its base is another one, for which Spark divides logarithms.
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
    """Roots, powers and logarithms, which are a DOUBLE in Spark.

    Raises:
        Refused: They have another type in the dialect.
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
    return as_double(exp.Case(ifs=ifs, default=made.copy()))


_NUMBERS: Final = frozenset({"integer", "decimal", "double"})


def compared(node: exp.Binary, source: str) -> exp.Expr:
    """A comparison; in MySQL and T-SQL TRUE is 1.

    Raises:
        Refused: The sides are of different kinds, which Spark casts to one in its own way.
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
    """GREATEST and LEAST, which are NULL if one of their values is; Spark skips NULLs."""
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
    return as_double(exp.If(this=is_zero, true=grown, false=node.copy()))


def _is_not_zero(node: exp.Expr) -> bool:
    number = isinstance(node, exp.Literal) and node.name.strip("0.") != ""
    return number or isinstance(node, exp.Nullif)


def divided(node: exp.Div, source: str) -> exp.Expr:
    """A division that is exact in its dialect, with the digits that it has there.

    Raises:
        Refused: The type of a side is not known, and the number of digits depends on it.
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
