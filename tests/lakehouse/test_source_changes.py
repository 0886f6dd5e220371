"""What Spark's writers do to a source, according to its metadata."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from vde_dagster.core.ledger.late.history import SourceOperation, SourceStatus
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import SparkLake

pytestmark = pytest.mark.spark


class Source:
    """A table of its own, and what happened since the last mark."""

    def __init__(
        self, spark: SparkSession, lake: SparkLake, partition: str, more: str = ""
    ) -> None:
        self.spark = spark
        self.catalog = IcebergCatalog(lake.iceberg())
        self.name = ModelName(f"raw_{uuid.uuid4().hex[:8]}", "events")
        spark.sql(f"create namespace lake.{self.name.schema}")
        spark.sql(
            f"create table lake.{self.name} (id bigint, day date, at timestamp, kind string) "
            f"using iceberg partitioned by ({partition}) {more}"
        )

    def run(self, sql: str) -> None:
        self.spark.sql(sql.replace("SOURCE", f"lake.{self.name}"))

    def insert(self, *ids: int, day: str = "2013-01-01", kind: str = "'k'") -> None:
        values = ", ".join(f"({i}, date'{day}', timestamp'{day} 05:00:00', {kind})" for i in ids)
        self.run(f"insert into SOURCE values {values}")

    def mark(self) -> HighWaterMark:
        head = self.catalog.history(self.name, None).head
        assert head is not None
        return head

    def operations(self, since: HighWaterMark) -> list[tuple[SourceOperation, list[str]]]:
        history = self.catalog.history(self.name, since)
        assert history.status is SourceStatus.CHANGED
        return [
            (each.operation, sorted(uri.as_json() for uri in each.added))
            for each in history.changes
        ]


@pytest.mark.full
@pytest.mark.parametrize(
    "partition, reported",
    [
        ("hours(at)", '{"at_hour": "2013-01-02-05"}'),
        ("days(at)", '{"at_day": "2013-01-02"}'),
        ("months(day)", '{"day_month": "2013-01"}'),
        ("years(day)", '{"day_year": "2013"}'),
        ("day, kind", '{"day": "2013-01-02", "kind": null}'),
        ("id", '{"id": 2}'),
        ("bucket(4, id)", '{"id_bucket": 0}'),
    ],
)
def test_partitions_are_spelled_for_people_and_json(
    spark: SparkSession, spark_lake: SparkLake, partition: str, reported: str
) -> None:
    source = Source(spark, spark_lake, partition)
    source.insert(1)
    mark = source.mark()
    source.insert(2, day="2013-01-02", kind="null")
    assert source.operations(mark) == [(SourceOperation.APPEND, [reported])]


@pytest.mark.full
def test_updates_are_overwrites_and_whole_partitions_are_deleted(
    spark: SparkSession, spark_lake: SparkLake
) -> None:
    source = Source(spark, spark_lake, "days(at)")
    source.insert(1, 2)
    source.insert(3, day="2013-01-02")
    mark = source.mark()
    source.run("update SOURCE set kind = 'u' where id = 1")
    source.run("delete from SOURCE where at >= timestamp'2013-01-02 00:00:00'")
    assert source.operations(mark) == [
        (SourceOperation.OVERWRITE, ['{"at_day": "2013-01-01"}']),
        (SourceOperation.DELETE, []),
    ]


@pytest.mark.full
def test_merged_manifests_give_only_the_snapshots_own_files(
    spark: SparkSession, spark_lake: SparkLake
) -> None:
    source = Source(spark, spark_lake, "days(at)")
    source.run("alter table SOURCE set tblproperties ('commit.manifest.min-count-to-merge' = '2')")
    for number in range(1, 4):
        source.insert(number, day=f"2013-01-0{number}")
    mark = source.mark()
    source.insert(9, day="2013-01-09")
    assert source.operations(mark) == [(SourceOperation.APPEND, ['{"at_day": "2013-01-09"}'])]


@pytest.mark.full
def test_spark_expires_and_rolls_back(spark: SparkSession, spark_lake: SparkLake) -> None:
    source = Source(spark, spark_lake, "days(at)")
    source.insert(1)
    first = source.mark()
    source.insert(2)
    second = source.mark()
    source.run(f"call lake.system.rollback_to_snapshot('SOURCE', {first.iceberg_snapshot_id})")
    source.insert(3)
    source.insert(4)
    assert source.catalog.history(source.name, second).status is SourceStatus.ROLLED_BACK
    source.run(
        "call lake.system.expire_snapshots(table => 'SOURCE', "
        "older_than => timestamp'2999-01-01 00:00:00', retain_last => 1)"
    )
    assert source.catalog.history(source.name, first).status is SourceStatus.EXPIRED


def touched(source: Source, since: HighWaterMark, column: str) -> list[str] | None:
    """From when to when rows were added or removed since a mark; None where it is not known."""
    table = TableName(source.name.schema, source.name.name)
    changes = source.catalog.row_changes(table, after=since.iceberg_snapshot_id, column=column)
    if any(each.times is None for each in changes):
        return None
    times = [time for each in changes for time in each.times or ()]
    if not times:
        return []
    return [str(min(e.start for e in times))[:19], str(max(e.end for e in times))[:19]]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_which_times_spark_s_writers_touch_is_known_by_the_bounds_of_files(
    spark: SparkSession, spark_lake: SparkLake, mode: str
) -> None:
    source = Source(spark, spark_lake, "days(at)")
    source.run(f"alter table SOURCE set tblproperties ('write.delete.mode' = '{mode}')")
    source.insert(1, 2, day="2013-01-01")
    source.insert(3, 4, day="2013-01-02")
    table = TableName(source.name.schema, source.name.name)
    assert str(source.catalog.earliest(table, "at")) == "2013-01-01 05:00:00+00:00"
    mark = source.mark()
    source.insert(5, day="2013-01-03", kind="'2013-01-03 and more'")
    assert touched(source, mark, "at") == ["2013-01-03 05:00:00", "2013-01-03 05:00:00"]
    assert touched(source, mark, "day") == ["2013-01-03 00:00:00", "2013-01-04 00:00:00"]
    assert touched(source, mark, "kind") == ["2013-01-03 00:00:00", "2013-01-04 00:00:00"]
    source.insert(6, day="2013-01-03")
    assert touched(source, mark, "kind") is None
    mark = source.mark()
    source.run("delete from SOURCE where day = date'2013-01-01'")  # whole files
    assert touched(source, mark, "at") == ["2013-01-01 05:00:00", "2013-01-01 05:00:00"]
    mark = source.mark()
    source.run("delete from SOURCE where id = 4")
    by_place = mode == "merge-on-read"
    found = touched(source, mark, "day")
    assert found == (None if by_place else ["2013-01-02 00:00:00", "2013-01-03 00:00:00"])


def test_a_source_of_icebergs_first_format_is_read_like_others(
    spark: SparkSession, spark_lake: SparkLake
) -> None:
    """Its manifests do not say that files have rows: nothing else was possible then."""
    source = Source(spark, spark_lake, "days(at)", "tblproperties ('format-version' = '1')")
    source.insert(1, 2, day="2013-01-01")
    mark = source.mark()
    source.insert(3, day="2013-01-02")
    assert source.operations(mark) == [(SourceOperation.APPEND, ['{"at_day": "2013-01-02"}'])]
    assert touched(source, mark, "at") == ["2013-01-02 05:00:00", "2013-01-02 05:00:00"]
    table = TableName(source.name.schema, source.name.name)
    assert str(source.catalog.earliest(table, "at")) == "2013-01-01 05:00:00+00:00"
    assert len(source.catalog.data_files(table)) == 2


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_whether_a_writer_only_added_rows_is_known_by_what_it_counts(
    spark: SparkSession, spark_lake: SparkLake, mode: str
) -> None:
    source = Source(spark, spark_lake, "days(at)")
    modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
    source.run(f"alter table SOURCE set tblproperties ({modes})")
    table = TableName(source.name.schema, source.name.name)

    def added() -> int | None:
        return source.catalog.row_changes(table, after=None, column="")[0].added

    source.insert(1, 2)
    assert added() == 2
    every = "options => map('rewrite-all', 'true')"
    source.run(f"call lake.system.rewrite_data_files(table => 'SOURCE', {every})")
    assert added() == 0
    day = "date'2013-01-02' as day, timestamp'2013-01-02 05:00:00' as at, 'new' as kind"
    new = spark.sql(f"select 3L as id, {day}").writeTo(f"lake.{source.name}")
    new.overwritePartitions()  # of a day that was empty
    assert added() == 1
    new.overwritePartitions()
    assert added() is None
    source.run("update SOURCE set kind = 'other' where id = 1")
    assert added() is None
    source.run(
        f"merge into SOURCE t using (select 9L as id, {day}) s on t.id = s.id "
        "when not matched then insert *"
    )
    assert added() == 1
    source.run("delete from SOURCE where id = 2")
    assert added() is None
