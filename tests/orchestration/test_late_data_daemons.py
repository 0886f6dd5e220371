"""Dagster's own daemon and the sensor of late data: what lands is loaded once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import dagster as dg
import pytest

from tests.app.memory_world import PROJECT
from tests.orchestration.automated_world import AutomatedWorld
from tests.orchestration.launchpad import Make
from tests.orchestration.served import (
    instance_that_runs_nothing,
    run_launched,
    served,
)

SENSOR: Final = "vde_late_data_prod"


@dataclass
class Daemon:
    """One daemon of an instance, which looks at the sensors whenever it is told to."""

    process: Any
    instance: dg.DagsterInstance

    @property
    def sensor(self) -> Any:
        (location,) = self.process.create_request_context().code_locations
        (repository,) = location.get_repositories().values()
        (found,) = [each for each in repository.get_sensors() if each.name == SENSOR]
        return found

    def switch_on(self) -> None:
        self.instance.start_sensor(self.sensor)

    def pass_tick(self) -> None:
        from dagster._daemon.sensor import execute_sensor_iteration

        list(execute_sensor_iteration(self.process, logging.getLogger("test"), None, None))

    def last(self) -> tuple[str, str]:
        sensor = self.sensor
        (tick,) = self.instance.get_ticks(
            sensor.get_remote_origin_id(), sensor.selector_id, limit=1
        )
        return tick.status.value, tick.skip_reason or ""


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds by which Dagster's clock is ahead; a tick is due each second."""
    monkeypatch.setattr("vde_dagster.orchestration.automation.SECONDS", 1)
    ahead: list[float] = []
    now = "dagster._time._mockable_get_current"
    monkeypatch.setattr(
        f"{now}_datetime", lambda: datetime.now(UTC) + timedelta(seconds=sum(ahead))
    )
    monkeypatch.setattr(f"{now}_timestamp", lambda: time.time() + sum(ahead))
    return ahead


@contextmanager
def daemon(shop: AutomatedWorld, instance: dg.DagsterInstance) -> Iterator[Daemon]:
    with served(shop.definitions(), instance) as process:
        yield Daemon(process, instance)


def amounts(shop: AutomatedWorld) -> list[int]:
    return sorted(int(str(row[2])) for row in shop.world.rows("staging.events"))


@pytest.mark.full
@pytest.mark.parametrize(
    "number", [0, *(pytest.param(again, marks=pytest.mark.full) for again in (1, 2))]
)
def test_two_daemons_at_once_load_it_once(
    make: Make, home: Path, later: list[float], number: int
) -> None:
    """If somebody runs two, two runs may be asked for, and one of them finds nothing to load."""
    shop = make(PROJECT)
    with (
        instance_that_runs_nothing(home) as instance,
        daemon(shop, instance) as one,
        daemon(shop, instance) as other,
    ):
        one.switch_on()
        shop.world.land((7.5, 5), (30.6, 2), until=48)
        later.append(1.1)
        at_once([one.pass_tick, other.pass_tick])
        runs = instance.get_runs()
        assert 1 <= len(runs) <= 2
        for run in runs:
            assert run_launched(shop.definitions(), instance, run.run_id).is_success
        assert amounts(shop) == [1, 2, 5, 10]
        later.append(1.1)
        one.pass_tick()
        assert one.last()[0] == "SKIPPED"


def at_once(calls: list[Callable[[], None]]) -> None:
    failed: list[BaseException] = []

    def run(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(each,)) for each in calls]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed
