"""What each operation of real writers on a source leads to, in both modes (late-data.md).

The hours 0 to 5 are loaded, of two rows each. Then Spark does something to the source. What the
models decide is written here; what they hold after their sessions is computed from the source.
Three are in stateless mode, one of them append-only and one keyed: these decide the same, and are
rebuilt where rows cannot be added, unless they would lose some.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, assert_never

import pytest
from pyiceberg.transforms import HourTransform

from tests.lakehouse.kinds.projects import Folder, bound
from tests.lakehouse.kinds.worlds import START
from tests.lakehouse.late.equality_deletes import delete_equal
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.late.decision import Decision, Load, NothingToLoad, Stop
from vde_dagster.core.ledger.late.pending import PendingReason
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval, IntervalUnit, merge

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KEPT, LOG, STATE, SUMS = (ModelName("a", each) for each in ("kept", "log", "state", "sums"))
WHOLE: Final = (LOG, STATE)
"""Models whose rows belong to no interval."""
KIND: Final = "kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'"
MODELS: Final = {
    "a.kept": f"""MODEL (name a.kept, {KIND},
  late_data (mode stateless, sources (raw.events)));
SELECT id, at, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
""",
    "a.log": """MODEL (name a.log, kind INCREMENTAL_UNMANAGED, cron '@hourly',
  late_data (mode stateless, sources (raw.events)));
SELECT id, at, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
""",
    "a.state": """MODEL (name a.state, cron '@hourly',
  kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, sequence_by at),
  late_data (mode stateless, sources (raw.events)));
SELECT id, at, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
""",
    "a.sums": f"""MODEL (name a.sums, {KIND},
  late_data (mode stateful, sources ('raw.events|at')));
SELECT DATE_TRUNC('HOUR', at) AS at, SUM(amount) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY DATE_TRUNC('HOUR', at)
""",
}
LOADED: Final = 6
FIRST: Final = 3_000_000_000  # py4j takes smaller numbers for integers of 32 bits
ROW: Final = FIRST + 6
"""One of the two of hour 3."""
COMPACT: Final = (
    "CALL LAKE.system.rewrite_data_files(table => 'raw.events', "
    "options => map('rewrite-all', 'true'))"
)
COMPACT_DELETES: Final = COMPACT.replace("rewrite_data_files", "rewrite_position_delete_files")
BY_ROW: Final = (
    "ALTER TABLE SOURCE SET TBLPROPERTIES "
    "('write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')"
)
THIRD: Final = "ALTER TABLE SOURCE SET TBLPROPERTIES ('format-version' = '3')"


def insert(*hours_of_rows: float) -> str:
    """One commit of a row of each of these hours, each with another id."""
    values = ", ".join(
        f"({1000 + round(100 * hour)}, TIMESTAMP '{instant(hour).isoformat()}', 7)"
        for hour in hours_of_rows
    )
    return f"INSERT INTO SOURCE VALUES {values}"


def instant(hour: float) -> datetime:
    return START + timedelta(hours=hour)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is done to the source, and what the sessions of the models then do.

    What is done ``before`` is there when the hours are loaded.
    Where a session is ``refused``, the model holds what it held.
    """

    does: Sequence[str | Callable[[SparkSession, str], None]]
    before: Sequence[str] = ()
    stateless: str
    stateful: str
    partitioned: bool = True
    refused: tuple[ModelName, ...] = ()


def delete_of_row(spark: SparkSession, catalog: str) -> None:
    """As engines do that delete by key."""
    delete_equal(spark, f"{catalog}.raw.events", "id", ROW)


def expire(spark: SparkSession, catalog: str) -> None:
    spark.sql(
        f"CALL {catalog}.system.expire_snapshots(table => 'raw.events', "
        "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)"
    )


def roll_back(spark: SparkSession, catalog: str) -> None:
    """To when the hours 0 to 3 had come."""
    found = spark.sql(
        f"SELECT snapshot_id FROM {catalog}.raw.events.history ORDER BY made_current_at"
    )
    fourth = found.collect()[3].snapshot_id
    spark.sql(f"CALL {catalog}.system.rollback_to_snapshot('raw.events', {fourth})")


