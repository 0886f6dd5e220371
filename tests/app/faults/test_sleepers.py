"""A process that sleeps before any call that writes, while another one takes over and goes on.

It holds the lease on the version when it falls asleep. What it has read before that is outdated.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from tests.app.faults.every_kind import KINDS, model
from tests.app.faults.test_power_cuts import branches, chosen, entries, one_day_held, recorded, seen
from tests.app.memory_world import WRITING, Fuse, MemoryWorld, build, graph_of
from tests.depth import places
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict
from vde_dagster.core.graph.graph import Graph


@dataclass
class Sleep:
    """What happens while a process sleeps before one of its calls, counted across all ports."""

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
    world.build(graph)
    world.land((49, 3), (50, 4), until=72)
    world.build(graph)


def nothing_held(kind: str) -> MemoryWorld:
    """A day has landed, and nothing was ever built."""
    return MemoryWorld.landed((1, 10), (2, 20), (3, 5), until=24)


CASES: Final = [
    pytest.param("unmanaged", nothing_held, id="the first day"),
    pytest.param("unique_key", one_day_held, id="unique_key"),
    *(
        pytest.param(each, one_day_held, id=each, marks=pytest.mark.full)
        for each in KINDS
        if each != "unique_key"
    ),
]


def writes_under_lease(names: Sequence[str], methods: Container[str] = WRITING) -> list[int]:
    """The calls that write, from when the lease on the version is held."""
    leased = [number for number, name in enumerate(names, start=1) if name == "acquire_lease"][1]
    return [leased + number for number in places(names[leased:], methods)]


@pytest.mark.full
@pytest.mark.parametrize("kind, before", CASES)
def test_a_process_that_wakes_after_others_went_on_changes_nothing(
    kind: str, before: Callable[[str], MemoryWorld]
) -> None:
    graph = graph_of({kind: model(kind)})
    start, fuse = before(kind), Fuse()
    undisturbed = start.copied()
    build(undisturbed.services(fuse), graph)
    taken_over(undisturbed, graph)
    for call in writes_under_lease(fuse.names, chosen(kind)):
        world = start.copied()
        later: list[object] = []

        def meanwhile(world: MemoryWorld = world, later: list[object] = later) -> None:
            taken_over(world, graph)
            later.extend((seen(world, kind), entries(world, kind)))

        reported = f"it slept before {fuse.names[call - 1]} ({call})"
        with suppress(Conflict):
            build(sleeping(world.services(), Sleep(call=call, meanwhile=meanwhile)), graph)
        assert seen(world, kind) == seen(undisturbed, kind), reported
        assert [seen(world, kind), entries(world, kind)] == later, reported
        assert recorded(world, kind) == recorded(undisturbed, kind), reported
        world.land((73, 1), until=96)
        world.reboot()
        world.build(graph)
        assert branches(world) == set(), reported


def test_a_process_that_slept_while_nobody_came_goes_on_where_it_was() -> None:
    graph = graph_of({"unmanaged": model("unmanaged")})
    start, fuse = one_day_held("unmanaged"), Fuse()
    undisturbed = start.copied()
    build(undisturbed.services(fuse), graph)
    for call in writes_under_lease(fuse.names):
        world = start.copied()
        build(sleeping(world.services(), Sleep(call=call, meanwhile=world.reboot)), graph)
        assert seen(world, "unmanaged") == world.rows("raw.events")
        assert recorded(world, "unmanaged") == recorded(undisturbed, "unmanaged")
