"""What every engine promises, on Spark and Iceberg and in memory."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.worlds.catalog import MemoryCatalog
from tests.worlds.engine import MemoryEngine
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, EvaluationFailed
from vde_dagster.core.ledger.dsha import RowSum, total
from vde_dagster.core.ledger.schema_changes import ColumnAdded
from vde_dagster.core.ledger.unit_of_work import (
    AddedBetween,
    AsOf,
    CsvRows,
    FrameRows,
    Input,
    OwnRows,
    PlannedWrite,
    PythonRows,
    RowSource,
    SqlRows,
    Staged,
    Staging,
)
from vde_dagster.core.model.column_rules import ColumnRules, OnChange
from vde_dagster.core.model.layout import time_partition
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import (
    AppendToIntervals,
    OverwriteIntervals,
    ReplaceTable,
    TimeAxisSpec,
    Write,
)
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.sql.spark.type_spelling import field_name
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.core.unit_tests.definition import GivenQuery, GivenRows
from vde_dagster.core.unit_tests.question import FunctionOverRows, QueryOverRows
from vde_dagster.ports.catalog import Catalog
from vde_dagster.ports.engine import Engine, TableRows, UserFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriterV2, SparkSession

    from tests.conftest import SparkLake

START = datetime(2013, 1, 1, tzinfo=UTC)
WHOLE = Interval(START, START + timedelta(days=1))
HOURLY = TimeAxisSpec(column="at", type="timestamp", unit=IntervalUnit.HOUR)


def hours(first: int, last: int) -> Interval:
    return Interval(START + timedelta(hours=first), START + timedelta(hours=last))


def row(number: int, hour: float) -> str:
    at = START + timedelta(hours=hour)
    return (
        f"SELECT CAST({number} AS BIGINT) AS id, CAST('{at.isoformat(sep=' ')}' AS TIMESTAMP) AS at"
    )


def rows(*pairs: tuple[int, float]) -> SqlRows:
    return SqlRows(sql=" UNION ALL ".join(row(*pair) for pair in pairs))


NOTHING = SqlRows(sql=f"SELECT * FROM ({row(1, 1)}) AS _t WHERE FALSE")


@dataclass
class World:
    """One adapter pair, and a model of its own."""

    catalog: Catalog
    engine: Engine
    key: VersionKey
    append: Callable[[TableName, Sequence[tuple[int, datetime]]], int]

    def staging(
        self,
        *parts: PlannedWrite,
        axis: TimeAxisSpec | None = HOURLY,
        columns: tuple[Column, ...] = (),
    ) -> Staging:
        table = self.catalog.table(self.key.table)
        return Staging(
            work_id=uuid.uuid4().hex,
            target=self.key,
            base=table.iceberg_snapshot_id if table else None,
            parts=parts,
            columns=columns,
            storage=Storage(partitioned_by=(time_partition(axis),) if axis else ()),
        )

    def publish(self, staging: Staging) -> Staged:
        staged = self.engine.stage(staging)
        assert staged.iceberg_snapshot_id is not None
        self.catalog.publish(self.key.table, base=staging.base, staged=staged.iceberg_snapshot_id)
        return staged

    def write(self, rows: RowSource, write: Write, **inputs: Input) -> Staged:
        return self.publish(self.staging(PlannedWrite(rows=rows, inputs=inputs, write=write)))

    def overwrite(self, rows: RowSource, *intervals: Interval, **inputs: Input) -> Staged:
        return self.write(rows, OverwriteIntervals(intervals=intervals, axis=HOURLY), **inputs)

    def ids(self) -> list[int]:
        _, found = self.engine.fetch(f"SELECT id FROM {self.key.table} ORDER BY id", limit=1000)
        return [each[0] for each in found if isinstance(each[0], int)]

    def head(self) -> int | None:
        table = self.catalog.table(self.key.table)
        return table.iceberg_snapshot_id if table else None


def _key() -> VersionKey:
    return VersionKey(ModelName(f"m{uuid.uuid4().hex[:8]}", "hourly"), uuid.uuid4().hex)


@pytest.fixture
def spark_world(spark: SparkSession, spark_lake: SparkLake) -> World:
    from vde_dagster.lakehouse.iceberg_catalog import IcebergCatalog
    from vde_dagster.lakehouse.spark_engine import SparkEngine

    catalog = spark_lake.iceberg()

    def append(name: TableName, values: Sequence[tuple[int, datetime]]) -> int:
        if not catalog.table_exists((name.namespace, name.name)):
            spark.sql(f"create namespace if not exists lake.{name.namespace}")
            spark.sql(
                f"create table lake.{name} (id bigint, at timestamp) using iceberg "
                "partitioned by (hours(at))"
            )
        table = catalog.load_table((name.namespace, name.name))
        arrow = table.schema().as_arrow()
        table.append(pa.Table.from_pylist([{"id": i, "at": at} for i, at in values], schema=arrow))
        head = table.metadata.current_snapshot_id
        assert head is not None
        return head

    return World(
        catalog=IcebergCatalog(catalog),
        engine=SparkEngine(lambda: spark, spark_lake.catalog, lambda: catalog),
        key=_key(),
        append=append,
    )


@pytest.fixture
def memory_world() -> World:
    catalog = MemoryCatalog()

    def append(name: TableName, values: Sequence[tuple[int, datetime]]) -> int:
        if catalog.table(name) is None:
            columns = [Column(name="id", type="bigint"), Column(name="at", type="timestamp")]
            catalog.create_table(name, columns, partition_by=HOURLY)
        return catalog.append(name, values)

    return World(catalog=catalog, engine=MemoryEngine(catalog), key=_key(), append=append)


@pytest.fixture(params=["memory", pytest.param("spark", marks=pytest.mark.spark)])
def world(request: pytest.FixtureRequest) -> World:
    found = request.getfixturevalue(f"{request.param}_world")
    assert isinstance(found, World)
    return found


SPARK_IN_FULL_FORM = pytest.mark.parametrize(
    "world",
    ["memory", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.full])],
    indirect=True,
)
"""For what tests of kinds, or of the catalog, show in the short form."""


@SPARK_IN_FULL_FORM  # kinds/test_by_time_range.py
def test_overwriting_replaces_exactly_its_interval(world: World) -> None:
    world.overwrite(rows((1, 0), (2, 1.5), (3, 2)), hours(0, 3))
    staged = world.overwrite(rows((7, 1.2), (8, 1.9)), hours(1, 2))
    assert world.ids() == [1, 3, 7, 8]
    assert {i: s.rows for i, s in staged.sums[0].items()} == {hours(1, 2): 2}


@pytest.mark.full
def test_an_empty_result_empties_the_interval(world: World) -> None:
    world.overwrite(rows((1, 0), (2, 1)), hours(0, 2))
    staged = world.overwrite(NOTHING, hours(1, 2))
    assert world.ids() == [1]
    assert staged.sums == ({hours(1, 2): RowSum()},)


@pytest.mark.full
def test_rows_that_somebody_else_computed_are_staged_like_those_of_a_query(world: World) -> None:
    by_query = world.overwrite(rows((1, 0), (2, 1.5)), hours(0, 2)).sums
    arrow = pa.table(
        {
            "at": pa.array([START, START + timedelta(hours=1.5)], pa.timestamp("us", "UTC")),
            "id": pa.array([1, 2], pa.int64()),
        }
    )
    declared = (Column(name="id", type="bigint"), Column(name="at", type="timestamp"))
    write = OverwriteIntervals(intervals=(hours(0, 2),), axis=HOURLY)
    for frame in (arrow, arrow.to_pandas()):
        given = PlannedWrite(rows=FrameRows(frame=frame, place="mine"), inputs={}, write=write)
        assert world.publish(world.staging(given, columns=declared)).sums == by_query
    assert world.ids() == [1, 2]


@pytest.mark.spark
def test_a_dataframe_of_a_users_session_is_staged_in_that_session(
    spark_world: World, spark: SparkSession
) -> None:
    from vde_dagster.lakehouse.own_session import session_for_users

    users = session_for_users(spark)
    users.sql(rows((1, 0), (2, 1.5)).sql).createOrReplaceTempView("of_a_user")
    frame = users.table("of_a_user")
    by_frame = spark_world.overwrite(FrameRows(frame=frame, place="mine"), hours(0, 2)).sums
    assert spark_world.overwrite(rows((1, 0), (2, 1.5)), hours(0, 2)).sums == by_frame
    with pytest.raises(EvaluationFailed, match=r"mine returns list; return a Spark DataFrame"):
        spark_world.overwrite(FrameRows(frame=[1], place="mine"), hours(0, 2))


@pytest.mark.full
def test_an_empty_first_result_makes_an_empty_table(world: World) -> None:
    staged = world.overwrite(NOTHING, hours(0, 2))
    assert world.ids() == []
    assert staged.sums == ({hours(0, 1): RowSum(), hours(1, 2): RowSum()},)
    assert [each.type for each in staged.columns] == ["bigint", "timestamp"]


@pytest.mark.full
def test_who_shares_the_engine_gets_the_same_as_alone(world: World) -> None:
    world.engine.interrupt()  # nobody shares it, so nobody is concerned
    alone = world.overwrite(rows((1, 0), (2, 1.5)), hours(0, 2)).sums
    with world.engine.sharing("m.x"):
        assert world.overwrite(rows((1, 0), (2, 1.5)), hours(0, 2)).sums == alone
        assert world.ids() == [1, 2]
    assert world.ids() == [1, 2]


@SPARK_IN_FULL_FORM  # kinds/test_by_time_range.py
def test_rows_outside_the_intervals_never_enter(world: World) -> None:
    world.overwrite(rows((1, 0), (2, 1), (3, 3), (4, 2.99)), hours(0, 1), hours(2, 3))
    assert world.ids() == [1, 4]


def test_appending_adds_only_to_the_given_intervals(world: World) -> None:
    world.overwrite(rows((1, 0), (2, 1)), hours(0, 2))
    staged = world.write(
        rows((3, 0.5), (4, 5)), AppendToIntervals(intervals=(hours(0, 2),), axis=HOURLY)
    )
    assert world.ids() == [1, 2, 3]
    assert {i: s.rows for i, s in staged.sums[0].items()} == {hours(0, 1): 1, hours(1, 2): 0}


@pytest.mark.spark
def test_a_write_that_was_committed_twice_is_not_staged(
    spark_world: World, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a client sends a request again whose answer it lost."""
    world, writer = spark_world, type(spark.range(1).writeTo("lake.nowhere"))
    world.overwrite(rows((1, 0)), hours(0, 1))
    once = writer.append

    def twice(self: DataFrameWriterV2) -> None:
        once(self)
        once(self)

    monkeypatch.setattr(writer, "append", twice)
    with pytest.raises(EvaluationFailed, match="committed more than once; nothing was published"):
        world.write(rows((2, 0)), AppendToIntervals(intervals=(hours(0, 1),), axis=HOURLY))
    monkeypatch.undo()
    assert world.ids() == [1]
    world.write(rows((2, 0)), AppendToIntervals(intervals=(hours(0, 1),), axis=HOURLY))
    assert world.ids() == [1, 2]


