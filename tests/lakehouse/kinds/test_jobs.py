"""No action is run twice: the Spark jobs of one evaluation, and the files that it opens, by kind.

One table has all numbers: `JOBS`. Adaptive execution makes each exchange of rows a job of its own,
so a write whose rows are sorted into partitions has two, and so has a sum that is grouped.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from pyspark import Accumulator, SparkContext
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documentation uses
from sqlglot import parse_one

from tests.lakehouse.kinds.worlds import START, Values, World, Worlds, days, field, hours
from vde_dagster.core.intervals import IntervalUnit
from vde_dagster.core.model import PartitionField
from vde_dagster.core.work import (
    AppendRows,
    AppendToIntervals,
    MergeRows,
    OverwriteIntervals,
    PythonRows,
    ReplacePartitions,
    ReplaceTable,
    TimeAxisSpec,
    Write,
)

AXIS: Final = TimeAxisSpec(column="at", type="timestamp", unit=IntervalUnit.HOUR)
TYPES: Final = {"id": "int", "at": "timestamp", "region": "string"}
ROWS: Final[Sequence[Values]] = [
    (number, START + timedelta(hours=number), f"r{number // 2}") for number in range(6)
]
SUMS: Final = 2
"""The sum of rows that are read again: of each part of them, and of all.

Where one sum is sought of all rows that are written, it is taken on their way."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A write of the row of hour 1 to a table of six hours; how many jobs it takes.

    ``opens_all`` is whether the table's layout cannot tell which files the write concerns.
    """

    name: str
    write: Write
    by: tuple[PartitionField, ...] = ()
    jobs: int
    opens_all: bool = False


HOUR_1: Final = (hours(1, 2),)
BY_HOUR, BY_REGION = field("at", "hours"), field("region")
OVERWRITE: Final = OverwriteIntervals(intervals=HOUR_1, axis=AXIS)
JOBS: Final = [
    Case(name="FULL", write=ReplaceTable(interval=days(0)), jobs=1),
    Case(name="TIME_RANGE, whole partitions", write=OVERWRITE, by=(BY_HOUR,), jobs=2),
    # A row DELETE looks for its files, and writes them again; the new rows follow.
    Case(name="TIME_RANGE, other", write=OVERWRITE, by=(BY_REGION,), jobs=2 + 2 + 2),
    Case(
        name="TIME_RANGE, late rows",
        write=AppendToIntervals(intervals=HOUR_1, axis=AXIS),
        by=(BY_HOUR,),
        jobs=2,
    ),
    Case(
        name="BY_PARTITION",
        write=ReplacePartitions(interval=days(0)),
        by=(BY_REGION,),
        jobs=2 + SUMS,
    ),
    Case(name="UNMANAGED", write=AppendRows(interval=days(0)), jobs=1),
    # The new rows are computed, looked at for keys that they share and kept; the MERGE looks for
    # the files of their keys, which are anywhere, and writes these again.
    Case(
        name="UNIQUE_KEY",
        write=MergeRows(interval=days(0), key=("id",)),
        by=(BY_REGION,),
        jobs=2 + 9 + SUMS,
        opens_all=True,
    ),
    # Seed 001, *Merge Filter Expression*: it prevents a full table scan.
    Case(
        name="UNIQUE_KEY with a merge filter",
        write=MergeRows(
            interval=days(0),
            key=("id",),
            merge_filter=parse_one("target.region = 'r0'", dialect="spark"),
        ),
        by=(BY_REGION,),
        jobs=2 + 9 + SUMS,
    ),
]
COUNTED: Final[dict[str, Accumulator[int]]] = {}
"""How many rows were computed so far, by the name of a case."""
MODEL: Final = """
from pyspark.sql import functions as F
from tests.lakehouse.kinds.test_jobs import counting

def run(context):
    rows = context.spark.createDataFrame([({id}, '{region}')], 'id int, region string')
    at = F.expr("TIMESTAMP '{at}'")
    return rows.select(counting({name!r})('id').alias('id'), at.alias('at'), 'region')
"""


def counting(name: str) -> object:
    """A function over a column that counts the rows it is called for."""
    counted = COUNTED[name]

    def count(value: int) -> int:
        counted.add(1)
        return value

    return F.udf(count, "int").asNondeterministic()


def counted_rows(context: SparkContext, case: Case) -> PythonRows:
    """A model whose one row is counted whenever it is computed."""
    COUNTED[case.name] = context.accumulator(0)
    number, at, region = ROWS[1]
    source = MODEL.format(id=number, region=region, at=str(at), name=case.name)
    return PythonRows(
        source=source, function="run", path="counted.py", interval=days(0), execution_time=START
    )


def remove_files(table: World, *, but: int) -> None:
    """Take the files of all rows from the disk, but those of one row: who opens them, fails."""
    for path, rows in table.files().items():
        if all(row[0] != but for row in rows):
            Path(path).unlink()


@pytest.mark.spark
@pytest.mark.parametrize("case", JOBS, ids=lambda case: case.name)
def test_what_an_evaluation_runs_and_opens(on_spark: Worlds, case: Case) -> None:
    assert on_spark.spark is not None
    context = on_spark.spark.sparkContext
    table = on_spark.table(TYPES, *case.by)
    table.write(ROWS, ReplaceTable(interval=days(0)))
    staging = table.staging(table.part(counted_rows(context, case), case.write))
    if not case.opens_all:
        remove_files(table, but=1)

    group = uuid.uuid4().hex
    context.setJobGroup(group, case.name)
    table.publish(staging)
    context.setJobGroup("", "")

    assert COUNTED[case.name].value == 1
    assert len(context.statusTracker().getJobIdsForGroup(group)) == case.jobs
