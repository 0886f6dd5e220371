"""What every engine promises, on Spark and Iceberg and in memory."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.lakehouse.kinds.worlds import (
    SPARK_IN_FULL_FORM,
    START,
    Values,
    World,
    Worlds,
    days,
    hours,
)
from tests.worlds.catalog import MemoryCatalog
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
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
    SqlRows,
    Staged,
    Staging,
)
from vde_dagster.core.model.column_rules import ColumnRules, OnChange
from vde_dagster.core.model.layout import time_partition
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import (
    AppendToIntervals,
    OverwriteIntervals,
    ReplaceTable,
    TimeAxisSpec,
)
from vde_dagster.core.names import TableName
from vde_dagster.core.sql.spark.type_spelling import field_name
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.core.unit_tests.definition import GivenQuery, GivenRows
from vde_dagster.core.unit_tests.question import FunctionOverRows, QueryOverRows
from vde_dagster.ports.engine import TableRows, UserFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriterV2, SparkSession

    from tests.conftest import SparkLake

HOURLY = TimeAxisSpec(column="at", type="timestamp", unit=IntervalUnit.HOUR)
TYPES = {"id": "bigint", "at": "timestamp"}
COLUMNS = tuple(Column(name=name, type=kind) for name, kind in TYPES.items())
WHOLE = ReplaceTable(interval=days(0))
SOURCE = SqlRows(sql="SELECT id, at FROM src")


@pytest.fixture
def world(worlds: Worlds) -> World:
    """A table with a partition for each hour."""
    return worlds.table(TYPES, time_partition(HOURLY))


@pytest.fixture
def spark_world(on_spark: Worlds) -> World:
    return on_spark.table(TYPES, time_partition(HOURLY))


def rows(*pairs: tuple[int, float]) -> list[Values]:
    """Numbers, and the hours of their rows."""
    return [(number, START + timedelta(hours=hour)) for number, hour in pairs]


def sql_of(*pairs: tuple[int, float]) -> str:
    return " UNION ALL ".join(
        f"SELECT CAST({number} AS BIGINT) AS id, TIMESTAMP '{at:%Y-%m-%d %H:%M:%S}' AS at"
        for number, at in rows(*pairs)
    )


def into(*intervals: Interval) -> OverwriteIntervals:
    return OverwriteIntervals(intervals=intervals, axis=HOURLY)


def added_to(*intervals: Interval) -> AppendToIntervals:
    return AppendToIntervals(intervals=intervals, axis=HOURLY)


def ids(world: World) -> list[int]:
    return sorted(row[0] for row in world.rows() if isinstance(row[0], int))


def counts(staged: Staged) -> list[dict[Interval, int]]:
    """How many rows each interval got, by part."""
    return [{each: found.rows for each, found in sums.items()} for sums in staged.sums]


def land(world: World, table: TableName, *numbers: int) -> list[int]:
    """Others append a row of each number to a table of theirs; the Iceberg snapshots."""
    catalog = world.catalog
    if isinstance(catalog, MemoryCatalog):
        if catalog.table(table) is None:
            catalog.create_table(table, COLUMNS)
        return [catalog.append(table, [(number, START)]) for number in numbers]
    assert world.iceberg is not None
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    world.iceberg.create_namespace_if_not_exists(table.namespace)
    theirs = world.iceberg.create_table_if_not_exists((table.namespace, table.name), schema)
    heads = []
    for number in numbers:
        theirs.append(pa.table({"id": [number], "at": [START]}, schema=schema))
        heads.append(theirs.metadata.current_snapshot_id or 0)
    return heads


def of_others() -> TableName:
    return TableName(f"raw_{uuid.uuid4().hex[:8]}", "events")


def test_exactly_the_given_intervals_are_overwritten(world: World) -> None:
    world.write(rows((1, 0), (2, 1.5), (3, 2)), into(hours(0, 3)))
    staged = world.write(rows((7, 1.2), (8, 1.9), (9, 2.5), (9, 0)), into(hours(1, 2)))
    assert ids(world) == [1, 3, 7, 8]
    assert counts(staged) == [{hours(1, 2): 2}]
    assert world.write([], into(hours(1, 2))).sums == ({hours(1, 2): RowSum()},)
    assert ids(world) == [1, 3]


@pytest.mark.full
def test_rows_that_somebody_else_computed_are_staged_like_those_of_a_query(world: World) -> None:
    by_query = world.write(rows((1, 0), (2, 1.5)), into(hours(0, 2))).sums
    times = pa.array([START, START + timedelta(hours=1.5)], pa.timestamp("us", "UTC"))
    arrow = pa.table({"at": times, "id": pa.array([1, 2], pa.int64())})
    for frame in (arrow, arrow.to_pandas()):
        given = world.part(FrameRows(frame=frame, place="mine"), into(hours(0, 2)))
        assert world.publish(world.staging(given, columns=COLUMNS)).sums == by_query
    assert ids(world) == [1, 2]


@pytest.mark.spark
def test_a_dataframe_of_a_users_session_is_staged_in_that_session(
    spark_world: World, spark: SparkSession
) -> None:
    from vde_dagster.lakehouse.spark.lanes import session_for_users

    users = session_for_users(spark)
    users.sql(sql_of((1, 0), (2, 1.5))).createOrReplaceTempView("of_a_user")
    frame = users.table("of_a_user")
    by_frame = spark_world.write(FrameRows(frame=frame, place="mine"), into(hours(0, 2))).sums
    assert spark_world.write(rows((1, 0), (2, 1.5)), into(hours(0, 2))).sums == by_frame
    with pytest.raises(EvaluationFailed, match=r"mine returns list; return a DataFrame of Spark"):
        spark_world.write(FrameRows(frame=[1], place="mine"), into(hours(0, 2)))


def test_appending_adds_only_to_the_given_intervals(world: World) -> None:
    world.write(rows((1, 0), (2, 1)), into(hours(0, 2)))
    staged = world.write(rows((3, 0.5), (4, 5)), added_to(hours(0, 2)))
    assert ids(world) == [1, 2, 3]
    assert counts(staged) == [{hours(0, 1): 1, hours(1, 2): 0}]


@pytest.mark.spark
def test_a_write_that_was_committed_twice_is_not_staged(
    spark_world: World, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a client sends a request again whose answer it lost."""
    world, writer = spark_world, type(spark.range(1).writeTo("lake.nowhere"))
    world.write(rows((1, 0)), into(hours(0, 1)))
    once = writer.append

    def twice(self: DataFrameWriterV2) -> None:
        once(self)
        once(self)

    monkeypatch.setattr(writer, "append", twice)
    with pytest.raises(EvaluationFailed, match="committed more than once; nothing was published"):
        world.write(rows((2, 0)), added_to(hours(0, 1)))
    monkeypatch.undo()
    assert ids(world) == [1]
    world.write(rows((2, 0)), added_to(hours(0, 1)))
    assert ids(world) == [1, 2]


