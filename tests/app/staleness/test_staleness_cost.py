"""What a look at late and changed rows reads of the state: only what changed, no whole ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from tests.app.memory_world import MemoryWorld, graph_of
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.core.planning.plan import Plan

HOURS: Final = 500
READ: Final = ("ledger", "entries_within", "changed_since")
HEAD: Final = "MODEL (name mart.{}, kind {}, cron '@{}');\nSELECT {} FROM {}"
BY_TIME: Final = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
BETWEEN: Final = " WHERE at BETWEEN @start_dt AND @end_dt"
COLUMNS: Final = "id AS id, at AS at, amount AS amount"
BY_DAY: Final = "DATE_TRUNC('DAY', at) AS at, SUM(amount) AS amount"
CHAIN: Final = {
    "copy": HEAD.format("copy", BY_TIME, "hourly", COLUMNS, "raw.events") + BETWEEN,
    "again": HEAD.format("again", BY_TIME, "hourly", COLUMNS, "mart.copy") + BETWEEN,
    "near": HEAD.format("near", BY_TIME, "hourly", COLUMNS, "mart.again")
    + " WHERE at BETWEEN @start_dt - INTERVAL 1 HOUR AND @end_dt",
    "shown": "MODEL (name mart.shown, kind VIEW);\nSELECT " + COLUMNS + " FROM mart.near",
    "days": HEAD.format("days", BY_TIME, "daily", BY_DAY, "mart.shown")
    + BETWEEN
    + " GROUP BY DATE_TRUNC('DAY', at)",
    "last": HEAD.format("last", BY_TIME, "hourly", COLUMNS, "mart.again") + BETWEEN,
}


@dataclass
class Counted:
    """A state that counts its calls, and the entries that these returned."""

    state: Any
    calls: Counter[str] = field(default_factory=Counter)
    entries: Counter[str] = field(default_factory=Counter)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.state, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = found(*args, **kwargs)
            self.calls[name] += 1
            if name == "ledger":
                self.entries[name] += sum(len(each) for each in result.values())
            elif name in READ:
                self.entries[name] += len(result)
            return result

        return call

    @property
    def read(self) -> int:
        """The entries that were read in any way."""
        return sum(self.entries.values())


@pytest.fixture(scope="module")
def long_built() -> MemoryWorld:
    """Production with 500 hours in each of its models; 21 days in one."""
    world = MemoryWorld.landed(*((hour + 0.5, hour) for hour in range(HOURS)), until=HOURS)
    world.build(graph_of(CHAIN))
    return world


def counted(world: MemoryWorld, plan: Callable[[Services], Plan]) -> tuple[Plan, Counted]:
    services = world.services()
    state = Counted(services.state)
    return plan(replace(services, state=state)), state


def planned(services: Services) -> Plan:
    return plan_environment(services, graph_of(CHAIN), "prod")


def run(services: Services) -> Plan:
    return plan_run(services, "prod")


@pytest.mark.full
@pytest.mark.parametrize("plan", [planned, run])
def test_where_nothing_has_changed_no_entry_is_read(
    long_built: MemoryWorld, plan: Callable[[Services], Plan]
) -> None:
    found, state = counted(long_built, plan)
    assert found.is_up_to_date
    assert state.read == 0
    assert not {*READ, "works", "open_work"} & state.calls.keys()
    assert max(state.calls.values()) < len(CHAIN), "nothing is asked once for each model"


def test_where_one_hour_has_changed_some_entries_around_it_are_read(
    long_built: MemoryWorld,
) -> None:
    long_built.land((250.25, 1), until=HOURS)
    plan, state = counted(long_built, run)
    stale = {str(each.name): each.stale for each in plan.changes if each.stale}
    assert sum((each.end - each.start).total_seconds() / 3600 for each in stale["mart.copy"]) == 1
    assert state.calls["ledger"] == 0
    assert state.read <= 10
    services = long_built.services()
    state = Counted(services.state)
    apply_plan(replace(services, state=state), plan, lambda _: None)
    assert state.calls["ledger"] == 0
    assert state.read < HOURS / 2
    after, state = counted(long_built, run)
    assert after.is_up_to_date
    assert state.read == 0
