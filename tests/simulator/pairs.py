"""Which steps came in some histories, and which of them next to each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tests.simulator.single import ACTS, COLUMNS, EDITS, MEDDLINGS
from tests.simulator.steps import History
from tests.simulator.written import kind_of

Pairs = Counter[tuple[str, str]]
_NAMED = 12
"""How many kinds that never came next are named; of more their number says enough."""

KINDS = (
    *("land", "land late", "correct", "lose a row", "lose hours", "compact", "expire"),
    *("signal", "jump", "heed", "tick", "at once"),
    *(f"source: {how}" for how in COLUMNS),
    *dict.fromkeys(ACTS),
    *dict.fromkeys(f"edit: {how}" for how in (*EDITS, "back")),
    *dict.fromkeys(f"others: {how}" for how in MEDDLINGS),
)
"""Everything that a step can be."""


def pairs_of(history: History) -> Pairs:
    """How often one kind of step came right after another one."""
    return Counter(pairwise(kind_of(each) for each in history.steps))


def coverage(found: Pairs) -> Iterator[str]:
    """Lines for people: how often each kind of step came, and which never followed it."""
    totals = Counter[str]()
    for (_, second), count in found.items():
        totals[second] += count
    came = len(found.keys() & {(one, other) for one in KINDS for other in KINDS})
    yield f"Neighbours: {came:,} of {len(KINDS) ** 2:,} pairs of kinds of steps came."
    for kind in KINDS:
        never = [other for other in KINDS if (kind, other) not in found]
        named = f": {', '.join(never)}" if 0 < len(never) <= _NAMED else ""
        yield f"{totals[kind]:7,} {kind}; {len(never)} kinds never came next{named}"
