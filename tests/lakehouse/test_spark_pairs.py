"""Proof of "what is called unchanged is unchanged": pairs of queries of one data hash, on Spark.

A verdict needs no Spark, so very many pairs get one; both sides of those that are called equal are
run, over rows that would show a difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest

from tests.core.planning.changes import pairs_spark
from tests.lakehouse.spark_pairs.both_texts import result_of
from tests.lakehouse.spark_pairs.claims import judged, shortest
from tests.lakehouse.spark_pairs.defects import DEFECTS
from tests.lakehouse.spark_pairs.execution import Runner, runner
from tests.lakehouse.spark_pairs.expressions import Pair, Shape, pairs, query_of
from tests.lakehouse.spark_pairs.loose import loose
from tests.lakehouse.spark_pairs.verdicts import is_deterministic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIRS, LONG = 160, 14_000
"""How many pairs of grammar-generated expressions are judged."""
PLANTED, AT_ONCE = 1_500, 75
TEXTS = 3_000
"""How many expressions are judged whose values may depend on the order of rows."""
LEAST_RUN = 0.2
"""The least part of all pairs that is called equal and run."""
SAMPLE = 20
"""So many of the pairs that are called different are run, too: most of them are."""


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession) -> Iterator[Runner]:
    with runner(spark) as found:
        yield found


def generated() -> Iterator[Pair]:
    """Pairs without end; the same in every run."""
    for seed in count():
        yield from pairs(seed)


@pytest.mark.full
@pytest.mark.timeout(3000)
def test_expressions_that_are_called_unchanged_give_the_same_rows(on_spark: Runner) -> None:
    found = judged(islice(generated(), LONG + LONG // 3))
    before = on_spark.ran
    wrong = list(on_spark.differences(found.equal))
    ran = on_spark.ran - before
    assert not wrong, f"{len(wrong)} of {ran}:\n" + "\n\n".join(shortest(wrong))
    assert found.count >= LONG
    assert ran >= found.count * LEAST_RUN, f"{ran} of {found.count} pairs were called equal and run"


@pytest.mark.full
@pytest.mark.parametrize(
    "one,other", [pytest.param(*pair, id=name) for name, *pair in pairs_spark.SAME]
)
def test_what_spark_reads_alike_gives_the_same_rows(
    spark: SparkSession, one: str, other: str
) -> None:
    found, expected = result_of(spark, one), result_of(spark, other)
    assert not found.error
    assert found.is_like(expected)


@pytest.mark.full
@pytest.mark.parametrize(
    "one,other", [pytest.param(*pair, id=name) for name, *pair in pairs_spark.OTHER]
)
def test_what_only_looks_alike_to_spark_gives_other_rows_or_types(
    spark: SparkSession, one: str, other: str
) -> None:
    found, expected = result_of(spark, one), result_of(spark, other)
    assert not found.error
    assert not expected.error
    assert not found.is_like(expected)


@pytest.mark.full
def test_many_of_the_pairs_that_are_called_different_are(on_spark: Runner) -> None:
    different = judged(islice(generated(), PAIRS)).different[:SAMPLE]
    before = on_spark.ran
    differ = list(on_spark.differences(different))
    assert len(differ) >= (on_spark.ran - before) // 3 > 0


@pytest.mark.full
def test_what_is_called_deterministic_is_the_same_however_rows_lie(on_spark: Runner) -> None:
    texts = {loose(seed) for seed in range(TEXTS)}
    settled = [each for each in sorted(texts, key=str) if is_deterministic(query_of(*each))]
    wrong = list(on_spark.unsettled(settled))
    assert not wrong, f"{len(wrong)} of {len(settled)}:\n" + "\n".join(shortest(wrong))
    assert len(settled) >= len(texts) // 5


def test_that_ties_make_rows_nondeterministic_is_found_where_a_verdict_does_not_see_it(
    on_spark: Runner,
) -> None:
    texts = [(Shape.ROWS, "row_number() OVER (ORDER BY 1)"), (Shape.GROUPS, "first(x)")]
    assert [each.expression for each in on_spark.unsettled(texts)] == [each for _, each in texts]


@pytest.mark.full
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_verdict_with_a_planted_defect_is_found_wrong(on_spark: Runner, defect: str) -> None:
    every = islice(generated(), PLANTED)
    while some := list(islice(every, AT_ONCE)):
        only_by_defect = judged(judged(some, DEFECTS[defect]).equal).different
        if any(on_spark.differences(only_by_defect)):
            return
    pytest.fail("no pair shows it", pytrace=False)
