"""The version of the state's schema: created once, moved forward, never backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from uuid import uuid4

from sqlalchemy import Connection, func, insert, inspect, select, text

from vde_dagster.state import schema
from vde_dagster.state.database import Database, now
from vde_dagster.state.versions import LOCK, refuse_earlier, refuse_newer

Step = Callable[[Connection], None]

STEPS: Final[dict[int, Step]] = {}
"""How to reach each version from the one before it; version 1 is created, not reached."""


def migrate(database: Database, *, moves: bool = True) -> None:
    """Bring the schema to ``schema.VERSION`` in one transaction. Cheap if it is there already.

    Safe in any number of processes at once: the first one writes, the others find it done.

    Args:
        database: The state's.
        moves: Whether a state of an earlier release is moved forward; else only a new one is made.

    Raises:
        Refused: The state was written by a newer release, or by an earlier one and is not to be
            moved; nothing was written.
    """
    with database.read() as connection:
        found = checked_version(connection)
    if found == schema.VERSION:
        return
    if not moves:
        refuse_earlier(found)
    with database.write() as connection:
        bring_forward(connection)


def bring_forward(connection: Connection) -> None:
    """Create the schema, or move it forward, in a transaction.

    Raises:
        Refused: The state was written by a newer release.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    found = checked_version(connection)
    if found == schema.VERSION:
        return
    if found == 0:
        schema.metadata.create_all(connection)
        connection.execute(insert(schema.identity).values(state_id=uuid4().hex))
    else:
        for version in range(found + 1, schema.VERSION + 1):
            STEPS[version](connection)
    reached = insert(schema.state_version)
    connection.execute(reached.values(version=schema.VERSION, applied_at=now(connection)))


def checked_version(connection: Connection) -> int:
    """The schema's version, 0 if there is none.

    Raises:
        Refused: The state was written by a newer release.
    """
    table = schema.state_version
    if not inspect(connection).has_table(table.name):
        return 0
    found = connection.execute(select(func.max(table.c.version))).scalar_one() or 0
    refuse_newer(found)
    return int(found)