def create_again(spark: SparkSession, catalog: str) -> None:
    """Another table of the same name, with other amounts."""
    rows = spark.sql(f"SELECT id, at, 2 * amount FROM {catalog}.raw.events").collect()
    spark.sql(f"DROP TABLE {catalog}.raw.events")
    until = instant(LOADED).isoformat()
    spark.sql(
        f"CREATE TABLE {catalog}.raw.events (id BIGINT, at TIMESTAMP, amount BIGINT) "
        f"USING iceberg TBLPROPERTIES ('vde.valid-to' = '{until}')"
    )
    frame = spark.createDataFrame(rows, "id BIGINT, at TIMESTAMP, amount BIGINT")
    frame.writeTo(f"{catalog}.raw.events").append()


CASES: Final = {
    "an append": Case(does=[insert(2.5)], stateless="adds to 2", stateful="overwrites 2"),
    "an append of several files": Case(
        does=[insert(1.5, 4.5)],
        stateless="adds to 1, 4",
        stateful="overwrites 1, 4",
    ),
    "a compaction": Case(does=[COMPACT], stateless="moves the mark", stateful="moves the mark"),
    "a compaction of position deletes": Case(
        before=[BY_ROW, *(f"DELETE FROM SOURCE WHERE id = {ROW + n}" for n in (0, 2))],
        does=[COMPACT_DELETES],
        stateless="moves the mark",
        stateful="moves the mark",
    ),
    "other partitions, and appends to the old and to the new ones": Case(
        does=[
            insert(1.5),
            "ALTER TABLE SOURCE REPLACE PARTITION FIELD at_hour WITH days(at)",
            insert(3.5),
        ],
        stateless="adds to 1, 3",
        stateful="overwrites 1, 3",
    ),
    "an update": Case(
        does=[f"UPDATE SOURCE SET amount = 100 WHERE id = {ROW}"],
        stateless="overwrites 0-5",
        stateful="overwrites 3",
    ),
    "a row deleted by its position": Case(
        does=[BY_ROW, f"DELETE FROM SOURCE WHERE id = {ROW}"],
        stateless="overwrites 0-5",
        stateful="overwrites 0-5",
        refused=WHOLE,
    ),
    "a row deleted by a deletion vector": Case(
        does=[THIRD, BY_ROW, f"DELETE FROM SOURCE WHERE id = {ROW}"],
        stateless="overwrites 0-5",
        stateful="overwrites 0-5",
        refused=WHOLE,
    ),
    "a row deleted by its key": Case(
        does=[delete_of_row],
        stateless="overwrites 0-5",
        stateful="overwrites 0-5",
        partitioned=False,
        refused=WHOLE,
    ),
    "retention drops the first two hours": Case(
        does=[f"DELETE FROM SOURCE WHERE at < TIMESTAMP '{instant(2).isoformat()}'"],
        stateless="overwrites 0-5",
        stateful="moves the mark; pending: removed 0-1",
        refused=(KEPT, *WHOLE),
    ),
    "a rollback, and other rows": Case(
        does=[roll_back, insert(4.2, 5.2)],
        stateless="overwrites 0-5",
        stateful="overwrites 0-5",  # what they were read from is no ancestor of what is there
        refused=WHOLE,
    ),
    "appends whose history has expired": Case(
        does=[insert(2.5), insert(3.5), expire],
        stateless="overwrites 0-5",
        stateful="overwrites 0-5",
    ),
    "the table created again": Case(
        does=[create_again], stateless="stops", stateful="overwrites 0-5", refused=(KEPT, *WHOLE)
    ),
}


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Folder:
    del spark  # it is there, and the engine finds it
    return Folder.make(tmp_path / "project", f"lake_{uuid.uuid4().hex[:8]}", MODELS)


