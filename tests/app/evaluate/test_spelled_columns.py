"""Rule R13: what is put in place of a name has the catalog's case where that is data."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, declared_source, graph_of
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.names import ModelName, TableName

NAMES = ("id", "userAgent")


def built(query: str, kind: str, *declared: str) -> None:
    """Build a model over a source whose columns are `NAMES` and are declared under other names."""
    world = MemoryWorld()
    columns = [Column(name=name, type="bigint") for name in NAMES]
    world.catalog.create_table(TableName("raw", "cased"), columns)
    source = declared_source(ModelName("raw", "cased"), dict.fromkeys(declared, "bigint"))
    world.build(
        graph_of({"x": f"MODEL (name m.x, kind {kind}, start '2020-01-01');\n{query}"}, source)
    )


@pytest.mark.parametrize("kind", ["FULL", "VIEW"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT to_json(struct(*)) AS j FROM raw.cased",
        "SELECT to_json(struct(c.*)) AS j FROM (SELECT * FROM raw.cased) AS c",
        "SELECT to_json(struct(c.*)) AS j FROM (SELECT @STAR(raw.cased) FROM raw.cased) AS c",
    ],
)
def test_names_that_are_data_are_declared_as_the_catalog_has_them(query: str, kind: str) -> None:
    with pytest.raises(Refused, match=r"raw\.cased\.userAgent is declared as useragent"):
        built(query, kind, "id", "useragent")


@pytest.mark.parametrize("kind", ["FULL", "VIEW"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM raw.cased",
        "SELECT COUNT(*) AS n FROM raw.cased",
        "SELECT ID AS i FROM raw.cased",
    ],
)
def test_the_case_of_other_names_may_be_declared_as_one_likes(query: str, kind: str) -> None:
    built(query, kind, "ID", "useragent")
