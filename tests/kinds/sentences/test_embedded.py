"""EMBEDDED: a query inside of others, sentence by sentence."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld
from tests.kinds.sentences.projects import built, node_of, read, rows_of, sql_of
from vde_dagster.core.model.kinds import Embedded
from vde_dagster.core.names import TableName

LARGE = """MODEL (name demo.large, kind EMBEDDED);
SELECT id, amount FROM raw.events WHERE amount > 10"""
COUNTED = """MODEL (name demo.counted, kind FULL, start '2024-01-01');
SELECT COUNT(*) AS n FROM demo.large AS l"""
SUMMED = """MODEL (name demo.summed, kind VIEW);
SELECT SUM(amount) AS amount FROM demo.large"""
EVENTS = [["1", "2024-01-01", "5"], ["2", "2024-01-01", "20"], ["3", "2024-01-01", "30"]]


@pytest.mark.full
def test_several_models_share_its_query() -> None:
    data = {"raw.events": EVENTS}
    assert read(LARGE).kind == Embedded()
    assert rows_of(LARGE, COUNTED, start="2024-01-01", end="2024-01-02", data=data) == [(2,)]
    assert rows_of(LARGE, SUMMED, start="2024-01-01", end="2024-01-02", data=data) == [(50,)]


@pytest.mark.full
def test_it_has_no_table_and_no_view() -> None:
    world = MemoryWorld.landed((1, 5), (2, 20), (3, 30), until=24)
    assert {name for name, _ in built(world, LARGE, COUNTED)} == {"demo.counted"}
    assert world.rows("demo.counted") == [(2,)]
    assert not [name for name in world.catalog.tables if "large" in name.name]
    assert not [name for name in world.catalog.queries if "large" in name.name]
    assert not world.catalog.views([TableName("demo", "large")])


def test_its_query_stands_as_a_subquery_where_it_is_read() -> None:
    found = sql_of(LARGE, COUNTED)
    assert "FROM (SELECT" in found
    assert "raw.events" in found
    assert "large" not in found.replace("AS l", "")


def test_an_edit_of_it_is_an_edit_of_what_reads_it() -> None:
    edited = LARGE.replace("> 10", "> 15")
    before, after = node_of(LARGE, COUNTED).fingerprint, node_of(edited, COUNTED).fingerprint
    assert before.data_version != after.data_version
