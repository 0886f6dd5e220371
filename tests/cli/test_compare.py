"""`vde compare`: folders and git revisions, for people and for programs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.promoted import edit
from tests.project.repositories import AS_SOMEBODY, commit, new_repository, write

REVENUE = "models/mart/revenue.sql"
BEST = "models/mart/best_customers.sql"
SCORES = """from vde_dagster import model


@model("mart.scores", depends_on=["mart.revenue"], columns={"customer": "string"})
def scores(context):
    return context.table("mart.revenue").select("customer")
"""


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AS_SOMEBODY.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def changed(project: Path, tmp_path: Path) -> Path:
    """The project of the template again, to be changed."""
    return Path(shutil.copytree(project, tmp_path / "changed"))


def facts(*arguments: str | Path) -> dict[str, Any]:
    return document("compare", *arguments)


def models(*arguments: str | Path) -> dict[str, dict[str, Any]]:
    return _by_name(facts(*arguments))


def _by_name(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["difference"]["name"]: _flat(each) for each in found["models"]}


def _flat(model: Mapping[str, Any]) -> dict[str, Any]:
    """A model's difference, with its kind, and fingerprint and version of both sides."""
    flat = {**model["difference"], "kind": model["model"]["kind"]}
    for side in ("before", "after"):
        for part in ("fingerprint", "version"):
            flat[f"{part}_{side}"] = model[side][part] if model[side] is not None else None
    return flat


def fingerprints(project: Path) -> dict[str, dict[str, Any]]:
    done = call("fingerprint", "--project", project, "--format", "json")
    return {each["name"]: each for each in json.loads(done.stdout)["models"]}


def test_the_contract_of_the_json_document(project: Path, changed: Path) -> None:
    edit(changed / REVENUE, "SUM(amount)", "MAX(amount)")
    write(changed, {"models/mart/few.sql": "SELECT customer FROM mart.revenue"})
    write(changed, {BEST: None})
    found = facts(project, changed)
    assert " ".join(found) == ("version before after strict_columns models counts")
    assert found["before"] == {"name": str(project), "commit": None}
    assert found["after"]["name"] == str(changed)
    assert (found["version"], found["strict_columns"]) == (1, False)
    assert found["counts"] == {"added": 1, "removed": 1, "direct": 1, "none": 1}
    by_name = _by_name(found)
    assert " ".join(by_name) == "staging.orders mart.revenue mart.few mart.best_customers"
    before, after = fingerprints(project)["mart.revenue"], fingerprints(changed)["mart.revenue"]
    revenue = by_name["mart.revenue"]
    assert revenue == {
        "name": "mart.revenue",
        "kind": "FULL",
        "change": "direct",
        "category": "non_breaking",
        "decided_by": "automatic",
        "undecidable": False,
        "reasons": revenue["reasons"],
        "rebuild": True,
        "columns_changed": ["revenue"],
        "drifted": False,
        "fingerprint_before": before["fingerprint"],
        "fingerprint_after": after["fingerprint"],
        "version_before": before["version"],
        "version_after": after["version"],
    }
    (reason,) = revenue["reasons"]
    assert (reason["kind"], reason["columns"]) == ("unread_columns_changed", ["revenue"])
    assert "no model reads it" in reason["sentence"]
    few, best, orders = (by_name[f] for f in ("mart.few", "mart.best_customers", "staging.orders"))
    assert (few["change"], few["fingerprint_before"], few["version_before"]) == (
        "added",
        None,
        None,
    )
    assert (best["change"], best["fingerprint_after"], best["version_after"]) == (
        "removed",
        None,
        None,
    )
    assert orders["version_before"] == orders["version_after"] is not None


DAYS = "SELECT ordered_on, SUM(orders) AS orders FROM mart.revenue GROUP BY ordered_on"


