"""Refuses parts whose values may be such that Spark's function differs from the dialect's.

A part is proven by class and arguments; here the arguments' values are checked. What may be empty,
negative, of another type or written otherwise is refused if that makes a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, Final

from sqlglot import exp

from vde_dagster.core.sql.translation.texts_of_values import advised_text
from vde_dagster.core.sql.translation.type_names import double_in, text_type_in, whole_number_in
from vde_dagster.core.sql.translation.values import UNKNOWN, kind_of, refused

Check = Callable[[Any, str], None]

_NUMBERS: Final = frozenset({"integer", "decimal", "double"})
_TIMES: Final = frozenset({"date", "time", "instant"})


def check_edges(node: exp.Expr, source: str) -> None:
    """Refuse a part that may have a value which Spark treats differently.

    Raises:
        Refused: It may.
    """
    check = CHECKS.get(type(node))
    if check is not None:
        check(node, source)
    given = kind_of(node.this, source) if isinstance(node, _OF_TEXTS) else ""
    if given in _OTHERWISE_WRITTEN:
        advice = advised_text(given, source)
        raise refused(node, "takes what Spark writes in another way for a text", advice)


_OTHERWISE_WRITTEN: Final = frozenset({"double", "boolean", "time", "instant", "array"})
_OF_TEXTS: Final = (
    exp.Contains,
    exp.EndsWith,
    exp.ILike,
    exp.Left,
    exp.Length,
    exp.Like,
    exp.Lower,
    exp.MD5,
    exp.Pad,
    exp.Repeat,
    exp.Replace,
    exp.Reverse,
    exp.Right,
    exp.Split,
    exp.SplitPart,
    exp.StartsWith,
    exp.StrPosition,
    exp.Substring,
    exp.SubstringIndex,
    exp.Translate,
    exp.Trim,
    exp.Upper,
)
"""Functions of texts; Spark casts any argument to a text."""


def written_text(node: exp.Expr | None) -> str:
    """The text of a literal; empty if it is no literal."""
    return node.name if isinstance(node, exp.Literal) and node.is_string else ""


def written_number(node: exp.Expr | None) -> int | None:
    """The whole number that is written; None if it is none, or computed."""
    if isinstance(node, exp.Paren | exp.Neg):
        inner = written_number(node.this)
        return -inner if inner is not None and isinstance(node, exp.Neg) else inner
    if not isinstance(node, exp.Literal) or node.is_string or not node.name.isdigit():
        return None
    return int(node.name)


def _is_count(node: exp.Expr | None) -> bool:
    number = written_number(node)
    return number is not None and number >= 0


def _calculation(node: exp.Binary, source: str) -> None:
    """Arithmetic: Spark makes numbers of texts and dates of numbers in its own way."""
    kinds = {kind_of(each, source) for each in (node.left, node.right)}
    if node.find(exp.Interval) is not None:
        return
    joins = source == "tsql" and isinstance(node, exp.Add)
    if kinds & {"text", "boolean"} and not joins:
        raise refused(node, "calculates with what is no number", "Cast its sides to numbers")
    if kinds & _TIMES and source in ("mysql", "tsql"):
        other = "or add an interval" if source == "mysql" else "or DATEADD"
        advice = f"Use DATEDIFF, {other}"
        raise refused(node, "calculates with a time, which is a number there", advice)
    if kinds & _TIMES and kinds & {"decimal", "double"}:
        advice = f"Cast the number of days to {whole_number_in(source)}"
        raise refused(node, "moves a date by a fraction", advice)
    if isinstance(node, exp.Mod) and "double" in kinds and source != "mysql":
        raise refused(node, "is the rest of a fraction", "Cast its sides to DECIMAL(18, 6)")
    if isinstance(node, exp.IntDiv) and not kinds <= _WHOLE.get(source, {"integer"}):
        advice = f"Cast its sides to {whole_number_in(source)}"
        raise refused(node, "divides what is no whole number", advice)


_WHOLE: Final = {
    "mysql": {"integer", "decimal"},
    "postgres": {"integer", "decimal"},
}
"""Types of which DIV and ``//`` give a whole number; in other dialects only whole ones."""


def _bits(node: exp.Expr, source: str) -> None:
    """Operators on bits: of whole numbers that are as wide in Spark."""
    sides = [each for each in (node.args.get("this"), node.args.get("expression")) if each]
    if any(kind_of(each, source) != "integer" for each in sides):
        advice = f"Cast its sides to {whole_number_in(source)}"
        raise refused(node, "may take no whole numbers", advice)
    narrow = (exp.DataType.Type.SMALLINT, exp.DataType.Type.TINYINT)
    if isinstance(node, exp.BitwiseLeftShift) and sides[0].is_type(*narrow):
        raise refused(node, "is wider in Spark", "Cast the number to INT")
    if source == "mysql" and not any(map(_is_count, sides)):
        advice = "Write one side as a number of zero or more"
        raise refused(node, "has no sign there, and has one in Spark", advice)


