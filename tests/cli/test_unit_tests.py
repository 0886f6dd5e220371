"""`vde test`, `vde create-test`, and the tests that `vde plan` runs first."""

from __future__ import annotations

import json
import re
import shutil
import uuid
from pathlib import Path
from typing import Final

import pytest

from tests.cli.calling import call
from tests.cli.changing import leave_dagster_out
from tests.cli.conftest import WithoutJava
from vde_dagster.composition import VdeProject

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs/how-to/unit-tests.md").read_text("utf-8")
WRONG: Final = ("revenue: 15", "revenue: 16")


@pytest.fixture
def tested(tmp_path: Path) -> Path:
    """A new project, which has a test of its revenue."""
    folder = tmp_path / "shop"
    assert call("init", folder).exit_code == 0
    return folder


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    """The flights example's files."""
    return with_own_catalog(shutil.copytree(ROOT / "examples/nyc_flights", tmp_path / "flights"))


def with_own_catalog(folder: Path) -> Path:
    """Give a project a catalog that no other test has: they share a Spark session."""
    with (folder / "vde.yaml").open("a", encoding="utf-8") as settings:
        settings.write(f"catalog: {{name: tested_{uuid.uuid4().hex[:8]}}}\n")
    return folder


def broken(tested: Path) -> Path:
    """The template's test, which expects something else now."""
    file = tested / "tests" / "revenue.yaml"
    text = file.read_text("utf-8")
    assert WRONG[0] in text
    file.write_text(text.replace(*WRONG), encoding="utf-8")
    return file


@pytest.mark.full
def test_the_page_shows_what_the_command_prints(flights: Path, without_java: WithoutJava) -> None:
    (written,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    (shown,) = re.findall(r"```\n(FAILED.*?)```", PAGE, flags=re.DOTALL)
    shutil.rmtree(flights / "tests")
    (flights / "tests").mkdir()
    file = flights / "tests" / "delays.yaml"
    file.write_text(written, encoding="utf-8")
    assert without_java("test", "--project", flights).returncode == 0
    text = written.replace("departed_over_15_late: 1", "departed_over_15_late: 2")
    file.write_text(text, encoding="utf-8")
    done = without_java("test", "--project", flights)
    assert done.returncode == 1
    assert done.stdout.startswith(shown)


@pytest.mark.full
def test_tests_are_chosen_by_file_and_name(flights: Path) -> None:
    def names(*wanted: str) -> list[str]:
        options = ("--engine", "duckdb", "--format", "json")
        done = call("test", *wanted, *options, "--project", flights)
        assert done.exit_code == 0, done.stderr
        return [each["test"]["name"] for each in json.loads(done.stdout)["tests"]]

    late = "a_flight_is_late_beyond_15_minutes"
    assert names(f"tests/delays.yaml::{late}") == names(late) == names("a_flight_is_*") == [late]
    assert len(names("tests/delays.yaml")) == len(names("delays.yaml")) == 2
    assert len(names(late, "tests/flights.yaml")) == 2
    done = call("test", f"{late}s", "--project", flights)
    assert done.exit_code == 1
    assert f"Did you mean {late}?" in done.stderr


def test_problems_of_files_are_said_with_their_places(tested: Path) -> None:
    broken(tested).write_text("a: {model: mart.x}\nb: {models: 1}\n", encoding="utf-8")
    done = call("test", "--project", tested)
    assert done.exit_code == 1
    assert "tests/revenue.yaml:1: there is no model mart.x" in done.stderr
    assert "tests/revenue.yaml:2: the test b names no model" in done.stderr


def test_a_project_without_tests_says_how_to_get_one(project: Path) -> None:
    done = call("test", "--project", project)
    assert (done.exit_code, done.stdout) == (5, "")
    assert "`vde create-test MODEL` writes one" in done.stderr
    plan = call("plan", "--format", "json", "--project", project)
    assert json.loads(plan.stdout)["tests"] is None


def test_a_run_in_which_every_test_waits_for_spark_has_not_passed(
    flights: Path, without_java: WithoutJava
) -> None:
    def run(*wanted: str) -> tuple[int, set[str]]:
        options = ("--engine", "duckdb", "--format", "json")
        done = without_java("test", *wanted, *options, "--project", flights)
        return done.returncode, {each["outcome"] for each in json.loads(done.stdout)["tests"]}

    every = without_java("test", "--engine", "duckdb", "--project", flights, "--format", "json")
    tests = json.loads(every.stdout)["tests"]
    waiting = [each["test"]["name"] for each in tests if each["outcome"] == "not run"]
    assert run(*waiting) == (5, {"not run"})
    assert run()[0] == 0


@pytest.mark.full
@pytest.mark.parametrize("acting", ["--auto-apply", "--save"])
def test_where_a_test_fails_nothing_is_applied_or_saved(
    tested: Path, without_java: WithoutJava, acting: str
) -> None:
    broken(tested)
    saved = tested.parent / "plan.json"
    acts = (acting, saved) if acting == "--save" else (acting,)
    done = without_java("plan", *acts, "--project", tested)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "1 unit test: 1 failed (1 on DuckDB). Nothing was planned or written." in (done.stderr)
    assert "revenue  16.00     15.00" in done.stderr
    assert "--skip-tests plans anyway" in done.stderr
    opened = VdeProject.load(tested)
    assert opened.services.state.environments() == ()
    assert opened.iceberg_catalog().list_namespaces() == []
    assert not saved.exists()


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_test_is_created_from_live_rows_and_passes(
    tested: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_dagster_out(monkeypatch)
    broken(with_own_catalog(tested))
    done = call("plan", "--auto-apply", "--skip-tests", "--project", tested)
    assert done.exit_code == 0, done.stderr
    made = call("create-test", "mart.best_customers", "--limit", "3", "--project", tested)
    assert made.exit_code == 0, made.stderr
    assert "tests/test_best_customers.yaml is written: 3 of mart.revenue;" in made.stdout
    passed = call("test", "test_best_customers", "--project", tested)
    assert passed.exit_code == 0, passed.stdout
    again = call("create-test", "mart.best_customers", "--project", tested)
    assert (again.exit_code, "exists already" in again.stderr) == (1, True)
    query = "mart.revenue=SELECT * FROM mart.revenue WHERE customer = 'nobody'"
    asked = call(
        *("create-test", "mart.best_customers", "--overwrite", "--query", query),
        *("--format", "json", "--project", tested),
    )
    found = json.loads(asked.stdout)
    assert (found["inputs"], found["rows"]) == ({"mart.revenue": 0}, 0)
    for wrong, code, says in (
        (("staging.orders",), 1, "staging.orders is of kind SEED: it computes nothing"),
        (("mart.revenue", "--name", "../x"), 2, "--name '../x' is not a valid name"),
        (("mart.revenue", "--query", "x"), 2, "--query 'x' is not TABLE=SQL"),
    ):
        refused = call("create-test", *wrong, "--project", tested)
        assert refused.exit_code == code
        assert says in refused.stderr
