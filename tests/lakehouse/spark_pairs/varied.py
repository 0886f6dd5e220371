"""An example over rows instead of constants: literals become columns with several values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tests.lakehouse.spark_pairs.edits import Written

_WHOLE: Final = re.compile(r"\d{1,6}")
_TEXT: Final = re.compile(r"'[^'\\]*'")


def varied(query: str) -> Iterator[str]:
    """Texts of a query with ever fewer values in place of its literals; the last is its own.

    Whether Spark accepts one is not checked: many functions require a constant.
    """
    written = Written.of(query)
    if len(written.tokens) > 1 and not any(each.text.upper() == "FROM" for each in written.tokens):
        places = [at for at in range(1, len(written.tokens)) if _is_value(written, at)]
        if places:
            yield _over_rows(written, places, (_same, _other, _null))
            yield _over_rows(written, places, (_same, _null))
    yield query


def _is_value(written: Written, at: int) -> bool:
    token, before = written.tokens[at].text, written.tokens[at - 1].text.upper()
    literal = _WHOLE.fullmatch(token) or _TEXT.fullmatch(token)
    return literal is not None and before not in _TYPED


_TYPED: Final = frozenset(("DATE", "TIMESTAMP", "INTERVAL", "X", "TIME", "AS", "LIMIT", "-", "["))
"""Words that make one literal of themselves and the next one."""


def _over_rows(written: Written, places: Sequence[int], ways: Sequence[str]) -> str:
    rows = (
        ", ".join(
            way.format(written.tokens[at].text, _changed(written.tokens[at].text)) for at in places
        )
        for way in ways
    )
    names = [f"v{number}" for number in range(len(places))]
    text = written.replaced(*((at, at, name) for at, name in zip(places, names, strict=True)))
    return f"{text} FROM VALUES {', '.join(f'({row})' for row in rows)} AS v({', '.join(names)})"


_same, _other, _null = "{0}", "{1}", "NULL"


def _changed(literal: str) -> str:
    return f"{literal}1" if literal.isdigit() else literal.swapcase()
