"""Proof of "what runs is what was written": the examples of Spark's own documentation.

Each example is the query of a model in Spark's dialect. What is rendered to run stands beside the
example's own text, both are run, and nothing may differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.core.rendered import full, render
from tests.lakehouse.spark_pairs.beside import Result, result_of
from tests.lakehouse.spark_pairs.examples import examples_of
from tests.lakehouse.spark_pairs.named import with_names
from vde_dagster.core.errors import Refused
from vde_dagster.core.sql.rendering import spark_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST = 1_000
"""So many examples at least are run in both texts: others need files or settings."""
RUNS = 3
"""So often a text is run whose rows may be others in each run."""


def text_that_runs(query: str) -> str:
    """What Spark is given for a model of this query."""
    return spark_text(render(full(query)).query)


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_each_example_of_sparks_documentation_runs_as_it_is_written(spark: SparkSession) -> None:
    wrong, compared = [], 0
    for example in examples_of(spark):
        query = _named(spark, example.query)
        written = result_of(spark, query)
        if written.error:
            continue  # it needs a file or a setting, or shows what fails
        compared += 1
        why = _unlike(spark, query, written)
        if why:
            wrong.append(f"{example.function}: {query}\n    {why}")
    assert not wrong, f"{len(wrong)} of {compared}:\n" + "\n".join(wrong)
    assert compared >= LEAST


def _named(spark: SparkSession, query: str) -> str:
    from pyspark.errors import PySparkException

    try:
        return with_names(query, spark.sql(query).columns)
    except PySparkException:
        return query


def _unlike(spark: SparkSession, query: str, written: Result) -> str:
    """What differs where a model's text runs; empty where nothing does."""
    try:
        text = text_that_runs(query)
    except Refused as error:
        return f"refused: {error}"
    run = result_of(spark, text)
    if run.error:
        return f"fails as {text}\n    {run.error}"
    if run.types != written.types:
        return f"runs as {text}\n    types {run.types} in place of {written.types}"
    if [each.lower() for each in run.names] != [each.lower() for each in written.names]:
        return f"runs as {text}\n    columns {run.names} in place of {written.names}"
    if run.rows != written.rows and not _differs_anyway(spark, query, written):
        return f"runs as {text}\n    rows {run.rows} in place of {written.rows}"
    return ""


def _differs_anyway(spark: SparkSession, query: str, written: Result) -> bool:
    """Whether a text has other rows in another run of its own."""
    return any(result_of(spark, query).rows != written.rows for _ in range(RUNS))
