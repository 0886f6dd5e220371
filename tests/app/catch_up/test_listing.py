"""What sessions did is listed in the tables that people query, once, whatever happens."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog as PyIcebergCatalog

from tests.app.catch_up.lifecycle import CANCELS, REQUESTS, SIGNUPS, Lifecycle
from tests.app.catch_up.test_stateful import late_data_comes, loaded_to_hour_five
from tests.app.memory_world import bound
from vde_dagster.app.catch_up.listing import late_data_listed, list_late_data
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.services import Services
from vde_dagster.core.errors import EvaluationFailed, OutcomeUnknown
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog
from vde_dagster.lakehouse.iceberg.late_tables import IcebergLateTables

SESSIONS, MARKS = TableName("vde_meta", "late_sessions"), TableName("vde_meta", "high_watermarks")


@pytest.fixture
def catalog(tmp_path: Path) -> PyIcebergCatalog:
    place = {"uri": f"sqlite:///{tmp_path}/lake.db", "warehouse": f"file://{tmp_path}/warehouse"}
    return open_iceberg_catalog("lake", {"type": "sql", **place})


@pytest.fixture
def tables(catalog: PyIcebergCatalog) -> IcebergLateTables:
    return IcebergLateTables(lambda: catalog, sessions=SESSIONS, marks=MARKS)


def rows(catalog: PyIcebergCatalog, name: TableName) -> list[dict[str, Any]]:
    table = catalog.load_table((name.namespace, name.name))
    found: list[dict[str, Any]] = table.scan().to_arrow().to_pylist()
    return found


def sessions_of(catalog: PyIcebergCatalog, name: ModelName) -> list[dict[str, Any]]:
    own = (each for each in rows(catalog, SESSIONS) if each["process_name"] == str(name))
    return sorted(own, key=lambda each: str(each["started_at"]))


def run(life: Lifecycle, tables: IcebergLateTables, *names: ModelName) -> None:
    services = replace(life.services(), late_tables=tables)
    with late_data_listed(services):
        for name in names:
            catch_up(services, bound(services), name)


@pytest.mark.full
def test_each_session_is_listed_with_what_it_found_and_wrote(
    catalog: PyIcebergCatalog, tables: IcebergLateTables
) -> None:
    life = loaded_to_hour_five()
    late_data_comes(life)
    run(life, tables, SIGNUPS, REQUESTS, CANCELS)
    first, second = sessions_of(catalog, CANCELS)
    assert (first["outcome"], first["rows_written"], first["mode"]) == ("done", 6, "stateful")
    assert (first["from_processing_hour"], first["to_processing_hour"]) == (None, 6)
    assert second["to_processing_hour"] == 8
    assert (second["from_event_hour"], second["to_event_hour"]) == (5, 7)
    found = {each["source"]: each["rows"] for each in second["sources"]}
    assert found["raw.cancels"] == 3
    _, late = sessions_of(catalog, SIGNUPS)
    assert sum(each["rows"] for each in late["processing_uris"]) == 3


def test_what_was_done_before_a_failure_is_listed(
    catalog: PyIcebergCatalog, tables: IcebergLateTables
) -> None:
    life = loaded_to_hour_five()
    late_data_comes(life)
    services = replace(life.services(), late_tables=tables)

    def two() -> None:
        with late_data_listed(services):
            catch_up(services, bound(services), SIGNUPS)
            raise EvaluationFailed("the next one fails")

    with pytest.raises(EvaluationFailed):
        two()
    assert len(sessions_of(catalog, SIGNUPS)) == 2


@pytest.mark.full
def test_a_table_that_cannot_be_written_is_a_warning_and_is_tried_again(
    catalog: PyIcebergCatalog, tables: IcebergLateTables, caplog: pytest.LogCaptureFixture
) -> None:
    class Away(IcebergLateTables):
        def add_sessions(self, sessions: Any) -> None:
            raise OutcomeUnknown("the storage did not answer")

    life = loaded_to_hour_five()
    late_data_comes(life)
    away = Away(lambda: catalog, sessions=SESSIONS, marks=MARKS)
    with caplog.at_level(logging.WARNING):
        run(life, away, SIGNUPS)
    assert len(life.rows(SIGNUPS)) == 9
    assert "the storage did not answer" in caplog.text
    list_late_data(replace(life.services(), late_tables=tables))
    assert len(sessions_of(catalog, SIGNUPS)) == 2


def test_nothing_is_opened_if_there_is_nothing_to_list(tables: IcebergLateTables) -> None:
    def refused() -> PyIcebergCatalog:
        raise AssertionError("the catalog was opened")

    life = loaded_to_hour_five()
    services: Services = replace(life.services(), late_tables=tables)
    list_late_data(services)
    closed = IcebergLateTables(refused, sessions=SESSIONS, marks=MARKS)
    list_late_data(replace(services, late_tables=closed))
