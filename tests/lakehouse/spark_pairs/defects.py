"""Verdicts with a defect each: they miss one thing that the rows of a query depend on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp, parse_one

from tests.lakehouse.spark_pairs.edits import Written
from tests.lakehouse.spark_pairs.verdicts import Judge, data_hash
from tests.lakehouse.spark_pairs.words import PREFIXES
from vde_dagster.core.sql.errors import SQL_ERRORS

_NUMBER: Final = re.compile(r"(?<![\w'])\d+(?:\.\d+)?(?!\w)")
_TEXT: Final = re.compile(r"'[^']*'")
_TYPE: Final = re.compile(r"\b(?:bigint|int|string|double)\b", re.IGNORECASE)
_LEVEL: Final = re.compile(r"[+\-]|(?<!\()\*|[&|^]|<<|>>")
_COMPARISON: Final = re.compile(r"<=>|<>|!=|[<>]=?|=")


def _seeing(change: Callable[[str], str]) -> Judge:
    """The real verdict, shown queries in which something is changed."""
    return lambda query: data_hash(change(query))


def _without_parentheses(query: str) -> str:
    written = Written.of(query)
    return written.replaced(
        *(
            (at, at, " ")
            for opening in written.groups()
            for at in (opening, written.partner[opening])
        )
    )


def _parsed_elsewhere(query: str) -> str | None:
    """The precedence of another dialect decides, and parentheses are no part of what is hashed."""
    try:
        tree = parse_one(query, dialect="spark")
    except SQL_ERRORS:
        return None
    return repr(tree.transform(lambda node: node.unnest() if isinstance(node, exp.Paren) else node))


def _without_signs(query: str) -> str:
    written = Written.of(query)
    return written.replaced(
        *(
            (at, at, " ")
            for at, token in enumerate(written.tokens)
            if token.text.upper() in PREFIXES and at and not written.is_operand(at - 1)
        )
    )


def _in_no_order(query: str) -> str:
    return " ".join(sorted(each.text for each in Written.of(query).tokens))


DEFECTS: Final[Mapping[str, Judge]] = {
    "parentheses do not count": _seeing(_without_parentheses),
    "precedence is that of another dialect": _parsed_elsewhere,
    "signs in front do not count": _seeing(_without_signs),
    "the case of names and texts does not count": _seeing(str.lower),
    "numbers do not count": _seeing(lambda query: _NUMBER.sub("1", query)),
    "texts do not count": _seeing(lambda query: _TEXT.sub("'a'", query)),
    "types do not count": _seeing(lambda query: _TYPE.sub("int", query)),
    "operators do not count": _seeing(lambda query: _LEVEL.sub("+", query)),
    "comparisons do not count": _seeing(lambda query: _COMPARISON.sub("=", query)),
    "the order of operands and arguments does not count": _in_no_order,
}
