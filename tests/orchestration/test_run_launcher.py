"""A run whose process was killed ends: Dagster's monitoring asks our launcher, from the daemon."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import dagster as dg
import pytest
from dagster._core.events import EngineEventData
from dagster._core.scheduler.instigation import InstigatorType

from tests.orchestration.served import served
from vde_dagster.orchestration import home
from vde_dagster.orchestration._unpublished import GRPC_INFO_TAG
from vde_dagster.orchestration.home import dagster_home
from vde_dagster.orchestration.keys import RunTag
from vde_dagster.orchestration.launchers.run_launcher import VdeRunLauncher
from vde_dagster.project.configuration import Configuration
from vde_dagster.state.processes import Process, this_process

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
        assert isinstance(found.run_launcher, VdeRunLauncher)
        assert found.run_monitoring_enabled
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


def test_a_run_of_vde_that_was_killed_is_marked_as_failed(
    instance: dg.DagsterInstance, ended: Process
) -> None:
    run_id = started(instance, {RunTag.PROCESS: ended.as_json()})
    assert monitor(instance, run_id) is dg.DagsterRunStatus.FAILURE
    events = [each.message for each in instance.all_logs(run_id)]
    assert any(f"process {ended.pid}" in each and "has ended" in each for each in events)


CASES: Final[dict[str, tuple[Callable[[Process], tuple[dict[str, str], int | None]], bool]]] = {
    "a code server's process was killed": (lambda ended: (LOCAL, ended.pid), False),
    "it may be that of another machine's code server": (lambda ended: (REMOTE, ended.pid), True),
    "nobody knows whose process it was": (lambda ended: ({}, ended.pid), True),
    "its process lives": (lambda _: (LOCAL, os.getpid()), True),
    "a process of that number lives here": (lambda _: (REMOTE, os.getpid()), True),
    "vde works": (lambda _: ({RunTag.PROCESS: this_process().as_json()}, None), True),
    "vde ran on another machine": (
        lambda ended: ({RunTag.PROCESS: replace(ended, machine="another pid:[7]").as_json()}, None),
        True,
    ),
    "vde did not know its machine": (
        lambda ended: ({RunTag.PROCESS: replace(ended, machine="").as_json()}, None),
        True,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_goes_on_unless_its_process_is_known_to_have_ended(
    instance: dg.DagsterInstance, ended: Process, case: str
) -> None:
    make, goes_on = CASES[case]
    status = dg.DagsterRunStatus.STARTED if goes_on else dg.DagsterRunStatus.FAILURE
    assert monitor(instance, started(instance, *make(ended))) is status


def test_after_a_restart_of_the_machine_no_run_of_before_goes_on(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = "pid:[4026531836]"
    monkeypatch.setattr("vde_dagster.state.processes._machine", lambda: f"this-boot {first}")
    before = replace(this_process(), machine=f"an-earlier-boot {first}")
    run_id = started(instance, {RunTag.PROCESS: before.as_json()})
    assert monitor(instance, run_id) is dg.DagsterRunStatus.FAILURE


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
    page = (Path(__file__).parents[2] / "docs" / "reference" / "dagster.md").read_text("utf-8")
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
