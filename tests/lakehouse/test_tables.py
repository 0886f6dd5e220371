"""The table of a version: its columns, layout and descriptions, and rows that do not fit it."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from tests.lakehouse.conftest import DAY, Lake
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.column_rules import ColumnRules, OnChange
from vde_dagster.core.model.storage import PartitionField, Storage, Transform
from vde_dagster.core.model.writes import AppendRows
from vde_dagster.ports.catalog import TableText

pytestmark = pytest.mark.spark

WRITTEN = r"""It's `a` "text":
C:\new\\table, \d+ and ${env:HOME} ${spark.app.name}"""
"""What SQL, DDL and Spark's substitution of variables each take for something else."""
ODD = (
    "SELECT 3 AS `select`, 'x' AS `od``d na.me`, TIMESTAMP '2024-01-01 05:00:00' AS `from`, "
    "DATE '2024-01-01' AS `ümlaut`, "
    "NAMED_STRUCT('a', 1, 'b', ARRAY(MAP('k', CAST(1.5 AS DECIMAL(9,2))))) AS nested, "
    f"{exp.Literal.string(WRITTEN).sql('spark')} AS text"
)


@pytest.mark.full
def test_names_of_any_kind_and_nested_types_reach_the_table(lake: Lake) -> None:
    storage = Storage(
        partitioned_by=(
            PartitionField(column="from", transform=Transform.HOURS),
            PartitionField(column="select", transform=Transform.BUCKET, argument=4),
            PartitionField(column="od`d na.me", transform=Transform.TRUNCATE, argument=2),
            PartitionField(column="ümlaut", transform=Transform.YEARS),
        ),
        clustered_by=("od`d na.me", "select"),
        storage_format="orc",
        properties=(("write.target-file-size-bytes", "1048576"), ("odd.text", WRITTEN)),
    )
    lake.publish(
        ODD,
        storage=storage,
        comment=WRITTEN,
        descriptions={"select": WRITTEN, "nested": "a tree"},
    )
    table = lake.table()
    state = lake.catalog.table(lake.key.table)
    assert state is not None
    assert [(each.name, each.type) for each in state.columns] == [
        ("select", "int"),
        ("od`d na.me", "string"),
        ("from", "timestamp"),
        ("ümlaut", "date"),
        ("nested", "struct<a:int,b:array<map<string,decimal(9,2)>>>"),
        ("text", "string"),
    ]
    assert [str(each.transform) for each in table.spec().fields] == [
        "hour",
        "bucket[4]",
        "truncate[2]",
        "year",
    ]
    assert {f.name: f.doc for f in table.schema().fields if f.doc} == {
        "select": WRITTEN,
        "nested": "a tree",
    }
    assert table.properties["comment"] == table.properties["odd.text"] == WRITTEN
    assert table.properties["write.target-file-size-bytes"] == "1048576"
    assert table.properties["write.distribution-mode"] == "hash"
    assert all(path.endswith(".orc") for path in lake.files())
    assert lake.rows(
        "SELECT `select`, `od``d na.me`, CAST(nested.b[0]['k'] AS STRING), text FROM {own}"
    ) == [(3, "x", "1.50", WRITTEN)]


def test_texts_reach_a_physical_view_and_its_rows_as_they_are_written(lake: Lake) -> None:
    view = lake.key.table
    literal = exp.Literal.string(WRITTEN).sql("spark")
    lake.engine.create_view(view, f"SELECT {literal} AS text", comment=WRITTEN)
    _, rows = lake.engine.fetch(f"SELECT text FROM {view}", limit=2)
    assert rows == [(WRITTEN,)]
    others = lake.spark.newSession()
    others.conf.set("spark.sql.variable.substitute", "true")
    assert others.sql(f"SELECT text FROM lake.{view}").collect() == [(WRITTEN,)]
    described = lake.spark.sql(f"DESCRIBE EXTENDED lake.{view}").collect()
    assert WRITTEN in [row["data_type"] for row in described]


@pytest.mark.full
def test_rows_are_sorted_within_each_file_and_the_query_runs_once(lake: Lake) -> None:
    text = "SELECT id, (id * 7919) % 1000 AS number FROM RANGE(0, 1000, 1, 3)"
    lake.publish(text, storage=Storage(clustered_by=("number",)))
    files = lake.files()
    assert len(files) == 3  # a task each: no range over all of them, which would sample the query
    for path in files:
        found = pq.read_table(path)["number"].to_pylist()
        assert found == sorted(found)
    lake.publish(text)  # the model says so no more
    assert lake.table().sort_order().fields == []


