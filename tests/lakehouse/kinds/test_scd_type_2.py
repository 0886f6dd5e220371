"""Histories on every engine: the seed's tables row for row, and which files Iceberg writes."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import pytest
from sqlglot import exp

from tests.core.model.history_reference import Record, Rules, look
from tests.core.model.history_tables import (
    BY_COLUMN,
    BY_TIME,
    OF_SNAPSHOTS,
    SNAPSHOTS,
    Load,
    Row,
    instant,
    printed,
)
from tests.core.model.kept_history import COLUMN, TIME, day, ordered
from tests.worlds.catalog import MemoryCatalog
from tests.worlds.engine import MemoryEngine
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.unit_of_work import PlannedWrite, SqlRows, Staged, Staging
from vde_dagster.core.model.history import History
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.storage import PartitionField, Storage, Transform
from vde_dagster.core.model.writes import KeepHistory
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.catalog import Catalog
from vde_dagster.ports.engine import Engine

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyiceberg.table import Table
    from pyspark.sql import SparkSession

    from tests.conftest import SparkLake

TYPES: Final = {
    "id": "int",
    "name": "string",
    "price": "decimal(10,2)",
    "some_value": "int",
    "ds": "timestamp",
    "updated_at": "timestamp",
}
CLOSED: Final = Storage(
    partitioned_by=(PartitionField(column="valid_to", transform=Transform.YEARS),)
)


@dataclass
class Lake:
    """A history of its own. ``spark`` is None where the engine is another one."""

    engine: Engine
    catalog: Catalog
    key: VersionKey
    spark: SparkSession | None = None
    iceberg: PyIcebergCatalog | None = None

    def load(
        self,
        history: History,
        columns: Sequence[str],
        *sources: Sequence[Row],
        at: datetime,
        storage: Storage = CLOSED,
        rebuilds: bool = False,
        declared: tuple[Column, ...] = (),
    ) -> Staged:
        """Look at sources, one after the other, in one unit of work, and publish."""
        table = self.catalog.table(self.key.table)
        staging = Staging(
            work_id=uuid.uuid4().hex,
            target=self.key,
            base=table.iceberg_snapshot_id if table else None,
            parts=tuple(
                PlannedWrite(
                    rows=SqlRows(sql=query(columns, rows)),
                    inputs={},
                    write=KeepHistory(
                        interval=days(number),
                        history=history,
                        execution_time=at,
                        is_first=not number and (rebuilds or table is None),
                    ),
                )
                for number, rows in enumerate(sources)
            ),
            storage=storage,
            rebuilds=rebuilds,
            columns=declared,
        )
        staged = self.engine.stage(staging)
        assert staged.iceberg_snapshot_id is not None
        self.catalog.publish(self.key.table, base=staging.base, staged=staged.iceberg_snapshot_id)
        return staged

    def stage(self, history: History, sql: str) -> Staged:
        """Look at what a query returns, and do not publish."""
        write = KeepHistory(interval=days(0), history=history, execution_time=day(1), is_first=True)
        part = PlannedWrite(rows=SqlRows(sql=sql), inputs={}, write=write)
        return self.engine.stage(
            Staging(work_id=uuid.uuid4().hex, target=key(), base=None, parts=(part,))
        )

    def rows(self) -> list[Row]:
        """What readers see. On Iceberg, that is a reader without Spark."""
        if self.iceberg is not None:
            stored = self._table().scan().to_arrow().to_pylist()
            return [tuple(each.values()) for each in stored]
        _, found = self.engine.fetch(f"SELECT * FROM {self.key.table}", limit=10_000)
        return [tuple(each) for each in found]

    def closed_files(self) -> set[str]:
        """The data files that have closed rows."""
        if self.iceberg is None:
            return set()
        found = self._table().scan(row_filter="valid_to IS NOT NULL").plan_files()
        return {each.file.file_path for each in found}

    def _table(self) -> Table:
        assert self.iceberg is not None
        return self.iceberg.load_table((self.key.table.namespace, self.key.table.name))


def days(number: int) -> Interval:
    return Interval(day(1) + timedelta(days=number), day(2) + timedelta(days=number))


def query(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Rows as a query that states the type of every column."""
    typed = [
        exp.cast(exp.column(name), exp.DataType.build(TYPES[name], dialect="spark")).as_(name)
        for name in columns
    ]
    written = [[value_of(cell) for cell in row] for row in rows or [(None,) * len(columns)]]
    values = exp.values([tuple(row) for row in written], alias="_rows", columns=columns)
    found = exp.select(*typed).from_(values)
    return (found if rows else found.where(exp.false())).sql("spark")


def value_of(cell: object) -> exp.Expr:
    return exp.null() if cell is None else exp.Literal.string(str(cell))


def key() -> VersionKey:
    return VersionKey(ModelName(f"h{uuid.uuid4().hex[:8]}", "menu"), uuid.uuid4().hex)


@pytest.fixture
def memory_lake() -> Lake:
    catalog = MemoryCatalog()
    return Lake(engine=MemoryEngine(catalog), catalog=catalog, key=key())


@pytest.fixture
def spark_lake_of_histories(spark: SparkSession, spark_lake: SparkLake) -> Lake:
    from vde_dagster.lakehouse.iceberg_catalog import IcebergCatalog
    from vde_dagster.lakehouse.spark_engine import SparkEngine

    catalog = spark_lake.iceberg()
    return Lake(
        engine=SparkEngine(lambda: spark, spark_lake.catalog, lambda: catalog),
        catalog=IcebergCatalog(catalog),
        key=key(),
        spark=spark,
        iceberg=catalog,
    )


@pytest.fixture(
    params=["memory_lake", pytest.param("spark_lake_of_histories", marks=pytest.mark.spark)]
)
def lake(request: pytest.FixtureRequest) -> Lake:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Lake)
    return found


SPARK_IN_FULL_FORM: Final = pytest.mark.parametrize(
    "lake",
    [
        "memory_lake",
        pytest.param("spark_lake_of_histories", marks=[pytest.mark.spark, pytest.mark.full]),
    ],
    indirect=True,
)


@pytest.mark.full
@pytest.mark.parametrize(
    "lake,history,loads",
    [
        pytest.param("memory_lake", TIME, BY_TIME, id="memory-by time"),
        pytest.param("memory_lake", COLUMN, BY_COLUMN, id="memory-by column"),
        pytest.param(
            "spark_lake_of_histories", TIME, BY_TIME, id="spark-by time", marks=pytest.mark.spark
        ),
        pytest.param(
            "spark_lake_of_histories",
            COLUMN,
            BY_COLUMN,
            id="spark-by column",
            marks=[pytest.mark.spark, pytest.mark.full],
        ),
    ],
    indirect=["lake"],
)
def test_the_loads_of_the_menu_give_the_printed_tables(
    lake: Lake, history: History, loads: list[Load]
) -> None:
    """No file with closed rows is ever written again; what is recorded is the table's change."""
    columns, _ = printed(loads[0][1])
    recorded = RowSum()
    files: set[str] = set()
    for at, source, expected in loads:
        staged = lake.load(history, columns, printed(source)[1], at=instant(at))
        assert ordered(lake.rows()) == ordered(printed(expected)[1])
        closed = lake.closed_files()
        assert files <= closed
        files = closed
        recorded += total(staged.sums[0].values())
    assert files or lake.spark is None
    assert recorded.rows == len(lake.rows())
    at, source, _ = loads[-1]
    again = lake.load(history, columns, printed(source)[1], at=instant(at))
    assert [each.name for each in again.columns] == [*columns, "valid_from", "valid_to"]
    assert again.sums == ({days(0): RowSum()},)
    assert lake.closed_files() == files


@SPARK_IN_FULL_FORM
@pytest.mark.parametrize("closes", [False, True])
def test_after_an_empty_first_load_a_row_is_valid_from_its_own_time(
    lake: Lake, closes: bool
) -> None:
    columns = ("id", "updated_at")
    history = replace(TIME, closes_missing=closes)
    lake.load(history, columns, [], [(1, day(2))], at=day(3))
    assert lake.rows() == [(1, day(2), day(2), None)]
    lake.load(history, columns, [(1, day(2)), (2, None)], at=day(4))
    assert ordered(lake.rows()) == [(1, day(2), day(2), None), (2, None, day(4), None)]


