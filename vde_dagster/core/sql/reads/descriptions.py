"""Parts of queries as texts in messages."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp


def described(node: exp.Expr) -> str:
    """A part of a query for messages, shortened if it is long."""
    copy = node.copy()
    for each in list(copy.find_all(exp.Identifier)):
        each.set("quoted", not _PLAIN.fullmatch(each.name))
    for macro in list(copy.find_all(exp.Parameter)):
        name = exp.Var(this=f"@{macro.name}")
        copy = name if macro is copy else copy
        macro.replace(name)
    text = copy.sql(dialect="spark")
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}..."


_PLAIN: Final = re.compile("[a-z_][a-z0-9_]*")
_LONG: Final = 60
