"""The examples of Spark's own documentation: `DESCRIBE FUNCTION EXTENDED` of every function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Example:
    """A query that the documentation of a function shows."""

    function: str
    query: str


def examples_of(spark: SparkSession) -> list[Example]:
    """The examples of the Spark that is installed, each query once."""
    found: dict[str, Example] = {}
    for (name,) in spark.sql("SHOW FUNCTIONS").collect():
        described = spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect()
        for query in queries_in("\n".join(row[0] for row in described)):
            found.setdefault(query, Example(name, query))
    return list(found.values())


def queries_in(documentation: str) -> Iterator[str]:
    """The queries behind ``>`` in a function's documentation, each without its semicolon."""
    for found in _EXAMPLE.finditer(documentation):
        yield found[1].strip()


_EXAMPLE: Final = re.compile(
    r"^ *> ((?:SELECT|WITH|FROM|VALUES)\b.*?); *$", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
