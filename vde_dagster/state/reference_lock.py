"""Who adds references to versions, and who decides that there are none, exclude each other (R12).

SQLite lets one writer in at a time. On Postgres it is an advisory lock until the end of the
transaction, which those who add references share. It is taken before any row is locked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, delete, select, text

from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.clean_up import BeingDropped
from vde_dagster.state import schema
from vde_dagster.state.pairs import encoded, in_pairs, pairs

_LOCK: Final = 0x7664655F72656673
_tombstones = schema.tombstones
_MARKED: Final = select(_tombstones.c.model, _tombstones.c.version, _tombstones.c.dropping)
_CLEAR: Final = delete(_tombstones).where(pairs(_tombstones.c.model, _tombstones.c.version))


def while_adding(connection: Connection) -> None:
    """Until the end of this transaction nobody decides that a version is unreachable."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock_shared(:lock)"), {"lock": _LOCK})


def while_deciding(connection: Connection) -> None:
    """Until the end of this transaction nobody adds a reference to a version."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def refer(connection: Connection, keys: Iterable[VersionKey]) -> None:
    """Refer to versions: their tombstones go.

    Raises:
        BeingDropped: One of them is being dropped.
    """
    named = set(map(encoded, keys))
    # There are few tombstones, and mostly none.
    rows = [row for row in connection.execute(_MARKED) if (row.model, row.version) in named]
    dropping = sorted({row.model for row in rows if row.dropping})
    if dropping:
        raise BeingDropped(
            f"an unused version of {', '.join(dropping)} is being dropped. Nothing was changed",
            advice="run `vde janitor`, which finishes that, and then this again.",
        )
    if rows:
        connection.execute(_CLEAR, in_pairs(sorted((row.model, row.version) for row in rows)))
