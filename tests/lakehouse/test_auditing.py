"""Audits on Spark: all cases of the table in one query, and how many jobs that takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.core.audits.audit_cases import (
    KNOWN,
    KNOWN_ROWS,
    ROW_CASES,
    ROWS,
    SOURCE,
    TOTAL_CASES,
    audits,
    every_audit,
    ids,
)
from tests.lakehouse.interpreted import interpreted
from vde_dagster.core.audits.values import Audit, AuditResult

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:Cannot infer the eval type"),  # of a function that counts
]
SAMPLED = (
    "not_null (columns := (shop))",
    "unique_values (columns := (shop))",
    "unique_values (columns := (id, qty))",
    "sequential_values (column := seq, interval := 2)",
    "mutually_exclusive_ranges (lower_bound_column := low, upper_bound_column := high)",
    "not_constant (column := shop, condition := id = 3)",
    "source_to_target_count (source := raw.rows, time_column := at)",
    "unknown",
)
"""One of each way to find what fails."""
ASKED = every_audit()
INPUTS = {SOURCE: "vde_audit_cases_rows", KNOWN: "vde_audit_cases_known"}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    frame = spark.sql(ROWS).localCheckpoint()
    frame.createOrReplaceTempView(INPUTS[SOURCE])
    spark.sql(KNOWN_ROWS).createOrReplaceTempView(INPUTS[KNOWN])
    yield frame
    for view in INPUTS.values():
        spark.catalog.dropTempView(view)


@pytest.fixture(scope="module")
def counts(spark: SparkSession, rows: DataFrame) -> dict[str, int]:
    with interpreted(spark):
        found = run(spark, rows, list(ASKED.values()), sample_rows=0)
    return {call: each.failing for call, each in zip(ASKED, found, strict=True)}


@pytest.fixture(scope="module")
def sampled(spark: SparkSession, rows: DataFrame) -> dict[str, AuditResult]:
    with interpreted(spark):
        found = run(spark, rows, [every_audit()[call] for call in SAMPLED])
    return dict(zip(SAMPLED, found, strict=True))


def run(
    spark: SparkSession, rows: DataFrame, asked: Sequence[Audit], **options: int
) -> tuple[AuditResult, ...]:
    from vde_dagster.lakehouse.staging.auditing import run_audits

    return run_audits(spark, rows, asked, INPUTS, **options)


@contextmanager
def jobs_of(spark: SparkSession, group: str) -> Iterator[list[int]]:
    """The jobs that are run inside, once it is left."""
    found: list[int] = []
    spark.sparkContext.setJobGroup(group, group)
    try:
        yield found
    finally:
        found += spark.sparkContext.statusTracker().getJobIdsForGroup(group)
        spark.sparkContext.setJobGroup("", "")


@pytest.mark.full
def test_each_audit_counts_the_rows_that_fail_by_definition(counts: dict[str, int]) -> None:
    expected = {call: len(each) for call, each in ROW_CASES}
    expected |= {call: int(fails) for call, fails, _ in TOTAL_CASES}
    assert counts == {call: expected[call] for call in ASKED}


def test_the_rows_that_fail_are_kept(sampled: dict[str, AuditResult]) -> None:
    by_row = {call: expected for call, expected in ROW_CASES if call in SAMPLED}
    assert {call: ids(sampled[call].columns, sampled[call].sample) for call in by_row} == {
        call: sorted(expected) for call, expected in by_row.items()
    }
    figures = {call: each for call, _, each in TOTAL_CASES if call in SAMPLED}
    for call, expected in figures.items():
        (row,) = sampled[call].sample
        assert dict(zip(sampled[call].columns, row, strict=True)) == expected


def counted(rows: DataFrame, read: Accumulator[int]) -> DataFrame:
    """The rows, counted whenever they are read."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses

    def one_more(_: int) -> bool:
        read.add(1)
        return True

    every = F.udf(one_more, "boolean").asNondeterministic()
    return rows.where(every("id"))


def test_without_audits_nothing_is_run(spark: SparkSession, rows: DataFrame) -> None:
    with jobs_of(spark, "no audits") as jobs:
        assert run(spark, rows, ()) == ()
    assert jobs == []


