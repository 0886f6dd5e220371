"""What Dagster makes for each statement on SQLite, kept as long as a process of tests lives.

Dagster creates an engine of SQLAlchemy for each statement: it asks the database what it is, and
compiles the statement again. For each new database it reads all of its migrations from their files.
That was most of what a short run took. Connections are opened and closed as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import sqlalchemy
from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.storage.event_log.sqlite import consolidated_sqlite_event_log, sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage

CREATING: Final = (
    consolidated_sqlite_event_log,
    sqlite_event_log,
    sqlite_run_storage,
    sqlite_schedule_storage,
)
"""The modules of Dagster that create engines."""
_CREATE: Final = "create_engine"
_READ: Final = "from_config"


def keep_engines() -> None:
    """Let Dagster, in this process, have one engine for each database, and read migrations once."""
    for module in CREATING:
        assert _CREATE in vars(module), f"{module.__name__} creates its engines by another name"
        vars(module)[_CREATE] = kept_engine
    setattr(ScriptDirectory, _READ, staticmethod(_migrations))


def kept_engine(
    address: str,
    *,
    poolclass: Callable[..., sqlalchemy.Pool] | None = None,
    connect_args: Mapping[str, float] | None = None,
) -> sqlalchemy.Engine:
    """The engine of a database, as Dagster asks for it.

    Args:
        address: Its URL.
        poolclass: What keeps connections.
        connect_args: What the driver is told.
    """
    return _engine(address, poolclass, tuple(sorted((connect_args or {}).items())))


@lru_cache(maxsize=32)
def _engine(
    address: str,
    poolclass: Callable[..., sqlalchemy.Pool] | None,
    connect_args: tuple[tuple[str, float], ...],
) -> sqlalchemy.Engine:
    kept: dict[str, Any] = {"poolclass": poolclass, "connect_args": dict(connect_args)}
    return sqlalchemy.create_engine(address, **kept)


_read: Final = ScriptDirectory.from_config
_scripts: Final[dict[str | None, ScriptDirectory]] = {}


def _migrations(config: Config) -> ScriptDirectory:
    place = config.get_main_option("script_location")
    if place not in _scripts:
        _scripts[place] = _read(config)
    return _scripts[place]