@pytest.mark.full
def test_a_fill_and_an_append_are_one_unit_of_work(world: World) -> None:
    world.overwrite(rows((1, 0)), hours(0, 1))
    staged = world.publish(
        world.staging(
            PlannedWrite(
                rows=rows((2, 1)),
                inputs={},
                write=OverwriteIntervals(intervals=(hours(1, 2),), axis=HOURLY),
            ),
            PlannedWrite(
                rows=rows((3, 0.5)),
                inputs={},
                write=AppendToIntervals(intervals=(hours(0, 1),), axis=HOURLY),
            ),
        )
    )
    assert world.ids() == [1, 2, 3]
    assert [{i: s.rows for i, s in each.items()} for each in staged.sums] == [
        {hours(1, 2): 1},
        {hours(0, 1): 1},
    ]


@pytest.mark.parametrize(
    "type_, unit, step",
    [
        ("date", IntervalUnit.MONTH, timedelta(days=31)),
        pytest.param(
            "timestamp", IntervalUnit.YEAR, timedelta(days=365), marks=pytest.mark.full
        ),  # kinds/test_sums_from_storage.py
    ],
)
def test_each_type_of_time_column_has_its_cells(
    world: World, type_: str, unit: IntervalUnit, step: timedelta
) -> None:
    axis = TimeAxisSpec(column="at", type=type_, unit=unit)
    first = Interval(START, unit.following(START))
    second = Interval(first.end, unit.following(first.end))
    sql = " UNION ALL ".join(
        f"SELECT {n} AS id, CAST('{at.replace(tzinfo=None).isoformat(sep=' ')}' AS {type_}) AS at"
        for n, at in [(1, START), (2, START + step), (3, START + 9 * step)]
    )
    write = OverwriteIntervals(intervals=(Interval(START, second.end),), axis=axis)
    staged = world.publish(
        world.staging(PlannedWrite(rows=SqlRows(sql=sql), inputs={}, write=write), axis=axis)
    )
    assert {i: s.rows for i, s in staged.sums[0].items()} == {first: 1, second: 1}
    assert [each.type for each in staged.columns] == ["int", type_]


