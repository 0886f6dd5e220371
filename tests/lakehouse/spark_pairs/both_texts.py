"""Runs two texts of one query on Spark, and compares their results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


FAILURES: Final = (PySparkException, Py4JJavaError)
"""How Spark refuses a query; the second one is that of an error inside of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What Spark answers: names and types of columns and the multiset of rows, or why not."""

    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    error: str = ""

    def __str__(self) -> str:
        """The types and the rows."""
        return self.error or f"{', '.join(self.types)}: {' '.join(self.rows)}"

    def is_like(self, other: Result, *, rows: bool = True) -> bool:
        """Whether types and rows are the same, whatever the columns are called."""
        return self.types == other.types and (not rows or self.rows == other.rows)


def result_of(spark: SparkSession, query: str) -> Result:
    """Run a query. Types are written in full, with the names of the fields of structs."""
    try:
        frame = spark.sql(query)
        return Result(
            names=tuple(frame.columns),
            types=tuple(each.dataType.simpleString() for each in frame.schema),
            rows=tuple(sorted(_rows(frame))),
        )
    except FAILURES as error:
        return Result(error=_BLANKS.sub(" ", str(error))[:MOST_OF_AN_ERROR])


def _rows(frame: DataFrame) -> list[str]:
    """Each row as a text, so that NaN equals itself."""
    try:
        return [repr(tuple(row)) for row in frame.collect()]
    except (PySparkException, ValueError, OverflowError):
        # Python has no such value: intervals of months, years beyond 9999.
        shown = frame.toDF(*[f"c{at}" for at in range(len(frame.columns))])
        return str(shown._jdf.showString(MOST_ROWS, 0, False)).splitlines()


MOST_ROWS: Final = 10_000
MOST_OF_AN_ERROR: Final = 300
_BLANKS: Final = re.compile(r"\s+")
