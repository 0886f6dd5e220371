"""`vde jars`, what `vde ui` refuses, and what it says before it serves."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cli.calling import call


def test_given_jars_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "iceberg.jar"
    jar.write_bytes(b"")
    monkeypatch.setenv("VDE_JARS", str(jar))
    assert call("jars").stdout == f"{jar}\n"
    done = call("jars", "--format", "json", "--project", tmp_path)
    assert json.loads(done.stdout) == {"version": 1, "jars": [str(jar)]}


def test_jars_that_are_not_there_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDE_JARS", str(tmp_path / "gone.jar"))
    done = call("jars", "--project", tmp_path)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "gone.jar" in done.stderr


def test_the_ui_needs_a_workspace(project: Path) -> None:
    (project / "workspace.yaml").unlink()
    done = call("ui", "--project", project)
    assert done.exit_code == 1
    assert "no workspace.yaml" in done.stderr


def test_the_ui_says_where_sensors_are_switched_on(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setenv("DAGSTER_HOME", str(project / "home"))
    monkeypatch.chdir(project)
    monkeypatch.setattr("os.execv", lambda _, arguments: started.append(arguments))
    done = call("ui", "--project", project, "--port", "3100")
    assert done.exit_code == 0
    assert [each[3:6] for each in started] == [["-m", "dagster", "dev"]]
    reported = " ".join((done.stdout + done.stderr).split())
    assert "http://127.0.0.1:3100" in reported
    assert "until its sensor is switched on, in the UI under Automation" in reported


def test_the_ui_can_be_ended_though_a_script_put_it_in_the_background(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a process ignores SIGINT, and what Dagster does at SIGTERM is what it does at SIGINT."""
    started_with: list[object] = []
    monkeypatch.setenv("DAGSTER_HOME", str(project / "home"))
    monkeypatch.chdir(project)
    monkeypatch.setattr("os.execv", lambda *_: started_with.append(signal.getsignal(signal.SIGINT)))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert call("ui", "--project", project).exit_code == 0
    finally:
        signal.signal(signal.SIGINT, before)
    assert started_with == [signal.default_int_handler]