@SPARK_IN_FULL_FORM  # kinds/test_whole_tables.py
def test_replacing_a_table_leaves_only_the_new_rows(world: World) -> None:
    part = PlannedWrite(rows=rows((1, 0), (2, 1)), inputs={}, write=ReplaceTable(interval=WHOLE))
    world.publish(world.staging(part, axis=None))
    staged = world.publish(world.staging(replace(part, rows=SqlRows(sql=row(5, 9))), axis=None))
    assert world.ids() == [5]
    assert {i: s.rows for i, s in staged.sums[0].items()} == {WHOLE: 1}


@pytest.mark.full
def test_inputs_are_pinned_against_later_commits(world: World) -> None:
    """Rule R3: what is committed meanwhile is not read."""
    source = TableName(f"raw_{uuid.uuid4().hex[:8]}", "events")
    first = world.append(source, [(1, START), (2, START)])
    world.append(source, [(3, START)])
    world.overwrite(
        SqlRows(sql="SELECT id, at FROM src"),
        hours(0, 1),
        src=AsOf(table=source, iceberg_snapshot_id=first),
    )
    assert world.ids() == [1, 2]


def test_a_table_without_any_snapshot_is_read_as_empty(world: World) -> None:
    source = TableName(f"raw_{uuid.uuid4().hex[:8]}", "events")
    world.append(source, [(1, START)])
    world.overwrite(
        SqlRows(sql="SELECT id, at FROM src"),
        hours(0, 1),
        src=AsOf(table=source, iceberg_snapshot_id=None),
    )
    assert world.ids() == []


@pytest.mark.full
def test_added_rows_are_exactly_those_of_later_appends(world: World) -> None:
    source = TableName(f"raw_{uuid.uuid4().hex[:8]}", "events")
    first = world.append(source, [(1, START)])
    world.append(source, [(2, START)])
    until = world.append(source, [(3, START)])
    world.append(source, [(4, START)])
    world.overwrite(
        SqlRows(sql="SELECT id, at FROM src"),
        hours(0, 1),
        src=AddedBetween(table=source, after=first, until=until),
    )
    assert world.ids() == [2, 3]


@pytest.mark.full
def test_nothing_is_visible_before_it_is_published(world: World) -> None:
    world.overwrite(rows((1, 0)), hours(0, 1))
    before = world.head()
    part = PlannedWrite(
        rows=rows((2, 0)),
        inputs={},
        write=OverwriteIntervals(intervals=(hours(0, 1),), axis=HOURLY),
    )
    staging = world.staging(part)
    staged = world.engine.stage(staging)
    assert world.ids() == [1]
    assert world.head() == before
    assert staged.iceberg_snapshot_id not in (None, before)


@SPARK_IN_FULL_FORM  # test_catalog_contract.py
def test_publishing_twice_changes_nothing(world: World) -> None:
    first = world.overwrite(rows((1, 0)), hours(0, 1)).iceberg_snapshot_id
    second = world.overwrite(rows((2, 1)), hours(1, 2)).iceberg_snapshot_id
    assert first is not None
    assert second is not None
    world.catalog.publish(world.key.table, base=first, staged=second)
    world.catalog.publish(world.key.table, base=None, staged=first)
    assert world.head() == second
    assert world.ids() == [1, 2]


