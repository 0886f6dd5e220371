"""Edits of examples that a verdict calls the same, and what Spark gives for them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException

from tests.lakehouse.spark_pairs.both_texts import Result, result_of
from tests.lakehouse.spark_pairs.edits import Edit, edited
from tests.lakehouse.spark_pairs.examples import Example
from tests.lakehouse.spark_pairs.named import with_names
from tests.lakehouse.spark_pairs.varied import varied
from tests.lakehouse.spark_pairs.verdicts import Judge, data_hash, is_deterministic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EDITS: Final = 12
"""So many edits are made of each example."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """An example and an edit of it that gives something else, and what both give."""

    query: str
    written: Result
    edited: str
    given: Result

    def __str__(self) -> str:
        """Both texts with what they give."""
        return f"{self.query}\n  {self.written}\n{self.edited}\n  {self.given}"


@dataclass(slots=True)
class Documented:
    """Edits examples and runs them. ``judged`` counts the pairs, ``ran`` those that were run."""

    spark: SparkSession
    judge: Judge = data_hash
    judged: int = 0
    ran: int = 0

    def wrong(self, examples: Iterable[Example]) -> Iterator[Unlike]:
        """The edits that are called the same as their example, and are not."""
        for example in examples:
            for query in varied(named(self.spark, example.query)):
                written = result_of(self.spark, query)
                if not written.error:
                    yield from self._of(query, written)
                    break

    def _of(self, query: str, written: Result) -> Iterator[Unlike]:
        equal = self._called_equal(query, edits_of(query))
        settled = not equal or is_deterministic(query)
        for other in equal:
            given = result_of(self.spark, other)
            if not given.error:
                self.ran += 1
                if not given.is_like(written, rows=settled):
                    yield Unlike(query, written, other, given)

    def _called_equal(self, query: str, others: Sequence[str]) -> list[str]:
        verdict = self.judge(query)
        verdicts = {each: self.judge(each) for each in others} if verdict is not None else {}
        self.judged += sum(each is not None for each in verdicts.values())
        return [each for each, found in verdicts.items() if found == verdict]


def named(spark: SparkSession, query: str) -> str:
    """An example whose columns all have names; its own text where Spark does not take it."""
    try:
        return with_names(query, spark.sql(query).columns)
    except PySparkException:
        return query


def edits_of(query: str) -> list[str]:
    """Other texts than an example, each an edit of it; the same in every run."""
    choices = random.Random(query)
    found = {edited(query, choices, list(Edit)) for _ in range(EDITS)}
    return sorted(found - {query})
