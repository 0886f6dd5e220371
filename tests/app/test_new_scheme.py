"""A release whose fingerprints have another scheme takes over what an earlier one has filled."""

from __future__ import annotations

import pytest

from tests.app.memory_world import PROJECT, MemoryWorld, bound, build, graph_of, plan
from vde_dagster.core import fingerprint
from vde_dagster.core.names import ModelName

DAILY = ModelName("mart", "daily")
EDITED = {**PROJECT, "daily": PROJECT["daily"].replace("SUM(amount) AS", "SUM(amount) + 0 AS")}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> MemoryWorld:
    """Three days of events, which an earlier release has built; no hash of it is one of today's."""
    found = MemoryWorld()
    found.land((1, 10), (30, 5), (50, 7), until=72)
    with monkeypatch.context() as earlier:
        earlier.setattr(fingerprint, "SCHEME", "vde/3")
        build(found.services(), graph_of(PROJECT))
        assert graph_of(PROJECT)[DAILY].fingerprint.data == (
            bound(found.services()).snapshots[DAILY].fingerprint.data
        )
    return found


def test_nothing_is_computed_and_no_view_moves_after_an_upgrade(world: MemoryWorld) -> None:
    stored = bound(world.services()).snapshots
    graph = graph_of(PROJECT)
    assert graph[DAILY].fingerprint.data != stored[DAILY].fingerprint.data
    found = plan(world.services(), graph)
    assert [str(each.name) for each in found.changes if each.to_evaluate] == []
    assert not found.promotes
    assert not found.views
    assert {name: each.version for name, each in found.snapshots.items()} == {
        name: each.version for name, each in stored.items()
    }


def test_an_edit_after_an_upgrade_rebuilds_only_what_it_reaches(world: MemoryWorld) -> None:
    stored = bound(world.services()).snapshots
    found = plan(world.services(), graph_of(EDITED))
    moved = {name for name, each in found.snapshots.items() if each.version != stored[name].version}
    assert moved == {DAILY, ModelName("mart", "totals"), ModelName("mart", "people")}


def test_an_environment_made_after_an_upgrade_shares_what_production_has(
    world: MemoryWorld,
) -> None:
    stored = bound(world.services()).snapshots
    found = plan(world.services(), graph_of(PROJECT), "dev")
    assert [str(each.name) for each in found.changes if each.to_evaluate] == []
    assert {name: each.version for name, each in found.snapshots.items()} == {
        name: each.version for name, each in stored.items()
    }