@pytest.mark.full
def test_a_fill_and_an_append_are_one_unit_of_work(world: World) -> None:
    world.write(rows((1, 0)), into(hours(0, 1)))
    fill = world.part(rows((2, 1)), into(hours(1, 2)))
    append = world.part(rows((3, 0.5)), added_to(hours(0, 1)))
    staged = world.publish(world.staging(fill, append))
    assert ids(world) == [1, 2, 3]
    assert counts(staged) == [{hours(1, 2): 1}, {hours(0, 1): 1}]


@SPARK_IN_FULL_FORM  # kinds/test_whole_tables.py
def test_replacing_a_table_leaves_only_the_new_rows(worlds: Worlds) -> None:
    world = worlds.table(TYPES)
    world.write(rows((1, 0), (2, 1)), WHOLE)
    staged = world.write(rows((5, 9)), WHOLE)
    assert ids(world) == [5]
    assert counts(staged) == [{days(0): 1}]


def test_inputs_are_pinned_against_later_commits(world: World) -> None:
    """Rule R3: what is committed meanwhile is not read; exactly what appends added may be."""
    table = of_others()
    first, _, third, _ = land(world, table, 1, 2, 3, 4)
    inputs: list[tuple[Input, list[int]]] = [
        (AsOf(table=table, iceberg_snapshot_id=first), [1]),
        (AsOf(table=table, iceberg_snapshot_id=None), []),
        (AddedBetween(table=table, after=first, until=third), [2, 3]),
    ]
    for read, expected in inputs:
        world.write(SOURCE, into(hours(0, 1)), src=read)
        assert ids(world) == expected, read


@pytest.mark.full
@pytest.mark.parametrize("first", [True, False])
def test_a_branch_is_not_visible_and_that_of_a_dead_attempt_is_replaced(
    world: World, first: bool
) -> None:
    if not first:
        world.write(rows((1, 0)), into(hours(0, 1)))
    before = world.head()
    staging = world.staging(world.part(rows((2, 0.5)), added_to(hours(0, 1))))
    staged = world.engine.stage(staging)
    assert world.head() == before
    assert staged.iceberg_snapshot_id not in (None, before)
    staged = world.publish(staging)
    assert ids(world) == ([2] if first else [1, 2])
    assert total(staged.sums[0].values()).rows == 1
    world.catalog.drop_branch(world.key.table, staging.work_id)


