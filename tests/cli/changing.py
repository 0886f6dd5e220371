"""A project over one source in a real catalog, on the shared session: rows land, late ones too."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, TimestamptzType

from tests.cli.calling import call
from vde_dagster.composition import VdeProject

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
SOURCES: Final = """\
- name: raw.events
  columns: {id: bigint, at: timestamp, amount: int}
"""
EVENTS: Final = """\
MODEL (name staging.events, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
DAILY: Final = """\
MODEL (name mart.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT CAST(at AS DATE) AS day, SUM(100 DIV amount) AS shares FROM staging.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)
"""
BEST: Final = """\
MODEL (name mart.best, kind FULL, cron '@daily');
SELECT MAX(shares) AS best FROM mart.daily
"""
TOTAL: Final = """\
MODEL (name mart.total, kind FULL, cron '@daily');
SELECT COUNT(*) AS events, MAX(amount) AS highest FROM staging.events
"""


def write_project(folder: Path) -> Path:
    """The project's files and an empty source, in a catalog that no other test has."""
    models = {"events": EVENTS, "daily": DAILY, "best": BEST, "total": TOTAL}
    (folder / "models").mkdir(parents=True)
    for name, text in models.items():
        (folder / "models" / f"{name}.sql").write_text(text)
    (folder / "external_models.yaml").write_text(SOURCES)
    (folder / "vde.yaml").write_text(
        f"name: changing\ncatalog: {{name: lake_{uuid.uuid4().hex[:8]}}}\n"
        "defaults: {start: 2024-01-01}\nclock: {valid_to: [raw.events]}\n"
    )
    catalog = VdeProject.load(folder).iceberg_catalog()
    catalog.create_namespace("raw")
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "at", TimestamptzType()),
        NestedField(3, "amount", IntegerType()),
    )
    catalog.create_table("raw.events", schema)
    return folder


def land(folder: Path, *events: tuple[float, int], until: float) -> None:
    """Rows of (hour of the event, amount) arrive; the source is complete to ``until`` hours."""
    table = VdeProject.load(folder).iceberg_catalog().load_table("raw.events")
    rows = [
        {"id": number, "at": START + timedelta(hours=hour), "amount": amount}
        for number, (hour, amount) in enumerate(events)
    ]
    complete = (START + timedelta(hours=until)).isoformat()
    with table.transaction() as change:
        change.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
        change.set_properties({"vde.valid-to": complete})


def remove(folder: Path, condition: str) -> None:
    """Somebody deletes rows of the source."""
    VdeProject.load(folder).iceberg_catalog().load_table("raw.events").delete(condition)


def facts(*arguments: str | Path, exit_code: int = 0) -> dict[str, Any]:
    """The document of a command."""
    done = call(*arguments, "--format", "json")
    assert done.exit_code == exit_code, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found
