"""Relative files in settings are in the project's folder; all else is as it was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from vde_dagster.project.configuration import address_in, catalog_in

FOLDER = Path("/projects/shop")


@pytest.mark.parametrize(
    "written, found",
    [
        ("sqlite:///state.db", "sqlite:////projects/shop/state.db"),
        ("sqlite+pysqlite:///state.db", "sqlite+pysqlite:////projects/shop/state.db"),
    ],
)
def test_a_relative_file_of_sqlite_is_in_the_folder(written: str, found: str) -> None:
    assert address_in(FOLDER, written) == found


@pytest.mark.parametrize(
    "written",
    [
        "",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:state.db?mode=ro&uri=true",
        "postgresql+psycopg2://user:password@host/db",
    ],
)
def test_other_addresses_are_as_they_were_written(written: str) -> None:
    assert address_in(FOLDER, written) == written


@pytest.mark.parametrize(
    "written, found",
    [
        ("lake", "/projects/shop/lake"),
        ("/var/lake", "/var/lake"),
        ("s3://bucket/lake", "s3://bucket/lake"),
    ],
)
def test_a_relative_warehouse_is_in_the_folder(written: str, found: str) -> None:
    properties = {"type": "sql", "uri": "sqlite:///lake.db", "warehouse": written}
    uri = "sqlite:////projects/shop/lake.db"
    assert catalog_in(FOLDER, properties) == {"type": "sql", "uri": uri, "warehouse": found}


def test_properties_without_an_address_stay_without_one() -> None:
    assert catalog_in(FOLDER, {"warehouse": ""}) == {"warehouse": ""}
