"""`vde state`: checking, moving forward, exporting and importing, as a person calls it."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.conftest import WithoutJava
from tests.cli.promoted import promote
from tests.state.next_release import next_release
from vde_dagster.composition import VdeProject
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.state import schema


@pytest.fixture
def built(project: Path) -> Path:
    """A project whose prod shows all models."""
    promote(project, loaded=True)
    return project


def shown(project: Path) -> dict[ModelName, ModelSnapshot]:
    environment = VdeProject.load(project).services.state.environment("prod")
    assert environment is not None
    return dict(environment.snapshots)


def change(project: Path, statement: str) -> None:
    with closing(sqlite3.connect(project / ".vde" / "lake.db")) as file:
        file.execute(statement)
        file.commit()


def elsewhere(project: Path) -> Path:
    """The same project with a state of its own at another place."""
    with (project / "vde.yaml").open("a") as settings:
        settings.write(f"state: {{url: 'sqlite:///{project / 'moved.db'}'}}\n")
    return project


def test_a_whole_state_is_called_so_without_java(built: Path, without_java: WithoutJava) -> None:
    done = without_java("state", "check", "--project", built)
    assert (done.returncode, done.stderr) == (0, "")
    version = schema.VERSION
    assert re.search(
        rf"lake\.db \(schema version {version}, \d+ rows\) is consistent\.\n$", done.stdout
    )
    facts = json.loads(call("state", "check", "--project", built, "--format", "json").stdout)
    assert (facts["whole"], facts["findings"], facts["work"]) == (True, [], [])
    assert facts["rows"]["vde_promotions"] == 1


def test_what_is_wrong_is_listed_and_the_exit_code_says_so(built: Path) -> None:
    change(built, "UPDATE vde_work SET intent_json = '{' WHERE number = 1")
    done = call("state", "check", "--project", built)
    assert done.exit_code == 1
    assert "Something is wrong with the state" in done.stdout
    assert "vde_work (1): intent_json cannot be read" in done.stdout
    done = call("state", "check", "--project", built, "--format", "json")
    assert done.exit_code == 1
    (found,) = json.loads(done.stdout)["findings"]
    assert (found["table"], found["row"]) == ("vde_work", "1")


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A project of which a promotion was begun and not finished."""
    (tmp_path / "vde.yaml").write_text("name: sources\n")
    (tmp_path / "external_models.yaml").write_text("- name: raw.orders\n  columns: {id: bigint}\n")
    assert call("plan", "--auto-apply", "--project", tmp_path).exit_code == 0
    change(tmp_path, "UPDATE vde_promotions SET finished = 0")
    return tmp_path


def promotions(folder: Path) -> list[dict[str, Any]]:
    done = call("state", "check", "--project", folder, "--format", "json")
    begun: list[dict[str, Any]] = json.loads(done.stdout)["promotions"]
    return begun


@pytest.mark.parametrize("which", [0, 1], ids=["finished", "given up"])
def test_a_promotion_that_was_begun_is_ended_as_advised(cut: Path, which: int) -> None:
    done = call("state", "check", "--project", cut)
    assert done.exit_code == 0
    assert "prod, revision 1" in done.stdout
    advice = re.findall(r"`vde ([^`]+)`", done.stdout)
    assert len(advice) == 2
    ran = call(*shlex.split(advice[which]))
    assert ran.exit_code == 0, ran.stderr
    assert promotions(cut) == []


def test_a_promotion_that_was_begun_is_finished_before_a_plan_is_made(cut: Path) -> None:
    assert [each["revision"] for each in promotions(cut)] == [1]
    done = call("plan", "--no-apply", "--project", cut)
    assert done.exit_code == 0, done.stderr
    assert "vde: finished an interrupted promotion of prod." in done.stderr
    assert promotions(cut) == []


def test_an_earlier_state_is_moved_as_advised_and_not_before(built: Path) -> None:
    earlier, before = schema.VERSION, shown(built)
    with next_release():
        said = [call(each, "--project", built) for each in ("environments", "status", "plan")]
        for done in said:
            assert done.exit_code == 1
            assert f"the state has schema version {earlier}, and this release" in done.stderr
        (advice,) = re.findall(r"`vde ([^`]+)`", said[0].stderr)
        assert advice == "state migrate"
        moved = call(*advice.split(), "--project", built)
        assert moved.exit_code == 0, moved.stderr
        assert f"had schema version {earlier} and has {schema.VERSION} now." in moved.stdout
        assert shown(built) == before


def test_a_state_has_its_version_already(built: Path) -> None:
    done = call("state", "migrate", "--project", built)
    assert done.exit_code == 0
    assert f"has schema version {schema.VERSION} already." in done.stdout


def test_a_project_goes_on_with_what_was_imported(built: Path, tmp_path: Path) -> None:
    before, file = shown(built), tmp_path / "state.jsonl"
    exported = call("state", "export", file, "--project", built, "--format", "json")
    assert exported.exit_code == 0, exported.stderr
    done = call("state", "import", file, "--project", elsewhere(built))
    assert done.exit_code == 0, done.stderr
    facts = json.loads(exported.stdout)
    assert f"{sum(facts['rows'].values()):,} rows were imported from" in done.stdout
    assert facts["sha256"] in done.stdout
    assert shown(built) == before
    assert call("status", "--check", "--project", built).exit_code == 0
    again = call("state", "import", file, "--project", built)
    assert again.exit_code == 1
    assert "is not empty" in again.stderr
