"""Expressions with the same value in each row, as far as that is known; and texts made of them.

Spark replaces texts such as 'today' by the current time if they are cast to a date or timestamp,
also computed ones as long as no column is among them (its rule SpecialDatetimeValues).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from vde_dagster.core.sql.spark.functions import SCALARS

_SPECIAL_TIME: Final = re.compile(
    r"\s*(now|today|tomorrow|yesterday)(?![a-z])\s*\S*\s*", re.IGNORECASE
)
"""Texts that Spark replaces by the current time if they are cast to a date or timestamp; a zone
may follow. `epoch` is always the same instant."""
_SOME_DAY: Final = "1970-01-01"
_VARYING: Final = (
    exp.AggFunc,
    exp.Anonymous,
    exp.Column,
    exp.ExplodeOuter,
    exp.Query,
    exp.Star,
    exp.UDTF,
    exp.Window,
)
"""Nodes whose value depends on rows, or that make rows."""
_MAKING_TEXTS: Final = (
    exp.Chr,
    exp.Concat,
    exp.ConcatWs,
    exp.DPipe,
    exp.Decode,
    exp.Format,
    exp.Initcap,
    exp.JSONExtract,
    exp.JSONExtractScalar,
    exp.Left,
    exp.Lower,
    exp.Overlay,
    exp.Pad,
    exp.RegexpExtract,
    exp.RegexpReplace,
    exp.Repeat,
    exp.Replace,
    exp.Reverse,
    exp.Right,
    exp.SplitPart,
    exp.Stuff,
    exp.Substring,
    exp.SubstringIndex,
    exp.Translate,
    exp.Trim,
    exp.Unhex,
    exp.Upper,
)
_UNREAD_TEXTS: Final = frozenset(
    {"btrim", "char", "elt", "from_utf8", "mask", "printf", "replace", "url_decode", "xpath_string"}
)
"""Functions without a class that make texts."""
_CALLING: Final = (exp.Bracket, exp.Dot, exp.Func)
_CHOOSING: Final = (exp.Case, exp.Coalesce, exp.Greatest, exp.If, exp.Least, exp.Nullif)
"""Nodes with the value of one of their operands."""
_FROM_ROWS: Final = (exp.AggFunc, exp.ExplodeOuter, exp.UDTF, exp.Window)
_TEXTS: Final = (exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR, exp.DataType.Type.UNKNOWN)
_BYTES: Final = (exp.DataType.Type.BINARY, exp.DataType.Type.VARBINARY)


def is_constant(node: exp.Expr) -> bool:
    """Whether an expression names no column and no query, and makes no rows."""
    return not any(isinstance(each, _VARYING) for each in node.walk())


def orders_nothing(keys: Sequence[exp.Expr], equal: Collection[exp.Expr] = ()) -> bool:
    """Whether keys of an order are the same in all rows that they order.

    Args:
        keys: As written, perhaps with a direction; not as numbers of columns.
        equal: Expressions that are equal in all these rows, such as those of PARTITION BY.
    """
    plain = (key.this if isinstance(key, exp.Ordered) else key for key in keys)
    same = [each.unnest() for each in equal]
    return all(isinstance(key.unnest(), exp.Query) or _is_made_of(key, same) for key in plain)


def _is_made_of(key: exp.Expr, equal: Collection[exp.Expr]) -> bool:
    """Whether an expression consists of these and of constants only."""
    nodes = key.walk(prune=lambda each: each in equal)
    return not any(isinstance(each, _VARYING) for each in nodes if each not in equal)


def is_special_time(node: exp.Expr) -> bool:
    """Whether an expression is a text that Spark may replace by the current time."""
    written = isinstance(node, exp.Literal | exp.RawString)
    if not written and not ((_makes_text(node) or _is_read_text(node)) and _is_folded(node)):
        return False
    text = _text(node)
    return text is None or _SPECIAL_TIME.fullmatch(text) is not None


def _makes_text(node: exp.Expr) -> bool:
    unread = isinstance(node, exp.Anonymous) and node.name.lower() in _UNREAD_TEXTS
    return unread or isinstance(node, _MAKING_TEXTS)


def _is_read_text(node: exp.Expr) -> bool:
    """Whether a call may make a text of texts that something may then read as a time.

    That is anything but another text, or the plain result of a query.
    """
    if not isinstance(node, _CALLING) or isinstance(node, (*_CHOOSING, *_FROM_ROWS)):
        return False
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    if around is None or isinstance(around, exp.Alias | exp.Select) or _makes_text(around):
        return False
    nameless = isinstance(node, exp.Anonymous) and node.name.lower() not in SCALARS
    if (
        nameless
        or not _is_folded(node)
        or not any(
            isinstance(each, exp.HexString | exp.RawString) or each.is_string
            for each in node.walk()
        )
    ):
        return False
    return annotate_types(node.copy(), dialect="spark").is_type(*_TEXTS)


def _is_folded(node: exp.Expr) -> bool:
    """Whether a text depends on literals alone, so that Spark computes it before it reads rows."""
    return not any(
        isinstance(each, exp.Column | exp.Star | exp.Query | exp.Lambda) for each in node.walk()
    )


def _text(written: exp.Expr | None) -> str | None:
    """The value of a text; None if it is not analysed. A time macro stands for some day."""
    node = written.unnest() if written is not None else None
    match node:
        case exp.Literal() | exp.RawString():
            return str(node.this)
        case exp.Parameter() | exp.TimeToStr() if not _has_quotes(node.args.get("format")):
            return _SOME_DAY
        case exp.Cast() if node.to.this in _TEXTS:
            return _text_of(node.this)
        case exp.Concat() | exp.DPipe():
            return _joined(node)
        case exp.Lower() | exp.Upper() | exp.Reverse() | exp.Trim():
            inner = _text(node.this)
            plain = not isinstance(node, exp.Trim) or set(node.args) <= {"this"}
            return None if inner is None or not plain else _CHANGED[type(node)](inner)
        case _:
            return None


def _has_quotes(format_: exp.Expr | None) -> bool:
    """Whether a format may have words of its own in it."""
    return format_ is not None and (not isinstance(format_, exp.Literal) or "'" in format_.name)


def _text_of(node: exp.Expr) -> str | None:
    """The text of a value; that of a number or time has no words in it."""
    text = _text(node)
    if text is not None:
        return text
    typed = annotate_types(node.copy(), dialect="spark")
    return None if typed.is_type(*_TEXTS, *_BYTES) else _SOME_DAY


def _joined(node: exp.Expr) -> str | None:
    parts = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    texts = [_text(each) for each in parts]
    if texts and texts[0] is not None and re.match(r"\s*[^\sntyNTY]", texts[0]):
        return texts[0]  # whatever follows it
    known = [each for each in texts if each is not None]
    return "".join(known) if len(known) == len(texts) else None


_CHANGED: Final[dict[type[exp.Expr], Callable[[str], str]]] = {
    exp.Lower: str.lower,
    exp.Upper: str.upper,
    exp.Reverse: lambda text: text[::-1],
    exp.Trim: str.strip,
}