@SPARK_IN_FULL_FORM  # test_catalog_contract.py
def test_publishing_on_a_moved_table_is_a_conflict(world: World) -> None:
    world.overwrite(rows((1, 0)), hours(0, 1))
    part = PlannedWrite(
        rows=rows((2, 1)),
        inputs={},
        write=OverwriteIntervals(intervals=(hours(1, 2),), axis=HOURLY),
    )
    staging = world.staging(part)
    staged = world.engine.stage(staging)
    world.overwrite(rows((3, 2)), hours(2, 3))
    assert staged.iceberg_snapshot_id is not None
    with pytest.raises(Conflict, match="moved"):
        world.catalog.publish(world.key.table, base=staging.base, staged=staged.iceberg_snapshot_id)
    assert world.ids() == [1, 3]


@pytest.mark.full
@pytest.mark.parametrize(
    "world,first",
    [
        ("memory", True),
        ("memory", False),
        pytest.param("spark", True, marks=[pytest.mark.spark, pytest.mark.full]),
        pytest.param("spark", False, marks=pytest.mark.spark),
    ],
    indirect=["world"],
)
def test_a_branch_of_a_dead_attempt_is_replaced(world: World, first: bool) -> None:
    if not first:
        world.overwrite(rows((1, 0)), hours(0, 1))
    write = AppendToIntervals(intervals=(hours(0, 1),), axis=HOURLY)
    staging = world.staging(PlannedWrite(rows=rows((2, 0.5)), inputs={}, write=write))
    world.engine.stage(staging)
    staged = world.publish(staging)
    assert world.ids() == ([2] if first else [1, 2])
    assert total(staged.sums[0].values()).rows == 1
    world.catalog.drop_branch(world.key.table, staging.work_id)
    world.catalog.drop_branch(world.key.table, staging.work_id)


@pytest.mark.full
def test_a_failed_query_leaves_nothing_visible(world: World) -> None:
    world.overwrite(rows((1, 0)), hours(0, 1))
    before = world.head()
    failing = SqlRows(sql=f"SELECT CAST('x' || id AS BIGINT) AS id, at FROM ({row(1, 0)}) AS _t")
    with pytest.raises(EvaluationFailed, match=str(world.key)):
        world.overwrite(failing, hours(0, 1))
    assert world.head() == before
    assert world.ids() == [1]


@pytest.mark.full
def test_a_query_that_does_not_fit_is_named(world: World) -> None:
    source = TableName(f"raw_{uuid.uuid4().hex[:8]}", "events")
    head = world.append(source, [(1, START)])
    world.overwrite(rows((1, 0)), hours(0, 1))
    for sql, reported in (
        ("SELECT nonsense FROM src", "nonsense"),
        ("SELECT id FROM src", "lacks at"),
    ):
        with pytest.raises(EvaluationFailed, match=reported):
            world.overwrite(
                SqlRows(sql=sql), hours(0, 1), src=AsOf(table=source, iceberg_snapshot_id=head)
            )


SEED = (
    Column(name="code", type="string"),
    Column(name="amount", type="decimal(10,2)"),
    Column(name="day", type="date"),
    Column(name="at", type="timestamp"),
    Column(name="open", type="boolean"),
)


def seed(world: World, text: str) -> Staged:
    part = PlannedWrite(rows=CsvRows(text=text), inputs={}, write=ReplaceTable(interval=WHOLE))
    return world.publish(world.staging(part, axis=None, columns=SEED))


@pytest.mark.parametrize(
    "text, reported",
    [
        ("code,amount,day,at,open\na,1,2013-01-01,,true\nb,x,,,\n", "line 3: column amount: 'x'"),
        ('code,amount,day,at,open\n"a\nb",1,2013-13-01,,\n', "line 2: column day: '2013-13-01'"),
        ("code,amount,day,at,open\na,1.234,,,\n", "line 2: column amount"),
        ("code,amount,day,at\na,1,,\n", "line 1: the header"),
        ("code,amount,day,at,open\na,1,\n", "line 2: there are 3 cells"),
    ],
)
def test_a_wrong_seed_cell_is_named_with_its_line(world: World, text: str, reported: str) -> None:
    with pytest.raises(EvaluationFailed, match=reported):
        seed(world, text)


@SPARK_IN_FULL_FORM  # kinds/test_whole_tables.py, kinds/test_sums_from_storage.py
def test_sums_do_not_depend_on_order_or_on_how_rows_were_written(world: World) -> None:
    one = world.overwrite(rows((1, 0), (2, 0.5), (3, 1)), hours(0, 2)).sums[0]
    other = world.overwrite(rows((3, 1), (2, 0.5), (1, 0)), hours(0, 2)).sums[0]
    assert one == other
    first = world.overwrite(rows((1, 0)), hours(0, 2)).sums[0]
    added = world.write(
        rows((3, 1), (2, 0.5)), AppendToIntervals(intervals=(hours(0, 2),), axis=HOURLY)
    ).sums[0]
    assert {cell: first[cell] + added[cell] for cell in one} == one


@SPARK_IN_FULL_FORM  # kinds/test_sums_from_storage.py
def test_the_sums_of_intervals_add_up_to_the_sum_of_the_whole(world: World) -> None:
    whole = rows((1, 0), (2, 0.5), (3, 1), (3, 1))
    parts = world.overwrite(whole, hours(0, 2)).sums[0]
    replaced = world.write(whole, ReplaceTable(interval=WHOLE)).sums[0]
    assert total(parts.values()) == replaced[WHOLE]


