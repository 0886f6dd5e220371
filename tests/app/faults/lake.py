"""A project on disk, and what a process without Spark sees of its tables."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tests.app.faults.every_kind import COPIED, model, rows_after_all_days
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.evaluate.evaluation import writing
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.recover.recovery import recover
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import Conflict
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

if TYPE_CHECKING:
    from pyiceberg.table import Table

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
DAYS: Final = tuple(
    Interval(START + timedelta(days=day), START + timedelta(days=day + 1)) for day in range(3)
)
EVENTS: Final = ((1, 1, 10), (2, 2, 20), (3, 3, 5), (4, 25, COPIED), (5, 26, 9))
"""Of two days: the id of each event, the hour in which it happened, and its amount."""
OF_THE_FIRST_DAY: Final = EVENTS[:3]
OF_A_THIRD_DAY: Final = ((6, 49, 3), (7, 50, 4))
SCHEMA: Final = pa.schema(
    [("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("amount", pa.int64())]
)

CONFIGURATION: Final = """\
name: faults
catalog:
  name: {catalog}
defaults:
  start: 2024-01-01
clock:
  valid_to: [raw.events]
spark:
  conf:
    spark.driver.memory: 1g
    spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m
    spark.sql.shuffle.partitions: "1"
"""
SOURCES: Final = """\
- name: raw.events
  columns: {id: bigint, at: timestamp, amount: bigint}
"""

Events = Sequence[tuple[int, int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A model of the project: its kind, how often it reads the event that has copies, and where."""

    kind: str
    copies: int = 1
    source: str = "raw.events"


@dataclass(frozen=True)
class Lake:
    """A project over events that have landed, in a catalog that no other one has."""

    folder: Path
    models: Mapping[str, Kept]
    landed: list[tuple[int, int, int]] = field(default_factory=list)

    @classmethod
    def make(cls, folder: Path, models: Mapping[str, Kept]) -> Lake:
        """Write the project's files and its source, which is empty."""
        (folder / "models").mkdir()
        configuration = CONFIGURATION.format(catalog=f"lake_{uuid.uuid4().hex[:8]}")
        (folder / "vde.yaml").write_text(configuration, encoding="utf-8")
        (folder / "external_models.yaml").write_text(SOURCES, encoding="utf-8")
        lake = cls(folder, models)
        for name, kept in models.items():
            text = model(kept.kind, name, copies=kept.copies, source=kept.source)
            (folder / "models" / f"{name}.sql").write_text(text, encoding="utf-8")
        catalog = lake.project.iceberg_catalog()
        catalog.create_namespace("raw")
        catalog.create_table("raw.events", SCHEMA)
        return lake

    def land(self, events: Events, *, until: datetime) -> None:
        """Events arrive; the source is complete up to a time."""
        self.landed.extend(events)
        with self.project.iceberg_catalog().load_table("raw.events").transaction() as change:
            change.append(_table(events))
            change.set_properties({"vde.valid-to": until.isoformat()})

    @cached_property
    def project(self) -> VdeProject:
        return VdeProject.load(self.folder)

    @cached_property
    def binding(self) -> Binding:
        plan = plan_environment(self.project.services, self.project.files.graph, "prod")
        return bind_plan(plan)

    def key(self, name: str) -> VersionKey:
        return self.binding.key(ModelName("kept", name))

    def ledger(self, name: str) -> Sequence[LedgerEntry]:
        key = self.key(name)
        return self.project.services.state.ledger([key]).get(key, ())

    def table(self, name: str) -> Table:
        """A version's table as a new reader finds it."""
        target = self.key(name).table
        return self.project.iceberg_catalog().load_table((target.namespace, target.name))

    def rows(self, name: str) -> pa.Table:
        """What readers see."""
        return self.table(name).scan().to_arrow()

    def refs(self, name: str) -> set[str]:
        return set(self.table(name).metadata.refs)

    def publications(self, name: str) -> Counter[int]:
        """How often ``main`` was moved to each Iceberg snapshot."""
        return Counter(each.snapshot_id for each in self.table(name).metadata.snapshot_log)

    def recover(self, name: str) -> None:
        """What the next process does first, once the leases of the dead have expired."""
        services, key = self.project.services, self.key(name)
        deadline = time.monotonic() + 60
        while True:
            try:
                with writing(services, self.binding, key) as lease:
                    recover(services, key, lease)
                    return
            except Conflict:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def assert_rows_are_exact(self, name: str, events: Events = ()) -> None:
        """The table has the rows of these events, or of all that have landed.

        DuckDB computes them by itself.
        """
        import duckdb

        found, kept = self.rows(name), self.models[name]
        counted = events or self.landed
        days = pa.array([hour // 24 for _, hour, _ in counted])
        table = _table(counted).append_column("day", days)
        with duckdb.connect(":memory:", config={"threads": 1}) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("found", found)
            connection.register("events", table)
            expected = rows_after_all_days(kept.kind, kept.copies)
            connection.execute(f"CREATE TABLE expected AS {expected}")
            counts = connection.execute(
                "SELECT (SELECT COUNT(*) FROM expected),"
                " (SELECT COUNT(*) FROM (FROM found EXCEPT ALL FROM expected)),"
                " (SELECT COUNT(*) FROM (FROM expected EXCEPT ALL FROM found))"
            ).fetchone()
        assert counts is not None
        assert (found.num_rows, *counts[1:]) == (counts[0], 0, 0), name


def _table(events: Events) -> pa.Table:
    rows = [{"id": number, "at": _at(hour), "amount": amount} for number, hour, amount in events]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _at(hour: int) -> datetime:
    return START + timedelta(hours=hour)
