"""One sensor brings an environment up to date: what it asks for, what its runs do, and who waits.

Expected rows are sums of the events that landed, by hand.
"""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.app.memory_world import PROJECT as MODELS
from tests.orchestration.automated_world import tick
from tests.orchestration.launchpad import Launchpad, Make, run_of
from tests.orchestration.served import instance_that_runs_in_this_process, repository_of, served
from vde_dagster.ports.state import environment_resource

if TYPE_CHECKING:
    pass

HOURLY = """
MODEL (name core.hourly, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM staging.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
PICKY = """
MODEL (name mart.picky, kind FULL, cron '@daily');
SELECT CASE WHEN MAX(amount) > 100 THEN CAST('too much' AS INT) ELSE MAX(amount) END AS amount
FROM mart.daily
"""
BELOW = "MODEL (name mart.below, kind FULL);\nSELECT amount AS amount FROM mart.picky"
PROJECT = {**MODELS, "hourly": HOURLY}
NOTHING = "prod is up to date"


@pytest.fixture
def automated(make: Make) -> Launchpad:
    return make(PROJECT)


def partitions(result: dg.ExecuteInProcessResult) -> dict[str, list[str | None]]:
    """The partitions that a run reported, by asset."""
    found: dict[str, list[str | None]] = {}
    for event in result.get_asset_materialization_events():
        found.setdefault(event.materialization.asset_key.to_user_string(), []).append(
            event.partition
        )
    return found


@pytest.mark.full
def test_a_new_day_is_one_run_of_all_that_is_due_and_then_there_is_nothing(
    automated: Launchpad,
) -> None:
    automated.world.land((50.5, 3), until=72)
    request = automated.request()
    assert request.run_key is not None
    assert request.run_key.startswith("prod:")
    assert request.run_key.endswith(":1")
    written = partitions(automated.launch(request))
    hours = [f"2024-01-03-{hour:02}:00" for hour in range(24)]
    assert written == {
        "staging/events": hours,
        "core/hourly": hours,
        "mart/daily": ["2024-01-03"],
        "mart/totals": [None],
    }
    assert [row[1] for row in automated.world.rows("mart.daily")] == [10, 1, 3]
    assert automated.world.rows("mart.totals") == [(3, 14)]
    assert automated.skipped() == NOTHING


def test_while_a_run_waits_or_works_no_other_one_is_asked_for(automated: Launchpad) -> None:
    automated.world.land((7.5, 5), until=48)
    request = automated.request()
    job = automated.definitions().resolve_job_def("vde_automation")
    run = automated.instance.create_run_for_job(job, tags={**job.tags, **request.tags})
    assert automated.skipped() == f"run {run.run_id[:8]} is bringing prod up to date"
    automated.world.land((8.5, 5), until=48)
    assert automated.skipped() == f"run {run.run_id[:8]} is bringing prod up to date"
    automated.instance.delete_run(run.run_id)
    assert isinstance(automated.request(), dg.RunRequest)


@pytest.mark.full
def test_a_run_whose_process_was_killed_is_not_waited_for_and_its_key_is_not_used_again(
    automated: Launchpad, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dagster._core.events import DagsterEvent, DagsterEventType

    automated.world.land((7.5, 5), until=48)
    request = automated.request()
    job = automated.definitions().resolve_job_def("vde_automation")
    run = automated.instance.create_run_for_job(job, tags={**job.tags, **request.tags})
    started = DagsterEvent(DagsterEventType.RUN_START.value, job_name=run.job_name)
    automated.instance.report_dagster_event(started, run.run_id)
    assert "is bringing prod up to date" in automated.skipped()
    monkeypatch.setattr("vde_dagster.orchestration.launchers.attempts.STARTING", timedelta(0))
    resource = environment_resource("prod")
    lease = automated.world.state.acquire_lease(resource, holder="x", ttl=timedelta(hours=1))
    assert "is bringing prod up to date" in automated.skipped()
    automated.world.state.release_lease(lease)
    again = automated.request()
    assert again.run_key == f"{(request.run_key or '').removesuffix('1')}2"


@pytest.mark.full
def test_who_is_at_work_on_the_environment_is_waited_for(automated: Launchpad) -> None:
    automated.world.land((7.5, 5), until=48)
    resource, minute = environment_resource("prod"), timedelta(minutes=1)
    lease = automated.world.state.acquire_lease(resource, holder="plan 12ab", ttl=minute)
    said = automated.skipped()
    assert re.fullmatch(r"plan 12ab \(.*, process \d+ on .*\) is working on prod", said)
    automated.world.state.release_lease(lease)
    assert isinstance(automated.request(), dg.RunRequest)


@pytest.mark.full
def test_a_model_that_fails_waits_for_longer_each_time_and_all_others_go_on(
    make: Make,
) -> None:
    automated = make({**PROJECT, "picky": PICKY, "below": BELOW})
    automated.world.land((7.5, 500), until=48)
    first = automated.launch(automated.request(), fails=True)
    # All that does not wait for it is done.
    assert automated.world.rows("mart.totals") == [(2, 511)]
    assert automated.world.rows("mart.picky") == [(10,)]
    undone = run_of(automated.instance, first.run_id)
    assert set(json.loads(undone.tags["vde/undone"])) == {"mart.picky"}
    # It is tried once more at once, alone, and then it waits, with what reads it.
    second = automated.launch(automated.request(), fails=True)
    assert partitions(second) == {}
    reported = automated.skipped()
    assert "mart.picky: 2 runs did not compute it; it is retried after 20" in reported
    assert "mart.below" in reported
    # Another model has something to do: it is done, and what waits goes on waiting.
    automated.world.land((49.5, 3), until=49)
    assert partitions(automated.launch(automated.request())) == {
        "staging/events": ["2024-01-03-00:00"],
        "core/hourly": ["2024-01-03-00:00"],
    }
    assert "mart.picky: 2 runs did not compute it" in automated.skipped()


@pytest.mark.full
def test_a_model_that_failed_is_tried_again_when_its_pause_is_over_or_its_input_changes(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    automated = make({**PROJECT, "picky": PICKY})
    automated.world.land((7.5, 500), until=48)
    automated.launch(automated.request(), fails=True)
    automated.launch(automated.request(), fails=True)
    assert "mart.picky" in automated.skipped()
    with monkeypatch.context() as later:
        later.setattr("vde_dagster.orchestration.launchers.attempts.SECONDS", 0)
        assert isinstance(automated.request(), dg.RunRequest)
    automated.world.land((31.5, -1), (8.5, -480), (9.5, 1), until=48)
    automated.launch(automated.request(), fails=True)  # 511 + 1, and days leave out what is below 0
    assert isinstance(automated.request(), dg.RunRequest)


def test_a_run_that_a_person_launches_tries_what_failed_too(
    make: Make,
) -> None:
    automated = make({**PROJECT, "picky": PICKY})
    automated.world.land((7.5, 500), until=48)
    for _ in range(2):
        request = automated.request()
        automated.launch(request, fails=True)
    automated.skipped()
    by_hand = dg.RunRequest(job_name="vde_automation")
    automated.launch(by_hand, fails=True)
    assert "mart.picky: 3 runs did not compute it" in automated.skipped()


def test_models_with_late_data_have_one_launcher(automated: Launchpad) -> None:
    late, automation = "vde_late_data_prod", "vde_automation_prod"
    automated.world.land((7.5, 5), until=48)
    assert isinstance(automated.tick(late), list)
    with served(automated.definitions(), automated.instance) as process:
        sensors = {each.name: each for each in repository_of(process).get_sensors()}
        for name in (late, automation):
            automated.instance.start_sensor(sensors[name])
        assert automated.skipped(late).startswith(f"the sensor {automation} is switched on")
        own = sensors[automation]
        automated.instance.stop_sensor(own.get_remote_origin_id(), own.selector_id, own)
    assert isinstance(automated.tick(late), list)


def test_an_environment_that_shows_nothing_yet_is_reported(automated: Launchpad) -> None:
    answer = tick(automated.definitions("dev"), automated.instance, "vde_automation_dev")
    assert isinstance(answer, str)
    assert answer.startswith("dev shows nothing yet: run `vde plan dev`")


@pytest.mark.full
def test_dagsters_daemon_launches_what_lands_once_when_the_sensor_is_switched_on(
    make: Make,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import logging

    from dagster._daemon.sensor import execute_sensor_iteration

    monkeypatch.setattr("vde_dagster.orchestration.launchers.automation.SECONDS", 1)
    later: list[float] = []
    now = "dagster._time._mockable_get_current"
    monkeypatch.setattr(
        f"{now}_datetime", lambda: datetime.now(UTC) + timedelta(seconds=sum(later))
    )
    monkeypatch.setattr(f"{now}_timestamp", lambda: time.time() + sum(later))
    automated = make(PROJECT)
    with (
        instance_that_runs_in_this_process(home) as instance,
        served(automated.definitions(), instance) as process,
    ):
        sensors = {each.name: each for each in repository_of(process).get_sensors()}

        def pass_tick() -> dict[str, tuple[str, str]]:
            later.append(1.1)  # a sensor's second is over
            list(execute_sensor_iteration(process, logging.getLogger("test"), None, None))
            last = {
                name: instance.get_ticks(each.get_remote_origin_id(), each.selector_id, limit=1)
                for name, each in sensors.items()
                if name != "vde_status_prod"  # it is on at first, and launches nothing
            }
            return {
                name: (found[0].status.value, found[0].skip_reason or "")
                for name, found in last.items()
                if found
            }

        automated.world.land((7.5, 5), until=48)
        assert pass_tick() == {}  # nobody switched anything on
        for name in ("vde_automation_prod", "vde_late_data_prod"):
            instance.start_sensor(sensors[name])
        first = pass_tick()
        assert first["vde_automation_prod"] == ("SUCCESS", "")
        assert first["vde_late_data_prod"][1].startswith("the sensor vde_automation_prod is")
        assert automated.world.rows("mart.totals") == [(2, 16)]
        assert pass_tick()["vde_automation_prod"] == ("SKIPPED", NOTHING)
        (run,) = instance.get_runs()
        assert run.is_success
        assert run.tags["vde/automation"] == "automated/prod"
        assert run.tags["dagster/sensor_name"] == "vde_automation_prod"
