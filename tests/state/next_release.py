"""The release after this one: its schema has one more column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, text

from vde_dagster.state import schema
from vde_dagster.state import state_database as migrations

ADDED = ("vde_pauses", "until")


@contextmanager
def next_release() -> Iterator[None]:
    """What is done meanwhile is done by the next release."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(migrations.STEPS, schema.VERSION + 1, _add)
        patched.setattr(schema, "VERSION", schema.VERSION + 1)
        yield


def _add(connection: Connection) -> None:
    table, column = ADDED
    connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {column} BIGINT"))
