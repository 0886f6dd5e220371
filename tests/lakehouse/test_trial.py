"""What a trial makes in a catalog is gone afterwards, however far it came."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from pyiceberg.catalog import Catalog as PyIcebergCatalog
from pyiceberg.exceptions import ForbiddenError
from pyiceberg.schema import Schema

from tests.worlds.rest_server import rest_server
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog
from vde_dagster.lakehouse.catalogs.trial import Trial, answer_of, clock_of, python_of_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import SparkLake

TABLES: Final = ("iceberg_tables", "iceberg_namespace_properties")


def catalog_in(folder: Path) -> PyIcebergCatalog:
    place = {
        "uri": f"sqlite:///{folder / 'lake.db'}",
        "warehouse": f"file://{folder / 'warehouse'}",
    }
    return open_iceberg_catalog("lake", {"type": "sql", **place})


@pytest.fixture
def catalog(tmp_path: Path) -> PyIcebergCatalog:
    """A catalog with a table of somebody's."""
    opened = catalog_in(tmp_path)
    Trial(opened, "0123").make_table()
    return opened


def content(folder: Path) -> tuple[list[str], list[tuple[object, ...]]]:
    """All files and folders of the warehouse, and all rows of the catalog."""
    connection = sqlite3.connect(folder / "lake.db")
    rows = [row for table in TABLES for row in connection.execute(f"SELECT * FROM {table}")]
    connection.close()
    return sorted(str(each) for each in (folder / "warehouse").rglob("*")), sorted(rows, key=str)


STEPS: Final[tuple[Callable[[Trial, PyIcebergCatalog], object], ...]] = (
    lambda trial, catalog: catalog.create_namespace(trial.namespace),
    lambda trial, _: trial.make_table(),
    lambda trial, _: trial.make_view(),
    lambda trial, catalog: catalog.drop_table((trial.namespace, "trial")),
)


@pytest.mark.full
@pytest.mark.parametrize("steps", [(), (0,), (1,), (1, 2), (1, 2, 3)])
def test_nothing_is_left_however_far_it_came(
    catalog: PyIcebergCatalog, tmp_path: Path, steps: tuple[int, ...]
) -> None:
    before = content(tmp_path)
    trial = Trial(catalog, "4567")
    for step in steps:
        STEPS[step](trial, catalog)
    trial.remove()
    assert content(tmp_path) == before
    trial.remove()  # a second time there is nothing to remove


@pytest.mark.full
def test_a_storage_tells_when_it_wrote(catalog: PyIcebergCatalog) -> None:
    trial = Trial(catalog, "4567")
    began = datetime.now(UTC)
    found = trial.make_table()
    assert found is not None
    assert began <= found.before <= found.after <= datetime.now(UTC)
    assert found.before - timedelta(seconds=2) <= found.said <= found.after + timedelta(seconds=2)


def test_views_that_cannot_be_made_are_refused_and_all_else_is_removed(
    catalog: PyIcebergCatalog, tmp_path: Path
) -> None:
    before = content(tmp_path)
    connection = sqlite3.connect(tmp_path / "lake.db")
    connection.execute(
        "CREATE TRIGGER no_views BEFORE INSERT ON iceberg_tables "
        "WHEN NEW.iceberg_type = 'VIEW' BEGIN SELECT RAISE(ABORT, 'no views here'); END"
    )
    connection.commit()
    connection.close()
    trial = Trial(catalog, "4567")
    trial.make_table()
    with pytest.raises(Conflict, match="no views here"):
        trial.make_view()
    trial.remove()
    assert content(tmp_path) == before


def test_over_rest_a_view_is_also_replaced_as_promotions_do(tmp_path: Path) -> None:
    with rest_server(tmp_path) as server:
        catalog = open_iceberg_catalog("lake", server.properties)
        trial = Trial(catalog, "4567")
        trial.make_table()
        trial.make_view()
        assert ("POST", f"/v1/namespaces/{trial.namespace}/views/shown") in server.changes
        trial.remove()
        assert server.views == {}
        assert catalog.list_namespaces() == []


@pytest.mark.full
def test_what_cannot_be_removed_is_named_and_the_rest_is_removed(
    catalog: PyIcebergCatalog, tmp_path: Path
) -> None:
    trial = Trial(catalog, "4567")
    trial.make_table()
    catalog.create_table((trial.namespace, "of_somebody"), schema=catalog_schema(catalog))
    with pytest.raises(Refused) as refused:
        trial.remove()
    assert f"the namespace {trial.namespace} (NamespaceNotEmptyError" in str(refused.value)
    assert "the table" not in str(refused.value)
    catalog.drop_table((trial.namespace, "of_somebody"))
    trial.remove()
    assert not (tmp_path / "warehouse" / trial.namespace).exists()


@pytest.mark.parametrize(
    "error,may_be_there", [(ForbiddenError("no"), False), (ConnectionError("lost"), True)]
)
def test_only_a_refusal_says_for_certain_that_nothing_was_made(
    catalog: PyIcebergCatalog,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    may_be_there: bool,
) -> None:
    def fails(*_: object) -> None:
        raise error

    for name in ("create_namespace", "purge_table", "drop_namespace"):
        monkeypatch.setattr(catalog, name, fails)
    trial = Trial(catalog, "4567")
    with pytest.raises(type(error)):
        trial.make_table()
    assert trial.may_be_there is may_be_there
    if may_be_there:
        with pytest.raises(Refused, match="may have created objects") as refused:
            trial.remove()
        assert f"If the namespace {trial.namespace} exists, drop it by hand" in refused.value.advice


def catalog_schema(catalog: PyIcebergCatalog) -> Schema:
    return catalog.load_table(("vde_doctor_0123", "trial")).schema()


@pytest.mark.spark
def test_spark_reads_and_writes_what_was_made_and_all_of_it_can_be_removed(
    spark: SparkSession, spark_lake: SparkLake
) -> None:
    catalog = spark_lake.iceberg()
    trial = Trial(catalog, "89ab")
    trial.make_table()
    trial.make_view()
    trial.try_spark(spark)
    trial.remove()
    assert (trial.namespace,) not in catalog.list_namespaces()
    assert list(spark_lake.warehouse.glob(f"{trial.namespace}*")) == []


@pytest.mark.spark
def test_a_spark_with_another_catalog_is_found_out(
    spark: SparkSession, spark_lake: SparkLake, tmp_path: Path
) -> None:
    """The same name in two databases, with other rows in the table of the same name."""
    elsewhere = catalog_in(tmp_path)
    trial = Trial(elsewhere, "cdef")
    trial.make_table()
    spark.sql(f"CREATE NAMESPACE {spark_lake.catalog}.{trial.namespace}")
    name = f"{spark_lake.catalog}.{trial.namespace}.trial"
    spark.sql(f"CREATE TABLE {name} AS SELECT CAST(7 AS BIGINT) AS id")
    with pytest.raises(Refused, match=r"Spark reads \[7\] from .*, but \[1\] was written"):
        trial.try_spark(spark)
    spark.sql(f"DROP TABLE {name} PURGE")
    spark.sql(f"DROP NAMESPACE {spark_lake.catalog}.{trial.namespace}")


@pytest.mark.spark
def test_spark_answers_tells_the_time_and_runs_this_python(spark: SparkSession) -> None:
    assert answer_of(spark) == 2
    before = datetime.now(UTC)
    said = clock_of(spark)
    assert before - timedelta(seconds=1) <= said <= datetime.now(UTC) + timedelta(seconds=1)
    assert python_of_workers(spark) == f"{sys.version_info.major}.{sys.version_info.minor}"
