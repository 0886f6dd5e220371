"""A power cut after every single call of every port, for each kind; one more run converges.

What is durable after one call is so until the next, so cuts before calls would show nothing more.
"""

from __future__ import annotations

import pytest

from tests.app.faults.every_kind import KINDS, model
from tests.app.memory_world import Fuse, MemoryWorld, PowerCut, bound, build, graph_of
from vde_dagster.core.graph import Graph
from vde_dagster.core.ledger import LedgerEntry
from vde_dagster.core.names import ModelName

Rows = list[tuple[object, ...]]


def one_day_held(graph: Graph) -> MemoryWorld:
    """A day is held; another one has landed."""
    world = MemoryWorld()
    world.land((1, 10), (2, 20), (3, 5), until=24)
    build(world.services(), graph)
    world.land((25, 7), (26, 9), until=48)
    return world


def seen(world: MemoryWorld, kind: str) -> Rows:
    return world.rows(f"kept.{kind}")


def booked(world: MemoryWorld, kind: str) -> list[tuple[object, ...]]:
    """What the ledger says, but for who wrote it and where."""
    return [
        (each.interval, each.rows, each.digest, each.standing) for each in entries(world, kind)
    ]


def entries(world: MemoryWorld, kind: str) -> tuple[LedgerEntry, ...]:
    services = world.services()
    key = bound(services).key(ModelName("kept", kind))
    return services.state.ledger([key])[key]


def branches(world: MemoryWorld) -> set[str]:
    return {work for table in world.catalog.tables.values() for work in table.branches}


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluation_that_dies_after_any_call_is_completed_by_the_next_run(kind: str) -> None:
    graph = graph_of({kind: model(kind)})
    undisturbed, fuse = one_day_held(graph), Fuse()
    before = seen(undisturbed, kind)
    build(undisturbed.services(fuse), graph)
    after = seen(undisturbed, kind)
    assert before != after
    for call, name in enumerate(fuse.names, start=1):
        world = one_day_held(graph)
        with pytest.raises(PowerCut):
            build(world.services(Fuse(cut_at=call, after=True)), graph)
        assert seen(world, kind) in (before, after), f"readers see half of it after {name} ({call})"
        world.reboot()
        build(world.services(), graph)
        assert seen(world, kind) == after, f"it died after {name} ({call})"
        assert booked(world, kind) == booked(undisturbed, kind), f"it died after {name} ({call})"