def _summed(node: exp.Expr, source: str) -> None:
    if kind_of(_unordered(node.this), source) in {"text", "boolean", "array", *_TIMES}:
        advice = f"Cast what is in it to {whole_number_in(source)}"
        raise refused(node, "sums what is no number", advice)


def _spread(node: exp.Expr, source: str) -> None:
    """Deviations and medians, which are a DOUBLE in Spark."""
    wide = _OF_DEVIATIONS.get(source, _NUMBERS)
    given = [kind_of(_unordered(each), source) for each in node.iter_expressions()]
    if not set(given) <= wide:
        what = UNKNOWN if "" in given else "is no DOUBLE, as it is in Spark"
        raise refused(node, what, f"Cast the number in it to {double_in(source)}")


_OF_DEVIATIONS: Final = {
    "bigquery": frozenset({"double"}),
    "duckdb": frozenset({"double", "integer"}),
    "postgres": frozenset({"double"}),
    "redshift": frozenset({"double"}),
    "snowflake": frozenset({"double"}),
}
"""Types of which they are a DOUBLE; in other dialects all numbers."""


def _unordered(node: exp.Expr) -> exp.Expr:
    """The argument of an aggregate, without DISTINCT and ORDER BY."""
    if isinstance(node, exp.Order | exp.Paren):
        return _unordered(node.this)
    if isinstance(node, exp.Distinct) and len(node.expressions) == 1:
        return _unordered(node.expressions[0])
    return node


def _listed(node: exp.GroupConcat, source: str) -> None:
    if kind_of(_unordered(node.this), source) != "text":
        advice = f"Cast what is in it to {text_type_in(source)}"
        raise refused(node, "may join what is no text", advice)


def _sign(node: exp.Sign, source: str) -> None:
    given = kind_of(node.this, source)
    if given != "double" and not (given == "integer" and source == "postgres"):
        advice = f"Cast the number in it to {double_in(source)}"
        raise refused(node, "has another type in Spark", advice)


def _letter(node: exp.Chr, source: str) -> None:
    if any((written_number(each) or 0) not in range(1, 128) for each in node.expressions):
        advice = "Write the letter itself, in quotes"
        raise refused(node, "may be no letter of ASCII, which Spark takes otherwise", advice)


def _split_part(node: exp.SplitPart, source: str) -> None:
    _delimiter(node, node.args.get("delimiter"))
    if not written_number(node.args.get("part_index")):
        raise refused(node, "may ask for the part 0", "Write the part as a number that is not 0")


def _split(node: exp.Split, source: str) -> None:
    _delimiter(node, node.args.get("expression"))


def _delimiter(node: exp.Expr, text: exp.Expr | None) -> None:
    if written_text(text) == "" or "\\" in written_text(text):
        advice = "Write it as a text in quotes, without \\"
        raise refused(node, "may split by an empty text, which Spark does otherwise", advice)


def _replaced(node: exp.Replace, source: str) -> None:
    alike = source in ("postgres", "duckdb", "bigquery", "mysql", "tsql")
    if not alike and not written_text(node.expression):
        advice = "Write what is replaced as a text in quotes"
        raise refused(node, "may replace the empty text, which Spark does not", advice)


def _found(node: exp.StrPosition, source: str) -> None:
    alike = source in ("postgres", "duckdb", "mysql", "trino", "presto", "snowflake")
    if not alike and not written_text(node.args.get("substr")):
        advice = "Write what is looked for as a text in quotes"
        raise refused(node, "may look for the empty text, which Spark finds", advice)


def _padded(node: exp.Pad, source: str) -> None:
    fill = node.args.get("fill_pattern")
    if not _is_count(node.expression):
        advice = "Write the length as a number of zero or more"
        raise refused(node, "may have a negative length, which Spark takes otherwise", advice)
    if fill is not None and not written_text(fill):
        advice = "Write what it is filled with as a text in quotes"
        raise refused(node, "may be filled with an empty text", advice)


def _repeated(node: exp.Repeat, source: str) -> None:
    if source == "tsql" and not _is_count(node.args["times"]):
        advice = "Write the number of times as a number"
        raise refused(node, "is NULL for a negative number, and empty in Spark", advice)


