"""Shallow copies: a version's table with the data files of another one, which is never touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from tests.lakehouse.conftest import Lake
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.unit_of_work import AsOf, PlannedWrite, SqlRows, Staged, Staging
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import OverwriteIntervals, ReplaceTable, TimeAxisSpec, Write
from vde_dagster.core.names import TableName
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.ports.catalog import TableText

pytestmark = pytest.mark.spark

AXIS: Final = TimeAxisSpec(column="at", type="timestamp", unit=IntervalUnit.DAY)
COLUMNS: Final = (
    Column(name="id", type="bigint"),
    Column(name="at", type="timestamp"),
    Column(name="v", type="string"),
)


def days(first: int, last: int) -> Interval:
    """From the beginning of one day of January to the end of another."""
    return Interval(datetime(2024, 1, first, tzinfo=UTC), datetime(2024, 1, last + 1, tzinfo=UTC))


THREE: Final = OverwriteIntervals(intervals=(days(1, 3),), axis=AXIS)
ROWS: Final = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
"""Those of three days; the original has others before and behind them, and one without a time."""


class Plain:
    """A table of somebody's."""

    def __init__(self, lake: Lake, columns: str, more: str = "") -> None:
        self.lake, self.name = lake, TableName(lake.schema, "old")
        self.run(f"CREATE NAMESPACE IF NOT EXISTS {lake.iceberg.name}.{lake.schema}")
        self.run(f"CREATE TABLE {{t}} ({columns}) USING iceberg {more}")

    def run(self, statement: str) -> None:
        self.lake.spark.sql(statement.format(t=f"{self.lake.iceberg.name}.{self.name}"))

    def insert(self, values: str) -> None:
        self.run(f"INSERT INTO {{t}} VALUES {values}")

    def source(self) -> AsOf:
        found = self.lake.catalog.table(self.name)
        assert found is not None
        at = found.iceberg_snapshot_id
        return AsOf(table=self.name, iceberg_snapshot_id=at, columns=found.schemas.columns(at))

    def files(self) -> set[Path]:
        folder = self.lake.table(self.name).location().removeprefix("file:")
        return {each for each in Path(folder).rglob("*") if each.is_file()}


class Original(Plain):
    """One whose columns and partitions have had a history."""

    def __init__(self, lake: Lake) -> None:
        columns = "id INT, note STRING, w STRING, at TIMESTAMP"
        super().__init__(lake, columns, "PARTITIONED BY (months(at))")
        self.insert("(0, 'n', 'z', TIMESTAMP '2023-12-31'), (9, 'n', 'i', TIMESTAMP '2024-01-20')")
        self.insert(
            "(1, 'n', 'a', TIMESTAMP '2024-01-01 23:00'), (8, 'n', 'h', TIMESTAMP '2024-01-21')"
        )
        self.run("ALTER TABLE {t} DROP COLUMN note")
        self.run("ALTER TABLE {t} RENAME COLUMN w TO v")
        self.run("ALTER TABLE {t} ADD COLUMN secret STRING")
        self.run("ALTER TABLE {t} REPLACE PARTITION FIELD months(at) WITH days(at)")
        self.insert("(2, 'b', TIMESTAMP '2024-01-02', 's'), (3, 'c', TIMESTAMP '2024-01-03', 's')")
        self.run("ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT")
        self.insert(
            "(4, 'd', TIMESTAMP '2024-01-03 12:00', 's'), (5, 'e', TIMESTAMP '2024-01-04', 's')"
        )
        self.insert("(6, 'f', NULL, 's')")
        self.run("ALTER TABLE {t} DROP COLUMN secret")


def staging(lake: Lake, original: Plain, write: Write = THREE, where: str = "") -> Staging:
    source = original.source()
    rows = SqlRows(sql=f"SELECT id, at, v FROM src {where or 'WHERE at IS NOT NULL'}")
    part = PlannedWrite(rows=rows, inputs={"src": source}, write=write)
    return replace(lake.staging(), parts=(part,), columns=COLUMNS, shallow_copy_of=source)


