"""Units of work in which tasks, stages and actions fail or are slow, in a Spark of their own.

Run as a module: ``python -m tests.lakehouse.digest.faulty_writes FOLDER MASTER FAULT...``. The last
line is JSON: by fault, what was recorded, what is in storage, and what Spark's event log says.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import TaskContext

from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.unit_of_work import PlannedWrite, PythonRows, Staged, Staging
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.storage import PartitionField, Storage
from vde_dagster.core.model.writes import ReplaceTable
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH, Interval
from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog
from vde_dagster.lakehouse.spark.jars import resolve_jars
from vde_dagster.lakehouse.spark.session import SparkSettings, open_session
from vde_dagster.lakehouse.spark.spark_catalog import embedded_catalog_conf
from vde_dagster.lakehouse.staging.spark_engine import SparkEngine
from vde_dagster.ports.engine import Sought

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS: Final = 3000
PARTITIONS: Final = 6
SPECULATION: Final = {
    "spark.speculation": "true",  # a local master does not speculate, whatever is asked of it
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.minTaskRuntime": "200ms",
}
CLUSTER: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # no task begins before both workers do
}
NOW: Final = datetime(2024, 1, 3, tzinfo=UTC)
WHOLE: Final = Interval(EPOCH, NOW)
Batches = Iterable[pa.RecordBatch]
Change = Callable[[Batches], Batches]
Model = Callable[["SparkSession", Path], "DataFrame"]


def values(number: int) -> tuple[int, str | None, int]:
    """The row of a number: id, text, and what the table may be partitioned by."""
    return number, None if number % 3 == 0 else str(number), number % 2


def frame(spark: SparkSession) -> DataFrame:
    """The rows of all numbers, as Spark makes them."""
    return spark.range(0, ROWS, 1, PARTITIONS).selectExpr(
        "id", "IF(id % 3 = 0, NULL, CAST(id AS STRING)) AS t", "id % 2 AS p"
    )


def changed(rows: DataFrame, change: Change) -> DataFrame:
    return rows.mapInArrow(change, rows.schema)


def failing(attempts: int) -> Change:
    """So many attempts of each second task fail, after all their rows were passed on."""

    def fail(batches: Batches) -> Batches:
        yield from batches
        context: Any = TaskContext.get()
        if context.partitionId() % 2 == 0 and context.attemptNumber() < attempts:
            raise RuntimeError("a task fails")

    return fail


def waiting() -> Change:
    """The first attempt of the last task waits long, after all its rows were passed on."""

    def wait(batches: Batches) -> Batches:
        yield from batches
        context: Any = TaskContext.get()
        if context.partitionId() == PARTITIONS - 1 and context.attemptNumber() == 0:
            time.sleep(30)

    return wait


def losing(folder: Path, partition: int) -> Change:
    """One task removes, once, what was written for a shuffle until then."""
    marker, scratch = str(folder / f"lost by {partition}"), str(folder / "scratch")

    def lose(batches: Batches) -> Batches:
        context: Any = TaskContext.get()
        if context.partitionId() == partition:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                for path in Path(scratch).rglob("shuffle_*.data"):
                    path.unlink()
        yield from batches

    return lose


def shuffled_first(spark: SparkSession, folder: Path) -> DataFrame:
    # A number of partitions keeps adaptive execution from having fewer.
    return changed(frame(spark).repartition(PARTITIONS, "id"), losing(folder, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What a model returns, and how its table is laid out."""

    model: Model
    storage: Storage = field(default_factory=Storage)


# Rows of such a table are shuffled after they were observed, and written by another stage.
SHUFFLED: Final = Storage(partitioned_by=(PartitionField(column="p"),))
FAULTS: Final[dict[str, Fault]] = {
    "task, shuffled": Fault(
        model=lambda spark, _: changed(frame(spark), failing(2)), storage=SHUFFLED
    ),
    "stage before": Fault(model=shuffled_first),
    "stage, shuffled": Fault(
        # The last task of six on two cores begins when four have written their rows.
        model=lambda spark, folder: changed(frame(spark), losing(folder, PARTITIONS - 1)),
        storage=SHUFFLED,
    ),
    "copy": Fault(model=lambda spark, _: changed(frame(spark), waiting())),
    "copy, shuffled": Fault(
        model=lambda spark, _: changed(frame(spark), waiting()), storage=SHUFFLED
    ),
}


