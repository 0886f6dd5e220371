"""The sequences of the examples of FULL, INCREMENTAL_BY_UNIQUE_KEY and SEED, step by step.

Those of INCREMENTAL_BY_TIME_RANGE and VIEW stand with their kinds.
"""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, there
from tests.kinds.sentences.projects import (
    binding_of,
    built,
    columns_of,
    fill,
    graph_of,
    read,
    table_of,
)
from tests.kinds.sentences.test_by_unique_key import EXAMPLE as UNIQUE_KEY
from tests.kinds.sentences.test_full import EXAMPLE as FULL
from tests.kinds.sentences.test_seed import EXAMPLE as SEED
from tests.kinds.sentences.test_seed import PATH, ROWS
from vde_dagster.core.errors import ProjectInvalid

FILES = {PATH: ROWS}
SOURCE = [(1, 7, "n", "d", None), (2, 7, "n", "d", None)]


def world_of() -> MemoryWorld:
    world = MemoryWorld.landed(until=24)
    fill(world, "raw.rows", SOURCE)
    return world


@pytest.mark.parametrize("text", [FULL, UNIQUE_KEY, SEED], ids=["full", "unique_key", "seed"])
def test_a_version_has_a_table_with_its_fingerprint_in_the_name(text: str) -> None:
    graph, name = graph_of(text, attachments=FILES), read(text, FILES).name
    version = graph[name].fingerprint.data_version
    assert str(binding_of(graph).table(name)) == f"vde__demo.demo__{name.name}__{version}"


@pytest.mark.parametrize(
    "text,wrong",
    [
        (FULL, ("COUNT(DISTINCT id)", "COUNT(DISTINCT idd)")),
        (UNIQUE_KEY, ("SELECT id, item_id", "SELECT id, idd")),
    ],
    ids=["full", "unique_key"],
)
def test_the_query_is_checked_before_any_data_is_read(text: str, wrong: tuple[str, str]) -> None:
    world = world_of()
    with pytest.raises(ProjectInvalid, match="idd"):
        built(world, text.replace(*wrong))
    assert [str(name) for name in world.catalog.tables] == ["raw.events", "raw.rows"]
    assert world.state.environment("prod") is None


def test_each_column_is_cast_to_its_declared_type() -> None:
    world = world_of()
    built(world, FULL.replace("grain", "columns (item_id string, num_orders double), grain"))
    table = there(world.catalog.table(table_of(world, "demo.full_model_example")))
    assert [each.type for each in table.columns] == ["string", "double"]
    ((item, orders),) = world.rows("demo.full_model_example")
    assert (item, orders, type(orders)) == ("7", 2.0, float)


def test_readers_see_a_column_in_its_declared_type() -> None:
    declared = UNIQUE_KEY.replace("cron", "columns (id string, item_id int, event_date date), cron")
    reader = "MODEL (name m.x, kind FULL); SELECT * FROM demo.incremental_by_unique_key_example"
    assert columns_of(declared, reader) == [
        ("id", "string"),
        ("item_id", "int"),
        ("event_date", "date"),
    ]


def test_loading_a_seed_leaves_its_table_alone() -> None:
    world = world_of()
    before = set(world.catalog.tables)
    built(world, SEED, attachments=FILES)
    assert set(world.catalog.tables) - before == {table_of(world, "demo.seed_example")}
    assert not world.catalog.queries
