"""Comparisons with ``@end_epoch`` and ``@end_millis`` that leave out the end of an interval.

These macros are whole numbers, of the last second and of the last millisecond of the range. What
has fractions of them is later than the macro for the rest of that second, and so is what counts in
smaller units than the macro.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from vde_dagster.core.dsha import Column
from vde_dagster.core.errors import Finding
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import schema_of
from vde_dagster.core.sql.macros import macros_in
from vde_dagster.core.sql.unresolved import line_of

WHOLE_UNITS: Final = {"end_epoch": "second", "end_millis": "millisecond"}
"""The macros that are whole numbers of a unit, with this unit."""
_COMPARISONS: Final = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_FRACTIONS: Final = (exp.DataType.Type.FLOAT, exp.DataType.Type.DOUBLE)


def cut_off(query: exp.Query, schemas: Mapping[ModelName, Sequence[Column]]) -> Iterator[Finding]:
    """The comparisons of a query that leave out rows at the end of each interval.

    Args:
        query: In its canonical form, with its time macros.
        schemas: The columns of what it reads.
    """
    if not any(name in WHOLE_UNITS for name, _ in macros_in(query)):
        return
    typed = annotate_types(query.copy(), schema=schema_of(schemas, "spark"), dialect="spark")
    for name, macro in macros_in(typed):
        if name not in WHOLE_UNITS:
            continue
        bound, is_scaled = _bound(macro)
        comparison = bound.parent
        if not isinstance(comparison, _COMPARISONS):
            continue
        if is_scaled or _has_fractions(_other(comparison, bound)):
            yield _finding(name, comparison, is_scaled=is_scaled)


def _bound(macro: exp.Expr) -> tuple[exp.Expr, bool]:
    """The side of a comparison that is a macro, and whether it is in smaller units than that."""
    node, is_scaled = macro, False
    while isinstance(node.parent, exp.Paren | exp.Cast | exp.Mul):
        node = node.parent
        is_scaled = is_scaled or isinstance(node, exp.Mul)
    return node, is_scaled


def _other(comparison: exp.Expr, bound: exp.Expr) -> exp.Expr:
    """What is compared with a bound."""
    left: exp.Expr = comparison.this
    return comparison.expression if left is bound else left


def _has_fractions(value: exp.Expr) -> bool:
    """Whether a value is of a type that has fractions of a unit, as far as that is known."""
    kind = value.type
    if not isinstance(kind, exp.DataType):
        return False
    if kind.this == exp.DataType.Type.DECIMAL:
        scale = kind.expressions[1:]
        return bool(scale) and scale[0].name != "0"
    return kind.this in _FRACTIONS


def _finding(name: str, comparison: exp.Expr, *, is_scaled: bool) -> Finding:
    unit = WHOLE_UNITS[name]
    end = f"CAST(@{name} + 1 AS BIGINT) * ..." if is_scaled else f"@{name} + 1"
    start = name.replace("end", "start")
    low = f"value >= @{start} AND " if isinstance(comparison, exp.Between) else ""
    what = "is multiplied here" if is_scaled else "is compared with a value that has fractions"
    return Finding(
        message=f"@{name} is the last whole {unit} of the interval; it {what}, so rows that are "
        f"later in that {unit} would be left out",
        advice=f"Compare with the next {unit}: `{low}value < {end}`.",
        line=line_of(comparison),
    )