@pytest.mark.full
def test_a_query_that_fails_or_does_not_fit_is_named_and_leaves_nothing(world: World) -> None:
    table = of_others()
    (head,) = land(world, table, 1)
    world.write(rows((1, 0)), into(hours(0, 1)))
    before = world.head()
    for sql, reported in (
        ("SELECT CAST('x' || id AS BIGINT) AS id, at FROM src", str(world.key)),
        ("SELECT nonsense FROM src", "nonsense"),
        ("SELECT id FROM src", "lacks at"),
    ):
        read = AsOf(table=table, iceberg_snapshot_id=head)
        with pytest.raises(EvaluationFailed, match=reported):
            world.write(SqlRows(sql=sql), into(hours(0, 1)), src=read)
    assert (world.head(), ids(world)) == (before, [1])


SEED = (
    Column(name="code", type="string"),
    Column(name="amount", type="decimal(10,2)"),
    Column(name="day", type="date"),
    Column(name="at", type="timestamp"),
    Column(name="open", type="boolean"),
)


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
        world.engine.stage(world.staging(world.part(CsvRows(text=text), WHOLE), columns=SEED))


@SPARK_IN_FULL_FORM  # kinds/test_whole_tables.py, kinds/test_sums_from_storage.py
def test_sums_do_not_depend_on_order_or_on_how_rows_were_written(world: World) -> None:
    given = rows((1, 0), (2, 0.5), (3, 1), (3, 1))
    one = world.write(given, into(hours(0, 2))).sums[0]
    assert world.write(given[::-1], into(hours(0, 2))).sums[0] == one
    first = world.write(given[:1], into(hours(0, 2))).sums[0]
    added = world.write(given[1:], added_to(hours(0, 2))).sums[0]
    assert {cell: first[cell] + added[cell] for cell in one} == one
    assert world.write(given, WHOLE).sums[0] == {days(0): total(one.values())}


@pytest.mark.full
def test_a_view_selects_what_lies_in_the_tables(world: World) -> None:
    world.write(rows((1, 0), (2, 0)), into(hours(0, 1)))
    view = TableName(world.key.table.namespace, "a_view")
    columns = world.engine.create_view(view, f"SELECT id AS number FROM {world.key.table}")
    assert [(each.name, each.type) for each in columns] == [("number", "bigint")]
    world.write(rows((1, 0)), into(hours(0, 1)))
    assert world.engine.fetch(f"SELECT * FROM {view}", limit=9) == (("number",), [(1,)])
    with pytest.raises(EvaluationFailed, match="nonsense"):
        world.engine.create_view(view, f"SELECT nonsense FROM {world.key.table}")
    with pytest.raises(EvaluationFailed):
        world.engine.create_view(world.key.table, "SELECT 1 AS one")


def test_fetch_returns_no_more_than_it_is_asked_for(world: World) -> None:
    names, found = world.engine.fetch(sql_of((1, 0), (2, 0), (3, 0)), limit=2)
    assert names == ("id", "at")
    assert len(found) == 2


@pytest.mark.full
def test_a_preview_shows_what_a_query_gives_over_what_it_reads_and_writes_nothing(
    world: World,
) -> None:
    world.write(rows((1, 0), (2, 1)), into(hours(0, 2)))
    pinned = AsOf(table=world.key.table, iceberg_snapshot_id=world.head())
    world.write(rows((3, 1)), into(hours(1, 2)))
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
    sql = "SELECT id + 1 AS next, at, name FROM `given` WHERE at >= TIMESTAMP '2024-01-01 01:00'"
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

    world = replace(spark_world, storage=Storage())
    staged = world.write(SqlRows(sql=made), WHOLE)
    kind = "struct<" + ",".join(f"{field_name(name)}:int" for name in names)
    kind += ",in:array<struct<`Aa-b`:int>>>"
    key = spark_world.key.table
    table = spark_world.catalog.table(key)
    assert table is not None
    for columns in (staged.columns, table.columns):
        assert {each.name: each.type for each in columns}["s"] == kind
    spark_world.catalog.evolve(key, [ColumnAdded(column="more", type=kind)])
    more = made.replace("AS s", f"AS s, CAST(NULL AS {kind}) AS more")
    world.write(SqlRows(sql=more), WHOLE)
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
        interval=days(0),
        execution_time=START,
        variables={"least": 3},
    )
    asked = FunctionOverRows(
        rows=function,
        tables={"a.people": PEOPLE, "a.one": GivenQuery(sql="SELECT 1 AS one")},
        columns=(),
    )
    found = spark_world.engine.answer(asked, subject="a.m")
    assert sorted(found.rows) == [(1, 1, "2024-01-01", 3), (2, 1, "2024-01-01", 3)]


