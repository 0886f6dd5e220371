"""`vde init`: a project that loads and plans at once."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.cli.calling import call


def test_the_new_project_plans_three_models(project: Path) -> None:
    done = call("plan", "prod", "--project", project, "--format", "json")
    assert done.exit_code == 0, done.stderr
    kinds = {each["name"]: each["kind"] for each in json.loads(done.stdout)["changes"]}
    assert kinds == {
        "staging.orders": "SEED",
        "mart.revenue": "FULL",
        "mart.best_customers": "VIEW",
    }


def test_it_has_everything_that_dagster_needs(project: Path) -> None:
    locations = yaml.safe_load((project / "workspace.yaml").read_text())["load_from"]
    attributes = [each["python_file"]["attribute"] for each in locations]
    assert attributes == ["prod", "dev"]
    assert "build_definitions" in (project / "definitions.py").read_text()
    assert ".vde/" in (project / ".gitignore").read_text().splitlines()


def test_it_is_named_after_its_folder(tmp_path: Path) -> None:
    for folder, name in (("My Shop", "my_shop"), ("2024", "project_2024")):
        assert call("init", tmp_path / folder).exit_code == 0
        assert yaml.safe_load((tmp_path / folder / "vde.yaml").read_text())["name"] == name


def test_next_steps_are_printed(tmp_path: Path) -> None:
    done = call("init", tmp_path / "a b")
    assert f"vde plan prod --project '{tmp_path / 'a b'}'" in done.stdout


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = call("init", tmp_path)
    assert done.exit_code == 1
    assert "not empty" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_folder_is_fine(tmp_path: Path) -> None:
    assert call("init", tmp_path).exit_code == 0
