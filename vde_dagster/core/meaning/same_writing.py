"""Other ways to write one expression, where they mean the same for all values, missing ones too."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema

_ALIKE: Final = "alike"
_NUMBERS: Final = (exp.DataType.Type.INT, exp.DataType.Type.BIGINT)
_TEXTS: Final = (exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR)


def note_lists(query: exp.Expr, *, schema: MappingSchema, dialect: str) -> None:
    """Note in which IN-lists each value is compared by itself as ``=`` would compare it.

    That is so where all have one type. Of several types Spark takes one that all fit into, and for
    two of them maybe another one.
    """
    lists = [each for each in query.find_all(exp.In) if each.expressions]
    if not lists:
        return
    typed = annotate_types(query.copy(), schema=schema, dialect=dialect)
    known = [each for each in typed.find_all(exp.In) if each.expressions]
    for node, types in zip(lists, known, strict=True):
        sides = [types.this, *types.expressions]
        for kinds in (_NUMBERS, _TEXTS):
            if all(each.is_type(*kinds) for each in sides):
                node.meta[_ALIKE] = True


def is_list_of_one_type(node: exp.In) -> bool:
    """Whether an IN-list is the same as ``=`` with each of its values, connected by OR."""
    return bool(node.meta_get(_ALIKE)) and not node.args.get("query")


def is_true(node: exp.Expr) -> bool:
    """Whether a condition holds for each row, and says so by itself."""
    inner = node.unnest()
    if isinstance(inner, exp.EQ):
        sides = (inner.this.unnest(), inner.expression.unnest())
        return sides[0] == sides[1] and all(_is_plain_number(each) for each in sides)
    return isinstance(inner, exp.Boolean) and bool(inner.this)


def counts_rows(node: exp.Expr) -> bool:
    """Whether COUNT of an expression counts rows, since it is never missing."""
    inner = node.unnest()
    return isinstance(inner, exp.Boolean) or _is_plain_number(inner)


def _is_plain_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def written_time(node: exp.Expr) -> str:
    """The type and text of a literal date or timestamp, however it is written; else nothing.

    Only of texts that are a date or time for certain: of others, casts differ in whether they fail.
    """
    if not isinstance(node, exp.Cast) or node.args.get("format") is not None:
        return ""
    text = node.this
    if not isinstance(text, exp.Literal) or not text.is_string or node.to.expressions:
        return ""
    try:
        if node.to.this == exp.DataType.Type.DATE and len(text.name) == _DATE_LENGTH:
            return f"DATE {date.fromisoformat(text.name)}"
        if node.to.this in _TIMES and len(text.name) == _TIME_LENGTH and text.name[10] == " ":
            return f"{node.to.this.name} {datetime.fromisoformat(text.name)}"
    except ValueError:
        pass
    return ""


_DATE_LENGTH: Final = len("2024-01-31")
_TIME_LENGTH: Final = len("2024-01-31 00:00:00")
_TIMES: Final = (
    exp.DataType.Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.TIMESTAMPNTZ,
)


def without_default_frame(window: exp.Window) -> exp.Window:
    """A window without a frame that it would have anyway (Spark's `ResolveWindowFrame`)."""
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
