# ruff: noqa: E501 - rows of tables stay on one line
"""Parentheses where operators meet that do not bind alike everywhere, and those that say nothing.

Spark's own order (`valueExpression` of its grammar, from tight to loose): the signs, ``* / % DIV``,
``+ - ||`` side by side, the shifts, ``&``, ``^``, ``|``, and all comparisons side by side. A number
takes its minus with it, so ``-1::string`` is a cast of -1.
"""

from __future__ import annotations

from tests.core.planning.changes.pairs_same import Pair


def _of(expression: str) -> str:
    return f"SELECT {expression} AS k FROM raw.t"


_EXPRESSIONS: list[Pair] = [
    ("a sum next to a concatenation", "b || a + c", "b || (a + c)"),
    ("a difference next to a concatenation", "b || a - c", "b || (a - c)"),
    ("a concatenation next to a sum", "a + b || c", "a + (b || c)"),
    ("a product of a concatenation", "a * b || c", "a * (b || c)"),
    ("OR and AND of bits", "a | 2 & 4", "(a | 2) & 4"),
    ("AND and OR of bits", "a & 2 | 4", "a & (2 | 4)"),
    ("AND and a shift", "a & 2 << 1", "(a & 2) << 1"),
    ("a shift and AND", "a << 1 & 2", "a << (1 & 2)"),
    ("a shift to the right and OR", "a | 2 >> 1", "(a | 2) >> 1"),
    ("XOR and AND of bits", "a ^ 2 & 4", "(a ^ 2) & 4"),
    ("OR and XOR of bits", "a | 2 ^ 4", "(a | 2) ^ 4"),
    ("a shift and a sum", "a << 1 + 2", "(a << 1) + 2"),
    ("AND of bits and a sum", "a & 1 + 2", "(a & 1) + 2"),
    ("a concatenation and a shift", "a || 1 << 2", "(a || 1) << 2"),
    ("the sign of a cast", "-1::string", "-(1::string)"),
    ("the sign of a column and a cast", "-a::string", "(-a)::string"),
    ("turned bits and a cast", "~a::string", "(~a)::string"),
    ("comparisons of comparisons", "a = c < TRUE", "(a = c) < TRUE"),
    ("comparisons of comparisons from the right", "a = c < TRUE", "a = (c < TRUE)"),
    ("a comparison and IS", "a = c IS NULL", "a = (c IS NULL)"),
    ("a comparison and IN", "a = c IN (TRUE)", "(a = c) IN (TRUE)"),
    ("the sides of comparisons of comparisons", "a = c < TRUE", "c < TRUE = a"),
]  # fmt: skip

OTHER: list[Pair] = [
    *((sentence, _of(one), _of(other)) for sentence, one, other in _EXPRESSIONS),
    ("bits among bits and bits of a sub-query", _of("a | 2 & 4"), "SELECT q.l & 4 AS k FROM (SELECT a | 2 AS l FROM raw.t) AS q"),
    ("a condition on bits", "SELECT a FROM raw.t WHERE a | 2 & 4 = 4", "SELECT a FROM raw.t WHERE (a | 2) & 4 = 4"),
    ("bits in a query that is not looked into", "SELECT * FROM (SELECT a, b FROM raw.t) PIVOT (SUM(a | 2 & 4) FOR b IN ('p' AS p))", "SELECT * FROM (SELECT a, b FROM raw.t) PIVOT (SUM((a | 2) & 4) FOR b IN ('p' AS p))"),
]  # fmt: skip
"""Texts whose parentheses stand where parsers differ."""

_HARMLESS: list[Pair] = [
    ("a column among operators on bits", "a | 2 & 4", "(a) | (2) & (4)"),
    ("calls among operators on bits", "ABS(a) | 2 & 4", "(ABS(a)) | 2 & 4"),
    ("a whole column of bits", "a | 2 & 4", "(a | 2 & 4)"),
    ("arguments of bits", "ABS(a | 2 & 4)", "ABS((a | 2 & 4))"),
    ("a chain of one operator on bits", "a | 2 | 4", "(a | 2) | 4"),
    ("a chain of concatenations", "b || a || c", "(b || a) || c"),
    ("a product in a sum", "a * c + 1", "(a * c) + 1"),
    ("a quotient in a difference", "a - c / 2", "a - (c / 2)"),
    ("the sign of a product", "-a * c", "(-a) * c"),
    ("a sum that is compared", "a + c > 1", "(a + c) > 1"),
    ("bits that are compared", "a & 2 = 2", "(a & 2) = 2"),
    ("two parentheses around operators on bits", "(a | 2) & 4", "((a | 2)) & 4"),
    ("a sum that is cast", "CAST(a + c AS STRING)", "(a + c)::STRING"),
    ("comparisons among truths", "a > 1 AND c > 1 OR a = c", "((a > 1) AND (c > 1)) OR (a = c)"),
    ("what is not so", "NOT a = c", "NOT (a = c)"),
]  # fmt: skip

SAME: list[Pair] = [
    *((f"parentheses around {each}", _of(one), _of(other)) for each, one, other in _HARMLESS),
    (
        "parentheses and a sub-query",
        _of("(a | 2) & 4"),
        "SELECT q.l & 4 AS k FROM (SELECT a | 2 AS l FROM raw.t) AS q",
    ),
]
"""Texts whose parentheses say nothing in any dialect."""
