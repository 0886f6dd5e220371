"""The types that unit tests take for certain: declared ones, and what an engine says of a query."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.unit_tests.amounts import amounts
from tests.app.unit_tests.shop import engines
from vde_dagster.app.unit_tests.column_types import ColumnTypes
from vde_dagster.app.unit_tests.running import Engines
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import UNKNOWN_TYPE
from vde_dagster.core.unit_tests.column_types import declared_columns
from vde_dagster.core.unit_tests.definition import NeedsEngine

EXTRA = {
    "small.sql": "MODEL (name mart.small, kind FULL);\n"
    "SELECT CAST(1 AS TINYINT) AS t, CAST('x' AS STRING) AS v, 1 AS i, NULL AS n",
    "seen.sql": "MODEL (name mart.seen, kind VIEW, columns (t int));\n"
    "SELECT CAST(1 AS TINYINT) AS t FROM mart.raw",
    "strange.sql": "MODEL (name mart.strange, kind FULL);\n"
    "SELECT strange(amt) AS s, amt AS amt FROM mart.raw",
    "told.sql": "MODEL (name mart.told, kind FULL, columns (s decimal(12,3)));\n"
    "SELECT strange(amt) AS s FROM mart.raw",
    "above.sql": "MODEL (name mart.above, kind FULL);\nSELECT SUM(s) AS s FROM mart.told",
}


def graph_in(folder: Path) -> Graph:
    for file, text in EXTRA.items():
        (folder / "models" / "mart").mkdir(parents=True, exist_ok=True)
        (folder / "models" / "mart" / file).write_text(text, encoding="utf-8")
    return amounts(folder).graph


@pytest.mark.parametrize(
    "model, declared, found",
    [
        ("raw", "string date decimal(10,2)", "string date decimal(10,2)"),
        ("daily", "? ? ?", "string date decimal(20,2)"),
        ("small", "? ? ? ?", "int string int ?"),  # as a table stores them
        ("seen", "?", "tinyint"),  # no view casts
        ("strange", "? ?", "? ?"),
        ("told", "decimal(12,3)", "decimal(12,3)"),
        ("above", "?", "decimal(22,3)"),
    ],
)
def test_a_column_has_the_type_of_the_table_or_none(
    tmp_path: Path, model: str, declared: str, found: str
) -> None:
    graph, name = graph_in(tmp_path), ModelName("mart", model)
    for columns, wanted in (
        (declared_columns(graph[name]), declared),
        (ColumnTypes(engines=engines()).columns(graph, name), found),
    ):
        kinds = [each.type.replace(" ", "").replace(UNKNOWN_TYPE, "?") for each in columns]
        assert kinds == wanted.split()


def test_an_engine_that_must_not_be_started_is_not_replaced_by_a_guess(tmp_path: Path) -> None:
    quick = ColumnTypes(engines=Engines(engine=None, quick=engines().quick))
    graph = graph_in(tmp_path)
    assert quick.columns(graph, ModelName("mart", "daily"))
    with pytest.raises(NeedsEngine):
        quick.columns(graph, ModelName("mart", "often"))


def test_a_long_chain_of_models_has_types(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "mart"
    folder.mkdir(parents=True)
    for at in range(400):
        parent = f"mart.c{at - 1}" if at else "mart.raw"
        text = f"MODEL (name mart.c{at}, kind FULL);\nSELECT amt AS amt FROM {parent}"
        (folder / f"c{at}.sql").write_text(text, encoding="utf-8")
    types = ColumnTypes(engines=engines())
    (column,) = types.columns(amounts(tmp_path).graph, ModelName("mart", "c399"))
    assert column.type.replace(" ", "") == "decimal(10,2)"