@pytest.mark.parametrize("metrics", ["default", pytest.param("none", marks=pytest.mark.full)])
def test_it_is_known_whether_a_history_ends(lake: Lake, metrics: str) -> None:
    """By the metadata of its files, or by its rows where that says nothing."""
    columns = ("id", "updated_at")
    first = lake.load(TIME, columns, [(1, day(2)), (2, day(2))], at=day(3))
    if metrics == "none" and lake.spark is not None:
        lake.spark.sql(
            f"ALTER TABLE lake.{lake.key.table} SET TBLPROPERTIES "
            "('write.metadata.metrics.default' = 'none')"
        )
    fewer = lake.load(TIME, columns, [(2, day(2))], at=day(4))
    ended = lake.load(TIME, columns, [], at=day(5))
    after = lake.load(TIME, columns, [], at=day(6))
    again = lake.load(TIME, columns, [(3, day(6))], at=day(7))
    found = [each.ends_history for each in (first, fewer, ended, after, again)]
    assert found == [False, False, True, False, False]
    kept = replace(TIME, closes_missing=False)
    assert not lake.load(kept, columns, [], at=day(8)).ends_history


@SPARK_IN_FULL_FORM
def test_snapshots_of_days_one_after_the_other_give_the_printed_table(lake: Lake) -> None:
    history = replace(TIME, updated_at="ds", compared=("some_value",), closes_missing=False)
    columns, rows = printed(SNAPSHOTS)
    staged = lake.load(
        history, columns, *([row] for row in rows), at=datetime(2025, 6, 1, tzinfo=UTC)
    )
    assert ordered(lake.rows()) == ordered(printed(OF_SNAPSHOTS)[1])
    assert [sums[days(number)].rows for number, sums in enumerate(staged.sums)] == [1, 1, 1, 0]


@SPARK_IN_FULL_FORM
def test_any_history_is_the_one_that_is_kept_by_hand(lake: Lake) -> None:
    """Composite keys with NULL, out of order, gone and back, without times; an empty load, too."""
    columns = ("some_value", "id", "name", "updated_at")
    rules = Rules(
        key=("some_value", "id"),
        updated_at="updated_at",
        compared=None,
        from_epoch=True,
        closes_missing=True,
    )
    history = replace(TIME, key=("some_value", "id"))
    chance = random.Random("by hand")
    records: list[Record] = []
    sources = [some_rows(chance), some_rows(chance), [], some_rows(chance), some_rows(chance)]
    lake.load(history, columns, *sources[:2], at=day(3))
    for number, source in enumerate(sources):
        at = day(3) if number < 2 else day(1) + timedelta(hours=30 * number)
        if number >= 2:
            lake.load(history, columns, source, at=at)
        values = [dict(zip(columns, row, strict=True)) for row in source]
        records = look(records, values, at, rules, is_first=number == 0)
    expected: list[Row] = [
        (*(each.values[name] for name in columns), each.valid_from, each.valid_to)
        for each in records
    ]
    assert ordered(lake.rows()) == ordered(expected)


def some_rows(chance: random.Random) -> list[Row]:
    names, times = [None, "a", "b"], [None, *map(day, range(1, 6))]
    return [
        (number, key, chance.choice(names), chance.choice(times))
        for number in range(25)
        for key in chance.sample([None, 1, 2], chance.randint(0, 3))
    ]


def test_columns_whose_values_spark_does_not_compare_are_reported(
    spark_lake_of_histories: Lake,
) -> None:
    lake = spark_lake_of_histories
    history = replace(COLUMN, compared=("*",))
    maps = "SELECT 1 AS id, MAP('a', 1) AS tags, ARRAY(NAMED_STRUCT('x', MAP(1, 2))) AS deep"
    with pytest.raises(EvaluationFailed, match=r"values of tags \(map<string,int>\), deep \(arr"):
        lake.stage(history, maps)
    lake.stage(replace(history, compared=("name",)), f"{maps}, 'a' AS name")


@SPARK_IN_FULL_FORM
def test_a_history_that_is_restated_begins_again(lake: Lake) -> None:
    columns = ("id", "name", "price")
    lake.load(COLUMN, columns, [(1, "a", Decimal(1))], [(1, "b", Decimal(1))], at=day(1))
    staged = lake.load(COLUMN, columns, [(1, "c", Decimal(1))], at=day(2), rebuilds=True)
    assert lake.rows() == [(1, "c", Decimal(1), datetime(1970, 1, 1, tzinfo=UTC), None)]
    assert staged.sums[0][days(0)].rows == 1


