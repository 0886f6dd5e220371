"""The adapters of the state, each behind the same handle; one Postgres server for all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, delete, event, update

from tests.postgres_server import new_database
from tests.state.builders import KEY, MINUTE
from tests.worlds.clock import ManualClock
from tests.worlds.state import memory_state
from vde_dagster.ports.clock import Clock
from vde_dagster.ports.state import Lease, State, environment_resource, version_resource
from vde_dagster.project.machine import SystemClock
from vde_dagster.state import schema
from vde_dagster.state.database import now, open_engine
from vde_dagster.state.sql_state import SqlState


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A state under test, and the time by which it records.

    ``pass_time`` lets every lease come nearer to its end.
    """

    state: State
    clock: Clock
    pass_time: Callable[[timedelta], None]


@dataclass(slots=True)
class _Kept:
    """A state in a database that the tests of a file use one after the other."""

    state: SqlState
    engine: Engine

    @classmethod
    def at(cls, url: str) -> _Kept:
        return cls(SqlState.open(url), open_engine(url))

    def emptied(self) -> Store:
        """As it was when it was made, and made just now."""
        with self.engine.begin() as connection:
            for table in reversed(schema.metadata.sorted_tables):
                if table not in (schema.state_version, schema.identity):
                    connection.execute(delete(table))
            connection.execute(update(schema.state_version).values(applied_at=now(connection)))
        return Store(state=self.state, clock=SystemClock(), pass_time=self._pass_time)

    def _pass_time(self, by: timedelta) -> None:
        expires_at = schema.leases.c.expires_at
        with self.engine.begin() as connection:
            connection.execute(
                update(schema.leases).values(
                    expires_at=expires_at - by // timedelta(microseconds=1)
                )
            )

    def close(self) -> None:
        self.engine.dispose()
        self.state.close()


@pytest.fixture(scope="module")
def kept_states() -> Iterator[dict[str, _Kept]]:
    """The states that a file's tests share, by what they are stored in."""
    kept: dict[str, _Kept] = {}
    yield kept
    for each in kept.values():
        each.close()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'vde' / 'state.db'}"


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """An empty database of its own."""
    return new_database(postgres_server)


POSTGRES = pytest.param("postgres", marks=pytest.mark.postgres)
SQL = ["sqlite", POSTGRES]


@pytest.fixture(params=SQL)
def sql_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


# In memory it is SQLite, too: what is in a file shows the same.
@pytest.fixture(params=["memory", pytest.param("sqlite", marks=pytest.mark.full), POSTGRES])
def store(request: pytest.FixtureRequest, kept_states: dict[str, _Kept]) -> Store:
    """A state with nothing in it."""
    if request.param == "memory":
        clock = ManualClock()
        return Store(state=memory_state(clock), clock=clock, pass_time=clock.advance)
    if request.param not in kept_states:
        kept_states[request.param] = _Kept.at(request.getfixturevalue(f"{request.param}_url"))
    return kept_states[request.param].emptied()


@pytest.fixture
def state(store: Store) -> State:
    """The same for tests that need nothing else of it."""
    return store.state


@pytest.fixture
def lease(state: State) -> Lease:
    """What writing the version needs, for a minute."""
    return state.acquire_lease(version_resource(KEY), holder="me", ttl=MINUTE)


@pytest.fixture
def environment(state: State) -> Lease:
    """What a plan of production holds, for a minute."""
    return state.acquire_lease(environment_resource("prod"), holder="plan p", ttl=MINUTE)


@pytest.fixture
def sql_state(sql_url: str) -> Iterator[SqlState]:
    """A new state in a database of its own."""
    state = SqlState.open(sql_url)
    yield state
    state.close()


@pytest.fixture
def sqlite_state(sqlite_url: str) -> Iterator[SqlState]:
    """A new state in a file of its own."""
    state = SqlState.open(sqlite_url)
    yield state
    state.close()


@contextmanager
def steps_of(state: SqlState, word: str) -> Iterator[list[str]]:
    """How SQLite finds what it is asked meanwhile, by its statements with a word in them."""
    found: list[str] = []

    def explain(_c: object, cursor: Any, statement: str, parameters: object, *_: object) -> None:
        if word in statement:
            plan = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            found.extend(row[3] for row in plan)

    event.listen(state._database.engine, "after_cursor_execute", explain)
    yield found
    event.remove(state._database.engine, "after_cursor_execute", explain)


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A transaction of somebody who knows no state."""
    engine = open_engine(url)
    with engine.begin() as connection:
        yield connection
    engine.dispose()
