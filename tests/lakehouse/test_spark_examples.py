"""Proof by the examples of Spark's own documentation, each the query of a model in its dialect.

Both the rendered query and the example's own text are run, and nothing may differ. And no edit of
an example that gives other rows may be called unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.core.graph.rendered import full, graph_of, instant
from tests.lakehouse.spark_pairs.both_texts import Result, result_of
from tests.lakehouse.spark_pairs.claims import shortest
from tests.lakehouse.spark_pairs.defects import DEFECTS
from tests.lakehouse.spark_pairs.documented import Documented, named
from tests.lakehouse.spark_pairs.examples import Example, examples_of
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.render_model import render_model
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.time.intervals import Interval

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST = 1_000
"""So many examples at least are run in both texts: others need files or settings."""
LEAST_JUDGED = 7_000
"""So many edits at least have a verdict."""
LEAST_RUN = 0.15
"""The least part of them that is called unchanged and run."""
TIMES = TimeRange.of(
    Interval(instant("2024-01-01"), instant("2024-01-02")), execution_time=instant("2024-03-01")
)
RUNS = 3
"""So often a text is run whose rows may be others in each run."""


def text_that_runs(query: str) -> str:
    """What Spark is given for a model of this query."""
    graph = graph_of([full(query)])
    return render_model(graph, ModelName("m", "x"), TIMES, target=lambda _: None).query.text


@pytest.mark.full
def test_each_example_of_sparks_documentation_runs_as_it_is_written(spark: SparkSession) -> None:
    wrong, compared = [], 0
    for example in examples_of(spark):
        query = named(spark, example.query)
        written = result_of(spark, query)
        if written.error:
            continue  # it needs a file or a setting, or shows what fails
        compared += 1
        why = _unlike(spark, query, written)
        if why:
            wrong.append(f"{example.function}: {query}\n    {why}")
    assert not wrong, f"{len(wrong)} of {compared}:\n" + "\n".join(wrong)
    assert compared >= LEAST


@pytest.mark.full
@pytest.mark.timeout(3000)
def test_edits_of_the_examples_that_are_called_unchanged_give_the_same_rows(
    spark: SparkSession,
) -> None:
    pairs = Documented(spark)
    wrong = list(pairs.wrong(examples_of(spark)))
    assert not wrong, f"{len(wrong)} of {pairs.ran}:\n" + "\n\n".join(shortest(wrong))
    assert pairs.judged >= LEAST_JUDGED
    assert pairs.ran >= pairs.judged * LEAST_RUN


@pytest.mark.parametrize(
    "defect",
    [
        "texts do not count",
        pytest.param("signs in front do not count", marks=pytest.mark.full),
    ],
)
def test_a_planted_defect_is_found_among_the_examples(spark: SparkSession, defect: str) -> None:
    queries = ("to_json(named_struct('a', x, 'b', 'y'))", "abs(-1)", "concat('Spark', 'SQL')")
    texts = [
        f"SELECT {each}{rows}" for each in queries for rows in ("", " FROM VALUES (-1) AS t(x)")
    ]
    examples = [Example("", each) for each in texts]
    assert list(Documented(spark, DEFECTS[defect]).wrong(examples))


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