def _part_of_text(node: exp.Substring, source: str) -> None:
    start, length = node.args.get("start"), node.args.get("length")
    if any(kind_of(each, source) not in ("", "integer") for each in (start, length) if each):
        raise refused(node, "has a place that is no whole number", "Write the place as a number")
    if source == "duckdb" and length is not None and not _is_count(length):
        advice = "Write the length as a number"
        raise refused(node, "goes back where its length is negative", advice)


def _pattern_of_letters(node: exp.Like | exp.ILike, source: str) -> None:
    if not _is_written(node.expression):
        advice = "Write it as a text in quotes, or write the model in Spark's dialect"
        raise refused(node, "has a pattern that is computed, whose \\ Spark may read", advice)


def _is_written(node: exp.Expr) -> bool:
    if isinstance(node, exp.Paren):
        return _is_written(node.this)
    if isinstance(node, exp.DPipe):
        return _is_written(node.left) and _is_written(node.right)
    if isinstance(node, exp.Concat):
        return all(map(_is_written, node.expressions))
    return isinstance(node, exp.Literal)


def _since_1970(node: exp.UnixToTime, source: str) -> None:
    if kind_of(node.this, source) != "integer":
        advice = f"Cast the number in it to {whole_number_in(source)}"
        raise refused(node, "may have a fraction, which Spark leaves out", advice)


def _joined_array(node: exp.ArrayToString, source: str) -> None:
    inner = node.this.type.expressions if node.this.type is not None else []
    if not inner or not inner[0].is_type(*exp.DataType.TEXT_TYPES):
        raise refused(node, "may join what is no text", "Use it with an array of texts")


def _sized(node: exp.ArraySize, source: str) -> None:
    dimension = node.args.get("expression")
    if dimension is not None and written_number(dimension) != 1:
        raise refused(node, "counts an inner array", "Ask for dimension 1")


def _date_of_parts(node: exp.DateFromParts, source: str) -> None:
    """A date of parts: Snowflake accepts a month 13, which is a month of the next year."""
    parts = [written_number(node.args.get(each)) for each in ("year", "month", "day")]
    try:
        sure = source != "snowflake" or bool(date(*(each or 0 for each in parts)))
    except ValueError:
        sure = False
    if not sure:
        advice = "Write DATEADD(day, d - 1, DATEADD(month, m - 1, ...)), or a date in quotes"
        raise refused(node, "may move on to another month, where Spark fails", advice)


def _separated(node: exp.ConcatWs, source: str) -> None:
    if source == "tsql" and not isinstance(node.expressions[0], exp.Literal):
        raise refused(node, "may join with NULL", "Write what stands between as a text in quotes")


def _condition(node: exp.If, source: str) -> None:
    if kind_of(node.this, source) in {"text", *_NUMBERS} and not isinstance(node.parent, exp.Case):
        raise refused(node, "has a condition that is none in Spark", "Compare the number with 0")


CHECKS: Final[dict[type[exp.Expr], Check]] = {
    exp.Add: _calculation,
    exp.Sub: _calculation,
    exp.Mul: _calculation,
    exp.Div: _calculation,
    exp.Mod: _calculation,
    exp.IntDiv: _calculation,
    exp.BitwiseAnd: _bits,
    exp.BitwiseOr: _bits,
    exp.BitwiseXor: _bits,
    exp.BitwiseNot: _bits,
    exp.BitwiseLeftShift: _bits,
    exp.BitwiseRightShift: _bits,
    exp.Sum: _summed,
    exp.Avg: _summed,
    exp.Stddev: _spread,
    exp.StddevPop: _spread,
    exp.StddevSamp: _spread,
    exp.Variance: _spread,
    exp.VariancePop: _spread,
    exp.CovarPop: _spread,
    exp.CovarSamp: _spread,
    exp.Median: _spread,
    exp.Corr: _spread,
    exp.GroupConcat: _listed,
    exp.Sign: _sign,
    exp.Chr: _letter,
    exp.SplitPart: _split_part,
    exp.Split: _split,
    exp.Replace: _replaced,
    exp.StrPosition: _found,
    exp.Pad: _padded,
    exp.Repeat: _repeated,
    exp.Substring: _part_of_text,
    exp.Like: _pattern_of_letters,
    exp.ILike: _pattern_of_letters,
    exp.UnixToTime: _since_1970,
    exp.ArrayToString: _joined_array,
    exp.ArraySize: _sized,
    exp.DateFromParts: _date_of_parts,
    exp.ConcatWs: _separated,
    exp.If: _condition,
}
"""The check for parts of each class."""