@pytest.mark.full
def test_a_view_selects_what_lies_in_the_tables(world: World) -> None:
    world.overwrite(rows((1, 0), (2, 0)), hours(0, 1))
    view = TableName(world.key.table.namespace, "a_view")
    columns = world.engine.create_view(view, f"SELECT id AS number FROM {world.key.table}")
    assert [(each.name, each.type) for each in columns] == [("number", "bigint")]
    world.overwrite(rows((1, 0)), hours(0, 1))
    assert world.engine.fetch(f"SELECT * FROM {view}", limit=9) == (("number",), [(1,)])
    with pytest.raises(EvaluationFailed, match="nonsense"):
        world.engine.create_view(view, f"SELECT nonsense FROM {world.key.table}")
    with pytest.raises(EvaluationFailed):
        world.engine.create_view(world.key.table, "SELECT 1 AS one")


def test_fetch_returns_no_more_than_it_is_asked_for(world: World) -> None:
    names, found = world.engine.fetch(rows((1, 0), (2, 0), (3, 0)).sql, limit=2)
    assert names == ("id", "at")
    assert len(found) == 2


@pytest.mark.full
def test_a_preview_shows_what_a_query_gives_over_what_it_reads_and_writes_nothing(
    world: World,
) -> None:
    world.overwrite(rows((1, 0), (2, 1)), hours(0, 2))
    pinned = AsOf(table=world.key.table, iceberg_snapshot_id=world.head())
    world.overwrite(rows((3, 1)), hours(1, 2))
    head = world.head()
    names, found = world.engine.preview(
        SqlRows(sql="SELECT id + 10 AS more FROM an_input ORDER BY id"),
        {"an_input": pinned},
        (),
        model="m.x",
        limit=9,
    )
    assert (names, list(found)) == (("more",), [(11,), (12,)])
    assert world.head() == head
    seed = CsvRows(text="n\n1\n2\n")
    assert len(world.engine.preview(seed, {}, (), model="m.x", limit=1)[1]) == 1
    with pytest.raises(EvaluationFailed, match=r"m\.x: .*nonsense"):
        world.engine.preview(SqlRows(sql="SELECT nonsense"), {}, (), model="m.x", limit=1)


def ids_of(frame: UserFrame) -> list[object]:
    return sorted((row[0] for row in frame.collect()), key=str)


PEOPLE = GivenRows(
    columns=(
        Column(name="id", type="bigint"),
        Column(name="at", type="timestamp"),
        Column(name="name", type="string"),
        Column(name="nothing", type="void"),
    ),
    rows=((1, START, "a", None), (2, START + timedelta(hours=1), None, None)),
)


def test_a_query_over_given_rows_is_answered_and_writes_nothing(world: World) -> None:
    sql = "SELECT id + 1 AS next, at, name FROM `given` WHERE at >= TIMESTAMP '2013-01-01 01:00'"
    asked = QueryOverRows(rows=SqlRows(sql=sql), tables={"given": PEOPLE})
    found = world.engine.answer(asked, subject="m.x")
    assert [each.name for each in found.columns] == ["next", "at", "name"]
    assert [each.type for each in found.columns] == ["bigint", "timestamp", "string"]
    assert [tuple(row) for row in found.rows] == [(3, START + timedelta(hours=1), None)]
    nothing = QueryOverRows(
        rows=SqlRows(sql="SELECT id FROM `given`"),
        tables={"given": GivenRows(columns=PEOPLE.columns, rows=())},
    )
    assert world.engine.answer(nothing, subject="m.x").rows == ()
    wrong = QueryOverRows(rows=SqlRows(sql="SELECT nonsense FROM `given`"), tables=asked.tables)
    with pytest.raises(EvaluationFailed, match=r"m\.x: .*nonsense"):
        world.engine.answer(wrong, subject="m.x")


def test_nested_values_are_given_and_answered(spark_world: World) -> None:
    kinds = {
        "a": "array<int>",
        "m": "map<string,array<date>>",
        "s": "struct<x:int,y:struct<z:decimal(9,2)>>",
        "b": "binary",
        "n": "timestamp_ntz",
        "f": "float",
    }
    values = (
        [1, None],
        {"k": [date(2013, 1, 1)]},
        {"x": 1, "y": {"z": Decimal("1.50")}},
        b"\x00",
        datetime(2013, 1, 1),
        0.5,
    )
    given = GivenRows(
        columns=tuple(Column(name=name, type=kind) for name, kind in kinds.items()),
        rows=(values, (None,) * len(values)),
    )
    asked = QueryOverRows(rows=SqlRows(sql="SELECT * FROM `t`"), tables={"t": given})
    found = spark_world.engine.answer(asked, subject="m.x")
    assert {each.name: each.type for each in found.columns} == kinds
    assert sorted(found.rows, key=str) == [given.rows[1], values]


