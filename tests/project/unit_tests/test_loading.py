"""Reading unit tests: what a file says, and every problem of all files at once."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tests.app.unit_tests.shop import engines
from tests.core.written_project import problems_of
from tests.project.repositories import write
from vde_dagster.app.unit_tests.column_types import ColumnTypes
from vde_dagster.core.model.model import Query
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.core.unit_tests.definition import GivenQuery, GivenRows
from vde_dagster.project.loading import load_project
from vde_dagster.project.unit_tests.loading import LoadedTest, load_unit_tests

EVENTS = ModelName("raw", "events")
FILES = {
    "vde.yaml": "name: shop\ndefaults:\n  start: 2024-01-01\nvariables:\n  least: 10\n",
    "external_models.yaml": (
        "- name: raw.events\n  columns: {id: bigint, at: timestamp, amount: 'decimal(9,2)'}\n"
    ),
    "models/mart/daily.sql": """MODEL (
  name mart.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day)
);
WITH large AS (
  SELECT CAST(at AS DATE) AS day, amount FROM raw.events
  WHERE amount >= @VAR('least') AND at BETWEEN @start_dt AND @end_dt
)
SELECT day AS day, SUM(amount) AS amount FROM large GROUP BY day
""",
    "models/mart/people.sql": """MODEL (name mart.people, kind VIEW);
SELECT day AS day, UPPER(CAST(day AS STRING)) AS label FROM mart.daily
""",
    "models/mart/total.sql": """MODEL (name mart.total, kind FULL);
SELECT COUNT(*) AS days FROM mart.people
""",
}


def loaded(folder: Path, **tests: str) -> tuple[LoadedTest, ...]:
    """The tests of a project with these files of tests."""
    written = FILES | {f"tests/{name}.yaml": text for name, text in tests.items()}
    files = load_project(write(folder, written))
    columns = ColumnTypes(engines=engines()).columns
    return load_unit_tests(files.configuration, files.graph, columns)


def refused(folder: Path, text: str) -> list[str]:
    """Line and message of each problem of a file of tests."""
    problems = problems_of(lambda: loaded(folder, wrong=text))
    assert {each.place.path for each in problems} == {Path("tests/wrong.yaml")}
    return [f"{each.place.line}: {each.message}" for each in problems]


GOOD = """
sums_by_day:
  model: mart.daily
  description: All of a day are one row.
  inputs:
    raw.events:
      rows:
      - {id: 1, at: 2024-01-01 10:00:00, amount: 10.5}
      - {id: 2, AT: 2024-01-02, amount: null}
  outputs:
    query:
    - {day: 2024-01-01, amount: 10.5}
    ctes:
      large:
        partial: true
        rows: []
  vars:
    start: 2024-01-01
    end: 2024-01-02
"""


def test_a_test_is_read_in_the_types_of_the_columns(tmp_path: Path) -> None:
    (found,) = loaded(tmp_path, daily=GOOD)
    test = found.test
    assert (test.identity, test.place.line) == ("tests/daily.yaml::sums_by_day", 2)
    assert test.description == "All of a day are one row."
    given = test.inputs[EVENTS]
    assert isinstance(given, GivenRows)
    assert [each.name for each in given.columns] == ["id", "at", "amount"]
    assert given.rows[1] == (2, datetime(2024, 1, 2, tzinfo=UTC), None)
    assert str(given.rows[0][2]) == "10.50"
    assert test.query is not None
    assert (test.query.partial, test.query.rows[0].place.line) == (False, 12)
    assert test.ctes["large"].partial
    first, third = (datetime(2024, 1, day, tzinfo=UTC) for day in (1, 3))
    assert test.interval == Interval(first, third)


def test_a_project_without_tests_has_none(tmp_path: Path) -> None:
    assert loaded(tmp_path) == ()


def test_variables_of_a_test_replace_those_of_the_project(tmp_path: Path) -> None:
    (found,) = loaded(tmp_path, daily=f"{GOOD}    least: 3\n")
    body = found.node.model.body
    assert isinstance(body, Query)
    assert body.text is not None
    assert "amount >= 3" in body.text.query
    assert found.test.variables == {"least": 3}


def test_a_view_that_is_not_given_is_looked_through(tmp_path: Path) -> None:
    """People reads daily, which is a table: total needs rows of one of them."""
    texts = {
        name: f"""
counts:
  model: mart.total
  inputs: {{{name}: [{{day: 2024-01-01}}]}}
  outputs: {{query: [{{days: 1}}]}}