def published(lake: Lake, unit: Staging) -> Staged:
    staged = lake.engine.stage(unit)
    assert staged.iceberg_snapshot_id is not None
    lake.catalog.publish(unit.target.table, base=unit.base, staged=staged.iceberg_snapshot_id)
    return staged


def rows(lake: Lake) -> list[tuple[object, ...]]:
    return lake.rows("SELECT id, v FROM {own} ORDER BY id")


@pytest.fixture
def original(lake: Lake) -> Iterator[Original]:
    found = Original(lake)
    before = found.files()
    yield found
    assert found.files() >= before, "nothing of the original is ever deleted"


def test_rows_have_the_values_and_sums_of_copied_ones(lake: Lake, original: Original) -> None:
    """By the names of columns, whatever ids they have, and of no other time."""
    staged = published(lake, staging(lake, original))
    assert rows(lake) == ROWS
    own = lake.table().location()
    foreign = [each for each in lake.files() if not each.startswith(own.removeprefix("file:"))]
    assert len(foreign) == 3, "only the file with other times was written again"
    found = lake.catalog.data_files(lake.key.table)
    assert sorted(each.is_anothers for each in found) == [False, True, True, True]
    copied = TableName(lake.schema, "copied")
    lake.spark.sql(
        f"CREATE TABLE {lake.iceberg.name}.{copied} USING iceberg AS SELECT id, at, v "
        f"FROM {lake.iceberg.name}.{original.name} WHERE id BETWEEN 1 AND 4"
    )
    sums = {day: found for day, found in staged.sums[0].items() if found.rows}
    unit = lake.staging(f"SELECT * FROM {copied}", write=THREE, columns=COLUMNS)
    other = lake.engine.stage(replace(unit, base=staged.iceberg_snapshot_id))
    assert sums == {day: found for day, found in other.sums[0].items() if found.rows}


def test_later_writes_and_columns_are_those_of_any_table(lake: Lake, original: Original) -> None:
    published(lake, staging(lake, original))
    day = OverwriteIntervals(intervals=(days(2, 2),), axis=AXIS)
    late = "SELECT 20L AS id, TIMESTAMP '2024-01-02 05:00' AS at, 'late' AS v, 'new' AS secret"
    wider = (*COLUMNS, Column(name="secret", type="string"))
    unit = lake.staging(late, write=day, columns=wider, returned={e.name: e.type for e in wider})
    published(lake, unit)
    found = lake.rows("SELECT id, v, secret FROM {own} ORDER BY id")
    # A column that the original has dropped had values under this name in the same files.
    assert found == [(1, "a", None), (3, "c", None), (4, "d", None), (20, "late", "new")]


def test_a_day_of_a_file_of_a_month_is_replaced(lake: Lake, original: Original) -> None:
    """The table is partitioned by days, and files of older partitions by months."""
    published(lake, staging(lake, original, replace(THREE, intervals=(days(1, 21),))))
    day = OverwriteIntervals(intervals=(days(1, 1),), axis=AXIS)
    again = "SELECT 10L AS id, TIMESTAMP '2024-01-01 05:00' AS at, 'again' AS v"
    published(lake, lake.staging(again, write=day, columns=COLUMNS))
    assert (10, "again") in rows(lake)
    assert (1, "a") not in rows(lake)
    assert len(rows(lake)) == 7


def test_whole_tables_keep_all_rows(lake: Lake, original: Original) -> None:
    whole = ReplaceTable(interval=days(1, 3))
    staged = published(lake, staging(lake, original, whole, where="WHERE true"))
    assert [found.rows for found in staged.sums[0].values()] == [9]
    assert len(rows(lake)) == 9


