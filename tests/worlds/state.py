"""A state in memory: production's code on SQLite, by a clock that the test has in its hands."""

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
from vde_dagster.state.codec import encode_instant
from vde_dagster.state.database import open_engine
from vde_dagster.state.sql_state import SqlState

_JULIAN_EPOCH: Final = 2_440_587.5
"""1970 as SQLite's `julianday` counts days."""

_unused: Final[list[Engine]] = []
"""Engines whose state is gone: another state takes one over, with the statements it compiled."""


def memory_state(clock: Clock) -> SqlState:
    """A new state in memory. Threads may share it; each call of it has the database to itself.

    Args:
        clock: What the database takes for its own clock, in whole milliseconds: leases expire by
            it, and the times in records come from it.
    """
    engine = _unused.pop() if _unused else open_engine("sqlite://")
    with _connected(engine) as connection:
        _empty().backup(connection)
        connection.create_function("julianday", 1, lambda _: _julian_day(clock))
        began = encode_instant(clock.now())
        connection.execute("UPDATE vde_state_version SET applied_at = ?", (began,))
    state = SqlState(engine)
    weakref.finalize(state, _unused.append, engine)
    return state


@cache
def _empty() -> sqlite3.Connection:
    """A database with the schema and nothing in it: to copy it is faster than to make it again."""
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