def test_a_users_code_reads_a_table_as_it_was_at_an_iceberg_snapshot(world: World) -> None:
    world.write(rows((1, 0), (2, 1)), into(hours(0, 2)))
    pinned = world.head()
    world.write(rows((3, 1), (4, 1.5)), into(hours(1, 2)))
    then = world.engine.read(TableRows(table=world.key.table, iceberg_snapshot_id=pinned))
    now = world.engine.read(TableRows(table=world.key.table))
    assert (list(then.columns), ids_of(then)) == (["id", "at"], [1, 2])
    assert ids_of(now) == [1, 3, 4]
    world.write([], into(hours(0, 2)))
    assert ids_of(then) == [1, 2], "whatever is committed before the rows are fetched"


def test_a_users_code_reads_the_rows_of_intervals(world: World, worlds: Worlds) -> None:
    world.write(rows((1, 0), (2, 0.99), (3, 1), (4, 2.5), (5, 3)), into(hours(0, 4)))
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
    text = worlds.table({"id": "bigint", "day": "string"})
    text.write([(1, "20240101"), (2, "20240102")], WHOLE)
    axis = TimeAxisSpec(column="day", type="string", unit=IntervalUnit.DAY, format="%Y%m%d")
    found = text.engine.read(TableRows(table=text.key.table, axis=axis, intervals=(days(0),)))
    assert ids_of(found) == [1], "a time that is written as text"


@pytest.mark.full
def test_a_users_code_reads_a_view_and_missing_ones_are_reported(world: World) -> None:
    world.write(rows((1, 0), (2, 0)), into(hours(0, 1)))
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
    world, table = spark_world, of_others()
    (head,) = land(world, table, 1)
    inputs = {"raw.events": AsOf(table=table, iceberg_snapshot_id=head)}

    def run(body: str) -> None:
        text = f"def run(context):\n    {body}\n"
        world.write(python(text), into(hours(0, 1)), **inputs)

    run("return context.table('RAW.events').where('at >= \"' + str(context.start) + '\"')")
    assert ids(world) == [1]
    for body, reported in [
        ("return context.table('raw.other')", "reads 'raw.other'.*raw.events"),
        ("return 1 / 0", "/project/models/mine.py:2: ZeroDivisionError"),
        ("raise OSError('Error while sending a mail')", "mine.py:2: OSError: Error while sending"),
        ("return 7", "returns int"),
        ("syntax error", "mine.py:2: SyntaxError"),
    ]:
        with pytest.raises(EvaluationFailed, match=reported):
            run(body)


@pytest.mark.full
@pytest.mark.spark
def test_a_python_model_and_sparks_workers_run_the_modules_that_it_was_planned_with(
    spark_world: World,
) -> None:
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
        spark_world.write(run, into(hours(0, 1)))
        assert ids(spark_world) == [rate + 100 * rate + 1]


@pytest.mark.spark
def test_an_error_in_a_worker_is_reported_with_its_line(spark_world: World) -> None:
    text = (
        "from pyspark.sql import functions as F\ndef run(context):\n"
        "    failing = F.udf(lambda number: 1 // number, 'bigint')\n"
        "    at = F.lit(context.start)\n"
        "    return context.spark.range(2).select(failing('id').alias('id'), at.alias('at'))\n"
    )
    with pytest.raises(EvaluationFailed, match=r"ZeroDivisionError.*mine\.py.*line 3"):
        spark_world.write(python(text), into(hours(0, 1)))


@pytest.mark.spark
def test_a_file_that_is_lost_is_named(spark_world: World, spark_lake: SparkLake) -> None:
    table = of_others()
    (head,) = land(spark_world, table, 1)
    (lost,) = (spark_lake.warehouse / table.namespace).rglob("*.parquet")
    lost.unlink()
    read = AsOf(table=table, iceberg_snapshot_id=head)
    with pytest.raises(EvaluationFailed, match=lost.name):
        spark_world.write(SOURCE, into(hours(0, 1)), src=read)


