"""Questions of unit tests that DuckDB answers, and those that it leaves to Spark."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.app.unit_tests.amounts import amounts
from tests.app.unit_tests.shop import run
from tests.lakehouse.conftest import Lake
from vde_dagster.app.unit_tests.running import Engines, Outcome, result_lines
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.unit_of_work import SqlRows
from vde_dagster.core.unit_tests.comparison import Answer
from vde_dagster.core.unit_tests.definition import GivenRows
from vde_dagster.core.unit_tests.question import QueryOverRows
from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckAnswers, DuckDbQueries

AT = datetime(2024, 1, 1, 10, 30, tzinfo=UTC)
KINDS = {
    "id": "bigint",
    "at": "timestamp",
    "local": "timestamp_ntz",
    "day": "date",
    "amount": "decimal(9,2)",
    "name": "string",
    "labels": "array<string>",
    "nothing": "void",
}
ROWS = ((1, AT, AT.replace(tzinfo=None), date(2024, 1, 1), Decimal("1.50"), "a", ["x"], None),)


def asked(sql: str) -> Answer | None:
    given = GivenRows(
        columns=tuple(Column(name=name, type=kind) for name, kind in KINDS.items()), rows=ROWS
    )
    question = QueryOverRows(rows=SqlRows(sql=sql), tables={"given_0": given})
    return DuckAnswers(DuckDbQueries()).answer(question, subject="m.x")


def test_values_and_types_are_those_of_spark() -> None:
    found = asked("SELECT id, at, local, day, amount, name FROM given_0")
    assert found is not None
    assert {each.name: each.type for each in found.columns} == {
        name: kind for name, kind in KINDS.items() if name not in ("labels", "nothing")
    }
    assert found.rows == (ROWS[0][:6],)


def test_an_instant_of_a_macro_is_compared_in_utc() -> None:
    """Spark reads the offset in a literal: the first is half past ten, the second an hour later."""
    time = "SELECT id FROM given_0 WHERE at >= CAST('2024-01-01 {}:30:00+00:00' AS TIMESTAMP)"
    same, later = (asked(time.format(hour)) for hour in (10, 11))
    assert same is not None
    assert later is not None
    assert (len(same.rows), len(later.rows)) == (1, 0)


def test_what_is_left_to_spark_has_no_answer() -> None:
    assert asked("SELECT labels FROM given_0") is None
    assert asked("SELECT SIZE(labels) AS n FROM given_0") is None
    assert asked("SELECT nothing FROM given_0") is None
    assert asked("SELECT nonsense FROM given_0") is None
    assert asked("SELECT id FROM other") is None


def test_a_value_on_which_the_engines_differ_has_no_answer() -> None:
    """Spark's ANSI mode fails where a product leaves BIGINT, and says why."""
    assert asked("SELECT id * 9223372036854775807 * 2 AS n FROM given_0") is None


def test_the_type_of_a_cast_is_known_also_where_its_values_are_spark_s() -> None:
    assert asked("SELECT CAST(name AS INT) AS n FROM given_0") is None
    found = asked("SELECT CAST(name AS INT) AS n FROM given_0 WHERE id = 2")
    assert found is not None
    assert [(each.name, each.type) for each in found.columns] == [("n", "int")]


def test_rows_are_counted_also_where_no_column_is_read() -> None:
    found = asked("SELECT COUNT(*) AS n FROM given_0")
    assert found is not None
    assert found.rows == ((len(ROWS),),)


WRONG = """
thirds:
  model: mart.fin
  inputs:
    mart.agg: [{cust: z, a: 0.1, d: 1.5}]
  outputs:
    query: {rows: [{cust: z, f: false, d: 1.5}]}
"""


@pytest.mark.spark
def test_a_test_that_is_true_of_doubles_alone_fails(tmp_path: Path, lake: Lake) -> None:
    """Spark says the types of a mean and a quotient of decimals, which the table leaves to it."""
    engines = Engines(engine=lake.engine, quick=DuckAnswers(DuckDbQueries()))
    (done,) = run(amounts(tmp_path, WRONG), engines)
    assert done.outcome is Outcome.FAILED
    text = "\n".join(result_lines(done))
    assert "column  expected  actual" in text
    assert "f       false     true" in text
