"""A state in memory: production's code on SQLite, with a clock that the test controls."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Final

from sqlalchemy import Engine

from vde_dagster.core.time.intervals import EPOCH
from vde_dagster.ports.clock import Clock
from vde_dagster.ports.state import State
from vde_dagster.state.codec import encode_instant
from vde_dagster.state.database import open_engine
from vde_dagster.state.sql_state import SqlState

_JULIAN_EPOCH: Final = 2_440_587.5
"""1970 as SQLite's `julianday` counts days."""

_unused: Final[list[Engine]] = []
"""Engines whose state is gone: a new state takes one over, with its compiled statements."""


def memory_state(clock: Clock) -> SqlState:
    """A new state in memory. Threads may share it; each call of it has the database to itself.

    Args:
        clock: What the database takes for its own clock, in whole milliseconds: leases expire by
            it, and the times in records come from it.
    """
    state = _state(_empty(), clock)
    with _connected(_engine_of(state)) as connection:
        began = encode_instant(clock.now())
        connection.execute("UPDATE vde_state_version SET applied_at = ?", (began,))
    return state


def copied_state(state: State, clock: Clock) -> SqlState:
    """A state in memory with what another one has; what is done to one does nothing to the other.

    Args:
        state: One that `memory_state` made.
        clock: What the new database takes for its own clock.
    """
    assert isinstance(state, SqlState), "only a state in memory can be copied"
    with _connected(_engine_of(state)) as connection:
        return _state(connection, clock)


def _state(content: sqlite3.Connection, clock: Clock) -> SqlState:
    engine = _unused.pop() if _unused else open_engine("sqlite://")
    with _connected(engine) as connection:
        content.backup(connection)
        connection.create_function("julianday", 1, lambda _: _julian_day(clock))
    state = SqlState(engine)
    weakref.finalize(state, _unused.append, engine)
    return state


def _engine_of(state: SqlState) -> Engine:
    return state._database.engine


@cache
def _empty() -> sqlite3.Connection:
    """An empty database with the schema: copying it is faster than creating it again."""
    engine = open_engine("sqlite://")
    SqlState(engine)
    copied = sqlite3.connect(":memory:", check_same_thread=False)
    with _connected(engine) as connection:
        connection.backup(copied)
    return copied


@contextmanager
def _connected(engine: Engine) -> Iterator[sqlite3.Connection]:
    """The one connection of a database in memory, as the driver has it."""
    with engine.connect() as opened:
        connection = opened.connection.driver_connection
        assert isinstance(connection, sqlite3.Connection)
        yield connection


def _julian_day(clock: Clock) -> float:
    return _JULIAN_EPOCH + (clock.now() - EPOCH) / timedelta(days=1)
