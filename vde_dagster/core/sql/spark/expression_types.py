"""The types of expressions, by the sort of node and the types of what is in it.

Whatever is not listed has no known type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from vde_dagster.core.sql.spark.function_types import BY_NAME
from vde_dagster.core.sql.spark.number_types import (
    VOID,
    Operand,
    arithmetic,
    is_integer,
    is_number,
    mean_of,
    rounded,
    sum_of,
    whole_of,
    wider,
    written_number,
)
from vde_dagster.core.sql.spark.type_spelling import entry_of, field_of, spelled


class Reading(Protocol):
    """What is known of the query around an expression; None stands for a type that is not known."""

    def kind(self, node: object, scope: Scope) -> str | None:
        """The type of an expression."""

    def all(self, nodes: Sequence[object], scope: Scope) -> list[str | None]:
        """The types of several expressions."""

    def column(self, column: exp.Column, scope: Scope) -> str | None:
        """The type of a column of what is read."""

    def single(self, query: exp.Expr) -> str | None:
        """The type of a query that stands for a value."""


def exploded(function: exp.Expr, kind: str | None) -> Sequence[str | None]:
    """The types of the columns that EXPLODE and its kin make."""
    place = ["int"] if isinstance(function, exp.Posexplode) else []
    return [*place, *(entry_of(kind) or (None,))]


_Rule = Callable[[Reading, exp.Expr, Scope], str | None]


def _same(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    return reading.kind(node.this, scope)


def _same_alone(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    """MIN and its kin, of one value."""
    return reading.kind(node.this, scope) if not node.expressions else None


def _same_number(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return written_number(f"-{node.this.name}" if isinstance(node, exp.Neg) else node.this.name)
    kind = reading.kind(node.this, scope)
    return kind if is_number(kind) else None


def _distinct(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    return reading.kind(node.expressions[0], scope) if len(node.expressions) == 1 else None


def _subquery(reading: Reading, node: exp.Expr, _: Scope) -> str | None:
    return reading.single(node.this)


def _literal(_: Reading, node: exp.Expr, __: Scope) -> str | None:
    return (
        "string" if isinstance(node, exp.Literal) and node.is_string else written_number(node.name)
    )


def _cast(_: Reading, node: exp.Expr, __: Scope) -> str | None:
    kind = node.args["to"]
    return spelled(kind) if isinstance(kind, exp.DataType) else None


def _arithmetic(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    left, right = node.this, node.args["expression"]
    if isinstance(right, exp.Interval):
        return _moved(reading.kind(left, scope), right)
    one, other = (_operand(each, reading.kind(each, scope)) for each in (left, right))
    if one.kind == "date" and is_integer(other.kind) and isinstance(node, exp.Add | exp.Sub):
        return "date"
    return arithmetic(type(node), one, other)


def _operand(node: exp.Expr, kind: str | None) -> Operand:
    """One side: as an integer beside a decimal, a written one has only the digits it needs."""
    inner = node.unnest()
    number = inner.this if isinstance(inner, exp.Neg) else inner
    if isinstance(number, exp.Literal) and not number.is_string and is_integer(kind):
        return Operand(kind=kind, digits=len(str(int(number.name))))
    # `1L` is a number, and `1::BIGINT` is none; sqlglot parses both alike.
    is_either = isinstance(inner, exp.TryCast) and _is_whole(inner.this) and is_integer(kind)
    return Operand(kind=kind, is_clear=not is_either)


def _is_whole(node: exp.Expr) -> bool:
    inner = node.unnest()
    inner = inner.this.unnest() if isinstance(inner, exp.Neg) else inner
    return isinstance(inner, exp.Literal)


_OF_DAYS: Final = ("DAY", "WEEK", "MONTH", "YEAR")
_OF_TIMES: Final = (*_OF_DAYS, "SECOND", "MINUTE", "HOUR")


def _moved(kind: str | None, by: exp.Interval) -> str | None:
    """The type of a time and a literal interval of one unit."""
    unit = by.args.get("unit")
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    if not isinstance(by.this, exp.Literal) or name not in _OF_TIMES:
        return None
    stays = kind in ("timestamp", "timestamp_ntz") or (kind == "date" and name in _OF_DAYS)
    return kind if stays else None


def _sum(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    return sum_of(reading.kind(node.this, scope))


def _mean(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    return mean_of(reading.kind(node.this, scope))


def _round(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    digits = node.args.get("decimals")
    sign = -1 if isinstance(digits, exp.Neg) else 1
    number = digits.this if isinstance(digits, exp.Neg) else digits
    if number is None:
        return rounded(reading.kind(node.this, scope), 0)
    if not isinstance(number, exp.Literal) or not number.name.isdigit():
        return None
    return rounded(reading.kind(node.this, scope), sign * int(number.name))


def _whole(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    if set(_given(node)) != {"this"}:
        return None
    return whole_of(reading.kind(node.this, scope))


def _given(node: exp.Expr) -> list[str]:
    return [key for key, value in node.args.items() if value]


def _widest(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    return wider(reading.all([node.this, *node.expressions], scope))


def _case(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    results = [each.args["true"] for each in node.args["ifs"]]
    default = node.args.get("default")
    return wider(reading.all([*results, *([default] if default is not None else [])], scope))


def _if(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    default = node.args.get("false")
    return wider(
        reading.all([node.args["true"], *([default] if default is not None else [])], scope)
    )


def _text(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    """Functions that return a text of single values, and something else of binary and lists."""
    return "string" if _has_text(reading.kind(node.this, scope)) else None


def _has_text(kind: str | None) -> bool:
    """Whether a value is taken for a text where one is wanted."""
    return is_number(kind) or kind in _AS_TEXTS


_AS_TEXTS: Final = ("string", "boolean", "date", "timestamp", "timestamp_ntz")


def _joined(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    parts = [node.this, node.args["expression"]] if isinstance(node, exp.DPipe) else None
    kinds = reading.all(parts or node.expressions, scope)
    return "string" if kinds and all(map(_has_text, kinds)) else None


def _array(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    kinds = set(reading.all(node.expressions, scope))
    entry = kinds.pop() if len(kinds) == 1 else None
    return f"array<{entry}>" if entry not in (None, VOID) else None


def _collected(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    entry = reading.kind(node.this, scope)
    return f"array<{entry}>" if entry not in (None, VOID) else None


def _bracket(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    found = entry_of(reading.kind(node.this, scope))
    return found[-1] if found and len(node.expressions) == 1 else None


def _dot(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    name = node.args["expression"]
    if not isinstance(name, exp.Identifier):
        return None
    return field_of(reading.kind(node.this, scope), name.name)


def _explode(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    kinds = exploded(node, reading.kind(node.this, scope))
    return kinds[0] if len(kinds) == 1 else None


def _extract(_: Reading, node: exp.Expr, __: Scope) -> str | None:
    return "int" if node.name.upper() in _WHOLE_PARTS else None


_WHOLE_PARTS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")


def _date_difference(_: Reading, node: exp.Expr, __: Scope) -> str | None:
    return "int" if node.args.get("unit") is None and not node.args.get("big_int") else None


def _moved_day(_: Reading, node: exp.Expr, __: Scope) -> str | None:
    unit = node.args.get("unit")
    return "date" if unit is None or unit.name.upper() == "DAY" else None


def _named(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    """A function that sqlglot does not know."""
    name = node.name.lower()
    kinds = reading.all(node.expressions, scope)
    if name in ("mean", "positive") and len(kinds) == 1:
        return mean_of(kinds[0]) if name == "mean" else kinds[0] if is_number(kinds[0]) else None
    return BY_NAME.get(name)


def _median(reading: Reading, node: exp.Expr, scope: Scope) -> str | None:
    return "double" if is_number(reading.kind(node.this, scope)) else None


RULES: Final[Mapping[type[exp.Expr], _Rule]] = {
    exp.Column: lambda reading, node, scope: (
        reading.column(node, scope) if isinstance(node, exp.Column) else None
    ),
    **dict.fromkeys((exp.Alias, exp.Paren, exp.Window, exp.Filter), _same),
    **dict.fromkeys((exp.IgnoreNulls, exp.RespectNulls, exp.Nullif, exp.Lag, exp.Lead), _same),
    **dict.fromkeys((exp.Min, exp.Max, exp.First, exp.Last, exp.AnyValue), _same_alone),
    **dict.fromkeys((exp.FirstValue, exp.LastValue, exp.NthValue), _same_alone),
    **dict.fromkeys((exp.Neg, exp.Negative, exp.Abs), _same_number),
    exp.Distinct: _distinct,
    exp.Subquery: _subquery,
    exp.Literal: _literal,
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), _arithmetic),
    exp.Sum: _sum,
    exp.Avg: _mean,
    exp.Median: _median,
    **dict.fromkeys((exp.ArgMax, exp.ArgMin), _same_alone),
    exp.Round: _round,
    **dict.fromkeys((exp.Ceil, exp.Floor), _whole),
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), _widest),
    exp.Case: _case,
    exp.If: _if,
    **dict.fromkeys((exp.Substring, exp.Left, exp.Right, exp.Pad, exp.Reverse), _text),
    **dict.fromkeys((exp.Concat, exp.DPipe), _joined),
    exp.Array: _array,
    exp.ArrayAgg: _collected,
    exp.Bracket: _bracket,
    exp.Dot: _dot,
    **dict.fromkeys((exp.Explode, exp.ExplodeOuter), _explode),
    exp.Extract: _extract,
    exp.DateDiff: _date_difference,
    exp.TsOrDsAdd: _moved_day,
    exp.Anonymous: _named,
}