def test_no_procedure_of_icebergs_takes_its_files(lake: Lake, original: Original) -> None:
    published(lake, staging(lake, original))
    lake.publish("SELECT 1L AS id, TIMESTAMP '2024-01-01' AS at, 'x' AS v")
    table, system = f"'{lake.key.table}'", f"CALL {lake.iceberg.name}.system"
    for procedure in (
        f"expire_snapshots(table => {table}, older_than => TIMESTAMP '2100-01-01')",
        f"remove_orphan_files(table => {table}, older_than => TIMESTAMP '2100-01-01')",
    ):
        with pytest.raises(Exception, match="GC is disabled"):
            lake.spark.sql(f"{system}.{procedure}")
    # Nor does a model's own wish for it, nor maintenance of ours.
    wish = Storage(properties=(("gc.enabled", "true"),))
    lake.catalog.describe(lake.key.table, TableText(storage=wish))
    assert lake.table().properties["gc.enabled"] == "false"
    history = lake.catalog.table_history(lake.key.table)
    assert history is not None
    assert history.metadata is not None
    old = set(history.snapshots) - {history.head}
    name = lake.key.table
    lake.catalog.announce_expiry(name, old, token="t", metadata=history.metadata)
    lake.catalog.expire_announced(name, token="t")
    assert rows(lake) == [(1, "x")]
    assert lake.spark.sql(f"SELECT * FROM {lake.iceberg.name}.{original.name}").count() == 9


