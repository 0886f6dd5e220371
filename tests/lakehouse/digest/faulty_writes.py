"""Writes in which tasks and stages fail and are run again, in a Spark of their own.

Run as a script: `python faulty_writes.py FOLDER`. The last line is JSON, by the name of each write:
how many rows were committed, what was observed, and how often tasks began.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F  # noqa: N812

from vde_dagster.core.dsha import XXHASH64X2
from vde_dagster.lakehouse.digest import observed, row_sums
from vde_dagster.lakehouse.jars import resolve_jars
from vde_dagster.lakehouse.session import SparkSettings, embedded_catalog_conf, open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 4000
PARTITIONS = 6
Batches = Iterable[pa.RecordBatch]
Change = Callable[[Batches], Batches]


def frame(spark: SparkSession) -> DataFrame:
    return spark.range(0, ROWS, 1, PARTITIONS).selectExpr(
        "id", "IF(id % 3 = 0, NULL, CAST(id AS STRING)) AS t"
    )


def changed(rows: DataFrame, change: Change) -> DataFrame:
    return rows.mapInArrow(change, rows.schema)


def noted(folder: str) -> Change:
    """Notes that a task began."""

    def note(batches: Batches) -> Batches:
        (Path(folder) / uuid.uuid4().hex).touch()
        yield from batches

    return note


def failing() -> Change:
    """The first two attempts of each second task fail after all their rows were passed on."""

    def fail(batches: Batches) -> Batches:
        yield from batches
        context: Any = TaskContext.get()
        if context.partitionId() % 2 == 0 and context.attemptNumber() < 2:
            raise RuntimeError("a task fails")

    return fail


def losing(marker: str, scratch: str) -> Change:
    """The first task that begins removes what the stage before it wrote for all of them."""

    def lose(batches: Batches) -> Batches:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            for path in Path(scratch).rglob("shuffle_*.data"):
                path.unlink()
        yield from batches

    return lose


def writes(spark: SparkSession, folder: Path) -> dict[str, Callable[[], tuple[DataFrame, Any]]]:
    """Each returns the rows to write and what observed them."""
    scratch = str(folder / "scratch")

    def begun(name: str) -> str:
        noted_in = folder / "begun" / name
        noted_in.mkdir(parents=True)
        return str(noted_in)

    def above() -> tuple[DataFrame, Any]:
        rows, found = observed(changed(frame(spark), noted(begun("above"))), XXHASH64X2)
        return changed(rows, failing()), found

    def below() -> tuple[DataFrame, Any]:
        rows = changed(frame(spark), noted(begun("below")))
        return observed(changed(rows, failing()), XXHASH64X2)

    def stage_above() -> tuple[DataFrame, Any]:
        rows, found = observed(changed(frame(spark), noted(begun("stage above"))), XXHASH64X2)
        shuffled = rows.repartition(PARTITIONS, "id")
        return changed(shuffled, losing(str(folder / "lost above"), scratch)), found

    def stage_below() -> tuple[DataFrame, Any]:
        rows = changed(frame(spark), noted(begun("stage below")))
        shuffled = rows.repartition(PARTITIONS, "id")
        lost = changed(shuffled, losing(str(folder / "lost below"), scratch))
        return observed(lost, XXHASH64X2)

    return {"above": above, "below": below, "stage above": stage_above, "stage below": stage_below}


def main(folder: Path) -> None:
    (folder / "warehouse").mkdir()
    conf = embedded_catalog_conf("lake", folder / "lake.db", folder / "warehouse") | {
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.adaptive.enabled": "false",
        "spark.speculation": "true",  # a local master does not speculate, whatever is asked of it
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    spark = open_session(SparkSettings(master="local[2,4]", conf=conf), resolve_jars())
    spark.sql("CREATE NAMESPACE lake.faults")
    told: dict[str, object] = {}
    for number, (name, made) in enumerate(writes(spark, folder).items()):
        table = f"lake.faults.t{number}"
        spark.sql(
            f"CREATE TABLE {table} (id BIGINT, t STRING) USING iceberg "
            "TBLPROPERTIES ('write.distribution-mode' = 'none')"
        )
        rows, found = made()
        rows.writeTo(table).append()
        summary = spark.table(f"{table}.snapshots").select(F.col("summary")["added-records"])
        (added,) = (int(row[0]) for row in summary.collect())
        sums = found.sums(added)
        told[name] = {
            "added": added,
            "observed": None if sums is None else str(sums[None].sum),
            "staged": str(row_sums(spark.table(table), XXHASH64X2)[None].sum),
            "expected": str(row_sums(frame(spark), XXHASH64X2)[None].sum),
            "begun": len(list((folder / "begun" / name).iterdir())),
        }
    spark.stop()
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
