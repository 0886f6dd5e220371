"""Models that are read once are those that are read each time."""

from __future__ import annotations

import pytest

from tests.app.memory_world import PROJECT, MemoryWorld, graph_of
from tests.app.read_models import read_before


def built(texts: dict[str, str]) -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    world.build(graph_of(texts))
    return world


def test_a_graph_of_models_that_were_read_before_is_that_of_the_same_texts() -> None:
    world = built(PROJECT)
    first, again = world.bound(), world.bound()
    assert read_before() is not None
    for node in first.graph:
        assert again.graph[node.name].model == node.model
        assert again.graph[node.name].fingerprint == first.snapshots[node.name].fingerprint
        if not node.model.kind.is_source:
            assert again.graph[node.name].canonical is node.canonical


def test_an_edit_of_a_model_is_seen_in_what_reads_it() -> None:
    edited = {**PROJECT, "daily": PROJECT["daily"].replace("amount > 0", "amount > 5")}
    before, after = graph_of(PROJECT), graph_of(edited)
    same = [node.fingerprint for node in before]
    changed = {str(node.name) for node in after if node.fingerprint not in same}
    assert changed == {"mart.daily", "mart.totals", "mart.people"}


@pytest.mark.usefixtures("monkeypatch")
def test_where_code_is_replaced_each_model_is_read_again() -> None:
    assert read_before() is None
