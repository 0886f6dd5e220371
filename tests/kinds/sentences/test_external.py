"""EXTERNAL: tables that others write, sentence by sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.written_project import problems_of
from tests.kinds.sentences.projects import columns_of, graph_of, instant, problems, span
from vde_dagster.core.model.kinds import External
from vde_dagster.core.names import ModelName
from vde_dagster.project.loading import load_project

DECLARED = "- name: raw.orders\n  columns: {id: bigint, placed_at: timestamp}\n"
READER = "MODEL (name m.x, kind FULL); SELECT * FROM raw.orders"


def project(folder: Path, declared: str) -> Path:
    (folder / "models" / "m").mkdir(parents=True)
    (folder / "models" / "m" / "x.sql").write_text(READER)
    (folder / "vde.yaml").write_text("name: shop\n")
    if declared:
        (folder / "external_models.yaml").write_text(declared)
    return folder


def test_sources_are_declared_in_a_file_of_their_own(tmp_path: Path) -> None:
    graph = load_project(project(tmp_path, DECLARED)).graph
    source = graph[ModelName("raw", "orders")]
    assert source.model.kind == External()
    assert str(source.model.place) == "external_models.yaml:1"


def test_a_sql_file_cannot_declare_one() -> None:
    (found,) = problems("MODEL (name raw.orders, kind EXTERNAL, columns (id int)); SELECT 1 AS id")
    assert found.message == "a model with a query or code cannot be EXTERNAL"
    assert "external_models.yaml" in found.advice


def test_its_columns_and_types_are_those_of_who_reads_it(tmp_path: Path) -> None:
    graph = load_project(project(tmp_path, DECLARED)).graph
    assert [(each.name, each.type) for each in graph[ModelName("m", "x")].columns] == [
        ("id", "bigint"),
        ("placed_at", "timestamp"),
    ]
    found = columns_of(
        "MODEL (name m.x, kind FULL); "
        "SELECT id + 1 AS next, CAST(at AS DATE) AS day, at AS moment FROM raw.events"
    )
    assert found == [("next", "bigint"), ("day", "date"), ("moment", "timestamp")]


def test_a_source_that_is_not_declared_is_reported_with_where_to_declare_it(tmp_path: Path) -> None:
    (found,) = problems_of(lambda: load_project(project(tmp_path, "")))
    assert "reads raw.orders" in found.message
    assert "external_models.yaml" in found.advice


def test_nothing_is_ever_written_to_one() -> None:
    node = graph_of()[ModelName("raw", "events")]
    model = node.model
    rules = model.kind
    assert not rules.stores_rows
    assert rules.missing(model, (), instant("2024-01-04")) == ()
    with pytest.raises(ValueError, match="never written"):
        node.write(span("2024-01-01", "2024-01-02"), instant("2024-01-04"))
