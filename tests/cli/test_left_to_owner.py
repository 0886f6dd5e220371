"""A version that production owns and an audit refused there: who waits for it says so (rule R9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call, facts
from tests.cli.changing import InMemory, write_files
from tests.cli.promoted import edit
from tests.cli.test_status import advised, group

DAILY = Path("models", "daily.sql")
DOUBLED = ("THEN 'none' ELSE '100'", "THEN 'none' ELSE '200'")
FILLS = "the environment prod fills this version but does not show it"


@pytest.fixture
def changing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InMemory:
    """An audit refuses a part of what production would show; then the audit is corrected."""
    made = InMemory(write_files(tmp_path / "changing"), MemoryWorld()).serve(monkeypatch)
    made.land((0.5, 10), (5.5, 5), (30.5, 10), (40.5, 2), until=48)
    edit(made.folder / DAILY, "cron '@daily'", f"cron '@daily', audits ({audit(100)})")
    assert vde(made, "plan", "--auto-apply").exit_code == 0
    edit(made.folder / DAILY, *DOUBLED)
    edit(made.folder / DAILY, "(time_column day)", "(time_column day, batch_size 1)")
    refused = vde(made, "plan", "--auto-apply")
    assert refused.exit_code == 1
    assert "the audit accepted_range" in refused.stderr
    edit(made.folder / DAILY, audit(100), audit(500))
    return made


def audit(most: int) -> str:
    return f"accepted_range (column := shares, max_v := {most})"


def vde(changing: InMemory, *words: str) -> Any:
    return call(*words, "--project", changing.folder)


def document(changing: InMemory, *words: str, exit_code: int = 0) -> dict[str, Any]:
    return facts(*words, "--project", changing.folder, exit_code=exit_code)


def shares(changing: InMemory, environment: str = "mart") -> list[Any]:
    return [row[1] for row in changing.rows(f"{environment}.daily")]


def carried_out(changing: InMemory, text: str, wanted: list[str]) -> None:
    """Carry out a command that a text names; a plan says which one applies it."""
    assert wanted in [command[:2] for command in advised(text)], text
    done = vde(changing, *wanted)
    assert done.exit_code == 0, done.output
    if wanted[0] == "plan":
        assert "To apply it: " in done.stdout
        assert vde(changing, *wanted, "--auto-apply").exit_code == 0


def test_the_documents_of_a_request_that_waits_say_so(changing: InMemory) -> None:
    planned = document(changing, "ci", "plan", "7", exit_code=1)
    assert planned == document(changing, "ci", "comment", "7")
    assert "their rows have not been reviewed" in planned["failure"]
    assert planned["promotion"] is None
    waits = {each["model"]: each for each in planned["waits"]}
    assert waits.keys() == {"mart.daily", "mart.best"}
    assert waits["mart.daily"]["environment"] == "prod"
    assert waits["mart.daily"]["command"] == "vde plan prod"


def test_what_production_is_behind_with_keeps_no_request_back(changing: InMemory) -> None:
    edit(changing.folder / DAILY, *reversed(DOUBLED))
    edit(changing.folder / "models" / "total.sql", "COUNT(*)", "COUNT(*) + 1")
    assert vde(changing, "plan", "prod", "--auto-apply").exit_code == 0
    changing.land((50.5, 10), until=72)
    edit(changing.folder / "models" / "best.sql", "MAX(shares)", "MAX(shares) + 1")
    planned = document(changing, "ci", "plan", "7")
    assert (planned["failure"], planned["waits"]) == ("", [])


@pytest.mark.full
def test_a_stamp_gives_a_request_a_version_of_its_own(changing: InMemory) -> None:
    refused = vde(changing, "ci", "plan", "7").stderr
    assert "write another `stamp` in mart.daily, which" in refused
    edit(changing.folder / DAILY, "cron '@daily'", "cron '@daily', stamp 'of its own'")
    planned = document(changing, "ci", "plan", "7")
    assert planned["waits"] == []
    assert shares(changing, "mart__pr_7") == [60, 120]
    assert shares(changing) == [30, 60]
    assert document(changing, "ci", "apply", "7")["built"] == []
    assert shares(changing) == [60, 120]


def test_status_advises_what_fills_the_version(changing: InMemory) -> None:
    assert vde(changing, "plan", "pr_7", "--auto-apply").exit_code == 0
    text = vde(changing, "status", "pr_7").stdout
    assert "Nothing is stale, and pr_7 can compute nothing yet." in text
    end = group(text, "Failed an audit").splitlines()[-1]
    assert "`vde run" not in end, end
    carried_out(changing, end, ["plan", "prod"])
    assert shares(changing) == [60, 120]
    assert "Failed an audit" not in vde(changing, "status", "pr_7").stdout


@pytest.mark.full
@pytest.mark.parametrize("command", ["plan", "run"])
def test_nothing_is_up_to_date_that_waits(changing: InMemory, command: str) -> None:
    first = vde(changing, "plan", "pr_7", "--auto-apply")
    assert first.exit_code == 0
    assert f"Waits: mart.daily: {FILLS}" in first.stdout
    done = vde(changing, command, "pr_7")
    assert done.exit_code == 0
    assert "up to date" not in done.stdout
    assert f"Waits: mart.daily: {FILLS}" in done.stdout
    assert ["plan", "prod"] in advised(done.stdout)
    found = document(changing, command, "pr_7")
    assert found["waits"].keys() == {"mart.daily", "mart.best"}
    assert not found.get("up_to_date", False)
