"""The types that unit tests and lineage take for certain: Spark's, through a chain of models."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.unit_tests.amounts import amounts
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.canonical import UNKNOWN_TYPE
from vde_dagster.core.unit_tests.column_types import typed_columns
from vde_dagster.project.loading import load_project

EXTRA = {
    "small.sql": "MODEL (name mart.small, kind FULL);\n"
    "SELECT CAST(1 AS TINYINT) AS t, CAST('x' AS VARCHAR(3)) AS v, 1 AS i",
    "seen.sql": "MODEL (name mart.seen, kind VIEW, columns (t int, s bigint));\n"
    "SELECT CAST(1 AS TINYINT) AS t, SUM(strange(amt)) AS s FROM mart.raw",
    "strange.sql": "MODEL (name mart.strange, kind FULL);\n"
    "SELECT strange(amt) AS s, amt AS amt FROM mart.raw",
    "above.sql": "MODEL (name mart.above, kind FULL);\n"
    "SELECT SUM(s) AS s, SUM(amt) AS amt FROM mart.strange",
    "told.sql": "MODEL (name mart.told, kind FULL, columns (s decimal(12,3)));\n"
    "SELECT strange(amt) AS s, AVG(amt) OVER () AS a FROM mart.raw",
    "other.sql": "MODEL (name mart.other, kind FULL, dialect duckdb);\n"
    "SELECT cust AS cust, MAX(amt) AS m FROM mart.raw GROUP BY cust",
}


def types_of(folder: Path, name: str) -> dict[str, str]:
    for file, text in EXTRA.items():
        (folder / "models" / "mart").mkdir(parents=True, exist_ok=True)
        (folder / "models" / "mart" / file).write_text(text, encoding="utf-8")
    graph = amounts(folder).graph
    return {each.name: each.type for each in typed_columns(graph, ModelName("mart", name))}


@pytest.mark.parametrize(
    "model, types",
    [
        ("daily", {"cust": "string", "day": "date", "total": "decimal(20,2)"}),
        ("agg", {"cust": "string", "a": "decimal(24,6)", "d": "decimal(34,6)"}),
        ("fin", {"cust": "string", "f": "boolean", "d": "decimal(34,6)"}),
        ("small", {"t": "int", "v": "string", "i": "int"}),
        ("seen", {"t": "tinyint", "s": "bigint"}),
        ("strange", {"s": UNKNOWN_TYPE, "amt": "decimal(10,2)"}),
        ("above", {"s": UNKNOWN_TYPE, "amt": "decimal(20,2)"}),
        ("told", {"s": "decimal(12,3)", "a": "decimal(14,6)"}),
        ("other", {"cust": "string", "m": "decimal(10,2)"}),
    ],
)
def test_a_column_has_the_type_of_the_table_or_none(
    tmp_path: Path, model: str, types: dict[str, str]
) -> None:
    found = types_of(tmp_path, model)
    assert {name: kind.replace(" ", "") for name, kind in found.items()} == types


def test_what_settings_of_spark_may_decide_is_not_known(tmp_path: Path) -> None:
    files = amounts(tmp_path)
    settings = "spark: {conf: {spark.sql.decimalOperations.allowPrecisionLoss: 'false'}}\n"
    with (tmp_path / "vde.yaml").open("a", encoding="utf-8") as file:
        file.write(settings)
    graph = load_project(files.configuration.folder).graph
    found = {each.name: each.type for each in typed_columns(graph, ModelName("mart", "agg"))}
    assert found == {"cust": "string", "a": UNKNOWN_TYPE, "d": UNKNOWN_TYPE}


def test_a_long_chain_of_models_has_types(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "mart"
    folder.mkdir(parents=True)
    for at in range(400):
        parent = f"mart.c{at - 1}" if at else "mart.raw"
        text = f"MODEL (name mart.c{at}, kind FULL);\nSELECT amt AS amt FROM {parent}"
        (folder / f"c{at}.sql").write_text(text, encoding="utf-8")
    (column,) = typed_columns(amounts(tmp_path).graph, ModelName("mart", "c399"))
    assert column.type.replace(" ", "") == "decimal(10,2)"
