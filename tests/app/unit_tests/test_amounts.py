"""Unit tests over decimals: rows are read in the types that the table has, or none is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.app.unit_tests.amounts import FILES, amounts
from tests.app.unit_tests.shop import engines, run
from tests.core.written_project import problems_of
from vde_dagster.app.unit_tests.creating import Wanted, create_test
from vde_dagster.app.unit_tests.running import Outcome
from vde_dagster.core.columns import Column
from vde_dagster.core.names import ModelName

OFTEN = """
often:
  model: mart.often
  inputs:
    mart.modes: [{cust: z, often: 1.25}]
  outputs:
    query: {rows: [{cust: z, more: 2.25}]}
"""


def test_rows_of_a_column_whose_type_is_not_known_are_refused_until_it_is_said(
    tmp_path: Path,
) -> None:
    strange = tmp_path / "models/mart/modes.sql"
    strange.parent.mkdir(parents=True)
    strange.write_text(FILES["models/mart/modes.sql"].replace("mode(", "strange("))
    files = amounts(tmp_path, OFTEN)
    *_, problem = problems_of(lambda: run(files, engines()))
    assert problem.message == "the type of mart.modes.often is not known"
    assert "`columns: {often: bigint}`" in problem.advice
    rows = "[{cust: z, often: 1.25}]"
    said = OFTEN.replace(
        rows, f"{{columns: {{cust: string, often: 'decimal(9,2)'}}, rows: {rows}}}"
    )
    files = amounts(tmp_path, said)
    (done,) = run(files, engines())
    assert done.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "model, columns, live, recorded, said",
    [
        (
            *("mart.fin", ("cust", "a", "d"), ("z", Decimal("0.100000"), Decimal("1.500000"))),
            (
                Column(name="cust", type="string"),
                Column(name="a", type="decimal(24,6)"),
                Column(name="d", type="decimal(34,6)"),
            ),
            "a: decimal(24,6)\n",
        ),
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
    (done,) = run(files, engines())
    assert done.outcome is Outcome.PASSED
