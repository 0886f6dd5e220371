"""A catalog in Postgres, and what other writers do in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import Engine, create_engine, inspect, text

from tests.lakehouse.catalog_worlds import IcebergWorld
from tests.postgres_server import new_database
from vde_dagster.core.names import TableName
from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog

IN_POSTGRES: Final = pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.full])
"""A parameter of fixtures; the fixture `postgres` is the database."""
_TABLES: Final = ("iceberg_tables", "iceberg_namespace_properties")


class PostgresWorld(IcebergWorld):
    """Others write with pyiceberg.

    Args:
        engine: The database, with no table of a catalog or with those of another world, which is
            lost.
        folder: Where the files are.
    """

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.folder = folder
        self._engine = engine
        address = emptied(engine)
        settings = {"type": "sql", "uri": address, "warehouse": f"{folder}/warehouse"}
        self._tables = open_iceberg_catalog("lake", settings)
        for namespace in ("raw", "vde__s"):
            self._tables.create_namespace(namespace)

    def _location(self, name: TableName) -> str:
        query = text("SELECT metadata_location FROM iceberg_tables WHERE table_name = :name")
        with self._engine.connect() as connection:
            return str(connection.execute(query, {"name": name.name}).scalar_one())


def emptied(engine: Engine) -> str:
    """Take all tables and views out of the catalogs in a database; its address."""
    with engine.begin() as connection:
        for each in set(_TABLES) & set(inspect(connection).get_table_names()):
            connection.execute(text(f"DELETE FROM {each}"))
    return engine.url.render_as_string(hide_password=False)


@contextmanager
def postgres_world(engine: Engine, folder: Path) -> Iterator[PostgresWorld]:
    """A new world in a database, whose connections are closed at the end."""
    world = PostgresWorld(engine, folder)
    try:
        yield world
    finally:
        opened: Engine = world._tables.engine  # type: ignore[attr-defined] # a SQL catalog's
        opened.dispose()


@contextmanager
def postgres_database(server: str) -> Iterator[Engine]:
    """A new database of a server, whose address has ``{database}`` to fill in."""
    engine = create_engine(new_database(server))
    yield engine
    engine.dispose()
