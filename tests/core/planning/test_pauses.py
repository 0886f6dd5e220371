"""Which models wait for paused ones, and what it costs to find out."""

from __future__ import annotations

import tracemalloc
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.conftest import build
from tests.core.counted_graphs import counted
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pauses import Pause, paused_models

MANY: Final = 2_000
NODE: Final = build({"m.x": "MODEL (kind FULL);\nSELECT a FROM raw.t"})[ModelName("m", "x")]


def name_of(number: int) -> ModelName:
    return ModelName("m", f"x{number}")


def graph_of(parents: Mapping[int, Collection[int]]) -> Graph:
    """Models by number, each with the numbers of those that it reads."""
    nodes = {}
    for number, reads in parents.items():
        own = tuple(map(name_of, reads))
        model = replace(NODE.model, name=name_of(number), parents=own)
        nodes[model.name] = replace(NODE, model=model)
    return Graph(nodes)


def pauses_of(numbers: Collection[int]) -> dict[ModelName, Pause]:
    at = datetime(2024, 1, 1, tzinfo=UTC)
    names = map(name_of, numbers)
    return {name: Pause(environment="prod", model=name, paused_at=at) for name in names}


@st.composite
def plans(draw: st.DrawFn) -> tuple[dict[int, set[int]], set[int], set[int]]:
    """What each of a few models reads, which ones are paused, and which would be computed."""
    every = range(draw(st.integers(1, 12)))
    some = st.sets(st.sampled_from(every))
    parents = {each: {up for up in draw(some) if up < each} for each in every}
    return parents, draw(some), draw(some)


@given(plans())
def test_what_waits_for_a_paused_model_is_what_reads_it_through_any_others(plan: Any) -> None:
    parents, paused, stopped = plan
    above: dict[int, set[int]] = {}
    for each, reads in parents.items():
        above[each] = reads.union(*(above[up] for up in reads))
    found = list(paused_models(graph_of(parents), pauses_of(paused), map(name_of, stopped)))
    assert [each.pause.model for each in found] == list(map(name_of, sorted(paused)))
    for each, number in zip(found, sorted(paused), strict=True):
        waiting = {name_of(one) for one in stopped - paused if number in above[one]}
        assert each.waiting == tuple(sorted(waiting))


@pytest.mark.parametrize("paused", [range(1), range(0, MANY, 10), range(MANY - 1)])
@pytest.mark.parametrize("shape", ["chain", "fan"])
def test_each_model_is_looked_at_once_however_long_the_graph_is(
    shape: str, paused: Collection[int]
) -> None:
    reads = {each: [each - 1 if shape == "chain" else 0] for each in range(1, MANY)}
    graph, nodes = counted(graph_of({0: [], **reads}))
    stopped = {name_of(each) for each in range(MANY) if each not in paused}
    first, *_ = paused_models(graph, pauses_of(paused), stopped)
    assert set(first.waiting) == stopped
    assert nodes.looked_up == 0, "the graph is gone through from its beginning to its end"


def test_a_long_chain_of_paused_models_takes_little_memory() -> None:
    graph = graph_of({0: [], **{each: [each - 1] for each in range(1, MANY)}})
    paused = pauses_of(range(MANY - 1))
    tracemalloc.start()
    try:
        found = list(paused_models(graph, paused, [name_of(MANY - 1)]))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(each.waiting == (name_of(MANY - 1),) for each in found)
    assert most < 10_000_000
