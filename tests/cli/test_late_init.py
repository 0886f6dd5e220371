"""`vde late init`: the property that it prints is put into the model, and the project is read."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.orchestration.lifecycle_landing import EXAMPLE, landing
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName

LATE = re.compile(r"\n  late_data \(.*?\)\)?,?(?=\n)", re.DOTALL)


@pytest.fixture
def life(tmp_path: Path) -> Path:
    folder = tmp_path / "life"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".vde", "__pycache__"))
    return folder


def without_late_data(folder: Path, name: str) -> Path:
    """Take the property out of a model that others track, and theirs, too."""
    path = folder / "models" / "lifecycle" / f"{name}.sql"
    text, count = LATE.subn("", path.read_text())
    assert count == 1
    path.write_text(text.replace("',\n);", "'\n);"))
    return path


@pytest.mark.parametrize("landed", [True, False], ids=["landed", "nothing there yet"])
@pytest.mark.parametrize("name", ["signups", "account_plans", "cancel_requests", "cancels"])
def test_what_is_proposed_is_what_the_example_says_and_can_be_read(
    life: Path, name: str, landed: bool
) -> None:
    before = VdeProject.load(life)
    wanted = before.files.graph[ModelName("lifecycle", name)].model.late_data
    assert wanted is not None
    if landed:
        landing.land(before.iceberg_catalog(), "first")
    path = without_late_data(life, name)
    done = call("late", "init", f"lifecycle.{name}", "--project", life)
    assert done.exit_code == 0, done.stderr
    path.write_text(path.read_text().replace("MODEL (", f"MODEL (\n{done.stdout.strip()},", 1))
    found = VdeProject.load(life).files.graph[ModelName("lifecycle", name)].model.late_data
    assert found is not None
    assert (found.mode, {*found.sources}) == (wanted.mode, {*wanted.sources})
    assert {(each.name, each.tracked_by) for each in found.tracked} == {
        (each.name, each.tracked_by) for each in wanted.tracked
    }


def test_it_says_why(life: Path) -> None:
    without_late_data(life, "cancels")
    done = call("late", "init", "lifecycle.cancels", "--project", life)
    assert "stateful: it reads 2 tables." in done.stderr
    assert "lifecycle.cancel_requests is tracked: requested_at is its time column." in done.stderr
    asked = call("late", "init", "lifecycle.cancels", "--project", life, "--format", "json")
    facts = json.loads(asked.stdout)
    assert facts["late_data"] == done.stdout.strip()
    assert [each["name"] for each in facts["proposal"]["sources"]] == [
        "raw.cancels",
        "lifecycle.cancel_requests",
    ]


@pytest.mark.parametrize(
    "name,reason",
    [
        ("lifecycle.cancels", "lifecycle.cancels already has late_data"),
        ("lifecycle.cancel", "Did you mean lifecycle.cancels?"),
    ],
)
def test_what_cannot_be_proposed_is_refused_with_the_reason(
    life: Path, name: str, reason: str
) -> None:
    done = call("late", "init", name, "--project", life)
    assert done.exit_code == 1
    assert reason in done.stderr
