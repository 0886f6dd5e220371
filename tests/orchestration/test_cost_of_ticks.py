"""What ticks read of the state is the same after 2,000 runs of each model as after 400."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import dagster as dg
import pytest

from tests.app.memory_world import EVENTS, MemoryWorld
from tests.app.staleness.test_staleness_cost import CHAIN
from tests.database_reads import Reads, reads_of
from tests.long_history import lengthen
from tests.orchestration.automated_world import AutomatedWorld
from vde_dagster.orchestration.reporting import status_sensor
from vde_dagster.orchestration.reporting.shown import Limits
from vde_dagster.state.sql_state import SqlState

SHORT, LONG = 400, 2_000
"""Both are more than the newest partitions that are reported to Dagster."""
MODELS: Final = {name: CHAIN[name] for name in ("copy", "again")} | {"events": EVENTS}


@pytest.fixture(scope="module", params=["vde_automation_prod", "vde_status_prod"])
def ticks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[int, list[Reads]]:
    """What three ticks of a new process read, after few runs and after many."""
    found: dict[int, list[Reads]] = {}
    few = partial(Limits, events=20, seconds=3600.0)  # as many as there are, however slow it is
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(status_sensor, "Limits", few)
        for more in (SHORT, LONG):
            with dg.DagsterInstance.ephemeral() as instance:
                world = produced(tmp_path_factory.mktemp("ticks"), instance, more)
                tick = partial(world.skipped, request.param)
                found[more] = [reads_of(world.world.state, tick) for _ in range(3)]
    return found


def produced(folder: Path, instance: dg.DagsterInstance, more: int) -> AutomatedWorld:
    """A project in production whose models were run for a day, and ``more`` times before."""
    made = AutomatedWorld(folder, instance, MemoryWorld())
    made.write(MODELS)
    for hour in (1, 24):
        made.world.land((hour - 0.5, hour), until=hour)
        made.apply()
    state = made.world.state
    assert isinstance(state, SqlState)
    with state._database.engine.begin() as connection:
        assert lengthen(connection, more) == 3
    made.world.clock.advance(timedelta(hours=1))
    return made


@pytest.mark.full
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_tick_reads_as_much_after_many_runs_as_after_few(
    ticks: dict[int, list[Reads]], number: int
) -> None:
    short, long = ticks[SHORT][number], ticks[LONG][number]
    assert long.statements == short.statements
    assert long.total < 1.2 * short.total + 200, long.above(short)
