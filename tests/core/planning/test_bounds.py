"""Which versions are bounded follows from what is left out, and from what is read of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from tests.core.conftest import build
from vde_dagster.core.graph.graph import Graph, bounded_graph, build_graph
from vde_dagster.core.model.snapshot import Bounded, ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.bounds import Bounds, since_of, unbounded_snapshots, with_bounds
from vde_dagster.core.planning.resolution import Resolved, Shown, resolve_snapshots
from vde_dagster.core.time.intervals import Interval

P, V, C, D = (ModelName("m", name) for name in "pvcd")
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
NOW = FIRST + timedelta(days=9)
START = FIRST + timedelta(days=4)
WITHIN = "WHERE ts BETWEEN @start_dt AND @end_dt"
BY_DAY = "INCREMENTAL_BY_TIME_RANGE (time_column ts)"
BY_KEY = "INCREMENTAL_BY_UNIQUE_KEY (unique_key a)"


def model(name: str, kind: str, source: str, where: str = "") -> str:
    start = "" if kind == "VIEW" else ", start '2024-01-01', cron '@daily'"
    return f"MODEL (name m.{name}, kind {kind}{start});\nSELECT a, ts FROM {source} {where}"


SHOP = {
    "m.p": model("p", BY_DAY, "raw.t", WITHIN),
    "m.v": model("v", "VIEW", "m.p"),
    "m.c": model("c", "FULL", "m.v"),
    "m.d": model("d", BY_DAY, "m.p", WITHIN),
}


def resolved(graph: Graph) -> dict[ModelName, Resolved]:
    return resolve_snapshots(graph, Shown(snapshots={}, graph=build_graph([])), {})


def decided(
    graph: Graph,
    *,
    start: datetime | None = START,
    writes: Collection[ModelName] | None = None,
    loaded: Mapping[ModelName, tuple[Interval, ...]] | None = None,
    stays: Mapping[ModelName, Bounded] | None = None,
    now: datetime | None = NOW,
) -> dict[ModelName, ModelSnapshot]:
    names = [node.name for node in graph]
    bounds = Bounds(
        start=start,
        effective_from=None,
        stays=stays or {},
        writes=names if writes is None else writes,
        loaded=dict.fromkeys(names, ()) | dict(loaded or {}),
        production={},
        now=now,
    )
    found = with_bounds(graph, resolved(graph), bounds)
    return {name: each.snapshot for name, each in found.items()}


@pytest.mark.parametrize(
    "texts, given, expected",
    [
        (SHOP, {}, {C}),
        (SHOP, {"loaded": {P: (Interval(FIRST, START),)}}, set()),
        (SHOP, {"loaded": {P: (Interval(FIRST + timedelta(days=1), NOW),)}}, {C}),
        (SHOP, {"writes": {C, D}}, set()),  # all of the parent is another environment's
        (SHOP, {"writes": {P, D}}, set()),
        (SHOP, {"start": FIRST}, set()),
        (SHOP, {"start": None}, set()),
        (SHOP, {"now": None}, set()),
        ({"m.p": model("p", BY_KEY, "raw.t", WITHIN)}, {}, {P}),
        ({"m.p": model("p", BY_KEY, "raw.t", WITHIN)}, {"now": FIRST}, set()),  # nothing is due
        ({"m.p": model("p", "FULL", "raw.t", WITHIN)}, {}, {P}),
        ({"m.p": model("p", "FULL", "raw.t")}, {}, set()),
        (
            {"m.p": model("p", "FULL", "raw.t", WITHIN)},
            {"loaded": {P: (Interval(FIRST, NOW),)}},
            set(),
        ),
        ({**SHOP, "m.p": model("p", BY_KEY, "raw.t", WITHIN)}, {}, {P, C, D}),
    ],
)
def test_a_version_is_bounded_if_rows_of_it_follow_from_what_is_left_out(
    texts: dict[str, str], given: dict[str, object], expected: set[ModelName]
) -> None:
    found = decided(build(texts), **given)  # type: ignore[arg-type]
    assert since_of(found).keys() == expected


def test_a_bounded_version_has_a_name_of_its_own_and_so_have_views_of_it() -> None:
    graph = build({**SHOP, "m.p": model("p", BY_KEY, "raw.t", WITHIN)})
    whole = {name: each.snapshot for name, each in resolved(graph).items()}
    found = decided(graph)
    assert all(found[name].version != whole[name].version for name in (P, V, C, D))
    assert found[P].bounded == Bounded(since=START, instead_of=whole[P].version)
    assert found[V].bounded is None
    assert unbounded_snapshots(graph, found) == whole
    assert decided(graph) == found


def test_r1_a_view_of_a_view_of_what_is_bounded_has_a_name_of_its_own_too() -> None:
    over = {"m.v": model("v", "VIEW", "m.p"), "m.w": model("w", "VIEW", "m.v")}
    graph = build({"m.p": model("p", BY_KEY, "raw.t", WITHIN), **over})
    whole = {name: each.snapshot for name, each in resolved(graph).items()}
    found = decided(graph)
    views = (V, ModelName("m", "w"))
    assert all(found[name].version != whole[name].version for name in views)
    assert unbounded_snapshots(graph, found) == whole


def test_it_follows_from_the_instant_and_from_the_bounded_tables_that_are_read() -> None:
    graph = build(SHOP)
    earlier = Bounded(since=FIRST + timedelta(days=1), instead_of="")
    later = Bounded(since=FIRST + timedelta(days=2), instead_of="")
    found = [
        decided(graph),
        decided(graph, stays={P: earlier, C: Bounded(since=START, instead_of="")}, start=None),
        decided(graph, stays={P: later, C: Bounded(since=START, instead_of="")}, start=None),
        decided(graph, stays={P: earlier}, start=None),
    ]
    assert [since_of(each)[C] for each in found] == [START, START, START, earlier.since]
    assert len({each[C].version for each in found}) == 4


def test_in_its_graph_a_bounded_model_begins_at_the_instant() -> None:
    graph = build(SHOP)
    found = bounded_graph(graph, {P: START, C: FIRST - timedelta(days=1)})
    assert [found[name].model.start for name in (P, C, D)] == [START, FIRST, FIRST]
    assert [found[name].bounded_from for name in (P, D)] == [START, None]
    assert found[P].fingerprint == graph[P].fingerprint
    again = bounded_graph(found, {P: FIRST + timedelta(days=1)})
    assert again[P].model.start == FIRST + timedelta(days=1)
    assert bounded_graph(found, {}) == graph
    assert bounded_graph(graph, {}) is graph