@pytest.mark.spark
def test_added_rows_are_exact_across_a_compaction(spark_world: World, spark: SparkSession) -> None:
    table = of_others()
    first, _ = land(spark_world, table, 1, 2)
    spark.sql(
        f"call lake.system.rewrite_data_files(table => '{table}', "
        "options => map('rewrite-all', 'true'))"
    )
    (until,) = land(spark_world, table, 3)
    read = AddedBetween(table=table, after=first, until=until)
    spark_world.write(SOURCE, into(hours(0, 1)), src=read)
    assert ids(spark_world) == [2, 3]


@pytest.mark.full
@pytest.mark.spark
def test_a_table_is_described_and_has_one_file_per_partition(
    spark_world: World, spark: SparkSession
) -> None:
    many = rows(*[(n, n / 10) for n in range(40)])
    staging = spark_world.staging(spark_world.part(many, into(hours(0, 4))))
    spark_world.publish(replace(staging, descriptions={"ID": "who's it"}))
    table = spark_world.catalog.table(spark_world.key.table)
    assert table is not None
    assert table.columns[0] == Column(name="id", type="bigint", description="who's it")
    assert table.properties["vde.model"] == str(spark_world.key.model)
    assert table.properties["vde.version"] == spark_world.key.version
    assert spark.table(f"lake.{spark_world.key.table}.files").count() == 4


def counting(
    world: World, hour: int, *, adds: int, held: RowSum | None = None, follows: bool = False
) -> PlannedWrite:
    """An hour with one row: the number of the hour before on the branch, and what it adds."""
    at = START + timedelta(hours=hour)
    sql = (
        f"SELECT CAST(COALESCE(MAX(id), 0) + {adds} AS BIGINT) AS id, "
        f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S}' AS at FROM own"
    )
    own = OwnRows(table=world.key.table, interval=hours(hour - 1, hour), axis=HOURLY)
    part = world.part(SqlRows(sql=sql), into(hours(hour, hour + 1)), own=own)
    return replace(part, held=held, follows=follows)


def in_order(world: World, *parts: PlannedWrite) -> Staging:
    return world.staging(*parts, columns=COLUMNS)


def test_parts_that_read_the_table_itself_see_what_the_parts_before_them_wrote(
    world: World,
) -> None:
    world.publish(in_order(world, *(counting(world, hour, adds=hour + 1) for hour in range(4))))
    assert ids(world) == [1, 3, 6, 10]


@pytest.mark.full
def test_a_part_that_follows_is_written_only_while_hours_come_out_otherwise(world: World) -> None:
    first = world.publish(in_order(world, *(counting(world, hour, adds=1) for hour in range(5))))
    held = [total(each.values()) for each in first.sums]
    assert ids(world) == [1, 2, 3, 4, 5]
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
    assert ids(world) == [1, 2, 3, 4, 13]
    other = in_order(
        world,
        counting(world, 0, adds=5, held=held[0]),
        counting(world, 1, adds=1, held=held[1], follows=True),
        counting(world, 2, adds=1, held=None, follows=True),
    )
    assert all(world.publish(other).sums)
    assert ids(world) == [4, 5, 6, 7, 13]


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
    world.write(
        SqlRows(sql=f"SELECT *, 'a' AS gone FROM ({sql_of((1, 0))}) AS _t"), into(hours(0, 1))
    )
    less = world.part(rows((2, 1)), into(hours(1, 2)))
    with pytest.raises(EvaluationFailed, match=r"lacks gone, which .* has") as refused:
        world.publish(world.staging(less))
    assert "write `on_destructive_change allow` (or warn) in the model" in str(refused.value)
    warned = ColumnRules(destructive=OnChange.WARN)
    world.publish(world.staging(less, column_rules=warned))
    fresh = SqlRows(sql=f"SELECT *, 'b' AS gone, 7 AS fresh FROM ({sql_of((3, 1))}) AS _t")
    more = world.part(fresh, into(hours(1, 2)))
    strict = ColumnRules(additive=OnChange.ERROR)
    with pytest.raises(EvaluationFailed, match=r"has fresh, which .* lacks"):
        world.publish(world.staging(more, column_rules=strict))
    world.publish(world.staging(more))
    table = f"SELECT id, gone, fresh FROM {world.key.table} ORDER BY id"
    _, found = world.engine.fetch(table, limit=10)
    assert [tuple(each) for each in found] == [(1, "a", None), (3, "b", 7)]
