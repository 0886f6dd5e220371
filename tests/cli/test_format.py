"""`vde format`: the layout changes, the model never."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.calling import facts as document

MESSY = """MODEL(name mart.messy,   kind full, owner  'me',
  tags (b,a)); -- the header's end
/* before */ select   customer AS Customer, -- who
  SUM( amount )as total /* their sum */ from staging.orders
where ordered_on BETWEEN @start_ds and @end_ds   group   by customer
"""


def facts(project: Path, *arguments: str | Path, exit_code: int = 0) -> dict[str, Any]:
    return document("format", *arguments, "--project", project, exit_code=exit_code)


def fingerprints(project: Path) -> dict[str, str]:
    done = call("plan", "--project", project, "--format", "json", "--no-apply")
    return {each["name"]: each["version"] for each in json.loads(done.stdout)["changes"]}


@pytest.fixture
def messy(project: Path) -> Path:
    """A project that is formatted but for one model."""
    assert call("format", "--project", project).exit_code == 0
    (project / "models" / "mart" / "messy.sql").write_text(MESSY)
    return project


@pytest.mark.full
def test_a_messy_model_is_laid_out_and_stays_the_same_model(messy: Path) -> None:
    before = fingerprints(messy)
    file = messy / "models" / "mart" / "messy.sql"
    done = call("format", "--project", messy)
    assert (done.exit_code, done.stdout) == (0, f"formatted {file}\n")
    assert done.stderr == "1 formatted, 3 unchanged.\n"
    text = file.read_text()
    assert text != MESSY
    for comment in ("the header's end", "before", "who", "their sum"):
        assert text.count(comment) == 1
    assert fingerprints(messy) == before
    again = call("format", "--project", messy)
    assert (again.exit_code, again.stdout) == (0, "")
    assert again.stderr == "0 formatted, 4 unchanged.\n"


@pytest.mark.full
def test_the_contract_of_the_json_document(messy: Path) -> None:
    found = facts(messy, "--check", exit_code=1)
    assert list(found) == ["version", "written", "files"]
    assert (found["version"], found["written"]) == (1, False)
    paths = {each["path"]: each for each in found["files"]}
    assert paths["models/mart/messy.sql"] == {
        "path": "models/mart/messy.sql",
        "changes": True,
        "differs": [],
    }
    assert paths["models/mart/revenue.sql"]["changes"] is False
    assert facts(messy)["written"] is True
    assert [each["changes"] for each in facts(messy)["files"]] == [False] * 4


@pytest.mark.full
def test_check_writes_nothing_and_answers_by_its_exit_code(messy: Path) -> None:
    file = messy / "models" / "mart" / "messy.sql"
    done = call("format", "--check", "--project", messy)
    assert (done.exit_code, done.stdout) == (1, f"would change {file}\n")
    assert "run the command without --check" in done.stderr
    assert file.read_text() == MESSY
    call("format", "--project", messy)
    assert call("format", "--check", "--project", messy).exit_code == 0


def test_a_diff_is_a_patch_that_gives_the_formatted_file(messy: Path, tmp_path: Path) -> None:
    file = messy / "models" / "mart" / "messy.sql"
    file.write_text(MESSY.rstrip())  # no line end at the end
    done = call("format", "--diff", "--project", messy)
    assert done.exit_code == 0
    assert file.read_text() == MESSY.rstrip()
    assert call("format", "--diff", "--check", "--project", messy).exit_code == 1
    other = tmp_path / "patched"
    shutil.copytree(messy, other)
    subprocess.run(
        ["patch", "-p1", "-s"], input=done.stdout, text=True, cwd=other, check=True, timeout=600
    )
    call("format", "--project", messy)
    assert (other / "models" / "mart" / "messy.sql").read_text() == file.read_text()
    assert facts(messy, "--diff")["files"][0]["diff"] == ""


def test_only_the_files_and_folders_that_are_named(messy: Path) -> None:
    twin = messy / "models" / "staging" / "twin.sql"
    twin.write_text(MESSY.replace("mart.messy", "staging.twin"))
    assert call("format", messy / "models" / "staging", "--project", messy).exit_code == 0
    assert (messy / "models" / "mart" / "messy.sql").read_text() == MESSY
    formatted = twin.read_text()
    assert formatted != MESSY.replace("mart.messy", "staging.twin")
    call("format", messy / "models" / "mart" / "messy.sql", twin, "--project", messy)
    assert (messy / "models" / "mart" / "messy.sql").read_text() != MESSY
    assert twin.read_text() == formatted


@pytest.mark.full
def test_line_ends_byte_order_mark_and_permissions_stay(messy: Path) -> None:
    file = messy / "models" / "mart" / "messy.sql"
    file.write_bytes(("\ufeff" + MESSY.replace("\n", "\r\n")).encode())
    file.chmod(0o600)
    assert call("format", "--project", messy).exit_code == 0
    text = file.read_bytes().decode()
    assert text.startswith("\ufeff")
    assert text.count("\n") == text.count("\r\n") > 1
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert call("format", "--check", "--project", messy).exit_code == 0


def test_nothing_is_written_where_a_file_is_no_model(messy: Path) -> None:
    (messy / "models" / "a.sql").write_text("SELECT FROM\n")
    (messy / "models" / "b.sql").write_text("MODEL (name b, kind FUL);\nSELECT 1 AS x\n")
    done = call("format", "--project", messy)
    assert (done.exit_code, done.stdout) == (1, "")
    for place in ("a.sql:1: ", "b.sql:1: "):
        assert f"{messy / 'models' / place}" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("nothing was changed.")
    assert (messy / "models" / "mart" / "messy.sql").read_text() == MESSY


@pytest.mark.parametrize(
    "name, code, said",
    [
        ("vde.yaml", 1, "is not a SQL model of this project"),
        ("seeds", 1, "is not a SQL model of this project"),
        ("models/none.sql", 2, "does not exist"),
    ],
)
def test_wrong_files(messy: Path, name: str, code: int, said: str) -> None:
    done = call("format", messy / name, "--project", messy)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in " ".join(done.stderr.split())


def test_a_project_without_models_says_so(tmp_path: Path) -> None:
    (tmp_path / "vde.yaml").write_text("name: empty\n")
    done = call("format", "--project", tmp_path)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "There is no SQL model to format.\n"
