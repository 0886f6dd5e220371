"""`vde doctor`: each part is broken for real, its line says so, and what it advises mends it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.calling import OURS, call, run_vde
from tests.cli.promoted import promote
from tests.lakehouse.test_java import OPENJDK_17, write_java
from vde_dagster.lakehouse.spark.jars import EMBEDDED_COORDINATES
from vde_dagster.orchestration import instance_look

ORDER: Final = (
    "project",
    "Java",
    "jars",
    "state",
    "catalog",
    "views",
    "tables",
    "Spark",
    "Python in Spark",
    "catalog in Spark",
    "clock",
    "Dagster instance",
    "Dagster history",
    "run monitoring",
    "code locations",
    "sensors",
    "Dagster daemon",
    "clean-up",
)
WORKSPACE: Final = "load_from: [{python_file: {relative_path: served.py, location_name: shop}}]\n"
SERVED: Final = """\
import dagster as dg
@dg.job
def nightly(): pass
defs = dg.Definitions(jobs=[nightly])
"""
NOTHING_SERVED: Final = "load_from: []\n"
"""No code server is started for the many tests that are about something else."""


@pytest.fixture
def shop(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, on a machine with a program that says that it is Java 17, and with jars."""
    java = write_java(tmp_path / "java", OPENJDK_17)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(java.parent))
    jar = tmp_path / "iceberg.jar"
    jar.touch()
    monkeypatch.setenv("VDE_JARS", str(jar))
    (project / "workspace.yaml").write_text(NOTHING_SERVED)
    return project


Found = dict[str, dict[str, Any]]


def checked(folder: Path, *arguments: str) -> Found:
    """What `vde doctor` finds, by the name of the check."""
    done = call("doctor", "--format", "json", "--project", folder, *arguments)
    facts = json.loads(done.stdout)
    found = {each["check"]: each for each in facts["checks"]}
    assert tuple(found) == ORDER
    is_broken = any(each["outcome"] == "broken" for each in found.values())
    assert (facts["healthy"], done.exit_code) == (not is_broken, int(is_broken))
    for each in found.values():
        assert bool(each["advice"]) == (each["outcome"] in ("warning", "broken"))
    return found


def outcome(folder: Path, check: str) -> str:
    found: str = checked(folder, "--no-spark")[check]["outcome"]
    return found


