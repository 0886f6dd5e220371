"""What it costs to find late data: CPU seconds, with nothing new and with a little, medians.

*Detection* reads what happened to a source since a high-water mark from Iceberg's metadata: since
the first of many Iceberg snapshots, and since the last but one. *Decisions* are those of a tick of
the sensor over stateful models, each of which tracks another one; after the change five hours of
the first model have other rows.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import HourTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, TimestamptzType

from benchmarks.filled import HOUR, fill
from benchmarks.measuring import Settings, Step, alternating, cpu_seconds, measured, print_table
from benchmarks.projects import SOURCE
from benchmarks.staleness import START, Size, change
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH

SOURCES = ((100, 10), (1_000, 10))
"""Iceberg snapshots of a source, and the files of each."""
SIZES = ((30, 1_000), (30, 10_000), (200, 1_000), (200, 10_000))
"""Models and recorded hours of each."""
_FILE_ROWS = 1_000
_NAME = ModelName("raw", "events")


def write_source(folder: Path, snapshots: int, files: int) -> None:
    """A source with so many appends, in metadata alone: nobody reads its files."""
    from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog

    place = {"uri": f"sqlite:///{folder}/lake.db", "warehouse": f"file://{folder}/warehouse"}
    catalog = open_iceberg_catalog("lake", {"type": "sql", **place})
    schema = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "ts", TimestamptzType(), required=False),
    )
    spec = PartitionSpec(PartitionField(2, 1000, HourTransform(), "ts_hour"))
    catalog.create_namespace(_NAME.schema)
    identifier = f"{_NAME.schema}.{_NAME.name}"
    properties = {"commit.manifest-merge.enabled": "true"}
    table = catalog.create_table(identifier, schema, partition_spec=spec, properties=properties)
    for number in range(snapshots):
        with table.transaction() as change, change.update_snapshot().merge_append() as added:
            for each in range(files):
                added.append_data_file(_file(table, number, each))


def _file(table: Table, snapshot: int, number: int) -> DataFile:
    """A file with the rows of one hour, up to some hours before its commit."""
    hour = (START - EPOCH) // HOUR + snapshot - number
    bound = (hour * 3_600_000_000).to_bytes(8, "little", signed=True)
    found = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{table.location()}/data/{snapshot}-{number}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(hour),
        record_count=_FILE_ROWS,
        file_size_in_bytes=10_000,
        column_sizes={},
        value_counts={2: _FILE_ROWS},
        null_value_counts={2: 0},
        nan_value_counts={},
        lower_bounds={2: bound},
        upper_bounds={2: bound},
        key_metadata=None,
        split_offsets=[],
        equality_ids=None,
        sort_order_id=None,
    )
    found.spec_id = table.spec().spec_id
    return found


def source(root: Path, snapshots: int, files: int) -> Path:
    """The folder of a source, which is written if it is missing."""
    folder = root / "late" / f"source_{snapshots}_{files}"
    if not (folder / ".filled").exists():
        print(f"writing {snapshots:,} Iceberg snapshots ...", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        write_source(folder, snapshots, files)
        (folder / ".filled").touch()
    return folder


def detected(folder: Path) -> Step:
    """The CPU seconds of looking at a source since its first change, and since the last but one."""
    from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog, open_iceberg_catalog

    place = {"uri": f"sqlite:///{folder}/lake.db", "warehouse": f"file://{folder}/warehouse"}
    pyiceberg = open_iceberg_catalog("lake", {"type": "sql", **place})
    catalog = IcebergCatalog(pyiceberg)
    table = pyiceberg.load_table(f"{_NAME.schema}.{_NAME.name}")
    line = sorted(table.metadata.snapshots, key=lambda each: each.sequence_number or 0)

    def mark(place: int) -> HighWaterMark:
        at = line[place]
        return HighWaterMark(
            source=_NAME,
            table_uuid=str(table.metadata.table_uuid),
            iceberg_snapshot_id=at.snapshot_id,
            sequence_number=at.sequence_number or 0,
            committed_at=datetime.now(UTC),
            complete_to=None,
        )

    catalog.history(_NAME, mark(-2))  # modules that are imported when they are needed
    step: Step = {}
    for name, at in (("first", 0), ("newest", -2)):
        before = cpu_seconds()
        found = catalog.history(_NAME, mark(at))
        step[f"since the {name}"] = cpu_seconds() - before
        step[f"files, {name}"] = sum(uri.files for each in found.changes for uri in each.added)
    return step


def write_project(folder: Path, size: Size) -> None:
    """A project of stateful models, each of which tracks the one that it reads."""
    end = START + size.hours * HOUR
    folder.mkdir(parents=True, exist_ok=True)
    settings = f"name: bench\ndefaults:\n  start: {START:%Y-%m-%d}\n"
    (folder / "vde.yaml").write_text(settings)
    columns = "id: bigint, ts: timestamp, amount: bigint"
    (folder / "external_models.yaml").write_text(f"- name: {SOURCE}\n  columns: {{{columns}}}\n")
    for name, parent in size.parents():
        path = folder / "models" / f"{name.replace('.', '/')}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        tracked = f"{parent} (tracked_by ts)" if parent == SOURCE else parent
        path.write_text(
            f"MODEL (name {name}, kind INCREMENTAL_BY_TIME_RANGE (time_column ts), "
            f"cron '@hourly', end '{end:%Y-%m-%d %H:%M}', "
            f"late_data (mode stateful, sources ({tracked})));\n"
            f"SELECT id, ts, amount + 1 AS amount FROM {parent}\n"
            "WHERE ts BETWEEN @start_dt AND @end_dt\n"
        )


def project(root: Path, size: Size) -> Path:
    """The folder of a filled project, which is created if it is missing."""
    folder = root / "late" / f"project_{size.models}_{size.hours}"
    if not (folder / ".filled").exists():
        print(f"filling {size} ...", file=sys.stderr)
        write_project(folder, size)
        _declare_complete(folder, size)
        fill(folder)
        (folder / ".filled").touch()
    return folder


def _declare_complete(folder: Path, size: Size) -> None:
    """The source is complete to the end of the recorded hours."""
    from vde_dagster.app.services import VALID_TO
    from vde_dagster.composition import VdeProject

    catalog = VdeProject.load(folder).iceberg_catalog()
    schema, _ = SOURCE.split(".")
    catalog.create_namespace_if_not_exists(schema)
    fields = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "ts", TimestamptzType(), required=False),
        NestedField(3, "amount", LongType(), required=False),
    )
    end = START + size.hours * HOUR + timedelta(hours=1)
    catalog.create_table(SOURCE, fields, properties={VALID_TO: end.isoformat()})


def decided(folder: Path) -> Step:
    """The CPU seconds of the decisions of all models, beyond imports and reading the project."""
    from vde_dagster.app.binding import bind_environment
    from vde_dagster.app.catch_up.detecting import detect, late_models
    from vde_dagster.app.inputs.seen import Seen
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.ledger.late.decision import Load

    services = VdeProject.load(folder).services
    binding = bind_environment(services, "prod")
    assert binding is not None, "it is filled"
    names = late_models(binding)
    detect(services, binding, names[0])  # modules that are imported when they are needed
    before = cpu_seconds()
    seen = Seen.above(services, binding, names)
    found = [detect(services, binding, name, seen=seen) for name in names]
    return {
        "decisions": cpu_seconds() - before,
        "to load": sum(isinstance(each, Load) for each in found),
    }


def run(what: str, folder: Path) -> Step:
    """One process."""
    return measured([sys.executable, "-m", "benchmarks.late_data", what, str(folder)])


def main(settings: Settings) -> None:
    """Print a line for each size."""
    sources = {
        (f"{snapshots:,} x {files}",): partial(
            run, "source", source(settings.folder, snapshots, files)
        )
        for snapshots, files in SOURCES
    }
    found = alternating(settings.rounds, sources)
    print("What happened to a source since a mark: CPU seconds, medians")
    columns = ["snapshots x files", *next(iter(found.values()))]
    print_table(columns, [[name, *step.values()] for (name,), step in found.items()])

    sizes = [Size(*each) for each in SIZES]
    folders = {size: project(settings.folder, size) for size in sizes}
    rows: list[list[str | float]] = []
    for what in ("nothing", "changed"):
        if what == "changed":
            for folder in folders.values():
                change(folder)
        decisions = alternating(
            settings.rounds,
            {(str(size),): partial(run, "project", folder) for size, folder in folders.items()},
        )
        rows += [[name, what, *step.values()] for (name,), step in decisions.items()]
    print("Decisions of all stateful sessions: CPU seconds, medians")
    print_table(["models x hours", "", "decisions", "to load"], rows)


if __name__ == "__main__":
    measure = {"source": detected, "project": decided}[sys.argv[1]]
    print(json.dumps(measure(Path(sys.argv[2]))))
