"""Many pairs of expressions in one query of Spark each, and those whose values differ."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.errors.exceptions.base import QueryContextType

from tests.lakehouse.spark_pairs.both_texts import FAILURES, Result, result_of
from tests.lakehouse.spark_pairs.expressions import TABLE, Pair, Shape, query_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VIEW: Final = "rows_of_pairs"
_TURNED: Final = "rows_in_another_order"
_KEYS: Final = {Shape.ROWS: "id", Shape.GROUPS: "g"}
_ANSI: Final = "spark.sql.ansi.enabled"
FEW: Final = 20
"""So many windows are asked for in one query."""
BATCH: Final = 40
"""So many pairs are asked for in one query."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A pair that gives other rows or other types, and what both give."""

    pair: Pair
    one: Result
    other: Result

    def __str__(self) -> str:
        """Both texts with what they give."""
        one, other = self.pair.queries
        return f"{one}\n  {self.one}\n{other}\n  {self.other}"


@dataclass(frozen=True, slots=True)
class Unsettled:
    """An expression whose values depend on the order of rows, and its values in two orders."""

    expression: str
    one: Sequence[object]
    other: Sequence[object]

    def __str__(self) -> str:
        """The text with what it gives."""
        return f"{self.expression}\n  {self.one}\n  {self.other}"


@dataclass(slots=True)
class Runner:
    """Runs pairs on Spark. ``ran`` counts those of which both sides gave rows."""

    spark: SparkSession
    ran: int = 0

    def differences(self, pairs: Sequence[Pair]) -> Iterator[Difference]:
        """The pairs whose sides give other rows or types; none of which a side does not run.

        What fails at a value is run again where such a value is NULL.
        """
        for shape in Shape:
            failed = [each for each in pairs if each.shape is shape]
            for strict in (True, False):
                waiting, failed = failed, []
                with _ansi(self.spark, on=strict):
                    for start in range(0, len(waiting), BATCH):
                        yield from self._of(waiting[start : start + BATCH], failed)

    def _of(self, pairs: Sequence[Pair], failed: list[Pair]) -> Iterator[Difference]:
        """Those of pairs of one shape; the ones that fail are added to the failed ones."""
        waiting = [pairs]
        while waiting:
            query = _Query.of(waiting.pop())
            try:
                unlike = self._unlike(query)
            except FAILURES as error:
                dropped, parts = query.parted(error)
                failed += dropped
                waiting += [each for each in parts if each]
            else:
                self.ran += len(query.pairs)
                yield from filter(None, map(self._alone, unlike))

    def unsettled(self, texts: Sequence[tuple[Shape, str]]) -> Iterator[Unsettled]:
        """The expressions with other values if the same rows are in another order."""
        for shape in Shape:
            alike = [text for each, text in texts if each is shape]
            for start in range(0, len(alike), FEW):
                yield from self._unsettled(shape, alike[start : start + FEW])

    def _unsettled(self, shape: Shape, texts: Sequence[str]) -> Iterator[Unsettled]:
        columns = ", ".join(f"{text} AS c{at}" for at, text in enumerate(texts))
        query = query_of(shape, f"{_KEYS[shape]} AS id, {columns}").replace(" AS c0 FROM", " FROM")
        one, other = (
            sorted(self.spark.sql(query.replace("raw.t", each)).collect(), key=lambda row: row[0])
            for each in (_VIEW, _TURNED)
        )
        for at, text in enumerate(texts, start=1):
            values = [[row[at] for row in rows] for rows in (one, other)]
            if values[0] != values[1]:
                yield Unsettled(text, *values)

    def _unlike(self, query: _Query) -> list[Pair]:
        frame = self.spark.sql(query.text)
        types = [each.dataType.simpleString() for each in frame.schema]
        rows = [[repr(value) for value in row] for row in frame.collect()]
        return [
            pair
            for at, pair in enumerate(query.pairs)
            if types[2 * at] != types[2 * at + 1]
            or any(row[2 * at] != row[2 * at + 1] for row in rows)
        ]

    def _alone(self, pair: Pair) -> Difference | None:
        """What differs where each side is a query: rows have no order."""
        one, other = (result_of(self.spark, each.replace("raw.t", _VIEW)) for each in pair.queries)
        return None if one.is_like(other) else Difference(pair, one, other)


@dataclass(frozen=True, slots=True)
class _Query:
    """The expressions of some pairs in one query, and where in its text each of them ends."""

    pairs: Sequence[Pair]
    text: str
    ends: Sequence[int]

    @staticmethod
    def of(pairs: Sequence[Pair]) -> _Query:
        text, _, behind = pairs[0].shape.value.partition("{} AS c0")
        ends = []
        for at, expression in enumerate(each for pair in pairs for each in (pair.one, pair.other)):
            text += f"{', ' if at else ''}{expression} AS c{at}"
            ends.append(len(text))
        return _Query(pairs, text + behind.replace("raw.t", _VIEW), ends)

    def parted(self, error: Exception) -> tuple[Sequence[Pair], Sequence[Sequence[Pair]]]:
        """The pairs with the expression that an error names by its place, and the others.

        Where it names none the halves of them are the others.
        """
        place = _place(error)
        at = len(self.ends) if place is None else bisect_left(self.ends, place)
        if len(self.pairs) == 1:
            return self.pairs, []
        if at == len(self.ends):
            middle = len(self.pairs) // 2
            return [], [self.pairs[:middle], self.pairs[middle:]]
        pair = self.pairs[at // 2]
        failing = [
            each for each in self.pairs if each is pair or (at % 2 == 0 and each.one == pair.one)
        ]
        return failing, [[each for each in self.pairs if each not in failing]]


def _place(error: Exception) -> int | None:
    """Where in a query's text its error is."""
    contexts = error.getQueryContext() if isinstance(error, PySparkException) else []
    for context in contexts:
        if context.contextType() is QueryContextType.SQL:
            return context.startIndex()
    found = _POSITION.search(str(error))
    return int(found[1]) if found else None


_POSITION: Final = re.compile(r"line 1,? pos (\d+)")


@contextmanager
def _ansi(spark: SparkSession, *, on: bool) -> Iterator[None]:
    before = spark.conf.get(_ANSI)
    spark.conf.set(_ANSI, str(on).lower())
    try:
        yield
    finally:
        spark.conf.set(_ANSI, before or "true")


@contextmanager
def runner(spark: SparkSession) -> Iterator[Runner]:
    """Runs pairs over the table that they are written for."""
    spark.sql(TABLE).createOrReplaceTempView(_VIEW)
    spark.sql(f"{TABLE} ORDER BY z % 5, id DESC").createOrReplaceTempView(_TURNED)
    yield Runner(spark)
    for each in (_VIEW, _TURNED):
        spark.catalog.dropTempView(each)
