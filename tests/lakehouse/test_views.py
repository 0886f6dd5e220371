"""Views that are created without Spark, as Spark and other processes see them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from pyspark.errors import AnalysisException

from tests.depth import examples
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Conflict, OutcomeUnknown, Refused, SetupError
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs.iceberg_catalog import IcebergCatalog, open_iceberg_catalog
from vde_dagster.lakehouse.spark.session import add_catalog
from vde_dagster.ports.catalog import ViewDefinition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import SparkLake


def properties(folder: Path, *, timeout: str = "") -> dict[str, str]:
    return {
        "type": "sql",
        "uri": f"sqlite:///{folder}/deep/er/lake.db{timeout}",
        "warehouse": f"{folder}/warehouse",
    }


def columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="bigint") for name in names)


def reopened(folder: Path, *, timeout: str = "") -> IcebergCatalog:
    """A catalog of its own, as another process opens it."""
    return IcebergCatalog(open_iceberg_catalog("lake", properties(folder, timeout=timeout)))


@pytest.fixture
def local(tmp_path: Path) -> IcebergCatalog:
    """A catalog in a folder of this test, with the table that `shown` is a view of."""
    catalog = open_iceberg_catalog("lake", properties(tmp_path))
    catalog.create_namespace("raw")
    catalog.create_table("raw.t", pa.schema([("id", pa.int64())]))
    return IcebergCatalog(catalog)


def shown(name: str = "v", namespace: str = "dev") -> ViewDefinition:
    target = TableName("raw", "t")
    return ViewDefinition(name=TableName(namespace, name), target=target, columns=columns("id"))


@pytest.fixture
def lake(spark_lake: SparkLake) -> IcebergCatalog:
    return IcebergCatalog(spark_lake.iceberg())


@pytest.fixture
def tables(spark_lake: SparkLake) -> tuple[TableName, TableName]:
    namespace = f"v{uuid.uuid4().hex[:8]}"
    catalog = spark_lake.iceberg()
    catalog.create_namespace(namespace)
    schema = Schema(
        NestedField(1, "id", LongType(), required=False, doc="the key"),
        NestedField(2, "odd name", StringType(), required=False),
    )
    for name, value in [("a", 1), ("b", 2)]:
        table = catalog.create_table((namespace, name), schema, properties={"comment": "about it"})
        rows = [{"id": value, "odd name": "x"}]
        table.append(pa.Table.from_pylist(rows, schema=schema.as_arrow()))
    return TableName(namespace, "a"), TableName(namespace, "b")


def over(name: str, target: TableName) -> ViewDefinition:
    wanted = (Column(name="odd name", type="string"), Column(name="id", type="bigint"))
    return ViewDefinition(
        name=TableName(f"{target.namespace}__dev", name), target=target, columns=wanted
    )


@pytest.mark.full
@pytest.mark.spark
def test_an_open_session_sees_a_swap_of_several_views(
    spark: SparkSession, lake: IcebergCatalog, tables: tuple[TableName, TableName]
) -> None:
    a, b = tables
    lake.swap_views([over("one", a), over("two", a)], [])
    one, two = (f"lake.{a.namespace}__dev.{name}" for name in ("one", "two"))
    assert [tuple(each) for each in spark.table(one).collect()] == [("x", 1)]
    lake.swap_views([over("one", b)], [over("two", a).name])
    assert [tuple(each) for each in spark.table(one).collect()] == [("x", 2)]
    assert not spark.catalog.tableExists(two)


@pytest.mark.full
@pytest.mark.spark
def test_spark_lists_and_describes_the_views(
    spark: SparkSession, lake: IcebergCatalog, tables: tuple[TableName, TableName]
) -> None:
    view = over("one", tables[0])
    lake.swap_views([view], [])
    listed = spark.sql(f"show views in lake.{view.name.namespace}").collect()
    assert [each.viewName for each in listed] == ["one"]
    described = spark.sql(f"describe extended lake.{view.name}").collect()
    reported = {each.col_name: (each.data_type, each.comment) for each in described}
    assert reported["id"] == ("bigint", "the key")
    assert reported["odd name"][0] == "string"
    assert reported["Comment"][0] == "about it"
    spark.sql(f"create or replace view lake.{view.name} as select 1 as one")
    assert lake.view(view.name) is None
    with pytest.raises(Refused, match="another program"):
        lake.swap_views([view], [])
    spark.sql(f"drop view lake.{view.name}")
    lake.swap_views([view], [])
    assert spark.table(f"lake.{view.name}").columns == ["odd name", "id"]


@pytest.mark.full
@pytest.mark.spark
def test_a_view_that_somebody_made_in_spark_is_never_replaced_or_dropped(
    spark: SparkSession, lake: IcebergCatalog, tables: tuple[TableName, TableName]
) -> None:
    """Rule R12: only what is ours is touched."""
    theirs = TableName(tables[0].namespace, "theirs")
    spark.sql(f"create view lake.{theirs} as select 7 as id")
    assert set(lake.taken([theirs, tables[0], TableName(theirs.namespace, "free")])) == {
        theirs,
        tables[0],
    }
    with pytest.raises(Refused, match="another program"):
        lake.swap_views([ViewDefinition(name=theirs, target=tables[0], columns=columns("id"))], [])
    lake.swap_views([], [theirs])
    assert [each.id for each in spark.table(f"lake.{theirs}").collect()] == [7]


@pytest.mark.full
@pytest.mark.spark
def test_an_open_session_reads_an_environments_catalog_once_it_is_added(
    spark: SparkSession, lake: IcebergCatalog, tables: tuple[TableName, TableName]
) -> None:
    a, b = tables
    catalog = f"lake__{a.namespace}"
    shown = replace(over("one", a), name=TableName(a.namespace, "shown", catalog))
    lake.swap_views([shown], [])
    place = f"{catalog}.{a.namespace}.shown"
    with pytest.raises(AnalysisException):
        spark.table(place).collect()
    for _ in range(2):  # again changes nothing
        add_catalog(spark, "lake", catalog)
    assert [tuple(each) for each in spark.table(place).collect()] == [("x", 1)]
    for listed, expected in [
        (f"show namespaces in {catalog}", [a.namespace]),
        (f"show views in {catalog}.{a.namespace}", ["shown"]),
        (f"show tables in {catalog}.{a.namespace}", []),
    ]:
        rows = spark.sql(listed).collect()
        assert [row[0 if "namespaces" in listed else 1] for row in rows] == expected
    lake.swap_views([replace(shown, target=b)], [])
    assert [tuple(each) for each in spark.table(place).collect()] == [("x", 2)]
    moved = replace(shown, name=TableName(a.namespace, "shown__dev"))
    lake.swap_views([moved], [shown.name])
    assert not spark.catalog.tableExists(place)
    assert [tuple(each) for each in spark.table(f"lake.{moved.name}").collect()] == [("x", 1)]


@pytest.mark.spark
def test_a_session_that_does_not_know_the_projects_catalog_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SetupError, match="does not know the catalog 'elsewhere'"):
        add_catalog(spark, "elsewhere", "elsewhere__dev")


def test_a_swap_over_two_catalogs_that_somebody_overtakes_changes_neither(
    tmp_path: Path, local: IcebergCatalog
) -> None:
    lake, views = local, [shown(name, "raw") for name in ("v1", "v2")]
    lake.swap_views(views, [])
    there = [replace(each, name=replace(each.name, catalog="lake__dev")) for each in views]
    with sqlite3.connect(tmp_path / "deep/er/lake.db") as connection:  # it refuses one row alone
        connection.execute(
            "CREATE TRIGGER no_v2 BEFORE INSERT ON iceberg_tables WHEN NEW.table_name = 'v2' "
            "BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    with pytest.raises(Conflict, match="nothing was changed"):
        lake.swap_views(there, [each.name for each in views])
    assert lake.views([each.name for each in (*views, *there)]) == {
        each.name: each for each in views
    }
    with sqlite3.connect(tmp_path / "deep/er/lake.db") as connection:
        connection.execute("DROP TRIGGER no_v2")
    lake.swap_views(there, [each.name for each in views])
    assert lake.views([each.name for each in (*views, *there)]) == {
        each.name: each for each in there
    }


@pytest.mark.full
@given(name=st.text(max_size=12), namespace=st.text(max_size=12), catalog=st.text(max_size=12))
@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_hostile_name_finds_nothing_and_breaks_nothing(
    local: IcebergCatalog, name: str, namespace: str, catalog: str
) -> None:
    asked = [
        TableName(namespace, name, catalog),
        TableName("raw'; DROP TABLE iceberg_tables; --", "x' OR '1'='1", "lake' OR '1'='1"),
    ]
    assert local.views(asked) == {}
    assert list(local.taken(asked)) == []
    local.swap_views([], asked)


def test_doing_it_again_writes_no_file_and_no_row(tmp_path: Path, local: IcebergCatalog) -> None:
    local.swap_views([shown()], [])
    before = sorted(tmp_path.rglob("*.metadata.json"))
    with sqlite3.connect(tmp_path / "deep/er/lake.db") as connection:
        connection.execute("BEGIN IMMEDIATE")  # nobody else can write now
        local.swap_views([shown()], [TableName("dev", "none")])
        connection.rollback()
    assert sorted(tmp_path.rglob("*.metadata.json")) == before


def test_what_a_view_shows_is_read_once_and_known_when_another_process_moves_it(
    tmp_path: Path, local: IcebergCatalog
) -> None:
    one, other = local, reopened(tmp_path)
    views = [shown(name) for name in ("v", "w")]
    names = [each.name for each in views]
    one.swap_views(views, [])
    first = other.views(names)
    assert list(first.values()) == views
    assert all(other.views(names)[name] is first[name] for name in names)
    described = replace(columns("id")[0], description="the key")
    one.swap_views([replace(views[0], columns=(described,))], [])
    moved = other.views(names)
    assert moved[names[0]].columns[0].description == "the key"
    assert moved[names[1]] is first[names[1]]
    assert other.taken([*names, views[0].target]) == (views[0].target,)


def test_a_view_whose_file_is_lost_is_made_again_where_ours_lie_and_left_elsewhere(
    tmp_path: Path, local: IcebergCatalog
) -> None:
    catalog, wanted = local, shown("shown")
    catalog.swap_views([wanted], ())
    (file,) = (tmp_path / "warehouse").glob("*/shown/metadata/*.json")
    kept = file.read_text("utf-8")
    file.unlink()
    assert catalog.present([wanted.name]) == frozenset()
    catalog.swap_views([wanted], ())
    assert catalog.view(wanted.name) == wanted

    elsewhere = tmp_path / "of somebody else.metadata.json"
    elsewhere.write_text(kept, encoding="utf-8")
    with sqlite3.connect(tmp_path / "deep" / "er" / "lake.db") as connection:
        connection.execute(
            "UPDATE iceberg_tables SET metadata_location = ? WHERE table_name = 'shown'",
            (f"file://{elsewhere}",),
        )
    connection.close()
    elsewhere.unlink()
    with pytest.raises(Refused, match="view of another program"):
        catalog.swap_views([wanted], ())


@pytest.mark.usefixtures("local")
def test_a_locked_database_is_an_unknown_outcome_and_safe_to_repeat(tmp_path: Path) -> None:
    lake, view = reopened(tmp_path, timeout="?timeout=0"), shown()
    with sqlite3.connect(tmp_path / "deep/er/lake.db") as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(OutcomeUnknown):
            lake.swap_views([view], [])
        connection.rollback()
    lake.swap_views([view], [])
    assert lake.view(view.name) == view


@pytest.mark.full
def test_several_threads_and_processes_may_open_a_new_catalog_at_once(tmp_path: Path) -> None:
    code = (
        "from vde_dagster.lakehouse.catalogs.iceberg_catalog import *\n"
        f"open_iceberg_catalog('lake', {properties(tmp_path)!r}).list_namespaces()"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    failed: list[BaseException] = []

    def opened() -> None:
        try:
            open_iceberg_catalog("lake", properties(tmp_path)).list_namespaces()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=opened) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.wait() for each in processes] == [0, 0]
    assert failed == []
