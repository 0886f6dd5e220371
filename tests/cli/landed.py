"""A project on disk with a real catalog and state, built by the engine in memory: no JVM."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from tests.app.memory_world import RAW, START, MemoryWorld, build
from tests.cli.promoted import stand
from tests.kept_folder import KeptFolder
from vde_dagster.composition import VdeProject

MODELS = {
    "staging.events": """
        MODEL (name staging.events, kind INCREMENTAL_BY_TIME_RANGE (time_column at),
        cron '@hourly');
        SELECT id AS id, at AS at, amount AS amount FROM raw.events
        WHERE at BETWEEN @start_dt AND @end_dt
    """,
    "mart.daily": """
        MODEL (name mart.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
        SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM staging.events
        WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)
    """,
    "mart.totals": """
        MODEL (name mart.totals, kind FULL, cron '@daily');
        SELECT COUNT(*) AS days, SUM(amount) AS amount FROM mart.daily
    """,
    "mart.people": """
        MODEL (name mart.people, kind VIEW);
        SELECT day AS day, amount AS amount FROM mart.daily
    """,
}


def write_project(folder: Path) -> Path:
    """The project's files; nothing is landed."""
    folder.mkdir()
    (folder / "vde.yaml").write_text(
        "name: landed\ndefaults: {start: 2024-01-01}\nclock: {valid_to: [raw.events]}\n"
    )
    (folder / "external_models.yaml").write_text(
        "- name: raw.events\n  columns: {id: bigint, at: timestamp, amount: bigint}\n"
    )
    for name, text in MODELS.items():
        path = folder / "models" / Path(*name.split(".")).with_suffix(".sql")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(line.strip() for line in text.strip().splitlines()) + "\n")
    return folder


def make_source(folder: Path) -> None:
    """The table raw.events in the project's catalog, without rows."""
    catalog = VdeProject.load(folder).iceberg_catalog()
    catalog.create_namespace_if_not_exists(RAW.namespace)
    schema = Schema(
        NestedField(1, "id", LongType(), doc="Number of the event"),
        NestedField(2, "at", TimestamptzType(), doc="When it happened"),
        NestedField(3, "amount", LongType()),
        NestedField(4, "note", StringType()),
    )
    catalog.create_table((RAW.namespace, RAW.name), schema)


def complete_until(folder: Path, hours: float) -> None:
    """The source says that it is complete to this many hours after the start."""
    table = VdeProject.load(folder).iceberg_catalog().load_table((RAW.namespace, RAW.name))
    until = START + timedelta(hours=hours)
    table.transaction().set_properties({"vde.valid-to": until.isoformat()}).commit_transaction()


def build_project(folder: Path, *, until: float, environment: str = "prod") -> None:
    """Plan and apply with rows in memory; the state is the project's own."""
    project = VdeProject.load(folder)
    world = MemoryWorld()
    world.clock.advance(datetime.now(UTC) - world.clock.now())
    world.land((0.5, 1), (25.5, 2), until=until)
    services = replace(world.services(), state=project.services.state)
    build(services, project.files.graph, environment)
    shown = services.state.environment(environment)
    assert shown is not None
    stand(project, project.files.graph, shown.snapshots, environment)


def kept_project(folder: Path, *, until: float = 48) -> KeptFolder:
    """A project that is built to the end of its second day; each test finds it so again."""
    write_project(folder)
    make_source(folder)
    build_project(folder, until=48)
    complete_until(folder, until)
    return KeptFolder.of(folder)
