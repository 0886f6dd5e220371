"""How SQL writes lengths of time and units to truncate to, as Spark reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from sqlglot import exp

from vde_dagster.core.time.grains import Grain

Duration = tuple[int, timedelta]
"""Months, and what has a fixed length."""


def duration(node: exp.Expr) -> Duration | None:
    """The months and the fixed length of an INTERVAL; None where it is none, or not constant."""
    if not isinstance(node, exp.Interval):
        return None
    written = node.this.unnest() if isinstance(node.this, exp.Expr) else None
    unit = node.args.get("unit")
    if isinstance(written, exp.Literal) and written.is_string and unit is None:
        return _spelled_duration(written.name)
    count = _whole(written) if written is not None else None
    if count is None or not isinstance(unit, exp.Var):
        return None
    return times(count, unit.name)


def whole_number(node: exp.Expr | None) -> int | None:
    """The value of an expression of whole numbers; None for all others."""
    match node:
        case exp.Paren():
            return whole_number(node.this)
        case exp.Neg():
            inner = whole_number(node.this)
            return None if inner is None else -inner
        case exp.Mul():
            left, right = whole_number(node.left), whole_number(node.right)
            return None if left is None or right is None else left * right
        case exp.Literal() if not node.is_string and _DIGITS.fullmatch(node.name):
            return int(node.name)
        case _:
            return None


def grain_of(unit: exp.Expr | None, *, names: Mapping[str, Grain]) -> Grain | None:
    """The grain that a truncation names; None where Spark knows none of this name."""
    return names.get(unit.name.upper()) if unit is not None else None


_ABBREVIATIONS: Final[Mapping[str, Grain]] = {
    "YYYY": Grain.YEAR,
    "YY": Grain.YEAR,
    "MM": Grain.MONTH,
    "MON": Grain.MONTH,
    "DD": Grain.DAY,
}
DATE_TRUNC_NAMES: Final[Mapping[str, Grain]] = {**Grain.__members__, **_ABBREVIATIONS}
"""What Spark's DATE_TRUNC of timestamps knows."""
TRUNC_NAMES: Final[Mapping[str, Grain]] = {
    name: grain for name, grain in DATE_TRUNC_NAMES.items() if grain > Grain.DAY
}
"""What Spark's TRUNC of dates knows; it gives NULL for every other name."""

_DIGITS: Final = re.compile("[0-9]{1,18}")
_SPELLED: Final = re.compile(r"\s*([+-]?[0-9]{1,9})\s+([a-zA-Z]+)\s*,?")


def times(count: int, unit: str) -> Duration | None:
    """So many units, such as days or MONTH; None for a unit that SQL does not know.

    Raises:
        OverflowError: No length of time is that long.
    """
    grain = Grain.__members__.get(unit.upper().removesuffix("S"))
    if grain is None:
        return None
    return (count * grain.months, timedelta(0)) if grain.months else (0, count * grain.longest)


def _spelled_duration(text: str) -> Duration | None:
    """An interval such as ``1 day 2 hours``."""
    position, months, length = 0, 0, timedelta(0)
    while position < len(text):
        found = _SPELLED.match(text, position)
        part = times(int(found[1]), found[2]) if found is not None else None
        if found is None or part is None:
            return None
        months, length = months + part[0], length + part[1]
        position = found.end()
    return (months, length) if text.strip() else None


def _whole(node: exp.Expr) -> int | None:
    """The number of an interval, which may stand in quotes."""
    if isinstance(node, exp.Literal) and node.is_string:
        found = re.fullmatch(r"\s*([+-]?[0-9]{1,9})\s*", node.name)
        return int(found[1]) if found is not None else None
    return whole_number(node)
