"""Expressions whose values may depend on the order of rows: windows and lists."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

from tests.lakehouse.spark_pairs.expressions import Shape

_KEYS: Final[Mapping[str, Sequence[str]]] = {
    "": ("id",),
    "g": ("g", "t.g", "G", "g + 0", "g, 1", "coalesce(g, 0)"),
    "k": ("k", "K DESC", "-k", "k, k"),
    "id": ("id", "1"),
}
"""What rows may be ordered by where a column parts them: they are equal within a part."""
_ANYWHERE: Final[Sequence[str]] = (
    *("id", "id", "id DESC", "g, id", "k DESC, id", "-id", "1", "NULL", "'a'", "true", "1 + 1"),
    *("(SELECT 1)", "CAST('2024-01-01' AS DATE)", "concat('a', 'b')"),
)
"""What rows may be ordered by anywhere: `id` is another one in each row, the others are constant.

That ties of other columns do not count is for the author to know.
"""
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
    *("nth_value(x, 2)", "any_value(s)", "cume_dist()", "min_by(s, id)"),
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
    *("max_by(s, id)", "listagg(s)", "listagg(s, '-') WITHIN GROUP (ORDER BY id)", "mode(k)"),
    *("sort_array(collect_set(x))", "size(collect_list(x))", "last(s)", "max(struct(k, id))"),
    *("min_by(x, id)", "element_at(collect_list(x), 1)", "count(DISTINCT x)", "array_agg(x)[0]"),
)


def loose(seed: int) -> tuple[Shape, str]:
    """An expression, mostly one with ties; the same for one seed everywhere."""
    choices = random.Random(seed)
    if choices.random() < 0.2:
        return Shape.GROUPS, choices.choice(_GROUPED)
    call, part = choices.choice(_WINDOWED), choices.choice(list(_KEYS))
    frame = "" if call in _UNFRAMED else choices.choice(_FRAMES)
    order = f"ORDER BY {choices.choice((*_KEYS[part], *_ANYWHERE))}"
    if call not in _UNFRAMED and choices.random() < 0.1:
        order = frame = ""
    return Shape.ROWS, f"{call} OVER ({f'PARTITION BY {part} ' if part else ''}{order}{frame})"