@pytest.mark.full
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_writer_does_to_a_source_is_decided_and_loaded_as_written(
    folder: Folder, spark: SparkSession, case: Case
) -> None:
    catalog = folder.project().configuration.catalog.name
    land_hours(folder, partitioned=case.partitioned)
    folder.project().open_spark()
    done(spark, catalog, case.before)
    folder.apply()
    done(spark, catalog, case.does)

    services = folder.project().services
    binding = bound(services)
    stateless = (KEPT, *WHOLE)
    said = {name: text_of(detect(services, binding, name)) for name in (*stateless, SUMS)}
    assert said == {**dict.fromkeys(stateless, case.stateless), SUMS: case.stateful}

    before = {name: folder.rows(str(name)) for name in (*stateless, SUMS)}
    for name in (*stateless, SUMS):
        if name in case.refused:
            with pytest.raises(Refused):
                catch_up(services, binding, name)
        else:
            catch_up(services, binding, name)
    rows = [tuple(row) for row in spark.table(f"{catalog}.raw.events").collect()]
    sums: Counter[datetime] = Counter()
    for _, at, amount in rows:
        sums[at.replace(minute=0, tzinfo=UTC)] += amount
    removed = before[SUMS][:2] if "removed" in case.stateful else []
    for name in stateless:
        assert folder.rows(str(name)) == (before[name] if name in case.refused else utc(rows))
    assert folder.rows("a.sums") == sorted([*removed, *sums.items()])
    for name in (*stateless, SUMS):
        if name not in case.refused:
            again = detect(services, binding, name)
            assert isinstance(again, NothingToLoad)
            assert not again.has_moved
            (last,) = services.state.sessions(binding.key(name), limit=1)
            assert published_by(folder, binding.key(name).table) == last.intent.work_id


def published_by(folder: Folder, name: TableName) -> str | None:
    """The session that the summary of a table's current Iceberg snapshot names."""
    table = folder.project().iceberg_catalog().load_table((name.namespace, name.name))
    snapshot = table.current_snapshot()
    return None if snapshot is None or snapshot.summary is None else snapshot.summary["vde.work-id"]


def done(
    spark: SparkSession, catalog: str, what: Sequence[str | Callable[[SparkSession, str], None]]
) -> None:
    for each in what:
        if isinstance(each, str):
            spark.sql(each.replace("SOURCE", f"{catalog}.raw.events").replace("LAKE", catalog))
        else:
            each(spark, catalog)


def land_hours(folder: Folder, *, partitioned: bool) -> None:
    """The hours 0 to 5, in one commit each."""
    if partitioned:
        with folder.project().iceberg_catalog().load_table("raw.events").update_spec() as spec:
            spec.add_field("at", HourTransform(), "at_hour")
    for hour in range(LOADED):
        number = FIRST + 2 * hour
        rows = [(number, hour + 0.1, hour), (number + 1, hour + 0.9, 10)]
        folder.land(rows, until=hour + 1)


def utc(rows: Sequence[tuple[int, datetime, int]]) -> list[tuple[int, datetime, int]]:
    return sorted((number, at.replace(tzinfo=UTC), amount) for number, at, amount in rows)


def text_of(decision: Decision) -> str:
    """What a session would do, in short."""
    match decision:
        case Stop():
            return "stops"
        case NothingToLoad():
            did = ["moves the mark" if decision.has_moved else "nothing"]
        case Load():
            did = [f"adds to {hours_text(decision.loaded)}"] if decision.loaded else []
            did += [f"overwrites {hours_text(decision.fill)}"] if decision.fill else []
        case unreachable:
            assert_never(unreachable)
    reasons = {each.reason: None for each in decision.pending}
    return "; ".join([*did, *(pending_of(decision, reason) for reason in reasons)])


def pending_of(decision: Load | NothingToLoad, reason: PendingReason) -> str:
    times = [each.interval for each in decision.pending if each.reason is reason]
    return f"pending: {reason.value} {hours_text(times)}"


def hours_text(intervals: Sequence[Interval]) -> str:
    found = []
    for each in merge(intervals):
        cells = list(IntervalUnit.HOUR.cells(each))
        first, last = ((cell.start - START) // timedelta(hours=1) for cell in (cells[0], cells[-1]))
        found.append(str(first) if first == last else f"{first}-{last}")
    return ", ".join(found)
