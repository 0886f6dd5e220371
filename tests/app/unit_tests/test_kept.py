"""Tests that passed are kept: a plan runs only those of which something has changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.app.unit_tests.shop import FILES, engines, shop
from vde_dagster.app.unit_tests.before_plan import run_project_tests
from vde_dagster.app.unit_tests.running import Engines, Outcome, UnitTestResult, summary
from vde_dagster.project.loading import load_project

NOBODY = Engines(engine=None)
TESTS = """
total:
  model: mart.total
  inputs: {mart.ranked: [{amount: 5}]}
  outputs: {query: [{days: 1, amount: 5}]}
labels:
  model: mart.labels
  inputs: {raw.events: [{id: 1, labels: [a, b]}]}
  outputs: {query: [{id: 1, labels: 2}]}
"""


def planned(
    folder: Path,
    by: Engines,
    tests: str = TESTS,
    models: Mapping[str, str] = MappingProxyType({}),
    *,
    again: bool = False,
) -> dict[str, UnitTestResult]:
    """How the tests end that a plan runs; ``models`` are other texts of models."""
    shop(folder, tests)
    for name, text in models.items():
        (folder / f"models/mart/{name}.sql").write_text(text, encoding="utf-8")
    files = load_project(folder)
    done = run_project_tests(files.configuration, lambda: files.graph, lambda: by, again=again)
    return {each.test.name: each for each in done}


def test_what_passed_is_not_run_again_until_something_changes(tmp_path: Path) -> None:
    first = planned(tmp_path, engines())
    assert {each.outcome for each in first.values()} == {Outcome.PASSED}
    second = planned(tmp_path, NOBODY)
    assert {each.outcome for each in second.values()} == {Outcome.PASSED}
    assert summary([*second.values()]) == "2 unit tests: 2 passed (2 unchanged since then)."
    moved = planned(tmp_path, NOBODY, f"# a comment\n{TESTS}")
    assert {each.before for each in moved.values()} == {True}
    other = planned(tmp_path, NOBODY, TESTS.replace("labels: 2", "labels: 3"))
    assert [each.outcome for each in other.values()] == [Outcome.PASSED, Outcome.NOT_RUN]


@pytest.mark.parametrize("changed", ["total", "ranked"])
def test_a_change_of_the_model_or_of_what_it_reads_runs_its_tests(
    tmp_path: Path, changed: str
) -> None:
    planned(tmp_path, engines())
    text = FILES[f"models/mart/{changed}.sql"].replace("amount AS amount", "amount + 0 AS amount")
    edited = text.replace("COUNT(*)", "1 + COUNT(*)")
    done = planned(tmp_path, NOBODY, models={changed: edited})
    assert done["total"].outcome is Outcome.NOT_RUN
    assert done["labels"].before


def test_what_did_not_pass_and_what_may_end_in_another_way_is_run_again(tmp_path: Path) -> None:
    wrong = TESTS.replace("labels: 2", "labels: 3")
    planned(tmp_path, engines(), wrong)
    assert planned(tmp_path, engines(), wrong)["labels"].outcome is Outcome.FAILED
    drawn = FILES["models/mart/labels.sql"].replace("id AS id", "id AS id, RAND() AS r")
    for _ in range(2):
        done = planned(tmp_path, engines(), models={"labels": drawn})
        assert not done["labels"].before


def test_a_person_who_asks_for_tests_gets_them_run(tmp_path: Path) -> None:
    planned(tmp_path, engines())
    done = planned(tmp_path, engines(), again=True)
    assert {each.before for each in done.values()} == {False}


def test_rows_whose_types_only_an_engine_knows_wait_for_it(tmp_path: Path) -> None:
    text = """
reversed:
  model: mart.above
  inputs: {mart.strange: [{id: abc}]}
  outputs: {query: [{id: abc}]}
"""
    models = {
        "strange": "MODEL (name mart.strange, kind FULL);\n"
        "SELECT REVERSE(CAST(id AS STRING)) AS id FROM raw.events",
        "above": "MODEL (name mart.above, kind FULL);\nSELECT id AS id FROM mart.strange",
    }
    waiting = Engines(engine=None, quick=engines().quick)
    assert planned(tmp_path, waiting, text, models)["reversed"].outcome is Outcome.NOT_RUN
    assert planned(tmp_path, engines(), text, models)["reversed"].outcome is Outcome.PASSED
    assert planned(tmp_path, waiting, text, models)["reversed"].before
