"""No action is run twice: the Spark jobs of one write, and the data files that it opens, by kind.

All numbers are in one table: `CASES`. That a whole evaluation, from pinning its inputs to recording
its results, has Spark do nothing else is at the end.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import pyarrow as pa
import pytest
from sqlglot import parse_one

from tests.app.memory_world import bound, build
from tests.lakehouse.conftest import Lake
from tests.lakehouse.kinds.worlds import START, Values, World, Worlds, days, hours, worlds_on_spark
from tests.lakehouse.kinds.worlds import field as by
from tests.lakehouse.spark_work import Needed, SparkWork, Watch
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.core.audits.values import Audit, EachRow
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.unit_of_work import AsOf, PlannedWrite, SqlRows, Staged, Staging
from vde_dagster.core.model.history import History
from vde_dagster.core.model.storage import PartitionField
from vde_dagster.core.model.writes import (
    AppendRows,
    AppendToIntervals,
    KeepHistory,
    MergeRows,
    OverwriteIntervals,
    ReplacePartitions,
    ReplaceTable,
    TimeAxisSpec,
    Write,
)
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import ALWAYS, IntervalUnit
from vde_dagster.lakehouse.staging.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import SparkLake

pytestmark = [pytest.mark.spark, pytest.mark.inotify]

AXIS: Final = TimeAxisSpec(column="at", type="timestamp", unit=IntervalUnit.HOUR)
TYPES: Final = {"id": "int", "at": "timestamp", "region": "string"}
SCHEMA: Final = pa.schema(
    [("id", pa.int32()), ("at", pa.timestamp("us", "UTC")), ("region", pa.string())]
)
AUDIT: Final = Audit(name="has_key", check=EachRow(fails=parse_one("id IS NULL", dialect="spark")))
DAY: Final = days(0)
BY_TIME: Final = History(
    key=("id",),
    updated_at="at",
    compared=(),
    from_epoch=True,
    closes_missing=False,
    valid_from=Column(name="valid_from", type="timestamp"),
    valid_to=Column(name="valid_to", type="timestamp"),
)
BY_COLUMN: Final = replace(BY_TIME, updated_at=None, compared=("at",), closes_missing=True)

Rows = Sequence[Values]
Load = tuple[Write, Rows]
"""A write, and its rows."""


def rows(**minutes: int) -> Rows:
    """Six keys from r0 to r5, each in an hour of its own, two in a region; some came later."""
    numbers = range(6)
    late = [timedelta(minutes=minutes.get(f"r{number}", 0)) for number in numbers]
    return tuple(
        (number, START + timedelta(hours=number) + late[number], f"{number // 2}")
        for number in numbers
    )


def in_hours(first: int, last: int) -> OverwriteIntervals:
    return OverwriteIntervals(intervals=(hours(first, last),), axis=AXIS)


def look(history: History, number: int) -> KeepHistory:
    """A look at the source on one of the days after the start."""
    return KeepHistory(
        interval=days(number),
        history=history,
        execution_time=START + timedelta(days=number),
        is_first=not number,
    )


def kept(history: History) -> tuple[Load, ...]:
    """A history with a file of open rows, and one with the row that the second look closed."""
    return ((look(history, 0), rows()), (look(history, 1), rows(r0=5)))


@dataclass(frozen=True, kw_only=True)
class Case:
    """One write of the rows of a source, which are in one file.

    Args:
        name: Kind and situation.
        before: What was written to the table before.
        by: The table's partitions.
        folders: Those of the table's files, if it is created now: they are watched from the start.
        rows: The rows of the source.
        write: The write.
        needed: What it needs.
        unchanged: Whether the table has the rows already.
        full: Whether only the full form tries it.
    """

    name: str
    before: tuple[Load, ...] = ((ReplaceTable(interval=DAY), rows()),)
    by: tuple[PartitionField, ...] = ()
    folders: tuple[str, ...] = ("",)
    rows: Rows = rows()[1:2]
    write: Write
    needed: Needed
    unchanged: bool = False
    full: bool = True


FIRST: Final[tuple[Load, ...]] = ()
HOUR, REGION, CLOSING = (by("at", "hours"),), (by("region"),), (by("valid_to", "years"),)
REGION_0, REGIONS, OPEN = (
    ("region=0",),
    ("region=0", "region=1", "region=2"),
    ("valid_to_year=null",),
)
BY_KEY: Final = MergeRows(interval=DAY, key=("id",))
FILTER: Final = parse_one("target.region = '0'", dialect="spark")

# Rows that are sorted into partitions take two jobs. To bring those of a key together is one more.
SORTED: Final = 2
BY_KEYS: Final = 1
MERGE: Final = 7
"""Iceberg's own plan: it lists the files with keys of the new rows, brings the rows of these files
and the new ones together, and sorts them into partitions."""

CASES: Final = [
    # The rows are written as they are computed, and their sum is taken on the way.
    Case(name="FULL", write=ReplaceTable(interval=DAY), needed=Needed(jobs=1, source=1)),
    Case(
        name="UNMANAGED", write=AppendRows(interval=DAY), needed=Needed(jobs=1, source=1), full=True
    ),
    Case(
        name="TIME_RANGE, one hour that is a partition",
        by=HOUR,
        write=in_hours(1, 2),
        needed=Needed(jobs=SORTED, source=1),
    ),
    # The sums of several hours are taken of the rows that were written, all at once.
    Case(
        name="TIME_RANGE, two hours",
        by=HOUR,
        rows=rows(),
        write=in_hours(0, 2),
        needed=Needed(jobs=SORTED, source=1, summed=2, audited=2),
    ),
    Case(
        name="TIME_RANGE, six hours: no job more",
        by=HOUR,
        rows=rows(),
        write=in_hours(0, 6),
        needed=Needed(jobs=SORTED, source=1, summed=6, audited=6),
    ),
    # A row DELETE looks for its rows in the one file that may have some, and writes the others of
    # it again; the new rows follow.
    Case(
        name="TIME_RANGE, an hour inside of a partition",
        by=REGION,
        write=in_hours(1, 2),
        needed=Needed(jobs=2 + SORTED + SORTED, source=1, own=2),
    ),
    # There is nothing to delete.
    Case(
        name="TIME_RANGE, an hour inside of a partition, first",
        before=FIRST,
        by=REGION,
        folders=REGION_0,
        write=in_hours(1, 2),
        needed=Needed(jobs=SORTED, source=1),
    ),
    Case(
        name="TIME_RANGE, late rows",
        by=HOUR,
        write=AppendToIntervals(intervals=(hours(1, 2),), axis=AXIS),
        needed=Needed(jobs=SORTED, source=1),
    ),
    Case(
        name="TIME_RANGE, a few late rows of six hours",
        by=HOUR,
        rows=rows(),
        write=AppendToIntervals(intervals=(hours(0, 6),), axis=AXIS, source_rows=6),
        needed=Needed(jobs=SORTED, source=1, audited=6),
    ),
    Case(
        name="TIME_RANGE, late rows of six hours, nobody knows how many",
        by=HOUR,
        rows=rows(),
        write=AppendToIntervals(intervals=(hours(0, 6),), axis=AXIS),
        needed=Needed(jobs=SORTED, source=1, summed=6, audited=6),
        full=True,
    ),
    Case(
        name="BY_PARTITION, first",
        before=FIRST,
        by=REGION,
        folders=REGIONS,
        rows=rows(),
        write=ReplacePartitions(interval=DAY),
        needed=Needed(jobs=SORTED, source=1, audited=3),
    ),
    # The file that was replaced and the new one are read for the change of the sum, and once more
    # by audits: what a commit did to a table is derived from both.
    Case(
        name="BY_PARTITION",
        by=REGION,
        write=ReplacePartitions(interval=DAY),
        needed=Needed(jobs=SORTED, source=1, summed=2, audited=2),
        full=False,  # its rows are read again, for sums and for audits
    ),
    # No row is there that could match, so this is an append; none may share a key.
    Case(
        name="UNIQUE_KEY, first",
        before=FIRST,
        by=REGION,
        folders=REGIONS,
        rows=rows(),
        write=BY_KEY,
        needed=Needed(jobs=BY_KEYS + SORTED, source=1, audited=3),
    ),
    # The new rows are computed once, without two of one key, and kept. MERGE looks for their keys
    # in all files, and writes again the one that has some. For audits the keys are looked for.
    Case(
        name="UNIQUE_KEY",
        by=REGION,
        write=BY_KEY,
        needed=Needed(
            jobs=BY_KEYS + 1 + MERGE, source=1, own=3 + 1, summed=2, audited=3, audit_jobs=3
        ),
    ),
    # Seed 001, *Merge Filter Expression*: it prevents a full table scan.
    Case(
        name="UNIQUE_KEY with a merge filter",
        by=REGION,
        write=replace(BY_KEY, merge_filter=FILTER.sql("spark")),
        needed=Needed(
            jobs=BY_KEYS + 1 + MERGE, source=1, own=1 + 1, summed=2, audited=3, audit_jobs=3
        ),
    ),
    *(
        case
        for name, history, closed in (("BY_TIME", BY_TIME, 0), ("BY_COLUMN", BY_COLUMN, 1))
        for case in (
            Case(
                name=f"SCD_TYPE_2_{name}, first",
                before=FIRST,
                by=CLOSING,
                folders=OPEN,
                rows=rows(),
                write=look(history, 0),
                needed=Needed(jobs=BY_KEYS + SORTED, source=1),
            ),
            # Source, open rows and, to close what is missing, the times of closed rows are read by
            # one statement. What was replaced is read for the change of the sum.
            Case(
                name=f"SCD_TYPE_2_{name}, later",
                before=kept(history),
                by=CLOSING,
                rows=rows(r0=5, r1=5),
                write=look(history, 2),
                needed=Needed(jobs=BY_KEYS + SORTED, source=1, own=1 + closed, summed=1, audited=2),
            ),
            # That nothing changed is only known when all is compared.
            Case(
                name=f"SCD_TYPE_2_{name}, without change",
                before=kept(history),
                by=CLOSING,
                rows=rows(r0=5),
                write=look(history, 2),
                needed=Needed(jobs=BY_KEYS + SORTED, source=1, own=1 + closed, summed=1, audited=1),
                unchanged=True,
            ),
        )
    ),
]


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Tables that several cases write to: nothing is published, so they stay as they are."""

    worlds: Worlds
    lake: SparkLake
    watch: Watch
    made: dict[object, World] = field(default_factory=dict)

    def before(self, case: Case) -> World:
        """The table of a case, as it is before its write."""
        if not case.before:
            return self.worlds.table(TYPES, *case.by)
        key = (case.by, *(write for write, _ in case.before))
        if key not in self.made:
            table = self.worlds.table(TYPES, *case.by)
            for write, loaded in case.before:
                table.write(list(loaded), write)
            self.made[key] = table
        return self.made[key]

    def source(self, of: Rows) -> AsOf:
        """A table of somebody else with these rows in one file."""
        assert self.worlds.iceberg is not None
        name = TableName(f"raw_{uuid.uuid4().hex[:8]}", "rows")
        self.worlds.iceberg.create_namespace(name.namespace)
        table = self.worlds.iceberg.create_table((name.namespace, name.name), SCHEMA)
        columns = [pa.array(each) for each in zip(*of, strict=True)]
        table.append(pa.Table.from_arrays(columns, schema=SCHEMA))
        head = table.metadata.current_snapshot()
        assert head is not None
        return AsOf(table=name, iceberg_snapshot_id=head.snapshot_id)

    def staged(self, case: Case) -> tuple[Staged, SparkWork]:
        """What staging the write of a case gives, and what it does."""
        table, source = self.before(case), self.source(case.rows)
        query = SqlRows(sql="SELECT id, at, region FROM read_here")
        part = PlannedWrite(rows=query, inputs={"read_here": source}, write=case.write)
        staging = table.staging(part, audits=(AUDIT,))
        self.watch.add("source", self.folder(source.table))
        self.watch.add("own", self.folder(table.key.table), *case.folders)
        staged: list[Staged] = []
        did = self.watch.during(lambda: staged.append(table.engine.stage(staging)))
        return staged[0], did

    def folder(self, name: TableName) -> Path:
        """The folder of a table's data files."""
        return self.lake.warehouse / name.namespace / name.name / "data"


