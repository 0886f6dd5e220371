"""Whether a write costs the same while its table grows a hundredfold: seconds, medians.

A small and a large table have hours of equally many rows. One evaluation replaces an hour (whole
partitions, so files are exchanged), a quarter of an hour (rows are deleted and others appended), a
new hour behind all others, or appends rows without looking; each through the engine and publication
as an evaluation does it, digest included. The large table also has as many more files.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.measuring import Settings, Step, alternating, print_table
from benchmarks.processes import timed
from vde_dagster.core.ledger.unit_of_work import PlannedWrite, SqlRows, Staging
from vde_dagster.core.model.layout import time_partition
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import AppendRows, OverwriteIntervals, TimeAxisSpec, Write
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.ports.catalog import Catalog
from vde_dagster.ports.engine import Engine

CATALOG: Final = "bench"
START: Final = datetime(2024, 1, 1, tzinfo=UTC)
GROWTH: Final = 100
HOURS: Final = 10
"""The hours of the small table at first."""
_AXIS: Final = TimeAxisSpec(column="at", type="timestamp", unit=IntervalUnit.QUARTER_HOUR)
_MICROSECONDS: Final = 1_000_000


@dataclass(kw_only=True)
class Table:
    """A table of some hours, each with ``per_hour`` rows."""

    catalog: Catalog
    engine: Engine
    hours: int
    per_hour: int
    key: VersionKey = field(
        default_factory=lambda: VersionKey(ModelName("growth", "hours"), uuid.uuid4().hex)
    )

    def replace(self, first: float, last: float) -> None:
        """Replace the rows from one hour after the start to another."""
        interval = Interval(_after(first), _after(last))
        self._write(first, last, OverwriteIntervals(intervals=(interval,), axis=_AXIS))

    def replace_next(self) -> None:
        """Load the hour after the last one."""
        self.hours += 1
        self.replace(self.hours - 1, self.hours)

    def append(self) -> None:
        """Add as many rows as an hour has."""
        middle = self.hours // 2
        self._write(middle, middle + 1, AppendRows(interval=Interval(START, _after(1))))

    def _write(self, first: float, last: float, write: Write) -> None:
        state = self.catalog.table(self.key.table)
        base = state.iceberg_snapshot_id if state else None
        staging = Staging(
            work_id=uuid.uuid4().hex,
            target=self.key,
            base=base,
            parts=(PlannedWrite(rows=self._rows(first, last), inputs={}, write=write),),
            storage=Storage(partitioned_by=(time_partition(_AXIS),)),
        )
        staged = self.engine.stage(staging)
        assert staged.iceberg_snapshot_id is not None
        self.catalog.publish(self.key.table, base=base, staged=staged.iceberg_snapshot_id)
        self.catalog.drop_branch(self.key.table, staging.work_id)

    def _rows(self, first: float, last: float) -> SqlRows:
        count = round((last - first) * self.per_hour)
        begin = round(_after(first).timestamp() * _MICROSECONDS)
        step = 3600 * _MICROSECONDS // self.per_hour
        return SqlRows(
            sql=f"SELECT id, TIMESTAMP_MICROS({begin} + id * {step}) AS at, "
            f"CONCAT('note ', id % 97) AS note, SIN(id) AS value FROM RANGE({count})"
        )


OPERATIONS: Final[dict[str, Callable[[Table], None]]] = {
    "an hour again": lambda table: table.replace(table.hours // 2, table.hours // 2 + 1),
    "a quarter of an hour": lambda table: table.replace(table.hours / 2, table.hours / 2 + 0.25),
    "a new hour": Table.replace_next,
    "rows appended": Table.append,
}


def main(settings: Settings) -> None:
    """Print a line for each write."""
    per_hour = max(4, settings.rows // (HOURS * GROWTH))
    with _adapters(settings.folder / "growth") as (catalog, engine):
        make = partial(Table, catalog=catalog, engine=engine, per_hour=per_hour)
        tables = {"small": make(hours=HOURS), "large": make(hours=HOURS * GROWTH)}
        for table in tables.values():
            table.replace(0, table.hours)
        runs: dict[tuple[str, ...], Callable[[], Step]] = {
            (name, size): partial(timed, partial(run, table))
            for name, run in OPERATIONS.items()
            for size, table in tables.items()
        }
        for run in runs.values():
            run()  # Java compiles what it runs often, so the first of each is not counted
        found = alternating(settings.rounds, runs)
    rows: list[list[str | float]] = [
        [
            name,
            *(found[name, size][of] for of in ("wall", "CPU") for size in tables),
            f"{found[name, 'large']['CPU'] / found[name, 'small']['CPU'] - 1:+.0%}",
        ]
        for name in OPERATIONS
    ]
    print(f"{per_hour:,} rows an hour into a table of {HOURS} hours, and into one of {GROWTH}x:")
    print_table(["", "wall", f"wall {GROWTH}x", "CPU", f"CPU {GROWTH}x", "more CPU"], rows)


def _after(hours: float) -> datetime:
    return START + timedelta(hours=hours)


@contextmanager
def _adapters(folder: Path) -> Iterator[tuple[Catalog, Engine]]:
    from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog, open_iceberg_catalog
    from vde_dagster.lakehouse.spark.jars import resolve_jars
    from vde_dagster.lakehouse.spark.session import SparkSettings, open_session
    from vde_dagster.lakehouse.spark.spark_catalog import embedded_catalog_conf
    from vde_dagster.lakehouse.staging.spark_engine import SparkEngine

    database, warehouse = folder / "lake.db", folder / "warehouse"
    warehouse.mkdir(parents=True, exist_ok=True)
    conf = embedded_catalog_conf(CATALOG, database, warehouse)
    spark = open_session(SparkSettings(conf=conf), resolve_jars())
    settings = {"type": "sql", "uri": f"sqlite:///{database}", "warehouse": str(warehouse)}
    metadata = open_iceberg_catalog(CATALOG, settings)
    try:
        yield IcebergCatalog(metadata), SparkEngine(lambda: spark, CATALOG, lambda: metadata)
    finally:
        spark.stop()
