"""Unit tests over decimals: rows are read in the types that the table has, or none is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.app.unit_tests.amounts import amounts
from tests.app.unit_tests.shop import engines
from vde_dagster.app.unit_tests.creating import Wanted, create_test
from vde_dagster.app.unit_tests.result_text import result_lines
from vde_dagster.app.unit_tests.running import Outcome, run_tests
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.names import ModelName
from vde_dagster.project.unit_tests.loading import load_unit_tests

WRONG = """
thirds:
  model: mart.fin
  inputs:
    mart.agg: [{cust: z, a: 0.1, d: 1.5}]
  outputs:
    query: {rows: [{cust: z, f: false, d: 1.5}]}
"""
LONG = """
long:
  model: mart.agg
  inputs:
    mart.daily: [{cust: z, day: 2024-01-01, total: 123456789.25}]
  outputs:
    query: {rows: []}
"""
OFTEN = """
often:
  model: mart.often
  inputs:
    mart.modes: [{cust: z, often: 1.25}]
  outputs:
    query: {rows: [{cust: z, more: 2.25}]}
"""


def test_a_test_that_is_true_of_doubles_alone_fails(tmp_path: Path) -> None:
    files = amounts(tmp_path, WRONG)
    (done,) = run_tests(load_unit_tests(files.configuration, files.graph), engines())
    assert done.outcome is Outcome.FAILED
    text = "\n".join(result_lines(done))
    assert "column  expected  actual" in text
    assert "f       false     true" in text


def test_an_amount_may_have_as_many_digits_as_a_sum_has(tmp_path: Path) -> None:
    files = amounts(tmp_path, LONG)
    (loaded,) = load_unit_tests(files.configuration, files.graph)
    (given,) = loaded.test.inputs.values()
    assert given.rows[0][2] == Decimal("123456789.25")  # type: ignore[union-attr]


def test_rows_of_a_column_whose_type_is_not_known_are_refused_until_it_is_said(
    tmp_path: Path,
) -> None:
    files = amounts(tmp_path, OFTEN)
    with pytest.raises(ProjectInvalid) as refused:
        load_unit_tests(files.configuration, files.graph)
    (problem,) = refused.value.problems
    assert problem.message == "the type of mart.modes.often is not known"
    assert "`columns: {often: bigint}`" in problem.advice
    rows = "[{cust: z, often: 1.25}]"
    said = OFTEN.replace(rows, f"{{columns: {{often: 'decimal(10,2)'}}, rows: {rows}}}")
    files = amounts(tmp_path, said)
    (done,) = run_tests(load_unit_tests(files.configuration, files.graph), engines())
    assert done.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "model, columns, live, recorded, said",
    [
        ("mart.fin", ("cust", "a", "d"), ("z", Decimal("0.100000"), Decimal("1.500000")), (), ""),
        (
            *("mart.often", ("cust", "often"), ("z", Decimal("1.25"))),
            (Column(name="often", type="decimal(10,2)"),),
            "often: decimal(10,2)\n",
        ),
    ],
)
def test_a_created_test_reads_live_amounts_in_the_types_of_the_table(
    tmp_path: Path,
    model: str,
    columns: Sequence[str],
    live: Sequence[object],
    recorded: Sequence[Column],
    said: str,
) -> None:
    files = amounts(tmp_path)
    made = create_test(
        files.configuration,
        files.graph,
        Wanted(
            name="test_it",
            model=ModelName.parse(model),
            interval=None,
            execution_time=datetime(2024, 1, 5, tzinfo=UTC),
            queries={},
        ),
        lambda _: (columns, [live]),
        engines(),
        recorded=lambda _: recorded,
    )
    assert ("columns:" in made.text, said in made.text) == (bool(said), True)
    (tmp_path / "tests" / "t.yaml").write_text(made.text, encoding="utf-8")
    (done,) = run_tests(load_unit_tests(files.configuration, files.graph), engines())
    assert done.outcome is Outcome.PASSED