@pytest.fixture(scope="module")
def tables(spark: SparkSession, spark_lake: SparkLake) -> Iterator[Tables]:
    watch = Watch(spark)
    yield Tables(worlds=worlds_on_spark(spark, spark_lake), lake=spark_lake, watch=watch)
    watch.close()


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.full] if case.full else [])
        for case in CASES
    ],
)
def test_what_an_evaluation_runs_and_opens(tables: Tables, case: Case) -> None:
    staged, did = tables.staged(case)
    assert did == case.needed.work()
    if case.unchanged:
        assert staged.iceberg_snapshot_id == tables.before(case).head()
        assert [*staged.sums[0].values()] == [RowSum()]


def test_late_and_due_hours_are_one_write(tables: Tables) -> None:
    """Each of the three has one new file, in which audits look.

    The system tells only once of a file that is opened several times right after each other.
    """
    case = Case(name="", by=HOUR, write=in_hours(0, 1), needed=Needed(jobs=0))
    table, source = tables.before(case), tables.source(rows())
    query = SqlRows(sql="SELECT id, at, region FROM read_here")
    late = AppendToIntervals(intervals=(hours(1, 2),), axis=AXIS)
    parts = [
        PlannedWrite(rows=query, inputs={"read_here": source}, write=write)
        for write in (late, replace(late, intervals=(hours(3, 4),)), in_hours(5, 6))
    ]
    tables.watch.add("own", tables.folder(table.key.table))
    staged: list[Staged] = []
    staging = table.staging(*parts, audits=(AUDIT,))
    did = tables.watch.during(lambda: staged.append(table.engine.stage(staging)))
    assert did == Needed(jobs=SORTED, audited=3).work()
    assert [each.rows for part in staged[0].sums for each in part.values()] == [1, 1, 1]