@pytest.mark.full
def test_fields_whose_names_need_quotes_are_stored_and_described(spark_world: World) -> None:
    names = ("User-Agent", "a b", "select", "1x", "x`y", "ü", "a,b:c<d>")
    fields = ", ".join(f"'{name}', {at}" for at, name in enumerate(names))
    made = f"SELECT 1 AS id, named_struct({fields}, 'in', array(named_struct('Aa-b', 1))) AS s"

    def write(sql: str) -> Staged:
        whole = ReplaceTable(interval=WHOLE)
        part = PlannedWrite(rows=SqlRows(sql=sql), inputs={}, write=whole)
        return spark_world.publish(spark_world.staging(part, axis=None))

    staged = write(made)
    kind = "struct<" + ",".join(f"{field_name(name)}:int" for name in names)
    kind += ",in:array<struct<`Aa-b`:int>>>"
    key = spark_world.key.table
    table = spark_world.catalog.table(key)
    assert table is not None
    for columns in (staged.columns, table.columns):
        assert {each.name: each.type for each in columns}["s"] == kind
    spark_world.catalog.evolve(key, [ColumnAdded(column="more", type=kind)])
    write(made.replace("AS s", f"AS s, CAST(NULL AS {kind}) AS more"))
    table = spark_world.catalog.table(key)
    assert table is not None
    assert {each.name: each.type for each in table.columns}["more"] == kind
    read = f"SELECT s.`User-Agent`, s.`a,b:c<d>` FROM {key}"
    _, found = spark_world.engine.fetch(read, limit=9)
    assert [tuple(each) for each in found] == [(0, 6)]


def test_a_python_model_is_asked_over_given_rows(spark_world: World) -> None:
    function = PythonRows(
        source=(
            "def rows(context):\n"
            "    people = context.table('a.people')\n"
            "    return people.crossJoin(context.table('a.one')).selectExpr(\n"
            "        'id', 'one', f\"'{context.start.date()}' AS day\", "
            "f\"{context.var('least')} AS least\")\n"
        ),
        function="rows",
        path="models/m.py",
        interval=WHOLE,
        execution_time=START,
        variables={"least": 3},
    )
    asked = FunctionOverRows(
        rows=function,
        tables={"a.people": PEOPLE, "a.one": GivenQuery(sql="SELECT 1 AS one")},
        columns=(),
    )
    found = spark_world.engine.answer(asked, subject="a.m")
    assert sorted(found.rows) == [(1, 1, "2013-01-01", 3), (2, 1, "2013-01-01", 3)]


def test_a_users_code_reads_a_table_as_it_was_at_an_iceberg_snapshot(world: World) -> None:
    world.overwrite(rows((1, 0), (2, 1)), hours(0, 2))
    pinned = world.head()
    world.overwrite(rows((3, 1), (4, 1.5)), hours(1, 2))
    then = world.engine.read(TableRows(table=world.key.table, iceberg_snapshot_id=pinned))
    now = world.engine.read(TableRows(table=world.key.table))
    assert (list(then.columns), ids_of(then)) == (["id", "at"], [1, 2])
    assert ids_of(now) == [1, 3, 4]
    world.overwrite(NOTHING, hours(0, 2))
    assert ids_of(then) == [1, 2], "whatever is committed before the rows are fetched"


def test_a_users_code_reads_the_rows_of_intervals(world: World) -> None:
    world.overwrite(rows((1, 0), (2, 0.99), (3, 1), (4, 2.5), (5, 3)), hours(0, 4))
    some = TableRows(
        table=world.key.table,
        iceberg_snapshot_id=world.head(),
        axis=HOURLY,
        intervals=(hours(0, 1), hours(2, 3)),
    )
    assert ids_of(world.engine.read(some)) == [1, 2, 4]
    assert ids_of(world.engine.read(replace(some, iceberg_snapshot_id=None))) == [1, 2, 4]
    assert ids_of(world.engine.read(replace(some, intervals=()))) == []
    named = world.engine.read(replace(some, columns=("AT", "ID")))
    assert [each.lower() for each in named.columns] == ["at", "id"]
    assert named.toArrow().to_pylist()[0].keys() == set(named.columns)


def test_a_users_code_reads_intervals_of_a_time_that_is_written_as_text(world: World) -> None:
    written = (
        "SELECT CAST(1 AS BIGINT) AS id, '20130101' AS day UNION ALL "
        "SELECT CAST(2 AS BIGINT) AS id, '20130102' AS day"
    )
    world.publish(
        world.staging(
            PlannedWrite(rows=SqlRows(sql=written), inputs={}, write=ReplaceTable(interval=WHOLE)),
            axis=None,
        )
    )
    axis = TimeAxisSpec(column="day", type="string", unit=IntervalUnit.DAY, format="%Y%m%d")
    found = world.engine.read(TableRows(table=world.key.table, axis=axis, intervals=(WHOLE,)))
    assert ids_of(found) == [1]


@pytest.mark.full
def test_a_users_code_reads_a_view_and_missing_ones_are_reported(world: World) -> None:
    world.overwrite(rows((1, 0), (2, 0)), hours(0, 1))
    view = TableName(world.key.table.namespace, "for_users")
    world.engine.create_view(view, f"SELECT id + 10 AS number FROM {world.key.table}")
    found = world.engine.read(TableRows(table=view))
    assert (list(found.columns), ids_of(found)) == (["number"], [11, 12])
    nowhere = TableName(world.key.table.namespace, "nowhere")
    with pytest.raises(EvaluationFailed, match="nowhere"):
        world.engine.read(TableRows(table=nowhere))


def python(source: str) -> PythonRows:
    return PythonRows(
        source=source,
        function="run",
        path="/project/models/mine.py",
        interval=hours(0, 1),
        execution_time=START,
    )