MODEL: Final = """
from pathlib import Path
from tests.lakehouse.digest.faulty_writes import FAULTS

def run(context):
    fault = FAULTS[context.var("fault")]
    return fault.model(context.spark, Path(context.var("folder")))
"""


def staging(number: int, name: str, folder: Path) -> Staging:
    """A unit of work that replaces the rows of a table of its own."""
    rows = PythonRows(
        source=MODEL,
        function="run",
        path="faulty.py",
        interval=WHOLE,
        execution_time=NOW,
        variables={"fault": name, "folder": str(folder)},
    )
    return Staging(
        work_id=f"{number:032x}",
        target=VersionKey(ModelName("faults", f"t{number}"), "0" * 32),
        base=None,
        parts=(PlannedWrite(rows=rows, inputs={}, write=ReplaceTable(interval=WHOLE)),),
        storage=FAULTS[name].storage,
    )


def stored(engine: SparkEngine, unit: Staging, found: Staged) -> RowSum:
    """The sum of the branch's rows, as they are read later."""
    sought = Sought(
        table=unit.target.table,
        iceberg_snapshot_id=found.iceberg_snapshot_id,
        columns=found.columns,
    )
    return total(engine.sums(sought, algorithm=unit.algorithm).values())


def wait_for_tasks(spark: SparkSession) -> None:
    """Wait until no task runs: one whose copy was faster is killed after its job has ended."""
    context: Any = spark.sparkContext
    tracker = context._jsc.sc().statusTracker()
    deadline = time.monotonic() + 60
    while any(each.numRunningTasks() for each in tracker.getExecutorInfos()):
        assert time.monotonic() < deadline, "a task that was killed goes on"
        time.sleep(0.1)


def reported(found: RowSum) -> dict[str, object]:
    return {"rows": found.rows, "sum": str(found.sum)}


def events(log: Path) -> Mapping[str, Counter[str]]:
    """What Spark's event log counts, by job group.

    These are jobs; tasks that failed, that found no rows to fetch, and that were speculative copies
    of others; and runs of stages after their first.
    """
    counts: dict[str, Counter[str]] = {}
    of_stage: dict[int, Counter[str]] = {}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        match event["Event"]:
            case "SparkListenerJobStart":
                group = event["Properties"].get("spark.jobGroup.id", "")
                found = counts.setdefault(group, Counter())
                found["jobs"] += 1
                for stage in event["Stage IDs"]:
                    of_stage.setdefault(stage, found)
            case "SparkListenerStageSubmitted":
                stage = event["Stage Info"]
                of_stage[stage["Stage ID"]]["stages again"] += stage["Stage Attempt ID"] > 0
            case "SparkListenerTaskStart":
                of_stage[event["Stage ID"]]["copies"] += event["Task Info"]["Speculative"]
            case "SparkListenerTaskEnd":
                of_stage[event["Stage ID"]][event["Task End Reason"]["Reason"]] += 1
    return counts


def settings(folder: Path, logs: Path, master: str) -> dict[str, str]:
    """Spark's own settings: tasks are speculated on, and all that they do is logged."""
    return {
        "spark.local.dir": str(folder / "scratch"),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        **SPECULATION,
        **({} if master.startswith("local[") else CLUSTER),
    }


def main(folder: Path, master: str, names: Sequence[str]) -> None:
    warehouse, database, logs = folder / "warehouse", folder / "lake.db", folder / "events"
    for each in (warehouse, logs):
        each.mkdir()
    conf = embedded_catalog_conf("lake", database, warehouse) | settings(folder, logs, master)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = open_session(SparkSettings(master=master, conf=conf), resolve_jars())
    iceberg = open_iceberg_catalog(
        "lake", {"type": "sql", "uri": f"sqlite:///{database}", "warehouse": str(warehouse)}
    )
    engine = SparkEngine(lambda: spark, "lake", lambda: iceberg)
    answers = {}
    for number, name in enumerate(names):
        spark.sparkContext.setJobGroup(name, name)
        unit = staging(number, name, folder)
        found = engine.stage(unit)
        spark.sparkContext.setJobGroup("", "")
        answers[name] = {
            "recorded": reported(total(found.sums[0].values())),
            "stored": reported(stored(engine, unit, found)),
        }
    wait_for_tasks(spark)
    engine.stop()
    (log,) = logs.iterdir()
    counted = events(log)
    print(json.dumps({name: {**found, **counted[name]} for name, found in answers.items()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