SOURCE: Final = {"rows": TYPES}
RANGED: Final = """MODEL (name {s}.ranged, start '2024-01-01', audits (not_null (columns := (id))),
  kind INCREMENTAL_BY_TIME_RANGE (time_column at));
SELECT id, at, region FROM {s}.rows WHERE at BETWEEN @start_dt AND @end_dt"""
TOTAL: Final = "MODEL (name {s}.total, kind FULL); SELECT COUNT(*) AS n FROM {s}.shown"
SHOWN: Final = "MODEL (name {s}.shown, kind VIEW); SELECT id FROM {s}.ranged"


class Apart:
    """An engine; what staging has Spark do is not counted with all else."""

    def __init__(self, engine: SparkEngine, watch: Watch) -> None:
        self._engine, self._watch = engine, watch
        self.staged: list[Staged] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def stage(self, staging: Staging) -> Staged:
        self._watch.during(lambda: self.staged.append(self._engine.stage(staging)))
        return self.staged[-1]


@pytest.mark.full
def test_a_whole_evaluation_has_spark_do_its_writes_alone(lake: Lake, tables: Tables) -> None:
    """And where nothing is due no session is started."""
    columns = zip(*rows(), strict=True)
    arrays = [pa.array(each, of) for each, of in zip(columns, SCHEMA.types, strict=True)]
    lake.source("rows", **dict(zip(TYPES, arrays, strict=True)))
    tables.watch.add("source", tables.folder(TableName(lake.schema, "rows")))
    graph = lake.graph(SOURCE, ranged=RANGED, shown=SHOWN, total=TOTAL)
    apart = Apart(lake.engine, tables.watch)
    services = replace(lake.services(), engine=apart)  # type: ignore[arg-type]
    assert tables.watch.during(lambda: build(services, graph)) == SparkWork()
    assert len(apart.staged) == 2

    def refuse() -> NoReturn:
        raise AssertionError("a session was asked for")

    without = replace(lake.services(), engine=SparkEngine(refuse, "lake", lambda: lake.iceberg))
    assert build(without, graph) == ()
    for name, interval in (("ranged", DAY), ("total", ALWAYS)):
        model = ModelName(lake.schema, name)
        assert evaluate(without, bound(without), model, interval).reused, name
