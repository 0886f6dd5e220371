"""A process that sleeps before any call that writes, while another one takes over and goes on.

It holds the lease on the version when it falls asleep. What it has read before it sleeps is old.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.app.faults.every_kind import KINDS, model
from tests.app.faults.test_power_cuts import WRITING, booked, branches, entries, one_day_held, seen
from tests.app.memory_world import Fuse, MemoryWorld, build, graph_of
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict
from vde_dagster.core.graph import Graph


@dataclass
class Sleep:
    """What happens while a process sleeps before one of its calls, counted over all ports."""

    call: int
    meanwhile: Callable[[], None]
    calls: int = 0


@dataclass(frozen=True)
class Slept:
    """A port whose calls may be slept before."""

    port: object
    sleep: Sleep

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.port, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.sleep.calls += 1
            if self.sleep.calls == self.sleep.call:
                self.sleep.meanwhile()
            return found(*args, **kwargs)

        return call


def sleeping(services: Services, sleep: Sleep) -> Services:
    ports: dict[str, Any] = {
        name: Slept(getattr(services, name), sleep) for name in ("state", "catalog", "engine")
    }
    return replace(services, **ports)


def taken_over(world: MemoryWorld, graph: Graph) -> None:
    """The leases expire; another process does the work, and the work of the next day."""
    world.reboot()
    build(world.services(), graph)
    world.land((49, 3), (50, 4), until=72)
    build(world.services(), graph)


OFTEN = ("time_range", "unmanaged", "unique_key")


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind in OFTEN else pytest.mark.full) for kind in KINDS],
)
def test_a_process_that_wakes_after_others_went_on_changes_nothing(kind: str) -> None:
    graph = graph_of({kind: model(kind)})
    undisturbed, fuse = one_day_held(graph), Fuse()
    build(undisturbed.services(fuse), graph)
    taken_over(undisturbed, graph)
    calls = list(enumerate(fuse.names, start=1))
    leased = max(number for number, name in calls if name == "acquire_lease")
    for call in [number for number, name in calls if name in WRITING and number > leased]:
        world = one_day_held(graph)
        later: list[object] = []

        def meanwhile(world: MemoryWorld = world, later: list[object] = later) -> None:
            taken_over(world, graph)
            later.extend((seen(world, kind), entries(world, kind)))

        sleep = Sleep(call=call, meanwhile=meanwhile)
        told = f"it slept before {fuse.names[call - 1]} ({call})"
        with suppress(Conflict):
            build(sleeping(world.services(), sleep), graph)
        assert seen(world, kind) == seen(undisturbed, kind), told
        assert [seen(world, kind), entries(world, kind)] == later, told
        assert booked(world, kind) == booked(undisturbed, kind), told
        world.land((73, 1), until=96)
        world.reboot()
        build(world.services(), graph)
        assert branches(world) == set(), told