PASSING = [
    "not_null (columns := (id))",
    "accepted_range (column := id, min_v := 1)",
    "forall (criteria := (id > 0))",
    "number_of_rows",
    "not_constant (column := shop)",
    "mean_in_range (column := id, min_v := 1)",
    "above (column := id, bound := 100)",
]


@pytest.mark.full
def test_audits_of_rows_and_totals_cost_one_pass_whatever_their_number(
    spark: SparkSession, rows: DataFrame
) -> None:
    for asked in (PASSING[:1], PASSING):
        read = spark.sparkContext.accumulator(0)
        with jobs_of(spark, f"{len(asked)} audits") as jobs:
            assert all(each.passed for each in run(spark, counted(rows, read), audits(*asked)))
        assert read.value == 8
        assert len(jobs) == 2


ONE = "unique_values (columns := (id))"
APART = [
    ([ONE], 1, 3),
    ([ONE, "unique_combination_of_columns (columns := (id), condition := id > 2)", ONE], 1, 3),
    ([ONE, "unique_combination_of_columns (columns := (id, shop))"], 2, 5),
    (["z_score (column := amount, threshold := 3)"], 2, 4),
    (["sequential_values (column := at, interval := INTERVAL '1' HOUR)"], 3, 7),
    ([*PASSING, ONE], 2, 5),
]
"""Audits that pass, how often they read the staged rows, and how many jobs that takes at most."""


@pytest.mark.full
@pytest.mark.parametrize("asked, passes, most", APART, ids=str)
def test_each_grouping_costs_a_pass_of_its_own(
    spark: SparkSession, rows: DataFrame, asked: list[str], passes: int, most: int
) -> None:
    read = spark.sparkContext.accumulator(0)
    with jobs_of(spark, f"passes of {asked}") as jobs:
        assert all(each.passed for each in run(spark, counted(rows, read), audits(*asked)))
    assert read.value == 8 * passes
    assert len(jobs) <= most


@pytest.mark.full
def test_only_an_audit_that_fails_costs_a_second_query(
    spark: SparkSession, rows: DataFrame
) -> None:
    read = spark.sparkContext.accumulator(0)
    asked = audits(*PASSING, "not_null (columns := (shop))")
    with jobs_of(spark, "one fails") as jobs:
        found = run(spark, counted(rows, read), asked)
    assert [each.failing for each in found] == [0] * len(PASSING) + [2]
    assert 8 < read.value <= 16
    assert len(jobs) <= 4


def test_the_sample_is_bounded(spark: SparkSession, rows: DataFrame) -> None:
    (audit,) = audits("accepted_range (column := id, max_v := 0)")
    (found,) = run(spark, rows, (audit,), sample_rows=3)
    assert (found.failing, len(found.sample)) == (8, 3)
    (found,) = run(spark, rows, (audit,), sample_rows=0)
    assert (found.failing, found.sample) == (8, ())
    with pytest.raises(ValueError, match="1000"):
        run(spark, rows, (audit,), sample_rows=1001)


def test_no_view_is_left_behind(spark: SparkSession, rows: DataFrame) -> None:
    def temporary() -> set[str]:
        views = spark.sql("SHOW VIEWS").collect()
        return {each["viewName"] for each in views if each["isTemporary"]}

    before = temporary()
    assert before
    run(spark, rows, audits("not_null (columns := (shop))"))
    assert temporary() == before


def test_values_of_any_type_are_kept_as_json_has_them(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT 1 AS id, true AS yes, X'00FF' AS raw, DATE'2024-01-01' AS day, "
        "TIMESTAMP'2024-01-01 01:02:03.5' AS at, 1.50 AS price, double('NaN') AS odd, "
        "array(1, NULL) AS list, map('k', 1) AS map, named_struct('a', 1) AS both, "
        "9007199254740993L AS large, CAST(NULL AS STRING) AS none, repeat('x', 300) AS long"
    )
    (audit,) = audits("accepted_range (column := id, max_v := 0)")
    (found,) = run(spark, frame, (audit,))
    assert dict(zip(found.columns, found.sample[0], strict=True)) == {
        "id": 1,
        "yes": True,
        "raw": "00ff",
        "day": "2024-01-01",
        "at": "2024-01-01 01:02:03.5",
        "price": "1.50",
        "odd": "nan",
        "list": "[1, null]",
        "map": "{k -> 1}",
        "both": "{1}",
        "large": "9007199254740993",
        "none": None,
        "long": "x" * 199 + "…",
    }
