"""The kind of value of a part of another dialect, and helpers to build parts for Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from vde_dagster.core.errors import Refused

_Type = exp.DataType.Type


TRINO: Final = frozenset({"trino", "presto"})


def kind_of(node: exp.Expr | None, source: str) -> str:
    """The family of a part's type: integer, decimal, double, text...; empty if not known.

    A literal with a point is exact in all dialects but BigQuery, whatever sqlglot's types say.
    """
    match node:
        case None:
            return ""
        case exp.Null():
            return "null"
        case exp.Literal() if not node.is_string:
            return _kind_of_number(node.name, source)
        case exp.Paren() | exp.Neg():
            return kind_of(node.this, source)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod():
            sides = {kind_of(node.left, source), kind_of(node.right, source)}
            numeric = sides <= {"integer", "decimal", "double"}
            if numeric:
                return next(each for each in ("double", "decimal", "integer") if each in sides)
        case _:
            pass
    return kind_of_type(node.type)


def _kind_of_number(text: str, source: str) -> str:
    if text.isdigit():
        return "integer"
    return "double" if source == "bigquery" or "e" in text.lower() else "decimal"


def kind_of_type(kind: exp.DataType | None) -> str:
    """The family of a type; empty for other types than those listed here."""
    if kind is None:
        return ""
    return next((name for name, types in _KINDS.items() if kind.is_type(*types)), "")


_KINDS: Final = {
    "integer": exp.DataType.INTEGER_TYPES,
    "decimal": {_Type.DECIMAL, _Type.BIGDECIMAL},
    "double": {_Type.DOUBLE, _Type.FLOAT},
    "text": exp.DataType.TEXT_TYPES,
    "boolean": {_Type.BOOLEAN},
    "date": {_Type.DATE},
    "instant": {_Type.TIMESTAMPTZ, _Type.TIMESTAMPLTZ},
    "time": {_Type.TIMESTAMP, _Type.TIMESTAMPNTZ, _Type.DATETIME},
    "array": {_Type.ARRAY, _Type.LIST},
}


def cast_to(node: exp.Expr, kind: str) -> exp.Expr:
    """A part cast to a type of Spark."""
    return exp.Cast(this=node, to=exp.DataType.build(kind, dialect="spark"))


def as_double(node: exp.Expr) -> exp.Expr:
    """A part for Spark that is known to be a DOUBLE."""
    node.type = exp.DataType.Type.DOUBLE
    return node


def call(name: str, *arguments: exp.Expr | int) -> exp.Expr:
    """A call of a Spark function by its own name, which sqlglot prints unchanged."""
    given = [exp.Literal.number(each) if isinstance(each, int) else each for each in arguments]
    return exp.Anonymous(this=name, expressions=given)


_PART: Final = "{}"


class NotInSpark(Refused):
    """Parts of a query that have no single meaning in Spark.

    Args:
        message: Why, with ``{}`` where each part is to be shown.
        parts: In that order; they may be changed already, so only `refusal` shows them.
        advice: What to write.
    """

    def __init__(self, message: str, *parts: exp.Expr, advice: str) -> None:
        self._parts = parts
        super().__init__(message, advice=advice)

    def refusal(self, written: Callable[[exp.Expr], str]) -> Refused:
        """The error with the text of each part in its message."""
        first, *rest = self.message.split(_PART)
        shown = [f"`{written(each)}`" for each in self._parts]
        message = first + "".join(map("".join, zip(shown, rest, strict=True)))
        return Refused(message, advice=self.advice)


def refused(node: exp.Expr, why: str, advice: str) -> NotInSpark:
    """The error for a part that has no single meaning in Spark, with what to write."""
    return NotInSpark(f"{_PART} {why}", node, advice=f"{advice}.")


UNKNOWN: Final = "depends on a type that is not known"


def operand(node: exp.Expr) -> exp.Expr:
    """A part as an operand of an operator, in parentheses if needed."""
    return exp.paren(node, copy=False) if isinstance(node, exp.Binary | exp.Unary) else node