def test_char_and_varchar_are_texts_that_are_neither_padded_nor_cut(lake: Lake) -> None:
    columns = (Column(name="c", type="char(5)"), Column(name="v", type="varchar(2)"))
    staged = lake.publish("SELECT 'ab' AS c, 'longer' AS v", columns=columns)
    assert [each.type for each in staged.columns] == ["string", "string"]
    assert lake.rows("SELECT c, v FROM {own}") == [("ab", "longer")]


def reported(lake: Lake, *rows: str, **more: Any) -> list[str]:
    """What is wrong with rows, line by line."""
    with pytest.raises(EvaluationFailed) as caught:
        lake.engine.stage(lake.staging(*rows, **more))
    return [line.strip() for line in str(caught.value).splitlines()]


def test_what_iceberg_cannot_store_is_reported_of_every_column_and_nothing_is_made(
    lake: Lake,
) -> None:
    first, *columns = reported(
        lake,
        "SELECT NULL AS a, INTERVAL 2 DAYS AS b, 1 AS good, PARSE_JSON('1') AS c, "
        "NAMED_STRUCT('x', ARRAY()) AS d, INTERVAL 1 MONTH AS e, RAISE_ERROR('run') AS run",
        path="models/odd.sql",
    )
    assert "models/odd.sql: its rows cannot be written; nothing was computed" in first
    assert [each.split(":")[0] for each in columns] == [
        "the column a is of type void",
        "the column b is of type interval day",
        "the column c is of type variant",
        "the column d.x.element is of type void",
        "the column e is of type interval month",
        "the column run is of type void",
    ]
    assert lake.catalog.table(lake.key.table) is None


def test_columns_that_are_not_the_declared_ones_are_reported_before_anything_is_written(
    lake: Lake,
) -> None:
    columns = (
        Column(name="id", type="bigint"),
        Column(name="day", type="date"),
        Column(name="open", type="int"),
    )
    lines = reported(
        lake,
        "SELECT 1 AS id, DATE '2024-01-01' AS day, 1 AS open",
        "SELECT 'x' AS id, '2024-01-01' AS day, true AS open, 1 AS more",
        "SELECT 1 AS id",
        columns=columns,
        write=AppendRows(interval=DAY),
    )
    text = "\n".join(lines)
    assert "the result has the columns more, which are not declared" in text
    assert "the result lacks the declared columns day, open" in text
    for cast in ("CAST(id AS BIGINT)", "CAST(day AS DATE)", "CAST(open AS INT)"):
        assert cast in text
    assert lake.catalog.table(lake.key.table) is None


def test_rows_that_the_table_cannot_take_are_reported_before_they_are_computed(lake: Lake) -> None:
    lake.publish("SELECT 1 AS id, 'a' AS name")
    wrong = "SELECT RAISE_ERROR('computed') AS id, 'a' AS name, 2 AS new WHERE 'x' = 'x'"
    strict = ColumnRules(additive=OnChange.ERROR)
    text = "\n".join(reported(lake, wrong, column_rules=strict))
    assert f"has new, which {lake.key.table} lacks" in text
    assert "computed" not in text.replace("nothing was computed", "")
    assert "CAST(id AS INT)" in "\n".join(reported(lake, "SELECT 'x' AS id, 'a' AS name"))
    (line,) = reported(lake, "SELECT 1 AS id, 2 AS id")[1:]
    assert line.startswith("the column id is returned more than once")


@pytest.mark.full
def test_a_number_that_is_too_large_fails_and_is_never_cut(lake: Lake) -> None:
    lake.publish("SELECT 1 AS id")
    with pytest.raises(EvaluationFailed, match="overflow"):
        lake.engine.stage(lake.staging("SELECT 3000000000 AS id"))
    lake.publish("SELECT CAST(7 AS BIGINT) AS id")
    assert lake.rows("SELECT id FROM {own}") == [(7,)]


