"""What is seen of a Dagster instance and of code locations is what Dagster says of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.instance.ref import InstanceRef
from dagster._core.scheduler.instigation import InstigatorType, TickData, TickStatus
from dagster._daemon.types import DaemonHeartbeat
from dagster_shared.error import SerializableErrorInfo

from tests.orchestration.served import served
from vde_dagster.core.doctor.dagster_instance import (
    judge_daemons,
    judge_monitoring,
    judge_storage,
)
from vde_dagster.core.doctor.results import Outcome
from vde_dagster.orchestration import instance_look
from vde_dagster.orchestration._unpublished import instigators, keeps_files
from vde_dagster.orchestration.home import dagster_home, home_in_use
from vde_dagster.orchestration.instance_look import (
    daemon_facts,
    file_system_at,
    instance_facts,
    open_instance,
)
from vde_dagster.project.configuration import Configuration

POSTGRES = "postgres: {postgres_url: 'postgresql://host/db'}"
SQLITE = "sqlite: {base_dir: /anywhere}"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home that a project makes for itself."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return dagster_home(Configuration(folder=tmp_path, name="shop"))


@pytest.fixture
def instance(own: Path) -> Iterator[dg.DagsterInstance]:
    with open_instance(own) as opened:
        yield opened


def beat(instance: dg.DagsterInstance, ago: float, *errors: str) -> None:
    """A heartbeat of each daemon that an instance needs, so many seconds ago."""
    told = [SerializableErrorInfo(each, [], None) for each in errors]
    for name in instance.get_required_daemon_types():
        instance.add_daemon_heartbeat(DaemonHeartbeat(time.time() - ago, name, "one", told))


def test_the_home_in_use_is_looked_at_and_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    configuration = Configuration(folder=tmp_path, name="shop")
    found = home_in_use(configuration)
    assert not found.exists()
    assert found == dagster_home(configuration)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "other"))
    assert home_in_use(configuration) == tmp_path / "other"
    assert not (tmp_path / "other").exists()


def test_a_projects_own_home_is_for_one_machine_and_ends_killed_runs(
    instance: dg.DagsterInstance, own: Path
) -> None:
    facts = instance_facts(instance, own)
    assert (facts.in_files, facts.elsewhere, facts.launcher) == (True, False, "VdeRunLauncher")
    assert judge_storage("x", facts).outcome is Outcome.OK
    assert judge_monitoring("x", facts).outcome is Outcome.OK


@pytest.mark.full
def test_without_settings_run_monitoring_is_off_and_the_advice_switches_it_on(
    tmp_path: Path,
) -> None:
    with open_instance(tmp_path) as opened:
        found = judge_monitoring("x", instance_facts(opened, tmp_path))
    assert found.outcome is Outcome.WARNING
    first, second = found.advice.split("`")[1::2]
    (tmp_path / "dagster.yaml").write_text(f"{first}\n{second}\n")
    with open_instance(tmp_path) as opened:
        assert judge_monitoring("x", instance_facts(opened, tmp_path)).outcome is Outcome.OK


@pytest.mark.parametrize("storage,in_files", [("", True), (SQLITE, True), (POSTGRES, False)])
def test_a_history_elsewhere_is_told_from_one_in_files(
    tmp_path: Path, storage: str, in_files: bool
) -> None:
    if storage:
        (tmp_path / "dagster.yaml").write_text(f"storage: {{{storage}}}\n")
    assert keeps_files(InstanceRef.from_dir(str(tmp_path))) is in_files


def test_a_home_on_a_shared_file_system_is_found_by_what_is_mounted(
    instance: dg.DagsterInstance, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"overlay / overlay rw 0 0\nserver:/x {tmp_path.resolve()} nfs4 rw 0 0\n")
    monkeypatch.setattr(instance_look, "MOUNTS", mounts)
    assert file_system_at(own) == "nfs4"
    found = judge_storage("x", instance_facts(instance, own))
    assert found.outcome is Outcome.BROKEN
    assert "is on nfs4" in found.message
    monkeypatch.setattr(instance_look, "MOUNTS", tmp_path / "none")  # as on macOS
    assert judge_storage("x", instance_facts(instance, own)).outcome is Outcome.OK


def test_a_daemon_is_alive_as_long_as_dagster_says_so(instance: dg.DagsterInstance) -> None:
    never = judge_daemons("x", daemon_facts(instance), [])
    assert (never.outcome, "has ever run" in never.message) == (Outcome.WARNING, True)
    beat(instance, 7200)
    gone = judge_daemons("x", daemon_facts(instance), ["vde_status"])
    assert (gone.outcome, "last seen" in gone.message) == (Outcome.BROKEN, True)
    beat(instance, 0)
    assert judge_daemons("x", daemon_facts(instance), ["vde_status"]).outcome is Outcome.OK
    beat(instance, 0, "no disk\n  at all")
    wrong = judge_daemons("x", daemon_facts(instance), [])
    assert (wrong.outcome, "no disk" in wrong.message) == (Outcome.WARNING, True)
    assert "at all" not in wrong.message


@dg.job
def nightly() -> None:
    pass


@dg.sensor(job=nightly)
def look(_context: dg.SensorEvaluationContext) -> dg.SkipReason:
    return dg.SkipReason("nothing")


def test_sensors_and_schedules_are_on_or_off_as_in_the_ui_with_the_error_of_the_last_tick(
    instance: dg.DagsterInstance,
) -> None:
    schedule = dg.ScheduleDefinition(job=nightly, cron_schedule="@daily", name="each_night")
    definitions = dg.Definitions(jobs=[nightly], sensors=[look], schedules=[schedule])
    with served(definitions, instance) as process:
        (entry,) = process.get_current_workspace().code_location_entries.values()
        location = entry.code_location
        assert list(instigators(instance, location)) == [
            ("look", False, ""),
            ("each_night", False, ""),
        ]
        (repository,) = location.get_repositories().values()
        (sensor,) = repository.get_sensors()
        instance.start_sensor(sensor)
        assert {name: on for name, on, _ in instigators(instance, location)} == {
            "look": True,
            "each_night": False,
        }
        around = "dagster._core.errors.SensorExecutionError: Error occurred during a tick"
        tick = TickData(
            instigator_origin_id=sensor.get_remote_origin_id(),
            instigator_name=sensor.name,
            instigator_type=InstigatorType.SENSOR,
            status=TickStatus.FAILURE,
            timestamp=time.time(),
            selector_id=sensor.selector_id,
            error=SerializableErrorInfo(
                around, [], None, cause=SerializableErrorInfo("OSError: no disk\n", [], None)
            ),
        )
        instance.create_tick(tick)
        assert ("look", True, "OSError: no disk\n") in list(instigators(instance, location))
