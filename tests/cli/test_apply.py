"""`vde plan --save` and `vde apply`: without Spark, since these projects have sources only."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.conftest import WithoutJava
from tests.cli.promoted import edit, promote
from tests.cli.terminal import on_terminal
from vde_dagster.composition import VdeProject

SOURCES = "- name: raw.orders\n  columns: {id: bigint}\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A project whose only model is a source: applying its plan needs no engine."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "vde.yaml").write_text("name: shop\n")
    (folder / "external_models.yaml").write_text(SOURCES)
    return folder


def save(folder: Path, *arguments: str, name: str = "plan.json") -> Path:
    path = folder.parent / name
    done = call("plan", *arguments, "--save", path, "--project", folder)
    assert done.exit_code == 0, done.stderr
    return path


def applied(folder: Path, path: Path) -> dict[str, Any]:
    return document("apply", path, "--project", folder)


def revision(folder: Path, environment: str = "prod") -> int:
    shown = VdeProject.load(folder).services.state.environment(environment)
    return 0 if shown is None else shown.revision


def refused(folder: Path, path: Path, *, code: int = 1) -> str:
    """Why a file is not applied; nothing is written then."""
    before = revision(folder)
    done = call("apply", path, "--project", folder)
    assert (done.exit_code, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr
    assert revision(folder) == before
    return done.stderr


# Saving
def test_saving_writes_the_plan_says_how_to_apply_it_and_applies_nothing(sources: Path) -> None:
    path = sources.parent / "plan.json"
    done = call("plan", "--save", path, "--project", sources)
    assert done.exit_code == 0
    assert done.stdout.startswith("Plan for prod (new)")
    assert done.stdout.endswith(f"Saved. To apply it: vde apply {path} --project {sources}\n")
    assert json.loads(path.read_text())["plan"]["environment"] == "prod"
    assert revision(sources) == 0
    facts = json.loads(
        call("plan", "--save", path, "--project", sources, "--format", "json").stdout
    )
    assert (facts["saved"], facts["applied"]) == (str(path), False)


def test_what_is_saved_again_replaces_a_saved_plan_and_nothing_else(sources: Path) -> None:
    path = save(sources)
    path.write_text(path.read_text()[:500])
    assert json.loads(save(sources).read_text())
    mine = sources / "external_models.yaml"
    done = call("plan", "--save", mine, "--project", sources)
    assert done.exit_code == 1
    assert "exists and is not a saved plan; it was not changed" in done.stderr
    assert mine.read_text() == SOURCES
    (sources / "empty").touch()
    assert call("plan", "--save", sources / "empty", "--project", sources).exit_code == 0


@pytest.mark.parametrize("place", ["no/such/folder/plan.json", "."])
def test_a_place_that_cannot_be_written_is_refused(sources: Path, place: str) -> None:
    done = call("plan", "--save", sources / place, "--project", sources)
    assert done.exit_code == 1
    assert "cannot be" in done.stderr
    assert "Traceback" not in done.stderr


def test_on_a_terminal_nobody_is_asked_whether_to_apply_what_is_saved(sources: Path) -> None:
    path = sources.parent / "plan.json"
    said = on_terminal("plan", "--save", path, "--project", sources, answers=())
    assert (said.code, "Apply this plan" in said.text) == (0, False)
    said = on_terminal("apply", path, "--project", sources, answers=())
    assert said.code == 0
    assert "prod shows the saved plan." in said.text


# Applying
def test_what_was_reviewed_is_applied_whatever_became_of_the_files(sources: Path) -> None:
    path = save(sources)
    (sources / "external_models.yaml").write_text("- {name: raw.other, columns: {x: int}}\n")
    models = sources / "models"
    models.mkdir()
    (models / "broken.sql").write_text("MODEL (name; SELECT")
    facts = applied(sources, path)
    assert facts["applied"]
    assert [each["name"] for each in facts["changes"]] == ["raw.orders"]
    (shown,) = json.loads(call("environments", "--project", sources, "--format", "json").stdout)[
        "environments"
    ]
    assert list(shown["models"]) == ["raw.orders"]
    assert shown["plan_id"] == facts["plan_id"] == json.loads(path.read_text())["plan"]["plan_id"]


def test_applying_a_file_again_does_nothing(sources: Path) -> None:
    path = save(sources)
    assert not applied(sources, path)["already_applied"]
    again = applied(sources, path)
    assert (again["already_applied"], again["applied"], again["is_empty"]) == (True, False, True)
    said = call("apply", path, "--project", sources).stdout
    assert said == "This plan is already applied: prod shows its versions.\n"
    assert revision(sources) == 1


def test_the_contract_of_the_json_document(sources: Path) -> None:
    path = save(sources)
    fields = """
        version plan_id environment base_revision now changes promotes options views removed hidden
        left_out not_restated gaps dropped_views lost_tables unfinished paced taken pauses
        effective_from is_empty rebuilds warnings refused already_applied applied built
    """
    assert list(applied(sources, path)) == fields.split()


def test_a_plan_without_work_is_applied_without_java(
    sources: Path, without_java: WithoutJava
) -> None:
    done = without_java("apply", save(sources), "--project", sources)
    assert (done.returncode, done.stderr) == (0, "")


# Refusals
def test_an_environment_that_moved_is_refused(sources: Path) -> None:
    path = save(sources)
    edit(sources / "external_models.yaml", "id: bigint", "id: bigint, at: date")
    promote(sources)
    reported = refused(sources, path)
    assert "prod was changed since this plan was made: it is at revision 1" in reported
    assert "plan again" in reported


def test_what_is_no_text_or_no_file_is_refused(sources: Path) -> None:
    path = sources.parent / "plan.json"
    assert f"file not found: {path}" in refused(sources, path)
    path.write_bytes(os.urandom(100) + b"\xff")
    assert "cannot be read as UTF-8" in refused(sources, path)
    assert "cannot be read" in refused(sources, sources.parent)
    done = call("plan", "--project", sources, "--format", "json")
    path.write_text(done.stdout)
    assert "describes a plan and cannot be applied" in refused(sources, path)


def test_a_plan_that_was_saved_while_the_clock_had_no_time_is_not_saved(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "vde.yaml").write_text("name: shop\nclock: {valid_to: [raw.orders]}\n")
    (folder / "external_models.yaml").write_text(SOURCES)
    done = call("plan", "--save", tmp_path / "plan.json", "--project", folder)
    assert done.exit_code == 1
    assert "nothing was written: the project's clock is not set yet" in done.stderr
    assert not (tmp_path / "plan.json").exists()
