"""The adapters of the state, each behind the same handle; one Postgres server for all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, update

from tests.worlds.clock import ManualClock
from tests.worlds.state import memory_state
from vde_dagster.ports.clock import Clock
from vde_dagster.ports.state import State
from vde_dagster.project.machine import SystemClock
from vde_dagster.state import schema
from vde_dagster.state.database import open_engine
from vde_dagster.state.sql_state import SqlState


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A state under test, and the time by which it records.

    ``pass_time`` lets every lease come nearer to its end.
    """

    state: State
    clock: Clock
    pass_time: Callable[[timedelta], None]


def _sql_store(url: str) -> Iterator[Store]:
    state = SqlState.open(url)
    engine = open_engine(url)

    def pass_time(by: timedelta) -> None:
        expires_at = schema.leases.c.expires_at
        with engine.begin() as connection:
            connection.execute(
                update(schema.leases).values(
                    expires_at=expires_at - by // timedelta(microseconds=1)
                )
            )

    yield Store(state=state, clock=SystemClock(), pass_time=pass_time)
    engine.dispose()
    state.close()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'vde' / 'state.db'}"


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """An empty database of its own."""
    name = f"t{uuid4().hex}"
    engine = create_engine(
        postgres_server.format(database="postgres"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return postgres_server.format(database=name)


SQL = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=SQL)
def sql_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(params=["memory", *SQL])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        clock = ManualClock()
        yield Store(state=memory_state(clock), clock=clock, pass_time=clock.advance)
    else:
        yield from _sql_store(request.getfixturevalue(f"{request.param}_url"))