@pytest.mark.spark
def test_a_python_model_reads_what_it_declares(spark_world: World) -> None:
    world = spark_world
    source = TableName(f"raw_{uuid.uuid4().hex[:8]}", "events")
    head = world.append(source, [(1, START)])
    write = OverwriteIntervals(intervals=(hours(0, 1),), axis=HOURLY)
    inputs = {"raw.events": AsOf(table=source, iceberg_snapshot_id=head)}

    def run(body: str) -> None:
        text = f"def run(context):\n    {body}\n"
        world.publish(world.staging(PlannedWrite(rows=python(text), inputs=inputs, write=write)))

    run("return context.table('RAW.events').where('at >= \"' + str(context.start) + '\"')")
    assert world.ids() == [1]
    for body, reported in [
        ("return context.table('raw.other')", "reads 'raw.other'.*raw.events"),
        ("return 1 / 0", "/project/models/mine.py:2: ZeroDivisionError"),
        ("raise OSError('Error while sending a mail')", "mine.py:2: OSError: Error while sending"),
        ("return 7", "returns int"),
        ("syntax error", "mine.py:2: SyntaxError"),
    ]:
        with pytest.raises(EvaluationFailed, match=reported):
            run(body)


@pytest.mark.spark
def test_a_python_model_may_return_pandas_where_columns_are_declared(spark_world: World) -> None:
    columns = (Column(name="id", type="bigint"), Column(name="at", type="timestamp"))
    text = (
        "import pandas\ndef run(context):\n"
        "    return pandas.DataFrame({'id': [4], 'at': [context.start]})\n"
    )
    write = OverwriteIntervals(intervals=(hours(0, 1),), axis=HOURLY)
    spark_world.publish(
        spark_world.staging(
            PlannedWrite(rows=python(text), inputs={}, write=write), columns=columns
        )
    )
    assert spark_world.ids() == [4]


@pytest.mark.full
@pytest.mark.spark
def test_a_python_model_and_sparks_workers_run_the_modules_that_it_was_planned_with(
    spark_world: World,
) -> None:
    world, write = spark_world, OverwriteIntervals(intervals=(hours(0, 1),), axis=HOURLY)
    text = (
        "import vde_rates\nfrom pyspark.sql import functions as F\ndef run(context):\n"
        "    from vde_shop.rounding import Rounded, rounded\n"
        "    rate = F.udf(lambda number: vde_rates.RATE, 'bigint')\n"
        "    more = F.udf(rounded, 'bigint')\n"
        "    own = F.udf(lambda number: Rounded(number).value, 'bigint')\n"
        "    ids = rate('id') + more('id') + own('id')\n"
        "    at = F.lit(context.start)\n"
        "    return context.spark.range(1).select(ids.alias('id'), at.alias('at'))\n"
    )
    for rate in (10, 20):
        modules = {
            "vde_rates.py": f"RATE = {rate}\n",
            "vde_shop/rounding.py": "import vde_rates\nfrom dataclasses import dataclass\n"
            "def rounded(number):\n    return 100 * vde_rates.RATE\n"
            "@dataclass\nclass Rounded:\n    number: int\n"
            "    @property\n    def value(self):\n        return self.number + 1\n",
        }
        run = replace(python(text), modules=modules)
        world.publish(world.staging(PlannedWrite(rows=run, inputs={}, write=write)))
        assert world.ids() == [rate + 100 * rate + 1]


@pytest.mark.spark
def test_an_error_in_a_worker_is_reported_with_its_line(spark_world: World) -> None:
    text = (
        "from pyspark.sql import functions as F\ndef run(context):\n"
        "    failing = F.udf(lambda number: 1 // number, 'bigint')\n"
        "    at = F.lit(context.start)\n"
        "    return context.spark.range(2).select(failing('id').alias('id'), at.alias('at'))\n"
    )
    write = OverwriteIntervals(intervals=(hours(0, 1),), axis=HOURLY)
    staging = spark_world.staging(PlannedWrite(rows=python(text), inputs={}, write=write))
    with pytest.raises(EvaluationFailed, match=r"ZeroDivisionError.*mine\.py.*line 3"):
        spark_world.engine.stage(staging)


@pytest.mark.spark
def test_a_file_that_is_lost_is_named(spark_world: World, spark_lake: SparkLake) -> None:
    source = TableName(f"raw_{uuid.uuid4().hex[:8]}", "events")
    head = spark_world.append(source, [(1, START)])
    (lost,) = (spark_lake.warehouse / source.namespace).rglob("*.parquet")
    lost.unlink()
    with pytest.raises(EvaluationFailed, match=lost.name):
        spark_world.overwrite(
            SqlRows(sql="SELECT id, at FROM src"),
            hours(0, 1),
            src=AsOf(table=source, iceberg_snapshot_id=head),
        )


@pytest.mark.spark
def test_added_rows_are_exact_across_a_compaction(spark_world: World, spark: SparkSession) -> None:
    source = TableName(f"raw_{uuid.uuid4().hex[:8]}", "events")
    first = spark_world.append(source, [(1, START)])
    spark_world.append(source, [(2, START)])
    spark.sql(
        f"call lake.system.rewrite_data_files(table => '{source}', "
        "options => map('rewrite-all', 'true'))"
    )
    until = spark_world.append(source, [(3, START)])
    spark_world.overwrite(
        SqlRows(sql="SELECT id, at FROM src"),
        hours(0, 1),
        src=AddedBetween(table=source, after=first, until=until),
    )
    assert spark_world.ids() == [2, 3]


