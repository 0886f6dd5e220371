"""Expressions whose values may follow from how rows happen to lie: windows and lists."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from tests.lakehouse.spark_pairs.expressions import Shape

_KEYS: Final[Sequence[str]] = (
    *(
        "id",
        "g",
        "k",
        "1",
        "NULL",
        "'a'",
        "g, id",
        "k, g",
        "x, y",
        "g + 0",
        "id DESC",
        "w",
        "id % 2",
    ),
    *("(SELECT 1)", "CASE WHEN id > 5 THEN 1 END", "upper(w)", "k DESC, id", "true", "abs(id)"),
)
_PARTS: Final[Sequence[str]] = ("", "PARTITION BY g ", "PARTITION BY k ", "PARTITION BY id ")
_WINDOWED: Final[Sequence[str]] = (
    *("row_number()", "rank()", "dense_rank()", "ntile(2)", "lag(x)", "lead(s, 1)", "sum(x)"),
    *(
        "first_value(x)",
        "last_value(s)",
        "count(*)",
        "max(x)",
        "collect_list(id)",
        "percent_rank()",
    ),
    *("nth_value(x, 2)", "any_value(s)", "cume_dist()", "min_by(s, k)"),
)
_FRAMES: Final[Sequence[str]] = (
    *("", "", " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", " ROWS 1 PRECEDING"),
    " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
)
_UNFRAMED: Final = frozenset((*_WINDOWED[:6], "percent_rank()", "cume_dist()"))
"""Functions that take no frame."""
_GROUPED: Final[Sequence[str]] = (
    *(
        "first(x)",
        "collect_list(x)",
        "array_sort(collect_list(x))",
        "collect_set(k)",
        "any_value(s)",
    ),
    *("max_by(s, {key})", "listagg(s)", "listagg(s, '-') WITHIN GROUP (ORDER BY {key})", "mode(x)"),
    *("sort_array(collect_set(x))", "size(collect_list(x))", "last(s)", "max(struct(k, id))"),
    *("min_by(x, id)", "element_at(collect_list(x), 1)", "count(DISTINCT x)", "array_agg(x)[0]"),
)


def loose(seed: int) -> tuple[Shape, str]:
    """An expression, mostly one with ties; the same for one seed everywhere."""
    choices = random.Random(seed)
    if choices.random() < 0.3:
        return Shape.GROUPS, choices.choice(_GROUPED).format(key=choices.choice(("id", "k", "x")))
    call = choices.choice(_WINDOWED)
    frame = "" if call in _UNFRAMED else choices.choice(_FRAMES)
    order = f"ORDER BY {choices.choice(_KEYS)}"
    if choices.random() < 0.1:
        order = frame = ""
    return Shape.ROWS, f"{call} OVER ({choices.choice(_PARTS)}{order}{frame})"
