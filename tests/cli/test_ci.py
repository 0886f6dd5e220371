"""The steps of a pull request: each is a command, and the next one finds what it left."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call, facts
from tests.cli.changing import InMemory, write_files
from tests.cli.promoted import edit
from tests.cli.test_status import advised

DAILY = Path("models", "daily.sql")
UNIT_TEST = """\
the_best_day_is_shown:
  model: mart.best
  inputs:
    mart.daily:
      - {day: 2024-01-01, shares: 30}
      - {day: 2024-01-02, shares: 20}
  outputs:
    query:
      - {best: BEST}
"""
"""Its rows need no Spark."""


@pytest.fixture
def changing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InMemory:
    """Two days in production; the request doubles the shares of a day."""
    made = InMemory(write_files(tmp_path / "changing"), MemoryWorld()).serve(monkeypatch)
    made.land((0.5, 10), (5.5, 5), (30.5, 10), (40.5, 2), until=48)
    done = call("plan", "--auto-apply", "--project", made.folder)
    assert done.exit_code == 0, done.stderr
    edit(made.folder / DAILY, "THEN 'none' ELSE '100'", "THEN 'none' ELSE '200'")
    return made


def ci(step: str, changing: InMemory, *more: str, exit_code: int = 0) -> dict[str, Any]:
    return facts("ci", step, "42", *more, "--project", changing.folder, exit_code=exit_code)


def follow(changing: InMemory, text: str) -> None:
    """Carry out the command that a text names."""
    (command,) = advised(text)
    done = call(*command, "--project", changing.folder)
    assert done.exit_code == 0, done.stderr


def shares(changing: InMemory, environment: str = "mart") -> list[Any]:
    return [row[1] for row in changing.rows(f"{environment}.daily")]


def test_a_request_is_built_summarized_promoted_and_cleaned_up(changing: InMemory) -> None:
    planned = ci("plan", changing)
    assert (planned["environment"], planned["target"], planned["failure"]) == (
        *("pr_42", "prod"),
        "",
    )
    assert {each["model"] for each in planned["built"]} == {"mart.daily", "mart.best"}
    assert shares(changing) == [30, 60], "production shows what it showed"
    assert shares(changing, "mart__pr_42") == [60, 120]
    rows = {each["model"]: each for each in planned["rows"]}
    assert rows["mart.daily"]["before"] == rows["mart.daily"]["after"] == 2
    assert rows["mart.daily"]["said"].startswith("other rows in 2 days")
    applied = ci("apply", changing)
    assert applied["applied"]
    assert applied["built"] == [], "nothing that the request has is computed again"
    assert shares(changing) == [60, 120]
    assert ci("apply", changing)["already_applied"]
    assert ci("clean", changing) == {"version": 1, "environment": "pr_42", "removed": True}
    names = [
        each["name"] for each in facts("environments", "--project", changing.folder)["environments"]
    ]
    assert names == ["prod"]
    assert shares(changing) == [60, 120], "what was promoted stays"
    assert not ci("clean", changing)["removed"]


@pytest.mark.parametrize("right", [True, False])
def test_unit_tests_decide_whether_the_environment_is_built(
    changing: InMemory, right: bool
) -> None:
    folder = changing.folder / "tests"
    folder.mkdir()
    text = UNIT_TEST.replace("BEST", "30" if right else "20")
    (folder / "test_best.yaml").write_text(text)
    if right:
        assert ci("plan", changing)["tests"] == 1
        return
    done = call("ci", "plan", "42", "--project", changing.folder)
    assert done.exit_code == 1
    assert "the_best_day_is_shown" in done.stderr
    assert "1 unit test: 1 failed (1 on DuckDB)." in done.stderr
    assert "Correct the models or the tests." in done.stderr
    assert "--skip-tests" not in done.stderr, "this command has no such option"
    comment = call("ci", "comment", "42", "--project", changing.folder)
    assert comment.stdout.startswith("## pr\\_42 is not built\n")
    assert "the_best_day_is_shown" in comment.stdout
    refused = call("ci", "apply", "42", "--project", changing.folder)
    assert refused.exit_code == 1
    assert ["ci", "plan", "42"] in advised(refused.stderr)
    names = facts("environments", "--project", changing.folder)["environments"]
    assert [each["name"] for each in names] == ["prod"], "nothing was written"


@pytest.mark.full
def test_a_step_that_a_fault_ends_leaves_nothing_that_could_be_promoted(
    changing: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    ci("plan", changing)
    edit(changing.folder / DAILY, "ELSE '200'", "ELSE '300'")
    with monkeypatch.context() as patch:
        patch.setattr("vde_dagster.cli.plans.ci._promotion", full_disk)
        done = call("ci", "plan", "42", "--project", changing.folder)
    assert done.exit_code == 1
    assert "a disk is full" in done.stderr
    comment = call("ci", "comment", "42", "--project", changing.folder)
    assert comment.stdout.startswith("## pr\\_42 is not built\n")
    refused = call("ci", "apply", "42", "--project", changing.folder)
    assert refused.exit_code == 1
    assert shares(changing) == [30, 60], "what was approved earlier is not promoted either"
    follow(changing, refused.stderr)
    ci("apply", changing)
    assert shares(changing) == [90, 180]


def test_a_request_that_production_has_overtaken_is_planned_again(changing: InMemory) -> None:
    ci("plan", changing)
    edit(changing.folder / DAILY, "ELSE '200'", "ELSE '300'")
    done = call("plan", "--auto-apply", "--project", changing.folder)
    assert done.exit_code == 0, done.stderr
    refused = call("ci", "apply", "42", "--project", changing.folder)
    assert refused.exit_code == 1
    assert "prod" in refused.stderr
    assert shares(changing) == [90, 180], "nothing was written"
    edit(changing.folder / DAILY, "ELSE '300'", "ELSE '200'")
    follow(changing, refused.stderr)
    ci("apply", changing)
    assert shares(changing) == [60, 120]


def test_steps_on_two_machines_hand_over_a_folder(changing: InMemory, tmp_path: Path) -> None:
    ci("plan", changing, "--files", str(tmp_path / "artifact"))
    missing = call("ci", "comment", "42", "--project", changing.folder)
    assert missing.exit_code == 1
    assert "pass its files from one CI step to the next" in missing.stderr
    assert advised(missing.stderr) == [["ci", "plan", "42"]]
    found = ci("comment", changing, "--files", str(tmp_path / "artifact"))
    assert found["promotion"]["taken"] == {"environment": "pr_42", "number": 1}


@pytest.mark.parametrize("text", ["no JSON", "[]", json.dumps({"environment": 42})])
def test_a_damaged_record_is_named(changing: InMemory, text: str) -> None:
    ci("plan", changing)
    (changing.folder / ".vde" / "ci" / "pr_42.json").write_text(text)
    done = call("ci", "apply", "42", "--project", changing.folder)
    assert done.exit_code == 1
    assert "pr_42.json is no" in done.stderr
    follow(changing, done.stderr)
    ci("apply", changing)
    assert shares(changing) == [60, 120]


def test_a_request_for_itself_is_wrong_usage(changing: InMemory) -> None:
    done = call("ci", "plan", "42", "--target", "pr_42", "--project", changing.folder)
    assert done.exit_code == 2
    assert "--target pr_42 is the request's own environment" in done.stderr
