"""Texts that are cast to numbers and times: Spark accepts other texts than other dialects do.

In Spark ``'2024'`` is a date, ``'2024-01-01 x'`` too, and a text of a time may name a zone. So
literals are read here, and computed texts are read in one format: others make the statement fail.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from vde_dagster.core.sql.translation.type_names import time_in
from vde_dagster.core.sql.translation.values import TRINO, call, kind_of, kind_of_type, refused


def read_text(node: exp.Cast, source: str) -> exp.Expr:
    """A cast of a text to a number or a time.

    Raises:
        Refused: It is written in a form that Spark reads otherwise.
    """
    text, to = node.this.unnest(), kind_of_type(node.to)
    if isinstance(text, exp.Parameter):
        return node
    if isinstance(text, exp.Literal):
        _refuse_form(node, text, to)
        whole = to == "decimal" and not any(each.name != "0" for each in node.to.expressions[1:])
        if whole and source in TRINO and "." in text.name:
            advice = "Write the number without quotes, or CAST(... AS DECIMAL(18, 2))"
            raise refused(node, "may be a literal with a fraction there", advice)
        return node
    if to == "date":
        return call("TO_DATE", node.this, exp.Literal.string(_DATES))
    if to in ("time", "instant"):
        node.set("this", call("TO_TIMESTAMP", node.this, exp.Literal.string(_TIMES)))
    return node


def time_of_text(node: exp.Expr, source: str) -> exp.Expr:
    """A function that makes a date or a time of a literal text.

    Raises:
        Refused: The text is computed, or written in another form than Spark's.
    """
    text = node.this.unnest()
    if node.args.get("format") is not None or kind_of(text, source) != "text":
        return node
    if isinstance(text, exp.Literal):
        _refuse_form(node, text, "time")
    elif not isinstance(text, exp.Parameter):
        advice = f"Write CAST(... AS DATE) or CAST(... AS {time_in(source)}) around the text in it"
        raise refused(node, "reads a text in more ways than one", advice)
    return node


def _refuse_form(node: exp.Expr, text: exp.Literal, to: str) -> None:
    form = _FORMS.get(to)
    if form is not None and not form.fullmatch(text.name):
        advice = "Write a date as '2024-02-29', a time as '2024-02-29 10:11:12', a number as digits"
        raise refused(node, "reads a text that Spark may read otherwise", advice)


_DATES: Final = "yyyy-MM-dd"
_TIMES: Final = "yyyy-MM-dd[[ ]['T']HH:mm[:ss[.SSSSSS]]]"
_DAY: Final = r"\d{4}-\d\d-\d\d"
_FORMS: Final = {
    "date": re.compile(_DAY),
    "time": re.compile(rf"{_DAY}([ T]\d\d:\d\d(:\d\d(\.\d{{1,6}})?)?)?"),
    "instant": re.compile(rf"{_DAY}([ T]\d\d:\d\d(:\d\d(\.\d{{1,6}})?)?)?([+]00(:00)?|Z)?"),
    "integer": re.compile(r"[+-]?\d+"),
    "decimal": re.compile(r"[+-]?\d+(\.\d+)?"),
    "double": re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?"),
    "boolean": re.compile(r"true|false|t|f", re.IGNORECASE),
}
"""Formats that dialects and Spark read alike."""
