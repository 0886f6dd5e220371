"""However a table's name is written in a query, it is the same table and the same model."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, build, graph_of, plan
from vde_dagster.core.names import ModelName

WRITTEN = [
    "SELECT SUM(amount) AS amount FROM raw.events",
    "SELECT SUM(amount) AS amount FROM lake.raw.events",
    "SELECT SUM(amount) AS amount FROM `Lake`.`Raw`.`Events`",
    "SELECT SUM(lake.raw.events.amount) AS amount FROM lake.raw.events",
    "WITH events AS (SELECT amount FROM lake.raw.events) SELECT SUM(amount) AS amount FROM events",
]


def project(query: str, name: str = "s.total") -> dict[str, str]:
    return {"total": f"MODEL (name {name}, kind FULL);\n{query}"}


@pytest.mark.full
@pytest.mark.parametrize("query", WRITTEN)
def test_a_source_is_read_with_and_without_the_projects_catalog(query: str) -> None:
    world = MemoryWorld()
    world.land((1, 10), (2, 20), until=48)
    build(world.services(), graph_of(project(query)))
    assert world.rows("s.total") == [(30,)]


@pytest.mark.full
@pytest.mark.parametrize("query", WRITTEN[1:4])
def test_writing_the_catalog_or_leaving_it_out_is_no_change(query: str) -> None:
    world = MemoryWorld()
    world.land((1, 10), until=48)
    build(world.services(), graph_of(project(WRITTEN[0])))
    assert plan(world.services(), graph_of(project(query))).backfills == ()
    one, other = (
        graph_of(project(text))[ModelName("s", "total")].fingerprint for text in (WRITTEN[0], query)
    )
    assert (one.data, one.parent_data) == (other.data, other.parent_data)


@pytest.mark.parametrize("name", ["s.total", "lake.s.total", '"LAKE"."S"."Total"'])
def test_a_model_is_the_same_with_and_without_the_projects_catalog(name: str) -> None:
    (node,) = [each for each in graph_of(project(WRITTEN[0], name)) if each.name.name == "total"]
    assert node.name == ModelName("s", "total")


@pytest.mark.full
def test_a_model_without_a_schema_is_in_default_and_is_read_by_its_name_alone() -> None:
    world = MemoryWorld()
    world.land((1, 10), (2, 20), until=48)
    texts = {
        "one": "MODEL (name one, kind FULL);\nSELECT amount AS amount FROM raw.events",
        "two": "MODEL (name two, kind FULL);\nSELECT SUM(amount) AS amount FROM one",
        "three": "MODEL (name three, kind VIEW);\nSELECT amount FROM default.two",
    }
    build(world.services(), graph_of(texts), "dev")
    assert world.rows("default__dev.two") == [(30,)]
    assert world.rows("default__dev.three") == [(30,)]
