"""Equivalent ways to write one expression: they mean the same for all values and for NULL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlglot import exp
from sqlglot.schema import MappingSchema

from vde_dagster.core.sql.select_clauses import without_parentheses
from vde_dagster.core.sql.types import with_types

_ALIKE: Final = "alike"
_UNORDERED: Final = "unordered"
_TYPES: Final = "types"
_WHOLE: Final = (exp.DataType.Type.INT, exp.DataType.Type.BIGINT)
_TEXTS: Final = (exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR)
_BINARY: Final = (
    exp.DataType.Type.TINYINT,
    exp.DataType.Type.SMALLINT,
    *_WHOLE,
    exp.DataType.Type.FLOAT,
    exp.DataType.Type.DOUBLE,
)
"""Types of numbers; Spark casts several of them to one, in whichever order they are."""
_TIMES: Final = (
    exp.DataType.Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.TIMESTAMPNTZ,
)
_PLAIN: Final = frozenset(
    {
        *_BINARY,
        *_TEXTS,
        *_TIMES,
        exp.DataType.Type.BOOLEAN,
        exp.DataType.Type.BINARY,
        exp.DataType.Type.DATE,
        exp.DataType.Type.DECIMAL,
        exp.DataType.Type.NULL,
    }
)
"""Types without names in them."""
_MOST_DIGITS: Final = 15
"""Numbers of so many digits are exact as a double, and fit in any decimal with others."""


def note_types(query: exp.Expr, *, schema: MappingSchema, dialect: str) -> None:
    """Note where types decide whether the order of IN-lists and set operations counts.

    If all values of a list have one type, each is compared as ``=`` would compare it. Several types
    are cast to one that all fit into, chosen from left to right: another order, or two of them, may
    give another one. The same applies to the columns of a set operation.
    """
    lists, sides = _lists(query), _sides(query)
    if not lists and not sides:
        return
    typed = with_types(query.copy(), schema=schema, dialect=dialect)
    for node, known in zip(lists, _lists(typed), strict=True):
        values = [known.this, *known.expressions]
        for kinds in (_WHOLE, _TEXTS):
            if all(each.is_type(*kinds) for each in values):
                node.meta[_ALIKE] = True
        node.meta[_UNORDERED] = _is_of_one_order(values)
    for side, types in zip(sides, _sides(typed), strict=True):
        if isinstance(types, exp.Select):
            side.meta[_TYPES] = [each.type and each.type.copy() for each in types.selects]


def _lists(query: exp.Expr) -> list[exp.In]:
    return [each for each in query.find_all(exp.In) if each.expressions]


def _sides(query: exp.Expr) -> list[exp.Expr]:
    """The sides of set operations."""
    return [
        side
        for each in query.find_all(exp.SetOperation)
        for side in (without_parentheses(each.this), without_parentheses(each.expression))
    ]


def _is_of_one_order(values: Sequence[exp.Expr]) -> bool:
    """Whether values are compared alike in whichever order they are."""
    if any(isinstance(each, exp.Literal) and len(each.name) > _MOST_DIGITS for each in values):
        return all(each.is_type(*_TEXTS) for each in values)
    kinds = [_BINARY, _TEXTS, [exp.DataType.Type.DATE], *([each] for each in _TIMES)]
    return any(all(each.is_type(*kind) for each in values) for kind in kinds)


def is_list_of_one_type(node: exp.In) -> bool:
    """Whether an IN-list is the same as ``=`` with each of its values, connected by OR."""
    return bool(node.meta_get(_ALIKE)) and not node.args.get("query")


def is_unordered_list(node: exp.In) -> bool:
    """Whether the order of an IN-list changes nothing."""
    return bool(node.meta_get(_UNORDERED))


def is_unordered_column(sides: Sequence[exp.Expr], at: int) -> bool:
    """Whether a column of a union has one type, whichever of these sides is the first.

    Fields of structs have the names that the first side gives them.
    """
    noted = [without_parentheses(each).meta_get(_TYPES) or () for each in sides]
    types = [each[at] for each in noted if at < len(each) and isinstance(each[at], exp.DataType)]
    if len(types) < len(sides) or not all(each.this in _PLAIN for each in types):
        return False
    kinds = {each.sql() for each in types if each.this != exp.DataType.Type.NULL}
    return len(sides) == 2 or len(kinds) <= 1 or all(each.is_type(*_BINARY) for each in types)


def is_true(node: exp.Expr) -> bool:
    """Whether a condition is true for each row whatever its values."""
    inner = node.unnest()
    if isinstance(inner, exp.EQ):
        sides = (inner.this.unnest(), inner.expression.unnest())
        return sides[0] == sides[1] and all(_is_plain_number(each) for each in sides)
    return isinstance(inner, exp.Boolean) and bool(inner.this)


def counts_rows(node: exp.Expr) -> bool:
    """Whether COUNT of an expression counts rows, since it is never NULL."""
    inner = node.unnest()
    return isinstance(inner, exp.Boolean) or _is_plain_number(inner)


def _is_plain_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def written_time(node: exp.Expr) -> str:
    """The type and text of a literal date or timestamp, however it is written; else nothing.

    Only for texts that are certainly a date or time: for others, casts differ in whether they fail.
    """
    if not isinstance(node, exp.Cast) or node.args.get("format") is not None:
        return ""
    text = node.this
    if not isinstance(text, exp.Literal) or not text.is_string or node.to.expressions:
        return ""
    is_day = node.to.this == exp.DataType.Type.DATE
    form = _DAY if is_day else _TIME
    if not (is_day or node.to.this in _TIMES) or form.fullmatch(text.name) is None:
        return ""
    try:
        datetime(*map(int, re.split(r"[- :]", text.name)))  # type: ignore[arg-type]  # noqa: DTZ001 - a literal has no zone
    except ValueError:
        return ""
    return f"{node.to.this.name} {text.name}"


_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.ASCII)


def without_default_frame(window: exp.Window) -> exp.Window:
    """A window without a frame that is its default (Spark's `ResolveWindowFrame`)."""
    spec = window.args.get("spec")
    plain = isinstance(window.this, exp.AggFunc) and not isinstance(window.this, _OWN_FRAMES)
    if not isinstance(spec, exp.WindowSpec) or not plain:
        return window
    kind = str(spec.args.get("kind")).upper()
    start = f"{spec.args.get('start')} {spec.args.get('start_side') or ''}".strip().upper()
    end = f"{spec.args.get('end') or 'CURRENT ROW'} {spec.args.get('end_side') or ''}"
    ordered = window.args.get("order") is not None
    default = "CURRENT ROW" if ordered else "UNBOUNDED FOLLOWING"
    kinds = ("RANGE",) if ordered else ("RANGE", "ROWS")
    others = {key for key, value in spec.args.items() if value} - _FRAME
    same = kind in kinds and start == "UNBOUNDED PRECEDING" and end.strip().upper() == default
    if not same or others:
        return window
    bare = window.copy()
    bare.set("spec", None)
    return bare


_OWN_FRAMES: Final = (exp.Lag, exp.Lead, exp.NthValue)
_FRAME: Final = frozenset({"kind", "start", "start_side", "end", "end_side"})