def content(folder: Path) -> tuple[list[str], list[tuple[object, ...]]]:
    """All files of a project, and all rows of its database."""
    with closing(sqlite3.connect(folder / ".vde" / "lake.db")) as file:
        names = [
            row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        rows = [(name, *row) for name in names for row in file.execute(f"SELECT * FROM {name}")]
    files = [str(each) for each in folder.rglob("*") if not each.name.startswith("lake.db-")]
    return sorted(files), sorted(rows, key=str)


def test_what_works_is_said_in_a_line_each_and_leaves_nothing_behind(shop: Path) -> None:
    promote(shop, loaded=True)
    (shop / "workspace.yaml").write_text(WORKSPACE)
    (shop / "served.py").write_text(SERVED)
    call("doctor", "--no-spark", "--project", shop)  # what Python keeps of served.py is there
    before = content(shop)
    done = call("doctor", "--no-spark", "--project", shop)
    assert done.exit_code == 0, done.stdout
    assert content(shop) == before
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert [line[11:29].strip() for line in lines] == list(ORDER)
    said = {line[11:29].strip(): (line[:11].strip(), line[29:]) for line in lines}
    assert said["project"] == ("ok", f"shop in {shop}")
    assert said["Java"][1].startswith(f"{OPENJDK_17}, from the PATH (")
    assert said["state"][0] == said["catalog"][0] == said["views"][0] == said["clock"][0] == "ok"
    assert said["clock"][1].startswith("this machine and the state's database, the warehouse's")
    assert said["Spark"] == ("not tried", "skipped by --no-spark")
    assert said["Python in Spark"] == ("not tried", "needs Spark")
    assert said["code locations"] == ("ok", "code locations load: shop")
    assert said["clean-up"][0] == "ok"
    assert "Nothing is broken" in done.stderr


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with a small file for each jar, as it was downloaded."""
    folder = tmp_path / "cache"
    for coordinate in EMBEDDED_COORDINATES:
        place = folder / coordinate.replace(":", "_")
        place.mkdir(parents=True)
        (place / "a.jar").write_bytes(b"PK..")
        entry = {"name": "a.jar", "size": 4, "sha256": sha256(b"PK..").hexdigest()}
        (place / "manifest.json").write_text(json.dumps({"files": [entry]}))
    monkeypatch.delenv("VDE_JARS")
    monkeypatch.setenv("VDE_JARS_CACHE", str(folder))
    return folder


def test_a_jar_with_other_bytes_of_the_same_number_is_found(shop: Path, cache: Path) -> None:
    assert outcome(shop, "jars") == "ok"
    jar = next(cache.rglob("*.jar"))
    jar.write_bytes(b"PK.!")
    found = checked(shop, "--no-spark")["jars"]
    assert found["outcome"] == "broken"
    assert str(jar.parent) in found["message"]
    shutil.rmtree(jar.parent)  # as it advises; what is missing is downloaded by `vde jars`
    absent = checked(shop, "--no-spark")["jars"]
    assert (absent["outcome"], absent["message"]) == ("warning", "1 are not downloaded yet")
    assert absent["advice"] == "`vde jars` downloads them."


@pytest.mark.full
def test_a_new_project_has_no_state_yet_and_an_empty_file_is_none(shop: Path) -> None:
    found = checked(shop, "--no-spark")["state"]
    assert found["outcome"] == "ok"
    assert "the first plan creates it" in found["message"]
    with (shop / "vde.yaml").open("a") as settings:
        settings.write(f"state: {{url: 'sqlite:///{shop / 'state.db'}'}}\n")
    (shop / "state.db").touch()
    broken = checked(shop, "--no-spark")
    assert broken["state"]["outcome"] == "broken"
    assert "delete the file" in broken["state"]["advice"]
    assert broken["catalog"]["outcome"] == "ok"
    (shop / "state.db").unlink()
    assert outcome(shop, "state") == "ok"


@pytest.mark.full
@pytest.mark.parametrize(
    "check, closed",
    [("state", "vde_leases"), ("views", "iceberg_tables WHEN NEW.iceberg_type = 'VIEW'")],
)
def test_what_cannot_be_written_is_broken_and_nothing_is_left(
    shop: Path, check: str, closed: str
) -> None:
    promote(shop, loaded=True)
    checked(shop, "--no-spark")
    before = content(shop)
    with closing(sqlite3.connect(shop / ".vde" / "lake.db")) as file:
        refuse = "BEGIN SELECT RAISE(ABORT, 'closed'); END"
        file.execute(f"CREATE TRIGGER closed BEFORE INSERT ON {closed} {refuse}")
        found = checked(shop, "--no-spark")
        file.execute("DROP TRIGGER closed")
    assert (found[check]["outcome"], found["clean-up"]["outcome"]) == ("broken", "ok")
    assert content(shop) == before
    assert outcome(shop, check) == "ok"


@pytest.mark.full
def test_a_warehouse_that_is_no_folder_is_broken_and_nothing_is_left(shop: Path) -> None:
    checked(shop, "--no-spark")
    before = content(shop)
    shutil.rmtree(shop / ".vde" / "warehouse")
    (shop / ".vde" / "warehouse").touch()
    found = checked(shop, "--no-spark")
    assert found["catalog"]["outcome"] == "broken"
    assert found["clean-up"]["outcome"] == "ok"
    (shop / ".vde" / "warehouse").unlink()
    (shop / ".vde" / "warehouse").mkdir()
    assert content(shop) == before
    assert outcome(shop, "catalog") == "ok"


@pytest.mark.full
def test_what_dagster_needs_is_looked_at_once_there_is_a_home(shop: Path) -> None:
    found = checked(shop, "--no-spark")
    assert found["Dagster instance"]["outcome"] == "warning"
    assert "`vde ui` creates it" in found["Dagster instance"]["advice"]
    assert found["run monitoring"]["message"] == "needs Dagster instance"
    assert found["Dagster daemon"]["message"] == "needs Dagster instance"
    home = shop / ".vde" / "dagster"
    home.mkdir()
    (home / "dagster.yaml").write_text("run_monitoring: {enabled: perhaps}\n")
    wrong = checked(shop, "--no-spark")["Dagster instance"]
    assert (wrong["outcome"], "dagster.yaml" in wrong["advice"]) == ("broken", True)
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    found = checked(shop, "--no-spark")
    assert found["Dagster instance"]["outcome"] == found["Dagster history"]["outcome"] == "ok"
    assert found["run monitoring"]["outcome"] == found["Dagster daemon"]["outcome"] == "warning"
    lines = found["run monitoring"]["advice"].split("`")[1:4:2]
    (home / "dagster.yaml").write_text("\n".join(lines))
    assert outcome(shop, "run monitoring") == "ok"


def test_files_that_several_machines_have_are_no_place_for_a_state_or_a_history(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    promote(shop, loaded=True)
    (shop / ".vde" / "dagster").mkdir(parents=True)
    mounts = tmp_path / "mounts"
    mounts.write_text(f"overlay / overlay rw 0 0\nserver:/x {shop.resolve()} nfs4 rw 0 0\n")
    monkeypatch.setattr(instance_look, "MOUNTS", mounts)
    found = checked(shop, "--no-spark")
    for check, expected in (("state", "warning"), ("Dagster history", "broken")):
        assert (found[check]["outcome"], "is on nfs4" in found[check]["message"]) == (
            expected,
            True,
        )
    assert "`state.url`" in found["state"]["advice"]
    mounts.write_text("overlay / overlay rw 0 0\n")
    assert outcome(shop, "Dagster history") == "ok"


@pytest.mark.full
def test_a_project_without_a_workspace_is_told_where_to_see_one(shop: Path, tmp_path: Path) -> None:
    assert outcome(shop, "code locations") == "broken"  # it names none
    (shop / "workspace.yaml").unlink()
    found = checked(shop, "--no-spark")["code locations"]
    assert found["outcome"] == "broken"
    assert found["advice"].startswith("`vde init DIR` creates an example")
    assert call("init", tmp_path / "other").exit_code == 0
    assert (tmp_path / "other" / "workspace.yaml").is_file()


def test_no_secret_is_shown(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "canary-of-a-password")
    with (shop / "vde.yaml").open("a") as settings:
        settings.write("state: {url: 'postgresql://ana:${CANARY}@127.0.0.1:1/vde'}\n")
        settings.write(
            "catalog: {name: lake, properties: {type: sql, "
            "uri: 'postgresql+psycopg2://ana:${CANARY}@127.0.0.1:1/c', warehouse: 'file:///w'}}\n"
        )
    for output in ("text", "json"):
        done = call("doctor", "--no-spark", "--debug", "--format", output, "--project", shop)
        assert done.exit_code == 1
        assert "canary" not in done.stdout + done.stderr
    found = checked(shop, "--no-spark")
    assert found["state"]["outcome"] == found["catalog"]["outcome"] == "broken"
    assert found["clock"]["outcome"] == "warning"


@pytest.mark.full  # each starts a Spark of its own, and the code servers of the project
@pytest.mark.spark
def test_a_new_project_is_healthy_and_a_python_that_workers_lack_is_not(project: Path) -> None:
    done = run_vde("doctor", "--project", project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "code locations load: dev, prod" in done.stdout
    missing = run_vde("doctor", "--project", project, PYSPARK_PYTHON="/there/is/no/python")
    assert missing.returncode == 1
    line = next(each for each in missing.stdout.splitlines() if "Python in Spark" in each)
    assert line.startswith("broken")
    assert "Set PYSPARK_PYTHON" in missing.stdout


@pytest.mark.full  # the code server that hangs; that a check's failure leaves nothing: above
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_stops_it_finds_nothing_left(shop: Path, number: signal.Signals) -> None:
    checked(shop, "--no-spark")
    before = content(shop)
    (shop / "workspace.yaml").write_text(WORKSPACE)
    (shop / "served.py").write_text("import time\ntime.sleep(60)\n")
    stops = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = f"{stops}from vde_dagster.cli import main; main()"  # `./run test &` has it ignored
    process = subprocess.Popen(
        [sys.executable, "-c", code, "doctor", "--no-spark", "--project", shop],
        env={key: each for key, each in os.environ.items() if key not in OURS},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    while "run monitoring" not in (line := process.stdout.readline()):  # what hangs comes next
        assert line
    assert "vde_doctor_" in str(content(shop))
    process.send_signal(number)
    process.communicate(timeout=120)
    assert process.returncode == 1
    (shop / "workspace.yaml").write_text(NOTHING_SERVED)
    (shop / "served.py").unlink()
    shutil.rmtree(shop / "__pycache__", ignore_errors=True)
    assert content(shop) == before