@pytest.mark.full
@pytest.mark.spark
def test_a_table_is_described_and_has_one_file_per_partition(
    spark_world: World, spark: SparkSession
) -> None:
    many = rows(*[(n, n / 10) for n in range(40)])
    write = OverwriteIntervals(intervals=(hours(0, 4),), axis=HOURLY)
    staging = spark_world.staging(PlannedWrite(rows=many, inputs={}, write=write))
    spark_world.publish(replace(staging, descriptions={"ID": "who's it"}))
    table = spark_world.catalog.table(spark_world.key.table)
    assert table is not None
    assert table.columns[0] == Column(name="id", type="bigint", description="who's it")
    assert table.properties["vde.model"] == str(spark_world.key.model)
    assert table.properties["vde.version"] == spark_world.key.version
    assert spark.table(f"lake.{spark_world.key.table}.files").count() == 4


TOTALS = (Column(name="id", type="bigint"), Column(name="at", type="timestamp"))


def counting(
    world: World, hour: int, *, adds: int, held: RowSum | None = None, follows: bool = False
) -> PlannedWrite:
    """An hour with one row: the number of the hour before on the branch, and what it adds."""
    at = (START + timedelta(hours=hour)).isoformat(sep=" ")
    sql = (
        f"SELECT CAST(COALESCE(MAX(id), 0) + {adds} AS BIGINT) AS id, "
        f"CAST('{at}' AS TIMESTAMP) AS at FROM own"
    )
    before = OwnRows(table=world.key.table, interval=hours(hour - 1, hour), axis=HOURLY)
    return PlannedWrite(
        rows=SqlRows(sql=sql),
        inputs={"own": before},
        write=OverwriteIntervals(intervals=(hours(hour, hour + 1),), axis=HOURLY),
        held=held,
        follows=follows,
    )


def in_order(world: World, *parts: PlannedWrite) -> Staging:
    return world.staging(*parts, columns=TOTALS)


def test_parts_that_read_the_table_itself_see_what_the_parts_before_them_wrote(
    world: World,
) -> None:
    world.publish(in_order(world, *(counting(world, hour, adds=hour + 1) for hour in range(4))))
    assert world.ids() == [1, 3, 6, 10]


@pytest.mark.full
def test_a_part_that_follows_is_left_out_once_an_hour_came_out_as_it_was(world: World) -> None:
    first = world.publish(in_order(world, *(counting(world, hour, adds=1) for hour in range(5))))
    held = [total(each.values()) for each in first.sums]
    assert world.ids() == [1, 2, 3, 4, 5]
    again = in_order(
        world,
        counting(world, 0, adds=1, held=held[0]),
        counting(world, 1, adds=7, held=held[1], follows=True),
        counting(world, 2, adds=1, held=held[2]),
        counting(world, 3, adds=1, held=held[3], follows=True),
        counting(world, 4, adds=9, held=held[4]),
    )
    done = world.publish(again)
    assert [bool(each) for each in done.sums] == [True, False, True, False, True]
    assert world.ids() == [1, 2, 3, 4, 13]


@pytest.mark.full
def test_a_part_that_follows_is_written_while_hours_come_out_otherwise(world: World) -> None:
    first = world.publish(in_order(world, *(counting(world, hour, adds=1) for hour in range(3))))
    held = [total(each.values()) for each in first.sums]
    again = in_order(
        world,
        counting(world, 0, adds=5, held=held[0]),
        counting(world, 1, adds=1, held=held[1], follows=True),
        counting(world, 2, adds=1, held=None, follows=True),
    )
    done = world.publish(again)
    assert all(done.sums)
    assert world.ids() == [5, 6, 7]


@pytest.mark.spark
def test_a_preview_of_a_python_model_leaves_the_session_as_it_was(spark_world: World) -> None:
    source = (
        "def run(context, **_):\n"
        "    context.spark.conf.set('spark.sql.shuffle.partitions', '77')\n"
        "    return context.spark.range(3)\n"
    )
    names, found = spark_world.engine.preview(python(source), {}, (), model="m.x", limit=2)
    assert (names, len(found)) == (("id",), 2)
    _, setting = spark_world.engine.fetch("SET spark.sql.shuffle.partitions", limit=1)
    assert setting[0][1] != "77"


@pytest.mark.full
def test_columns_that_only_an_evaluation_shows_are_judged_by_the_models_rules(world: World) -> None:
    """What the query returns was not known, so that no plan could ask (rule R11)."""
    world.overwrite(SqlRows(sql=f"SELECT *, 'a' AS gone FROM ({row(1, 0)}) AS _t"), hours(0, 1))
    write = OverwriteIntervals(intervals=(hours(1, 2),), axis=HOURLY)
    less = PlannedWrite(rows=rows((2, 1)), inputs={}, write=write)
    with pytest.raises(EvaluationFailed, match=r"lacks gone, which .* has") as refused:
        world.publish(world.staging(less))
    assert "write `on_destructive_change allow` (or warn) in the model" in str(refused.value)
    warned = ColumnRules(destructive=OnChange.WARN)
    world.publish(replace(world.staging(less), column_rules=warned))
    fresh = SqlRows(sql=f"SELECT *, 'b' AS gone, 7 AS fresh FROM ({row(3, 1)}) AS _t")
    more = PlannedWrite(rows=fresh, inputs={}, write=write)
    strict = ColumnRules(additive=OnChange.ERROR)
    with pytest.raises(EvaluationFailed, match=r"has fresh, which .* lacks"):
        world.publish(replace(world.staging(more), column_rules=strict))
    world.publish(world.staging(more))
    table = f"SELECT id, gone, fresh FROM {world.key.table} ORDER BY id"
    _, found = world.engine.fetch(table, limit=10)
    assert [tuple(each) for each in found] == [(1, "a", None), (3, "b", 7)]
