"""Pairs that a verdict calls the same, and what Spark gives for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.lakehouse.spark_pairs.expressions import Pair
from tests.lakehouse.spark_pairs.verdicts import Judge, data_hash


@dataclass(slots=True)
class Judged:
    """Pairs by their verdict; pairs that are refused have none."""

    equal: list[Pair] = field(default_factory=list)
    different: list[Pair] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many pairs have a verdict."""
        return len(self.equal) + len(self.different)


def judged(pairs: Iterable[Pair], judge: Judge = data_hash) -> Judged:
    """Ask for the verdict of each pair; no Spark is needed for it."""
    found, known = Judged(), dict[str, str | None]()
    for pair in pairs:
        for query in pair.queries:
            if query not in known:
                known[query] = judge(query)
        one, other = (known[query] for query in pair.queries)
        if one is not None and other is not None:
            (found.equal if one == other else found.different).append(pair)
    return found


def shortest(differences: Iterable[object], most: int = 20) -> Iterator[str]:
    """What is wrong, the shortest first, as a readable text."""
    yield from sorted(map(str, differences), key=len)[:most]
