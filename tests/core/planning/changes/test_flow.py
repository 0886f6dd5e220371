"""What reaches whom, where columns are not known, random, or just declared."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.core.conftest import build, external, read
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.changes.comparison import compare_graphs
from vde_dagster.core.planning.changes.difference import Difference
from vde_dagster.core.planning.changes.reason_values import sentences

FULL = "MODEL (kind FULL); "
VIEW = "MODEL (kind VIEW); "
OPEN = external("raw.open", {})
OTHER = external("raw.other", {})


def compared(before: Graph, after: Graph) -> dict[str, Difference]:
    return {str(name): found for name, found in compare_graphs(before, after).items()}


def open_graph(texts: Mapping[str, str]) -> Graph:
    """Models over two sources whose columns nobody declared."""
    return build_graph([OPEN, OTHER, *(read(name, text) for name, text in texts.items())])


def test_each_star_of_several_counts() -> None:
    texts = {
        "m.x": FULL + "SELECT o.*, q.* FROM raw.open AS o CROSS JOIN raw.other AS q",
        "m.y": FULL + "SELECT id FROM m.x",
    }
    edited = {**texts, "m.x": texts["m.x"].replace("o.*, q.*", "q.*")}
    found = compared(open_graph(texts), open_graph(edited))
    assert found["m.x"].category is not None
    assert found["m.x"].category in (Category.BREAKING, Category.INDIRECT_BREAKING)
    assert found["m.y"].rebuild


def test_a_star_in_a_common_table_passes_one_column_on() -> None:
    texts = {"m.x": FULL + "WITH s AS (SELECT * FROM raw.open) SELECT id FROM s"}
    narrow = open_graph(texts)[ModelName("m", "x")]
    assert narrow.canonical is not None
    read_columns = {each.column for part in narrow.canonical.meaning.parts() for each in part.reads}
    assert read_columns == {"", "id"}


def test_a_random_value_in_a_view_is_drawn_again_for_who_reads_it() -> None:
    texts = {
        "m.v": VIEW + "SELECT a, RAND() AS r FROM raw.t",
        "m.w": VIEW + "SELECT a, r FROM m.v",
        "m.x": FULL + "SELECT a, r FROM m.w",
        "m.y": FULL + "SELECT r FROM m.x",
        "m.z": FULL + "SELECT a FROM m.x",
    }
    found = compared(build(texts), build({**texts, "m.x": FULL + "SELECT a, r, 1 AS n FROM m.w"}))
    assert (found["m.y"].rebuild, found["m.z"].rebuild) == (True, False)


def test_a_kind_that_identifies_rows_by_an_unknown_column_has_other_rows() -> None:
    key = "MODEL (kind INCREMENTAL_BY_UNIQUE_KEY (unique_key k)); "
    texts = {"m.x": key + "SELECT * FROM raw.open", "m.y": FULL + "SELECT COUNT(*) AS n FROM m.x"}
    edited = {**texts, "m.x": texts["m.x"].replace("raw.open", "raw.other")}
    assert compared(open_graph(texts), open_graph(edited))["m.y"].rebuild


@pytest.mark.parametrize(
    "declared,keeps",
    [("a int, b string", True), ("a INTEGER, b string", True), ("a bigint", False)],
)
def test_declaring_the_types_that_columns_have_reaches_nobody(declared: str, keeps: bool) -> None:
    texts = {"m.x": FULL + "SELECT a, b FROM raw.t", "m.y": FULL + "SELECT a, b FROM m.x"}
    header = f"MODEL (kind FULL, columns ({declared})); "
    found = compared(build(texts), build({**texts, "m.x": texts["m.x"].replace(FULL, header)}))
    assert found["m.y"].rebuild != keeps


def test_the_order_in_a_view_counts_where_its_rows_are_collected() -> None:
    texts = {
        "m.v": VIEW + "SELECT a, b FROM raw.t ORDER BY a",
        "m.x": FULL + "SELECT COLLECT_LIST(a) AS l FROM m.v",
    }
    edited = {**texts, "m.v": texts["m.v"].replace("ORDER BY a", "ORDER BY b")}
    assert compared(build(texts), build(edited))["m.x"].rebuild


@pytest.mark.parametrize("terms", [1100, pytest.param(2000, marks=pytest.mark.full)])
def test_a_long_condition_that_changes_is_reported(terms: int) -> None:
    longs = [" AND ".join(f"a <> {n}" for n in range(first, first + terms)) for first in (0, 1)]
    old, new = (build({"m.x": f"SELECT a FROM raw.t WHERE {each}"}) for each in longs)
    assert "WHERE" in " ".join(sentences(compared(old, new)["m.x"].reasons))
