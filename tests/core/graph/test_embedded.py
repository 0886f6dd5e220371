"""Which models are inlined in a model's query, and what it names then."""

from __future__ import annotations

import pytest

from tests.core.conftest import build
from vde_dagster.core.graph.embedded import embedded_upstream, stored_parents
from vde_dagster.core.graph.render_model import render_model
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.macros import TimeRange
from vde_dagster.core.time.intervals import EPOCH


def model(kind: str, query: str) -> str:
    return f"MODEL (kind {kind});\n{query}"


# A diamond: x reads both e and f, which both read d; there are a table and a view, too.
DIAMOND = {
    "m.d": model("EMBEDDED", "SELECT a FROM raw.t"),
    "m.e": model("EMBEDDED", "SELECT d.a FROM m.d JOIN m.s ON m.s.a = d.a"),
    "m.f": model("EMBEDDED", "SELECT a FROM m.d UNION ALL SELECT a FROM raw.u"),
    "m.s": model("FULL", "SELECT a FROM m.d"),
    "m.v": model("VIEW", "SELECT a FROM m.e"),
    "m.x": model("FULL", "SELECT e.a FROM m.e JOIN m.f ON e.a = f.a"),
    "m.y": model("FULL", "SELECT a FROM m.v"),
    "m.z": model("FULL", "SELECT a FROM m.x UNION SELECT a FROM m.d"),
    "m.none": model("FULL", "SELECT 1 AS a"),
}
EXPECTED = [
    ("m.none", [], []),
    ("m.d", [], ["raw.t"]),
    ("m.s", ["m.d"], ["raw.t"]),
    ("m.e", ["m.d"], ["m.s", "raw.t"]),
    ("m.f", ["m.d"], ["raw.t", "raw.u"]),
    ("m.x", ["m.d", "m.e", "m.f"], ["m.s", "raw.t", "raw.u"]),
    ("m.v", ["m.d", "m.e"], ["m.s", "raw.t"]),
    # a view is something that can be read, so nothing is looked for behind it
    ("m.y", [], ["m.v"]),
    ("m.z", ["m.d"], ["m.x", "raw.t"]),
    ("raw.t", [], []),
]


@pytest.mark.parametrize("name,embedded,stored", EXPECTED)
def test_what_is_inlined_and_what_is_read(
    name: str, embedded: list[str], stored: list[str]
) -> None:
    graph = build(DIAMOND)
    assert [str(each) for each in embedded_upstream(graph, ModelName.parse(name))] == embedded
    assert [str(each) for each in stored_parents(graph, ModelName.parse(name))] == stored


@pytest.mark.parametrize("name", [name for name in DIAMOND if name != "m.none"])
def test_what_is_read_is_what_the_rendered_query_names(name: str) -> None:
    graph = build(DIAMOND)
    times = TimeRange(start=EPOCH, end=None, execution_time=EPOCH)
    query = render_model(
        graph, ModelName.parse(name), times, target=lambda _: None, inline_views=False
    ).query
    assert query.tables == set(stored_parents(graph, ModelName.parse(name)))
