"""`vde pause` and `vde resume`: their messages and their JSON, and the commands that they print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.cli.promoted import promote

REVENUE = "mart.revenue"


@pytest.fixture
def shown(project: Path) -> Path:
    promote(project, loaded=True)
    return project


def test_a_person_is_told_the_command_that_ends_a_pause_and_it_does(
    shown: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDE_AUTHOR", "ann")
    done = call("pause", REVENUE, "--reason", "looked at", "--project", shown)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("mart.revenue is paused by ann at 20")
    command = done.stdout.strip().split("To resume: vde ")[1]
    assert command == "resume mart.revenue"
    done = call(*command.split(), "--project", shown)
    assert done.stdout.startswith("mart.revenue is resumed. It was paused by ann at 20")
    assert "No model is paused in prod." in call("resume", "--project", shown).stderr


def test_what_is_paused_is_in_the_json_of_both_and_of_plans(shown: Path) -> None:
    words = (REVENUE, "--project", shown, "--format", "json")
    (paused,) = json.loads(call("pause", *words).stdout)["paused"]
    assert (paused["model"], paused["reason"]) == (REVENUE, "")
    plan = json.loads(call("plan", "--project", shown, "--format", "json").stdout)
    (found,) = plan["pauses"]
    assert found == {"pause": paused, "waiting": []}, (
        "all that is due is loaded, so that nothing waits"
    )
    assert json.loads(call("resume", *words).stdout)["resumed"] == [paused]
