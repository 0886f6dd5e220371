"""A session that interprets its queries, in tests that ask very many of few rows each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tests.depth import is_full

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOT_ADAPTIVE: Final = {"spark.sql.adaptive.enabled": "false"}
_NOT_COMPILED: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def interpreted(spark: SparkSession, *, adaptive: bool = False) -> Iterator[None]:
    """Have Spark interpret queries: for a few rows, to compile them takes longer than all else.

    Args:
        spark: The session.
        adaptive: Whether it goes on planning while a query runs, as it does for users.
    """
    settings = _NOT_COMPILED if adaptive else _NOT_COMPILED | _NOT_ADAPTIVE
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, found in before.items():
            if found is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, found)


@contextmanager
def interpreted_in_short_form(
    spark: SparkSession, *, adaptive: bool = False
) -> Iterator[SparkSession]:
    """A session that interprets queries in the short form, and compiles them in the full one."""
    if is_full():
        yield spark
        return
    with interpreted(spark, adaptive=adaptive):
        yield spark
