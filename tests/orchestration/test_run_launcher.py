"""A run whose process was killed ends: Dagster's monitoring asks our launcher, from the daemon."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import dagster as dg
import pytest
from dagster._core.events import EngineEventData
from dagster._core.scheduler.instigation import InstigatorType

from tests.dagster_server import end_group, group
from tests.orchestration.served import served
from vde_dagster.orchestration import home
from vde_dagster.orchestration._unpublished import GRPC_INFO_TAG, process_of
from vde_dagster.orchestration.home import dagster_home
from vde_dagster.orchestration.run_launcher import PROCESS, VdeRunLauncher
from vde_dagster.project.configuration import Configuration
from vde_dagster.state.processes import Process, this_process

SECONDS: Final = 300.0
LOCAL: Final = {GRPC_INFO_TAG: '{"host": "localhost", "socket": "/tmp/none"}'}
REMOTE: Final = {GRPC_INFO_TAG: '{"host": "prod-code", "port": 4001}'}


@pytest.fixture(autouse=True)
def _no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Configuration:
    return Configuration(folder=tmp_path / "shop", name="shop")


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    """Of all tests that look at one run of it each."""
    ours = Configuration(folder=tmp_path_factory.mktemp("shared"), name="shop")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DAGSTER_HOME", raising=False)
        folder = dagster_home(ours)
    with dg.DagsterInstance.from_config(str(folder)) as found:
        yield found


@pytest.fixture
def ended() -> Process:
    """A process that was killed."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = replace(this_process(), pid=child.pid, began="")
    child.kill()
    child.communicate()
    return process


def started(instance: dg.DagsterInstance, tags: dict[str, str], pid: int | None = None) -> str:
    """A run that is STARTED, in a process that said so if it has a number here."""
    run = dg.DagsterRun(job_name="sleep", status=dg.DagsterRunStatus.STARTED, tags=tags)
    instance.add_run(run)
    if pid is not None:
        data = EngineEventData.in_process(pid)
        instance.report_engine_event(f"Started process (pid: {pid}).", run, data)
    return run.run_id


