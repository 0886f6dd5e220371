"""Whether there is a table, in catalogs where it is certain and where something is on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.exceptions import NoSuchTableError, RESTError, ServiceUnavailableError

from tests.lakehouse.catalog_worlds import TABLE, IcebergWorld, RestWorld, fail, world_of
from tests.worlds.rest_server import Page
from vde_dagster.core.faults import Fault, fault_of
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.iceberg.publish import load


@pytest.fixture(params=["iceberg", "rest"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IcebergWorld]:
    with world_of(request.param, tmp_path) as found:
        assert isinstance(found, IcebergWorld)
        found.create(TABLE)
        yield found


@pytest.mark.full
def test_a_table_is_loaded_and_one_that_is_not_there_is_said_to_be_none(
    world: IcebergWorld,
) -> None:
    assert load(world._tables, TABLE).name() == ("raw", "events")
    for name in (TableName("raw", "none"), TableName("none", "events")):
        with pytest.raises(NoSuchTableError):
            load(world._tables, name)
        assert world.catalog.table(name) is None


@pytest.mark.full
@pytest.mark.parametrize("status", [200, 404])
def test_a_page_of_something_on_the_way_is_a_service_that_does_not_answer(
    rest: RestWorld, status: int
) -> None:
    fail(rest.server, Page(status), part="/tables/")
    for ask in (
        lambda: load(rest._tables, TABLE),
        lambda: rest.catalog.table(TABLE),
        lambda: rest.catalog.branches(TABLE),
        lambda: rest.catalog.columns_at(TABLE, 1),
    ):
        with pytest.raises(RESTError, match=f"{status}: no answer of a catalog") as raised:
            ask()
        found = fault_of(raised.value)
        assert found is not None
        assert found.fault is Fault.NO_ANSWER


def test_one_404_of_something_on_the_way_is_no_word_of_the_catalog_either(rest: RestWorld) -> None:
    fail(rest.server, Page(404), part="/tables/", times=1)
    with pytest.raises(ServiceUnavailableError, match="reports both that"):
        load(rest._tables, TABLE)
    assert load(rest._tables, TABLE).name() == ("raw", "events")
