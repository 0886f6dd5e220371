"""`dagster dev` on this repository, and what its code locations print."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml

from tests.cli.calling import OURS, call
from tests.dagster_server import end_group, free_port, until_loaded
from vde_dagster.cli.projects.copying import copy_project
from vde_dagster.composition import VdeProject
from vde_dagster.orchestration.home import check_home

REPOSITORY = Path(__file__).parents[2]
SETTINGS = "telemetry:\n  enabled: false\nnux:\n  enabled: false\n"


def test_both_locations_of_this_repository_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VDE_PROJECT", "DAGSTER_HOME"):
        monkeypatch.setenv(name, _environment(tmp_path)[name])
    found = runpy.run_path(str(REPOSITORY / "definitions.py"))
    keys = set()
    for each in ("prod", "dev"):
        dg.Definitions.validate_loadable(found[each]())
        graph = found[each]().resolve_asset_graph()
        keys |= {key.to_user_string() for key in graph.get_all_asset_keys()}
    assert {"mart/carrier_delays", "mart__dev/carrier_delays", "raw/departures"} <= keys


def test_the_repository_serves_what_the_demo_has_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", _environment(tmp_path)["DAGSTER_HOME"])
    monkeypatch.delenv("VDE_PROJECT", raising=False)
    shutil.copy(REPOSITORY / "definitions.py", tmp_path)
    for folder in (tmp_path / "examples/nyc_flights", tmp_path / "nyc_flights"):
        (folder / "models").mkdir(parents=True)
        (folder / "vde.yaml").write_text("name: tiny\ndefaults: {start: 2024-01-01}\n")
        (folder / "models/one.sql").write_text("MODEL (name mart.one, kind FULL);\nSELECT 1 AS n")
        served = runpy.run_path(str(tmp_path / "definitions.py"))["prod"]().metadata
        assert served["vde/folder"].value == str(folder)


def test_both_locations_of_the_walk_through_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its workspace.yaml names them; prod has the sensor by which alone its story is told."""
    folder = tmp_path / "life"
    copy_project(REPOSITORY / "examples" / "customer_lifecycle", folder)
    for name in ("VDE_PROJECT", "DAGSTER_HOME"):
        monkeypatch.setenv(name, _environment(tmp_path)[name])
    monkeypatch.delenv("VDE_ENVIRONMENT", raising=False)
    named = yaml.safe_load((folder / "workspace.yaml").read_text("utf-8"))["load_from"]
    locations = [each["python_file"] for each in named]
    assert [(each["location_name"], each["attribute"]) for each in locations] == [
        ("prod", "prod"),
        ("dev", "dev"),
    ]
    for each in locations:
        found = runpy.run_path(str(folder / each["relative_path"]))[each["attribute"]]()
        dg.Definitions.validate_loadable(found)
        schema = "lifecycle" if each["attribute"] == "prod" else "lifecycle__dev"
        keys = {key.to_user_string() for key in found.resolve_asset_graph().get_all_asset_keys()}
        assert {f"{schema}/account_state", f"{schema}/cancels", "raw/cancels"} <= keys
        sensors = {sensor.name for sensor in found.sensors}
        assert f"vde_late_data_{each['location_name']}" in sensors


def test_dagster_dev_without_a_home_says_what_to_export_once_for_both_locations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    project = tmp_path / "project"
    (project / "models").mkdir(parents=True)
    (project / "vde.yaml").write_text("name: tiny\ndefaults: {start: 2024-01-01}\n")
    (project / "models/one.sql").write_text("MODEL (name mart.one, kind FULL);\nSELECT 1 AS n")
    monkeypatch.setenv("VDE_PROJECT", str(project))
    monkeypatch.setenv("DAGSTER_IS_DEV_CLI", "1")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    found = runpy.run_path(str(REPOSITORY / "definitions.py"))
    assert all(isinstance(found[each](), dg.Definitions) for each in ("prod", "dev"))
    (said,) = [each for each in caplog.messages if "DAGSTER_HOME is not set" in each]
    assert f"export DAGSTER_HOME={project / '.vde' / 'dagster'}" in said


@pytest.mark.parametrize(
    "words, warned",
    [
        ("dagster asset materialize --select one -f definitions.py", True),
        ("dagster job execute -f definitions.py", True),
        ("dg launch --assets one", True),
        ("dagster definitions validate", False),
        ("dagster-webserver", False),
        ("vde plan prod", False),
    ],
)
def test_a_run_of_dagsters_command_line_without_a_home_says_that_it_is_forgotten(
    words: str,
    warned: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "vde.yaml").write_text("name: tiny\ndefaults: {start: 2024-01-01}\n")
    program, *rest = words.split()
    monkeypatch.setattr(sys, "argv", [f"/somewhere/bin/{program}", *rest])
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.delenv("DAGSTER_IS_DEV_CLI", raising=False)
    check_home(VdeProject.load(tmp_path).configuration)
    assert [f"export DAGSTER_HOME={tmp_path}" in each for each in caplog.messages] == [
        True
    ] * warned


@pytest.mark.full
def test_a_ui_that_a_script_put_in_the_background_stops_on_sigterm(tmp_path: Path) -> None:
    """A shell without job control starts such a process with SIGINT ignored."""
    assert call("init", tmp_path / "shop").exit_code == 0
    port, log = free_port(), tmp_path / "log"
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    code = f"{ignored}from vde_dagster.cli import main; main()"
    arguments = ["ui", "--project", str(tmp_path / "shop"), "--port", str(port)]
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env={key: each for key, each in os.environ.items() if key not in OURS},
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        until_loaded(f"http://127.0.0.1:{port}/graphql", process, log)
        process.terminate()
        process.wait(timeout=150)
        assert "Dagster services shut down." in log.read_text()
        assert "superseded" not in log.read_text(), "Dagster prefers a command for one location"
    finally:
        end_group(process)


def _environment(folder: Path) -> dict[str, str]:
    """A Dagster home of its own, and a copy of the example, so that nothing of ours is touched."""
    home, project = folder / "home", folder / "project"
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text(SETTINGS)
    if not project.exists():
        ignored = shutil.ignore_patterns(".vde", "__pycache__")
        shutil.copytree(REPOSITORY / "examples" / "nyc_flights", project, ignore=ignored)
    return {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "VDE_PROJECT": str(project),
        "PYTHONUNBUFFERED": "1",
    }