def monitor(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    """What a run is after Dagster's daemon has looked once."""
    from dagster._daemon.monitoring.run_monitoring import execute_run_monitoring_iteration

    with served(dg.Definitions(), instance) as process:
        wrong = [each for each in execute_run_monitoring_iteration(process, _LOG) if each]
    assert wrong == []
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


_LOG: Final = logging.getLogger("test")


@pytest.mark.full
def test_our_home_asks_our_launcher(instance: dg.DagsterInstance) -> None:
    assert isinstance(instance.run_launcher, VdeRunLauncher)
    assert instance.run_monitoring_enabled


def test_a_run_of_vde_that_was_killed_is_marked_as_failed(
    instance: dg.DagsterInstance, ended: Process
) -> None:
    run_id = started(instance, {PROCESS: ended.as_json()})
    assert monitor(instance, run_id) is dg.DagsterRunStatus.FAILURE
    events = [each.message for each in instance.all_logs(run_id)]
    assert any(f"process {ended.pid}" in each and "has ended" in each for each in events)


def test_a_run_of_a_code_server_that_was_killed_is_marked_as_failed(
    instance: dg.DagsterInstance, ended: Process
) -> None:
    run_id = started(instance, LOCAL, ended.pid)
    assert monitor(instance, run_id) is dg.DagsterRunStatus.FAILURE


def test_after_a_restart_of_the_machine_no_run_of_before_goes_on(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = "pid:[4026531836]"
    monkeypatch.setattr("vde_dagster.state.processes._machine", lambda: f"this-boot {first}")
    before = replace(this_process(), machine=f"an-earlier-boot {first}")
    run_id = started(instance, {PROCESS: before.as_json()})
    assert monitor(instance, run_id) is dg.DagsterRunStatus.FAILURE


@pytest.mark.parametrize("machine", ["another-boot pid:[7]", ""])
def test_a_run_of_a_process_that_cannot_be_seen_goes_on(
    instance: dg.DagsterInstance, ended: Process, machine: str
) -> None:
    run_id = started(instance, {PROCESS: replace(ended, machine=machine).as_json()})
    assert monitor(instance, run_id) is dg.DagsterRunStatus.STARTED


@pytest.mark.parametrize("tags", [LOCAL, REMOTE, {}])
def test_a_run_goes_on_while_its_process_lives(
    instance: dg.DagsterInstance, tags: dict[str, str]
) -> None:
    run_id = started(instance, tags, os.getpid())
    assert monitor(instance, run_id) is dg.DagsterRunStatus.STARTED


@pytest.mark.parametrize("tags", [REMOTE, {}])
def test_a_run_of_another_machines_code_server_goes_on(
    instance: dg.DagsterInstance, ended: Process, tags: dict[str, str]
) -> None:
    assert monitor(instance, started(instance, tags, ended.pid)) is dg.DagsterRunStatus.STARTED


def test_a_run_of_vde_goes_on_while_vde_does(instance: dg.DagsterInstance) -> None:
    run_id = started(instance, {PROCESS: this_process().as_json()})
    assert monitor(instance, run_id) is dg.DagsterRunStatus.STARTED


@pytest.mark.parametrize(
    "written, expected",
    [
        (None, home._SETTINGS),
        ("# ours\n", "# ours\n"),
        ("", ""),
    ],
)
def test_settings_are_written_once_and_never_over_somebody_elses(
    project: Configuration, written: str | None, expected: str
) -> None:
    settings = project.home / "dagster" / "dagster.yaml"
    settings.parent.mkdir(parents=True)
    if written is not None:
        settings.write_text(written)
    for _ in range(2):
        assert dagster_home(project) == settings.parent
        assert settings.read_text() == expected


def test_the_page_has_the_lines_for_a_home_of_ones_own() -> None:
    page = (Path(__file__).parents[2] / "docs" / "dagster.md").read_text("utf-8")
    launcher, retention = map(home._SETTINGS.index, ("run_launcher:", "retention:"))
    assert home._SETTINGS[launcher:retention] in page
    assert home._SETTINGS[retention:] in page


def test_dagster_forgets_old_ticks_of_sensors_and_schedules(project: Configuration) -> None:
    with dg.DagsterInstance.from_config(str(dagster_home(project))) as made:
        for kind in (InstigatorType.SENSOR, InstigatorType.SCHEDULE):
            days = made.get_tick_retention_settings(kind)
            assert {each.value: number for each, number in days.items()} == {
                "SKIPPED": 7,
                "STARTED": 30,
                "FAILURE": 30,
                "SUCCESS": 90,
            }


CODE: Final = """
import time
import dagster as dg

@dg.op
def wait():
    time.sleep(3600)

@dg.job(executor_def=dg.in_process_executor)
def sleep():
    wait()

defs = dg.Definitions(jobs=[sleep])
"""
IN_VDE: Final = """
import sys
sys.path.insert(0, sys.argv[2])
from definitions import sleep
from pathlib import Path
from vde_dagster.composition import VdeProject
from vde_dagster.orchestration.jobs import _Errors, _execute
from vde_dagster.project.configuration import Configuration
project = VdeProject(Configuration(folder=Path(sys.argv[1]), name="shop"))
from unittest.mock import patch
with patch("vde_dagster.orchestration.jobs._QUIET", {}):
    _execute(project, sleep, _Errors(), {})
"""


@contextmanager
def daemon(folder: Path) -> Iterator[None]:
    """Dagster's daemon in a process of its own, which looks each second."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "dagster._daemon", "run", "-w", "workspace.yaml"],
            cwd=folder,
            env={**os.environ, "DAGSTER_HOME": str(folder / ".vde" / "dagster")},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield
        finally:
            end_group(process)


def one_run(instance: dg.DagsterInstance, status: dg.DagsterRunStatus, log: Path) -> dg.DagsterRun:
    """The only run of an instance once it has a status."""
    until = time.monotonic() + SECONDS
    while True:
        runs = instance.get_runs()
        assert len(runs) <= 1
        if runs and runs[0].status is status:
            return runs[0]
        assert time.monotonic() < until, (runs, log.read_text() if log.exists() else "")
        time.sleep(0.2)


@pytest.mark.full
@pytest.mark.parametrize("by", ["vde", "the daemon"])
def test_a_run_that_is_killed_with_all_that_watched_it_is_failed_by_dagsters_daemon(
    tmp_path: Path, by: str
) -> None:
    project = Configuration(folder=tmp_path, name="shop")
    settings = dagster_home(project) / "dagster.yaml"
    settings.write_text(settings.read_text().replace("seconds: 30", "seconds: 1"))
    (tmp_path / "definitions.py").write_text(CODE)
    (tmp_path / "workspace.yaml").write_text("load_from: [{python_file: definitions.py}]\n")
    environment = {**os.environ, "DAGSTER_HOME": str(settings.parent)}
    log = tmp_path / "log"
    with dg.DagsterInstance.from_config(str(settings.parent)) as instance, daemon(tmp_path):
        if by == "vde":
            command = ["-c", IN_VDE, str(tmp_path), str(tmp_path)]
        else:
            command = ["-m", "dagster", "job", "launch", "-w", "workspace.yaml", "-j", "sleep"]
        starter = subprocess.Popen(
            [sys.executable, *command], cwd=tmp_path, env=environment, start_new_session=True
        )
        run = one_run(instance, dg.DagsterRunStatus.STARTED, log)
        known = process_of(instance, run.run_id)
        assert known is not None
        pid, _ = known
        server = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        for each in [starter.pid] if by == "vde" else [server, pid]:
            os.kill(each, signal.SIGKILL)
        starter.wait()
        one_run(instance, dg.DagsterRunStatus.FAILURE, log)
    for each in group(starter.pid):
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