def test_what_cannot_be_shared_is_refused_with_all_reasons(lake: Lake, original: Original) -> None:
    original.run("ALTER TABLE {t} ADD COLUMN region STRING")
    original.run("ALTER TABLE {t} ADD PARTITION FIELD region")
    original.run("ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    original.insert("(7, 'g', TIMESTAMP '2024-01-02', 'x'), (10, 'h', TIMESTAMP '2024-01-02', 'x')")
    original.run("DELETE FROM {t} WHERE id = 10")
    unit = staging(lake, original)
    narrow = (Column(name="id", type="string"), *COLUMNS[1:])
    part = replace(unit.parts[0], rows=SqlRows(sql="SELECT CAST(id AS STRING) id, at, v FROM src"))
    with pytest.raises(EvaluationFailed) as refused:
        lake.engine.stage(replace(unit, columns=narrow, parts=(part,)))
    said = refused.value.message
    assert "its column id is bigint, but the model's is string" in said
    assert "it has 1 delete file (merge-on-read)" in said
    assert "it is partitioned by region, but the model is not" in said
    assert lake.catalog.table(lake.key.table) is None


def test_a_table_that_is_there_already_is_refused(lake: Lake, original: Original) -> None:
    lake.publish("SELECT 1L AS id, TIMESTAMP '2024-01-01' AS at, 'x' AS v")
    with pytest.raises(EvaluationFailed, match="only a new table can be a shallow copy"):
        lake.engine.stage(staging(lake, original))


def test_an_attempt_that_was_given_up_can_be_made_again(lake: Lake, original: Original) -> None:
    first = staging(lake, original)
    lake.engine.stage(first)
    lake.catalog.drop_branch(first.target.table, first.work_id)
    second = staging(lake, original)
    lake.engine.stage(second)  # its branch stays, as rows do that an audit refused
    assert second.work_id in lake.catalog.branches(second.target.table)
    published(lake, staging(lake, original))
    assert rows(lake) == ROWS
    assert len(lake.table().schemas()) == 3


OWN: Final = "id BIGINT, at TIMESTAMP, v STRING"
FIRST: Final = "(1, TIMESTAMP '2024-01-01', 'a'), (3, TIMESTAMP '2024-01-03', 'c')"


def wider(lake: Lake, column: str) -> list[tuple[object, ...]]:
    """All rows, once a later write has added a column."""
    late = f"SELECT 20L AS id, TIMESTAMP '2024-01-02' AS at, 'late' AS v, 'new' AS {column}"
    columns = (*COLUMNS, Column(name=column, type="string"))
    day = OverwriteIntervals(intervals=(days(2, 2),), axis=AXIS)
    returned = {each.name: each.type for each in columns}
    published(lake, lake.staging(late, write=day, columns=columns, returned=returned))
    return lake.rows(f"SELECT id, v, {column} FROM {{own}} ORDER BY id")


def test_a_new_column_never_has_the_id_of_one_that_the_model_lacks(lake: Lake) -> None:
    """The model's are the original's first ones, with the ids that a new table has anyway."""
    original = Plain(lake, f"{OWN}, secret STRING")
    original.insert("(1, TIMESTAMP '2024-01-01', 'a', 's'), (3, TIMESTAMP '2024-01-03', 'c', 's')")
    published(lake, staging(lake, original))
    assert wider(lake, "other") == [(1, "a", None), (3, "c", None), (20, "late", "new")]


def test_nor_that_of_one_which_the_original_got_after_a_first_attempt(lake: Lake) -> None:
    original = Plain(lake, f"junk INT, {OWN}")
    original.insert("(0, 1, TIMESTAMP '2024-01-01', 'a')")
    lake.engine.stage(staging(lake, original))
    original.run("ALTER TABLE {t} ADD COLUMN secret STRING")
    original.insert("(0, 3, TIMESTAMP '2024-01-03', 'c', 's')")
    published(lake, staging(lake, original))
    assert wider(lake, "other") == [(1, "a", None), (3, "c", None), (20, "late", "new")]


@pytest.mark.parametrize("version, form", [(1, "parquet"), (1, "avro"), (3, "orc")])
def test_files_of_other_forms_and_of_other_versions_of_the_format(
    lake: Lake, version: int, form: str
) -> None:
    properties = f"'format-version' = '{version}', 'write.format.default' = '{form}'"
    original = Plain(lake, OWN, f"PARTITIONED BY (months(at)) TBLPROPERTIES ({properties})")
    original.insert(f"{FIRST}, (4, TIMESTAMP '2024-01-09', 'd')")
    published(lake, staging(lake, original))
    assert rows(lake) == [(1, "a"), (3, "c")]
    assert wider(lake, "other")[1:] == [(3, "c", None), (20, "late", "new")]


def test_times_that_no_calendar_of_ours_has_are_of_other_times(lake: Lake) -> None:
    original = Plain(lake, OWN)
    last = "TIMESTAMP '9999-12-31 23:59:59.999999'"
    original.insert(f"{FIRST}, (4, {last}, 'd'), (5, TIMESTAMP '0001-01-01', 'e')")
    published(lake, staging(lake, original))
    assert rows(lake) == [(1, "a"), (3, "c")]


def test_files_without_column_ids_are_refused(lake: Lake, tmp_path: Path) -> None:
    """Iceberg gives a column that is added later the values of that name in such files."""
    original = Plain(lake, OWN)
    lake.spark.sql(f"SELECT * FROM VALUES {FIRST} AS _(id, at, v)").write.parquet(f"{tmp_path}/old")
    original.run(
        f"CALL {lake.iceberg.name}.system.add_files(table => '{original.name}', "
        f"source_table => '`parquet`.`{tmp_path}/old`')"
    )
    with pytest.raises(EvaluationFailed, match="have no column ids"):
        lake.engine.stage(staging(lake, original))


def test_columns_that_were_changed_since_they_were_looked_at_are_not_mixed_up(lake: Lake) -> None:
    original = Plain(lake, f"{OWN}, w STRING")
    original.insert("(1, TIMESTAMP '2024-01-01', 'v', 'w')")
    unit = staging(lake, original)
    for change in ("v TO x", "w TO v", "x TO w"):
        original.run(f"ALTER TABLE {{t}} RENAME COLUMN {change}")
    with pytest.raises(EvaluationFailed, match=r"have changed\. Run the command again"):
        lake.engine.stage(unit)
    published(lake, staging(lake, original))
    assert rows(lake) == [(1, "w")]
