"""A small project on disk with files of unit tests, and engines that need no JVM."""

from __future__ import annotations

from pathlib import Path

from tests.worlds.catalog import MemoryCatalog
from tests.worlds.engine import MemoryEngine
from vde_dagster.app.unit_tests.column_types import ColumnTypes
from vde_dagster.app.unit_tests.running import Engines, UnitTestResult, run_tests
from vde_dagster.lakehouse.iceberg.duckdb_rows import DuckAnswers, DuckDbQueries
from vde_dagster.project.loading import ProjectFiles, load_project
from vde_dagster.project.unit_tests.loading import load_unit_tests

FILES = {
    "vde.yaml": "name: shop\ndefaults:\n  start: 2024-01-01\n",
    "external_models.yaml": (
        "- name: raw.events\n"
        "  columns: {id: bigint, at: timestamp, amount: 'decimal(9,2)', labels: array<string>}\n"
    ),
    "models/mart/daily.sql": """MODEL (
  name mart.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily'
);
WITH large AS (
  SELECT CAST(at AS DATE) AS day, amount FROM raw.events
  WHERE amount >= 10 AND at BETWEEN @start_dt - INTERVAL 1 DAY AND @end_dt
)
SELECT day AS day, SUM(amount) AS amount, @execution_date AS made_on FROM large GROUP BY day
""",
    "models/mart/ranked.sql": """MODEL (name mart.ranked, kind VIEW);
SELECT day AS day, amount AS amount FROM mart.daily ORDER BY amount DESC
""",
    "models/mart/total.sql": """MODEL (name mart.total, kind FULL);
SELECT COUNT(*) AS days, SUM(amount) AS amount FROM mart.ranked
""",
    "models/mart/running.sql": """MODEL (
  name mart.running, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily',
  columns (day date, amount decimal(19, 2)),
  late_data (mode stateful, sources (mart.daily))
);
SELECT d.day AS day, CAST(d.amount + COALESCE(r.amount, 0) AS DECIMAL(19, 2)) AS amount
FROM mart.daily AS d LEFT JOIN mart.running AS r ON r.day = DATE_ADD(d.day, -1)
WHERE d.day BETWEEN @start_date AND @end_date
""",
    "models/mart/labels.sql": """MODEL (name mart.labels, kind FULL);
SELECT id AS id, SIZE(labels) AS labels FROM raw.events
""",
    "models/mart/tagged.sql": """MODEL (name mart.tagged, kind FULL);
WITH large AS (SELECT id AS id FROM raw.events WHERE amount > 10)
SELECT e.id AS id, SIZE(e.labels) AS labels FROM raw.events AS e JOIN large AS l ON e.id = l.id
""",
}


def shop(folder: Path, tests: str = "") -> ProjectFiles:
    """The project with a file of tests."""
    for name, text in {**FILES, "tests/t.yaml": tests}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return load_project(folder)


def engines() -> Engines:
    """DuckDB where it means the same, and the engine in memory in place of Spark."""
    return Engines(engine=MemoryEngine(MemoryCatalog()), quick=DuckAnswers(DuckDbQueries()))


def results(folder: Path, tests: str, by: Engines | None = None) -> dict[str, UnitTestResult]:
    """How the tests of a file end, by name."""
    return {each.test.name: each for each in run(shop(folder, tests), by or engines())}


def run(files: ProjectFiles, by: Engines) -> tuple[UnitTestResult, ...]:
    """How the tests of a project end."""
    columns = ColumnTypes(engines=by).columns
    return run_tests(load_unit_tests(files.configuration, files.graph, columns), by)