@pytest.mark.parametrize(
    "transform, sql, message",
    [
        (Transform.HOURS, "DATE '2024-01-01'", "hours(at), because at is of type date"),
        (Transform.DAYS, "'2024-01-01'", "days(at), because at is of type string"),
        (Transform.IDENTITY, "ARRAY(1)", "Iceberg cannot partition by at, because at is of type"),
    ],
)
def test_a_partition_that_iceberg_has_not_is_reported_before_anything_is_made(
    lake: Lake, transform: Transform, sql: str, message: str
) -> None:
    storage = Storage(partitioned_by=(PartitionField(column="at", transform=transform),))
    assert message in "\n".join(reported(lake, f"SELECT {sql} AS at", storage=storage))
    assert lake.catalog.table(lake.key.table) is None


TYPES = ("int", "bigint", "double", "decimal(10,2)", "string", "boolean", "date", "timestamp",
         "timestamp_ntz", "binary", "array<int>", "array<string>", "map<string,int>",
         "struct<a:int>", "struct<a:bigint>", "struct<b:int>", "struct<a:int,b:int>")  # fmt: skip
NEVER = (("string", "int"), ("string", "date"), ("string", "binary"), ("int", "boolean"),
         ("boolean", "int"), ("int", "date"), ("date", "int"), ("timestamp", "bigint"),
         ("binary", "int"), ("array<string>", "array<int>"), ("array<int>", "string"),
         ("struct<a:int>", "struct<b:int>"), ("struct<a:int>", "struct<a:int,b:int>"),
         ("map<string,int>", "array<int>"), ("struct<a:int>", "string"))  # fmt: skip


@pytest.mark.full
def test_what_may_be_stored_as_what_is_as_spark_has_it(lake: Lake) -> None:
    from pyspark.errors import AnalysisException
    from pyspark.sql.types import DataType

    from vde_dagster.lakehouse.staging.storable import can_store

    pairs = [
        (found, wanted)
        for found in TYPES
        for wanted in TYPES
        if can_store(DataType.fromDDL(found), DataType.fromDDL(wanted))
    ]
    assert not set(pairs) & set(NEVER)
    listed = ", ".join(f"c{at} {wanted}" for at, (_, wanted) in enumerate(pairs))
    table = f"lake.{lake.schema}.every"
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{lake.schema}")
    lake.spark.sql(f"CREATE TABLE {table} ({listed}) USING iceberg")
    values = ", ".join(f"CAST(NULL AS {found}) AS c{at}" for at, (found, _) in enumerate(pairs))
    lake.spark.sql(f"SELECT {values}").writeTo(table).append()
    listed = ", ".join(f"c{at} {wanted}" for at, (_, wanted) in enumerate(NEVER))
    lake.spark.sql(f"CREATE TABLE {table}_never ({listed}) USING iceberg")
    for wrong, _ in enumerate(NEVER):
        types = [pair[0 if at == wrong else 1] for at, pair in enumerate(NEVER)]
        values = ", ".join(f"CAST(NULL AS {each}) AS c{at}" for at, each in enumerate(types))
        with pytest.raises(AnalysisException, match=rf"`c{wrong}`"):
            lake.spark.sql(f"SELECT {values}").writeTo(f"{table}_never").append()


def test_a_table_that_stays_gets_new_words_and_properties_without_a_session(lake: Lake) -> None:
    lake.publish(
        "SELECT 1 AS id, 'a' AS name",
        comment="before",
        descriptions={"id": "key", "name": "old"},
        storage=Storage(storage_format="orc", properties=(("write.target-file-size-bytes", "9"),)),
    )
    text = TableText(
        comment="after",
        columns={"name": "new", "other": "nowhere"},
        storage=Storage(properties=(("commit.retry.num-retries", "7"),)),
    )
    for _ in range(2):
        lake.catalog.describe(lake.key.table, text)
    table = lake.table()
    assert table.properties["comment"] == "after"
    assert {f.name: f.doc or "" for f in table.schema().fields} == {"id": "", "name": "new"}
    assert table.properties["commit.retry.num-retries"] == "7"
    assert "write.format.default" not in table.properties
    assert "write.target-file-size-bytes" not in table.properties
    before = table.metadata_location
    lake.catalog.describe(lake.key.table, TableText(comment="after", columns={"name": "new"}))
    assert lake.table().properties["commit.retry.num-retries"] == "20"  # ours again
    assert lake.table().metadata_location != before
