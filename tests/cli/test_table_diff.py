"""`vde table-diff` on tables that other programs wrote in place of versions."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from tests.app.memory_world import bound
from tests.cli.conftest import WithoutJava
from tests.cli.promoted import edit, promote
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName, environment_view
from vde_dagster.ports.catalog import ViewDefinition

REVENUE = ModelName("mart", "revenue")


@pytest.fixture
def two(project: Path) -> Path:
    """The project with another version of a model in dev; both views show rows."""
    promote(project)
    edit(project / "models" / "mart" / "revenue.sql", "SELECT", "SELECT DISTINCT")
    promote(project, "dev")
    loaded = VdeProject.load(project)
    services = loaded.services
    before, after = [(1, "a"), (2, "b")], [(1, "a"), (2, "c"), (3, None)]
    for environment, rows in (("prod", before), ("dev", after)):
        table = bound(services, environment).key(REVENUE).table
        data = pa.table(
            {"id": [each[0] for each in rows], "name": pa.array([each[1] for each in rows])}
        )
        catalog = loaded.iceberg_catalog()
        catalog.create_namespace_if_not_exists(table.namespace)
        catalog.create_table((table.namespace, table.name), data.schema).append(data)
        state = services.catalog.table(table)
        assert state is not None
        view = environment_view(REVENUE, environment, services.naming)
        definition = ViewDefinition(name=view, target=table, columns=state.columns)
        services.catalog.swap_views([definition], [])
    return project


def test_rows_are_compared_without_a_jvm(two: Path, without_java: WithoutJava) -> None:
    done = without_java("table-diff", "prod", "dev", "mart.revenue", "--on", "id", "--project", two)
    assert done.returncode == 0, done.stderr
    assert "Rows: 2 in A, 3 in B (joined by id)" in done.stdout
    assert "1 only in B, 0 only in A, 1 changed" in done.stdout
    assert "  name: 1 changed" in done.stdout
    assert done.stderr == "Read by DuckDB.\n"


def test_the_same_as_json(two: Path, without_java: WithoutJava) -> None:
    done = without_java(
        "table-diff", "prod", "dev", "mart.revenue", "--on", "id", "--project", two,
        "--format", "json",
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert (found["is_equal"], found["engines"]) == (False, ["duckdb"])
    assert found["diff"]["columns"] == []
    rows = found["diff"]["rows"]
    assert (rows["keys"], rows["added"], rows["removed"], rows["changed"]) == (["id"], 1, 0, 1)
    assert rows["added_rows"] == [[3, None]]
    assert rows["changed_rows"] == [{"key": [2], "values": {"name": ["b", "c"]}}]


def test_an_environment_with_itself_is_equal(two: Path, without_java: WithoutJava) -> None:
    done = without_java("table-diff", "dev", "dev", "mart.revenue", "--project", two)
    assert done.stdout.splitlines()[-1] == (
        "Equal rows and columns: both show the same table. Nothing was read."
    )
