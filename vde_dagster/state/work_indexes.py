"""Version 11 of the schema: indexes that lead to the units of work that are asked for.

Before, all units of work of a version were read to find its newest one, those that are not done,
and those that stand out; after years of hourly runs there are tens of thousands. Also before, what
a unit of work had published was never missing; now `vde_dagster.state.old_detail` forgets it.

On Postgres the earlier index is dropped first: that takes the strongest lock on the table, so that
none has to be made stronger while others wait for the table, which could end in a deadlock.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

_INDEXES: Final = (
    ("vde_work_newest", "model, version, state, number", ""),
    ("vde_work_open", "state, model, version", "state IN ('intent', 'staged')"),
    ("vde_work_drifted", "drifted, model, version, state", "drifted"),
    ("vde_work_accepted", "accepted, model, version", "accepted"),
    ("vde_work_audited", "model, version, number", "audits_json IS NOT NULL"),
)
"""The name, the columns and the condition of each."""
_ON_SQLITE: Final = {"drifted": "drifted = 1", "accepted": "accepted = 1"}
"""Conditions that it has other words for: it compares them with those of queries by their texts."""


def create(connection: Connection) -> None:
    """Create the indexes in a state of version 10; the first takes the place of an earlier one."""
    is_sqlite = connection.dialect.name == "sqlite"
    connection.execute(text("DROP INDEX IF EXISTS vde_work_by_version"))
    for name, columns, condition in _INDEXES:
        where = _ON_SQLITE.get(condition, condition) if is_sqlite else condition
        only = f" WHERE {where}" if where else ""
        connection.execute(text(f"CREATE INDEX {name} ON vde_work ({columns}){only}"))
