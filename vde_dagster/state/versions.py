"""Which versions of the schema a release works with, and what it says about the others."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, func, select, text

from vde_dagster.core.errors import Refused
from vde_dagster.state import schema

LOCK: Final = 0x7664655F73746174
"""Postgres cannot lock a schema that does not exist yet, so this is the number of an advisory lock.

Whoever creates the schema or moves it forward holds it alone; those that write share it.
"""
_NEWEST: Final = select(func.max(schema.state_version.c.version))


def refuse_moved(connection: Connection) -> None:
    """Refuse to write a state that was moved forward after it was opened.

    Until the transaction ends nobody moves it: SQLite has one writer at a time.

    Raises:
        Refused: A newer release has moved it.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock_shared(:lock)"), {"lock": LOCK})
    refuse_newer(connection.execute(_NEWEST).scalar_one())


def refuse_newer(found: int) -> None:
    """Refuse a state that this release cannot read.

    Raises:
        Refused: It was written by a newer release.
    """
    if found > schema.VERSION:
        raise Refused(
            f"the state has schema version {found}, this release of vde_dagster reads up to "
            f"{schema.VERSION}",
            advice="install the release that wrote it, or a newer one",
        )


def refuse_earlier(found: int) -> None:
    """Refuse a state that has to be moved forward before this release can use it.

    Raises:
        Refused: It was written by an earlier release.
    """
    if 0 < found < schema.VERSION:
        raise Refused(
            f"the state has schema version {found}, and this release of vde_dagster works with "
            f"{schema.VERSION}. Nothing was written",
            advice="Once nothing of the earlier release runs any more, `vde state migrate` moves "
            "it forward; from then on the earlier release refuses it.",
        )
