"""One story on each platform that this machine can run: see docs/deploy.md for the others."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine

from tests.flights.lakes import OnSpark, on_spark
from tests.platform.processes import tell

pytestmark = [pytest.mark.full, pytest.mark.timeout(3000)]


def told(lake: OnSpark, settings: str = "") -> None:
    """Tell the story of `tests.platform.told` with more settings in vde.yaml."""
    with (lake.folder / "vde.yaml").open("a", encoding="utf-8") as file:
        file.write(settings)
    tell("tests.platform.told", lake.folder)


def test_embedded(tmp_path: Path) -> None:
    told(on_spark(tmp_path / "flights"))


@pytest.mark.postgres
def test_catalog_and_state_in_one_postgres(tmp_path: Path, postgres_on_loopback: str) -> None:
    """The password is in the environment of the processes alone."""
    database = f"t{uuid4().hex}"
    server = create_engine(
        postgres_on_loopback.format(database="postgres"), isolation_level="AUTOCOMMIT"
    )
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {database}")
    server.dispose()
    address = postgres_on_loopback.format(database=database)
    lake = on_spark(tmp_path / "flights", uri=address)
    told(lake, f"state: {{url: '{address}'}}\n")
