"""`vde publish`: its messages, its JSON, and what it prints for others to run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call, facts
from tests.cli.changing import InMemory, write_files
from tests.cli.promoted import edit

ALLOWED = "cron '@daily', audits (accepted_range (column := shares, max_v := 50))"


def test_work_and_audits_and_a_reason_have_to_be_given(project: Path) -> None:
    for words in (["w"], ["w", "--accept", "a"], ["w", "--reason", "b"]):
        assert call("publish", *words, "--project", project).exit_code == 2


def test_audits_whose_rows_a_person_accepted_say_that_these_are_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = InMemory(write_files(tmp_path / "changing"), MemoryWorld()).serve(monkeypatch)
    edit(made.folder / "models" / "daily.sql", "cron '@daily'", ALLOWED)
    made.land((0.5, 10), (5.5, 2), until=24)
    there = ("--project", made.folder)
    assert call("plan", "--auto-apply", *there).exit_code == 1
    (refused,) = facts("audits", "mart.daily", *there)["work"]
    assert "Nothing is published" in refused["audits"][0]["message"]
    words = ("--accept", "accepted_range", "--reason", "it was a good day")
    done = call("publish", refused["work_id"], *words, *there)
    assert done.exit_code == 0, done.stderr
    assert "prod does not show them yet: repeat the plan" in done.stdout
    assert call("plan", "--auto-apply", *there).exit_code == 0
    text = " ".join(call("audits", "mart.daily", *there).stdout.split())
    assert ": published the audit accepted_range" in text
    assert "1 row fails: (day = '2024-01-01', shares = 60)." in text
    assert "A person accepted that, so the rows are published." in text
    assert "Nothing is published" not in text
    assert "evaluate again" not in text
    both = " ".join(call("audits", "mart.daily", "--limit", "2", *there).stdout.split())
    assert "Its rows were accepted and published." in both
    assert "vde publish" not in both
    newer, older = facts("audits", "mart.daily", "--limit", "2", *there)["work"]
    assert (older["work_id"], older["branch"]) == (refused["work_id"], None)
    assert newer["accepted"]["work_id"] == refused["work_id"]