def test_the_project_of_the_present_folder_is_meant_by_default(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(new_repository(project))
    edit(project / REVENUE, "SUM(amount)", "MAX(amount)")
    monkeypatch.chdir(project)
    found = facts("HEAD")
    assert found["after"] == {"name": "the work tree", "commit": None}
    assert found["counts"]["direct"] == 1


def test_what_a_person_sees(project: Path, changed: Path) -> None:
    edit(changed / REVENUE, "SUM(amount)", "MAX(amount)")
    for each in (project, changed):
        write(each, {"models/mart/days.sql": "MODEL (name mart.days, kind FULL);\n" + DAYS})
    write(changed, {"models/mart/new.sql": "SELECT customer FROM mart.revenue"})
    commit(new_repository(project))
    shutil.copytree(project / ".git", changed / ".git")
    done = call("compare", "main", "--project", changed)
    assert done.exit_code == 0, done.stderr
    found = models("main", "--project", changed)
    old, new = (found["mart.revenue"][f"version_{side}"][:8] for side in ("before", "after"))
    lines = [line.strip(" ├└─│") for line in done.stdout.splitlines()]
    assert lines[0].startswith("main (")
    assert lines[0].endswith("-> the work tree")
    assert f"~ mart.revenue  breaking  {old} -> {new}  rebuilt" in lines
    assert "columns: revenue" in lines
    kept = found["mart.days"]["version_after"][:8]
    assert f"~ mart.days  indirect non-breaking  {kept} stays  kept" in lines
    for heading in ("Changed (1)", "Changed upstream (2)", "New (1)"):
        assert heading in lines
    assert all(each["sentence"] in done.stdout for each in found["mart.revenue"]["reasons"])
    assert lines[-2] == "1 new, 1 changed, 2 changed upstream, 1 unchanged; 0 sources."
    assert lines[-1] == ("Effect of a plan: 1 rebuilt, 1 built new, 1 view rebuilt, 2 kept.")


def test_where_nothing_differs_models_are_counted_only(project: Path) -> None:
    commit(new_repository(project))
    done = call("compare", "main", "HEAD", "--project", project)
    assert done.stdout.splitlines()[1:] == [
        "",
        "3 unchanged; 0 sources.",
        "Effect of a plan: 0 rebuilt, 3 kept.",
    ]


def test_a_change_in_python_is_said_to_be_undecidable(project: Path, changed: Path) -> None:
    write(project, {"models/mart/scores.py": SCORES})
    write(
        changed,
        {"models/mart/scores.py": SCORES.replace('"customer")\n', '"customer").limit(1)\n')},
    )
    found = models(project, changed)["mart.scores"]
    assert (found["category"], found["undecidable"]) == ("breaking", True)
    assert "mart.scores  breaking (undecidable)" in call("compare", project, changed).stdout


@pytest.mark.full
@pytest.mark.parametrize(
    "arguments,before,after,category",
    [
        ((), "", "", "non_breaking"),
        (("--strict-columns",), "", "", "breaking"),
        ((), "", "strict_columns: true\n", "breaking"),
        ((), "strict_columns: true\n", "", "non_breaking"),
    ],
)
def test_columns_that_nobody_reads_are_strict_where_the_later_side_says_so(
    project: Path, changed: Path, arguments: tuple[str, ...], before: str, after: str, category: str
) -> None:
    for folder, setting in ((project, before), (changed, after)):
        with (folder / "vde.yaml").open("a") as file:
            file.write(setting)
    edit(changed / BEST, "SUM(orders) AS orders", "MAX(orders) AS orders")
    found = facts(*arguments, project, changed)
    assert found["strict_columns"] is (category == "breaking")
    best = {each["difference"]["name"]: _flat(each) for each in found["models"]}[
        "mart.best_customers"
    ]
    assert (best["change"], best["category"]) == ("direct", category)


def test_what_is_wrong_at_both_sides_is_reported_at_once(project: Path, changed: Path) -> None:
    commit(new_repository(project), {"models/a.sql": "SELECT FROM\n"})
    write(project, {"models/a.sql": None, "models/b.sql": "\nSELECT x FROM mart.revenue"})
    write(changed, {"models/c.sql": "MODEL (\n  name shop.c,\n  kind FUL\n);\nSELECT 1 AS x"})
    done = call("compare", "main", "--project", project)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "main:models/a.sql:1: " in done.stderr
    assert f"{project}/models/b.sql:2: " in done.stderr
    done = call("compare", changed, "HEAD", "--project", project)
    assert done.exit_code == 1
    assert f"{changed}/models/c.sql:3: " in done.stderr
    assert "HEAD:models/a.sql:1: " in done.stderr
    assert "models/b.sql" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("2 problems")


def test_a_side_without_a_project_is_reported(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = new_repository(tmp_path / "mono")
    commit(repository, {"README": "no project yet"})
    shutil.copytree(project, repository / "shop")
    done = call("compare", "main", "--project", repository / "shop")
    assert done.exit_code == 1
    assert "main:shop/vde.yaml:1: there is no vde.yaml at main (" in done.stderr
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    done = call("compare", "models", "--project", project)
    assert done.exit_code == 1
    assert "models/vde.yaml:1: this folder is not a project: it has no vde.yaml" in done.stderr
    assert "git:models" in done.stderr


def test_without_git_folders_can_be_compared_and_revisions_not(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(new_repository(project))
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    done = call("compare", "main", "--project", project)
    assert done.exit_code == 1
    assert "Install git" in done.stderr
    assert call("compare", project, project).exit_code == 0


def test_warnings_of_files_are_not_reported(project: Path) -> None:
    text = "MODEL (name mart.checked, kind FULL);\nSELECT '@start_ds' AS x"
    write(project, {"models/mart/checked.sql": text})
    assert "warning" in call("plan", "--no-apply", "--project", project).stderr
    assert call("compare", project, project).stderr == ""
