"""However a table's name is written in a query, it is the same table and the same model."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, graph_of
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


@pytest.mark.parametrize("name", ["s.total", "lake.s.total", '"LAKE"."S"."Total"'])
def test_a_model_is_the_same_with_and_without_the_projects_catalog(name: str) -> None:
    (node,) = [each for each in graph_of(project(WRITTEN[0], name)) if each.name.name == "total"]
    assert node.name == ModelName("s", "total")


@pytest.mark.full
def test_a_model_without_a_schema_is_in_default_and_is_read_by_its_name_alone() -> None:
    world = MemoryWorld.landed((1, 10), (2, 20), until=48)
    texts = {
        "one": "MODEL (name one, kind FULL);\nSELECT amount AS amount FROM raw.events",
        "two": "MODEL (name two, kind FULL);\nSELECT SUM(amount) AS amount FROM one",
        "three": "MODEL (name three, kind VIEW);\nSELECT amount FROM default.two",
    }
    world.build(graph_of(texts), "dev")
    assert world.rows("default__dev.two") == [(30,)]
    assert world.rows("default__dev.three") == [(30,)]
