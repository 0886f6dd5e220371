"""`vde audit` on a table that another program wrote in place of a version."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from tests.app.memory_world import bound
from tests.cli.conftest import WithoutJava
from tests.cli.promoted import promote
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName

NAME = ModelName("mart", "checked")
TEXT = """
MODEL (name mart.checked, kind FULL, audits (
  not_null (columns := (id,)), accepted_range_non_blocking (column := id, max_v := 2)
));
SELECT 1 AS id
"""


@pytest.fixture
def checked(project: Path) -> Path:
    """The project with a model whose version holds the ids 1, 2, 3 and none, and one unaudited."""
    (project / "models" / "checked.sql").write_text(TEXT)
    (project / "models" / "plain.sql").write_text(
        "MODEL (name mart.plain, kind FULL); SELECT 1 AS id"
    )
    promote(project, loaded=True)
    loaded = VdeProject.load(project)
    table = bound(loaded.services).key(NAME).table
    catalog = loaded.iceberg_catalog()
    name = (table.namespace, table.name)
    if catalog.table_exists(name):
        catalog.drop_table(name)
    rows = pa.table({"id": pa.array([1, 2, 3, None], pa.int32())})
    catalog.create_table(name, rows.schema).append(rows)
    return project


def test_each_audit_is_shown_and_a_blocking_one_that_fails_is_a_failure(
    checked: Path, without_java: WithoutJava
) -> None:
    done = without_java("audit", "mart.checked", "--project", checked)
    assert done.returncode == 1, done.stderr
    assert "the audit not_null (columns := (id,)) finds 1 bad row" in done.stdout
    assert "max_v := 2) finds 1 bad row" in done.stdout
    assert "NULL" in done.stdout


def test_the_same_as_json(checked: Path, without_java: WithoutJava) -> None:
    done = without_java("audit", "mart.checked", "--project", checked, "--format", "json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["passed"]) == (1, False)
    assert [(each["name"], each["failing"], each["sample"]) for each in found["audits"]] == [
        ("not_null", 1, [[None]]),
        ("accepted_range_non_blocking", 1, [[3]]),
    ]


def test_a_model_without_audits_has_nothing_to_find(
    checked: Path, without_java: WithoutJava
) -> None:
    done = without_java("audit", "mart.plain", "--project", checked)
    assert (done.returncode, done.stderr) == (0, "mart.plain has no audits.\n")
