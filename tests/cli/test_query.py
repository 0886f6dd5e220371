"""`vde query` before Spark is needed: names that nothing has."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tests.cli.conftest import WithoutJava
from tests.cli.promoted import promote
from vde_dagster.composition import VdeProject


def test_a_misspelt_model_is_refused_in_one_line_with_the_nearest_name(
    project: Path, without_java: WithoutJava
) -> None:
    promote(project)
    sql = "WITH revenue AS (SELECT * FROM mart.revenu) SELECT * FROM revenue, range(3)"
    done = without_java("query", sql, "--project", project)
    assert done.returncode == 1
    assert done.stderr == (
        "vde: there is no model or table mart.revenu. Did you mean mart.revenue?\n"
    )


def test_every_unknown_name_is_reported_at_once(project: Path, without_java: WithoutJava) -> None:
    promote(project)
    sql = "SELECT * FROM nowhere.x JOIN mart.revenue JOIN elsewhere.y"
    done = without_java("query", sql, "--project", project)
    assert done.returncode == 1
    assert "there is no model or table elsewhere.y, nowhere.x; `vde status` lists" in done.stderr


def test_a_table_of_the_catalog_that_is_no_model_goes_to_spark(
    project: Path, without_java: WithoutJava
) -> None:
    promote(project)
    catalog = VdeProject.load(project).iceberg_catalog()
    catalog.create_namespace("raw")
    catalog.create_table("raw.plain", pa.schema([("id", pa.int64())]))
    done = without_java("query", "SELECT * FROM raw.plain", "--project", project)
    assert done.returncode == 1
    assert "no model or table" not in done.stderr
    assert "Java" in done.stderr or "asks for a Spark session" in done.stderr
