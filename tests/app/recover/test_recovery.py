"""What an earlier process began on a version is finished or undone by whoever takes it next."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.memory_world import Fuse, MemoryWorld, PowerCut
from tests.app.shop_world import DAYS, TRIPLE_NAME, day, entries
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.recover.recovery import recover
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.state import version_resource


def cut(world: MemoryWorld, method: str) -> VersionKey:
    """The power goes off before a call of a day's evaluation; the version that it is of."""
    services = world.services(Fuse(cut_name=method))
    binding = world.bound()
    with pytest.raises(PowerCut):
        evaluate_range(services, binding, TRIPLE_NAME, day(2), force=True)
    world.reboot()
    return binding.key(TRIPLE_NAME)


def recovered(world: MemoryWorld, key: VersionKey) -> tuple[UnitOfWork, ...]:
    state = world.services().state
    lease = state.acquire_lease(version_resource(key), holder="next", ttl=timedelta(minutes=2))
    return recover(world.services(), key, lease)


def test_r5_what_was_only_intended_is_dropped_with_what_it_staged(world: MemoryWorld) -> None:
    before = entries(world, "prod", TRIPLE_NAME)
    key = cut(world, "record_staged")
    assert world.catalog.branches(key.table)
    assert recovered(world, key) == ()
    assert world.catalog.branches(key.table) == ()
    assert world.services().state.open_work(key) == ()
    assert entries(world, "prod", TRIPLE_NAME) == before


def test_r5_what_was_staged_is_published_and_recorded(world: MemoryWorld) -> None:
    key = cut(world, "publish")
    (done,) = recovered(world, key)
    assert entries(world, "prod", TRIPLE_NAME)[1].work_id == done.intent.work_id
    assert world.services().state.open_work(key) == ()


def test_r5_what_can_never_be_published_is_not_recorded(world: MemoryWorld) -> None:
    before = entries(world, "prod", TRIPLE_NAME)
    key = cut(world, "publish")
    world.catalog.append(key.table, [(DAYS[1], 1)])  # by another program
    assert recovered(world, key) == ()
    assert entries(world, "prod", TRIPLE_NAME) == before
    assert world.catalog.branches(key.table) == ()
    assert world.services().state.open_work(key) == ()