@pytest.mark.full
@pytest.mark.spark
def test_a_history_goes_on_after_a_column_was_added(spark_lake_of_histories: Lake) -> None:
    """Rule R11: rows from before have NULL there, and closed ones are not written again."""
    lake = spark_lake_of_histories
    first = [(1, "a", Decimal(1)), (2, "b", Decimal(2))]
    lake.load(COLUMN, ("id", "name", "price"), first, at=day(1))
    assert lake.spark is not None
    lake.spark.sql(f"ALTER TABLE lake.{lake.key.table} ADD COLUMN some_value INT")
    wider = ("id", "name", "price", "some_value")
    lake.load(COLUMN, wider, [(1, "c", Decimal(1), 7), (2, "b", Decimal(2), 8)], at=day(2))
    found = {(row[0], row[1]): (row[4] is None, row[5]) for row in lake.rows()}
    assert found == {(1, "a"): (False, None), (1, "c"): (True, 7), (2, "b"): (True, None)}


@pytest.mark.full
def test_rows_that_share_a_key_are_an_error_that_names_some(lake: Lake) -> None:
    columns = ("id", "name", "price")
    first = [(1, "a", Decimal(1)), (2, "b", Decimal(2))]
    lake.load(COLUMN, columns, first, at=day(1))
    copies = [(number, "x", Decimal(9)) for number in [*range(10, 17), None] for _ in range(2)]
    with pytest.raises(EvaluationFailed) as caught:
        lake.load(COLUMN, columns, [*first, *copies], at=day(2))
    assert "rows share the key (id) = (10), (11), (12), (13), (14) and others. A key" in str(
        caught.value
    )
    # Where nothing else changes, two rows that are there already are as wrong.
    with pytest.raises(EvaluationFailed, match=r"share the key \(id\) = \(1\)\. A key"):
        lake.load(COLUMN, columns, [*first, first[0]], at=day(2))
    assert len(lake.rows()) == len(first)


@SPARK_IN_FULL_FORM  # test_sums_from_storage.py
@pytest.mark.parametrize(
    "time_type,as_type",
    [("timestamp_ntz", "naive"), pytest.param("date", "date", marks=pytest.mark.full)],
)
def test_validity_has_the_names_and_types_that_were_asked_for_behind_own_partitions(
    lake: Lake, time_type: str, as_type: str
) -> None:
    history = replace(
        TIME,
        key=("lower(`Name`)",),
        valid_from=Column(name="began", type=time_type),
        valid_to=Column(name="ended", type=time_type),
    )
    storage = Storage(
        partitioned_by=(
            PartitionField(column="id", transform=Transform.BUCKET, argument=2),
            PartitionField(column="ended", transform=Transform.YEARS),
        )
    )
    columns = ("id", "name", "updated_at")
    own_columns = [Column(name=name, type=TYPES[name]) for name in columns]
    loads: list[list[Row]] = [
        [(1, "a", day(1)), (2, "b", day(1))],
        [(1, "A", day(2, 5)), (2, "b", day(1))],
        [(1, "A", day(2, 5))],
    ]
    # A header declares columns with or without those that are added, or only these.
    declared = (Column(name="id", type="bigint"), *own_columns[1:])
    headers = [declared, (*declared, history.valid_from, history.valid_to), (history.valid_to,)]
    staged = [
        lake.load(
            history,
            columns,
            source,
            at=day(number, 11),
            storage=storage,
            declared=headers[number - 1],
        )
        for number, source in enumerate(loads, start=1)
    ]

    def shown(at: datetime) -> object:
        return date(at.year, at.month, at.day) if as_type == "date" else at.replace(tzinfo=None)

    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert ordered(lake.rows()) == ordered(
        [
            (1, "a", day(1), shown(epoch), shown(day(2, 5))),
            (1, "A", day(2, 5), shown(day(2, 5)), None),
            (2, "b", day(1), shown(epoch), shown(day(3, 11))),
        ]
    )
    assert [(each.name, each.type) for each in staged[-1].columns] == [
        ("id", "bigint"),
        ("name", "string"),
        ("updated_at", "timestamp"),
        ("began", time_type),
        ("ended", time_type),
    ]