"""
        for name in ("mart.people", "mart.daily")
    }
    for name, text in texts.items():
        (found,) = loaded(tmp_path, total=text)
        given = found.test.inputs[ModelName.parse(name)]
        assert isinstance(given, GivenRows)
        assert given.rows[0][0] == date(2024, 1, 1)


RAW_ROWS = """rows:
      - {id: 1, at: 2024-01-01 10:00:00, amount: 10.5}
      - {id: 2, AT: 2024-01-02, amount: null}"""


def test_an_input_may_be_a_query_that_reads_no_table(tmp_path: Path) -> None:
    query = "query: SELECT 1 AS id, TIMESTAMP '2024-01-01' AS at, 1.5 AS amount;"
    text = GOOD.replace(RAW_ROWS, query)
    (found,) = loaded(tmp_path, daily=text)
    given = found.test.inputs[EVENTS]
    assert isinstance(given, GivenQuery)
    assert given.sql.startswith("SELECT 1 AS id")


def test_the_query_of_an_input_is_one_that_spark_reads(tmp_path: Path) -> None:
    query = "query: SELECT 1 AS id, TIMESTAMP '2024-01-01' AS at, 1.5 ISNULL AS amount,"
    found = refused(tmp_path, GOOD.replace(RAW_ROWS, query))
    said = "7: the query of raw.events: Spark SQL does not have"
    assert found == [f"{said} a comma after the last item of a list", f"{said} ISNULL"]


@pytest.mark.parametrize(
    "old, new, problem",
    [
        ("model: mart.daily", "model: mart.dayly", "3: there is no model mart.dayly"),
        ("model: mart.daily", "model: raw.events", "3: raw.events is of kind EXTERNAL"),
        ("model: mart.daily", "modell: mart.daily", "2: the test sums_by_day names no model"),
        ("id: 1", "idd: 1", "8: raw.events has no column idd"),
        ("id: 1", "id: one", "8: raw.events.id: 'one' is not a valid bigint"),
        ("amount: 10.5}\n      - {id: 2", "amount: 1.234}\n      - {id: 2", "8: raw.events.amount"),
        (
            "raw.events:",
            "mart.people:",
            "2: sums_by_day: mart.daily reads raw.events, but the test gives no rows",
        ),
        ("raw.events:", "raw.event:", "6: mart.daily does not read raw.event"),
        ("amount: 10.5}\n    ctes", "sum: 10.5}\n    ctes", "12: mart.daily returns no column sum"),
        ("large:\n", "larg:\n", "14: mart.daily has no common table expression larg"),
        ("start: 2024-01-01\n", "", "17: one of `start` and `end` is given without the other"),
        ("end: 2024-01-02", "end: 2023-01-02", "17: `end` is not after `start`"),
        ("start: 2024-01-01\n", "start: soon\n", "18: 'soon' is not a valid date or time"),
        ("rows: []", "rows: none", "16: rows have to be a list"),
        ("outputs:", "output:", "2: the test sums_by_day expects nothing"),
        (
            "rows:\n      - {id: 1",
            "query: SELECT * FROM raw.x\n      rows:\n      - {id: 1",
            "query",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    assert old in GOOD
    found = refused(tmp_path, GOOD.replace(old, new))
    assert any(each.startswith(problem) or problem in each for each in found), found


@pytest.mark.parametrize("outputs", ["{ctes: {}}", "{ctes: }", "{partial: true}"])
def test_outputs_that_expect_nothing_are_no_test(tmp_path: Path, outputs: str) -> None:
    text = f"nothing:\n  model: mart.total\n  inputs: {{mart.people: []}}\n  outputs: {outputs}\n"
    assert refused(tmp_path, text) == ["4: the test nothing expects nothing"]


def test_what_is_given_twice_in_two_cases_is_reported(tmp_path: Path) -> None:
    text = GOOD.replace("{id: 1, ", "{id: 1, Id: 2, ").replace("large:", "Large: []\n      large:")
    found = refused(tmp_path, text)
    assert "8: the column id is given twice" in found
    assert "15: the CTE large is given twice" in found


def test_macros_without_their_times_and_other_problems_are_said_at_once(tmp_path: Path) -> None:
    found = refused(
        tmp_path,
        """
a: 1
b:
  model: mart.daily
  inputs:
    raw.events: [{nothing: 1}]
  outputs:
    query: []
""",
    )
    assert [each.split(":")[0] for each in found] == ["2", "3", "3", "6"]
    assert any("reads @start_dt, but the test gives no `start`" in each for each in found)


def test_a_file_that_is_no_yaml_is_reported(tmp_path: Path) -> None:
    assert "this is not valid YAML" in refused(tmp_path, "a: [")[0]
