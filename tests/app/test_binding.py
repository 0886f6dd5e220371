"""Graphs of stored models are read once in a process, and never mixed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.memory_world import DAILY, EVENTS, MemoryWorld, graph_of, there
from vde_dagster.app.binding import stored_graph
from vde_dagster.core.model.model import Query
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.project.cache.models import ModelCache

NAME = ModelName("staging", "events")
Snapshots = Mapping[ModelName, ModelSnapshot]


@pytest.fixture
def cache(tmp_path: Path) -> ModelCache:
    return ModelCache(path=tmp_path / "models.sqlite")


def shown(text: str = EVENTS) -> Snapshots:
    world = MemoryWorld.landed((0, 1), until=2)
    world.build(graph_of({"events": text, "daily": DAILY}))
    found = there(world.state.environment("prod"))
    return found.snapshots


def attached(snapshots: Snapshots, macro: str) -> Snapshots:
    """The same models, of which one has a file of macros beside it."""
    snapshot = snapshots[NAME]
    source = replace(snapshot.source, attachments={"macros/own.py": macro})
    return {**snapshots, NAME: replace(snapshot, source=source)}


@pytest.mark.full
def test_a_graph_is_read_once(cache: ModelCache) -> None:
    assert stored_graph(shown(), cache) is stored_graph(shown(), cache)
    assert stored_graph(shown()) is not stored_graph(shown())


@pytest.mark.full
def test_every_text_has_its_own_graph_also_those_of_one_fingerprint(cache: ModelCache) -> None:
    commented = EVENTS.replace("SELECT id AS id", "SELECT  id  AS  id")
    plain, other = shown(), shown(commented)
    assert plain[NAME].fingerprint == other[NAME].fingerprint
    for _ in range(2):
        for snapshots in (plain, other):
            model = stored_graph(snapshots, cache)[NAME].model
            assert model.source.text == snapshots[NAME].source.text
            assert isinstance(model.body, Query)


def test_what_code_says_that_may_do_anything_is_asked_each_time(cache: ModelCache) -> None:
    snapshots = shown()
    closed = attached(snapshots, "import math\n")
    opened = attached(snapshots, "import os\n")
    assert stored_graph(closed, cache) is stored_graph(closed, cache)
    assert stored_graph(opened, cache) is not stored_graph(opened, cache)


@pytest.mark.full
def test_only_the_newest_graphs_are_kept(cache: ModelCache) -> None:
    snapshots = shown()
    first = stored_graph(snapshots, cache)
    for number in range(20):
        assert stored_graph(attached(snapshots, f"N = {number}\n"), cache) is not first
    assert stored_graph(snapshots, cache) is not first
