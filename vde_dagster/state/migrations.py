"""The version of the state's schema: created once, moved forward, never backward."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Connection, func, insert, inspect, select, text

from vde_dagster.core.ledger.dsha import FIRST_ALGORITHM
from vde_dagster.state import schema, work_indexes
from vde_dagster.state.database import Database, now
from vde_dagster.state.versions import LOCK, refuse_earlier, refuse_newer

Step = Callable[[Connection], None]


def _second(connection: Connection) -> None:
    """Version 2: who decided on a change, the status of entries, and models without a view.

    Before, no person could choose a category, no version was kept for another definition, every
    recorded interval was computed, and an environment had views of all models.
    """
    for table, column in (
        ("vde_snapshots", "decided_by VARCHAR DEFAULT 'automatic' NOT NULL"),
        ("vde_snapshots", "decided_from VARCHAR DEFAULT '' NOT NULL"),
        ("vde_snapshots", "drifted BOOLEAN DEFAULT false NOT NULL"),
        ("vde_ledger", "standing VARCHAR DEFAULT 'computed' NOT NULL"),
        ("vde_ledger", "reason TEXT DEFAULT '' NOT NULL"),
        ("vde_promoted_snapshots", "hidden BOOLEAN DEFAULT false NOT NULL"),
    ):
        connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {column}"))


def _third(connection: Connection) -> None:
    """Version 3: what each entry's rows were hashed with and computed from; what audits found.

    Before, there was one algorithm, no audit was run, and no trace was kept.
    """
    for table, column in (
        ("vde_ledger", f"algorithm VARCHAR DEFAULT '{FIRST_ALGORITHM}' NOT NULL"),
        ("vde_ledger", "trace_json TEXT"),
        ("vde_work", "audits_json TEXT"),
    ):
        connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {column}"))


def _fourth(connection: Connection) -> None:
    """Version 4: which work wrote rows of another definition, and how snapshots are shown.

    Before, the former was derived from the stored snapshots, whether they were used or not; what
    production or an owner was promoted to was known already. And every environment showed a
    snapshot as it was stored.
    """
    for table, column in (
        ("vde_work", "drifted BOOLEAN DEFAULT false NOT NULL"),
        ("vde_promoted_snapshots", "version VARCHAR DEFAULT '' NOT NULL"),
        ("vde_promoted_snapshots", "decided_by VARCHAR DEFAULT 'automatic' NOT NULL"),
        ("vde_promoted_snapshots", "drifted BOOLEAN DEFAULT false NOT NULL"),
    ):
        connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {column}"))
    for statement in (_SHOWN_AS_STORED, _PROMOTED_BY_VERSION):
        connection.execute(text(statement))


_SHOWN_AS_STORED: Final = """
UPDATE vde_promoted_snapshots SET (version, decided_by, drifted) = (
  SELECT s.version, s.decided_by, s.drifted FROM vde_snapshots s
  WHERE s.model = vde_promoted_snapshots.model AND s.digest = vde_promoted_snapshots.digest
)
"""
_PROMOTED_BY_VERSION: Final = """
CREATE INDEX vde_promoted_by_version ON vde_promoted_snapshots (model, version, drifted)
"""


def _fifth(connection: Connection) -> None:
    """Version 5: summaries of ledgers, numbers of changes, looks at inputs, and savings.

    Before, none of these were stored: a summary is computed from the entries until the next change.
    """
    added = "ALTER TABLE vde_ledger ADD COLUMN number BIGINT DEFAULT '0' NOT NULL"
    ledgers = (added, _LEDGER_BY_NUMBER, _HOLDINGS, _LAST_LOOKS)
    for statement in (*ledgers, _SAVINGS, _SAVINGS_BY_TIME):
        connection.execute(text(statement))


_LEDGER_BY_NUMBER: Final = """
CREATE INDEX vde_ledger_by_number ON vde_ledger (model, version, number)
"""
_HOLDINGS: Final = """
CREATE TABLE vde_holdings (
  model VARCHAR NOT NULL, version VARCHAR NOT NULL, number BIGINT NOT NULL,
  removed BIGINT NOT NULL, holding_json TEXT NOT NULL, PRIMARY KEY (model, version)
)
"""
_LAST_LOOKS: Final = """
CREATE TABLE vde_last_looks (
  model VARCHAR NOT NULL, version VARCHAR NOT NULL, look_json TEXT NOT NULL,
  PRIMARY KEY (model, version)
)
"""
_SAVINGS: Final = """
CREATE TABLE vde_savings (
  occasion VARCHAR NOT NULL, model VARCHAR NOT NULL, version VARCHAR NOT NULL,
  environment VARCHAR NOT NULL, kind VARCHAR NOT NULL, saved_at BIGINT NOT NULL,
  intervals BIGINT NOT NULL, time_covered BIGINT, row_count BIGINT NOT NULL, seconds FLOAT,
  untimed BIGINT NOT NULL, PRIMARY KEY (occasion, model)
)
"""
_SAVINGS_BY_TIME: Final = "CREATE INDEX vde_savings_by_time ON vde_savings (saved_at)"


def _sixth(connection: Connection) -> None:
    """Version 6: what is pending, and sessions of several sources.

    Before, a session had one source, and nothing that was detected stayed pending.
    """
    connection.execute(text(_PENDING))
    sessions = connection.execute(text(_SESSIONS)).all()
    for number, intent, publication in sessions:
        changed = {
            "number": number,
            "intent": json.dumps(_with_sources(json.loads(intent)), separators=(",", ":")),
            "publication": _with_marks(publication),
        }
        connection.execute(text(_CHANGE_SESSION), changed)


def _with_sources(intent: dict[str, Any]) -> dict[str, Any]:
    session = intent["session"]
    names = ("before", "after", "evidence")
    source = {name: session.pop(name) for name in names if name in session}
    return {**intent, "session": {"sources": [source], **session}}


def _with_marks(publication: str | None) -> str | None:
    if publication is None:
        return None
    found = json.loads(publication)
    mark = found.pop("mark", None)
    marks = [] if mark is None else [mark]
    return json.dumps({**found, "marks": marks}, separators=(",", ":"))


_PENDING: Final = """
CREATE TABLE vde_pending (
  model VARCHAR NOT NULL, version VARCHAR NOT NULL, pending_json TEXT NOT NULL,
  PRIMARY KEY (model, version)
)
"""
_SESSIONS: Final = """
SELECT number, intent_json, publication_json FROM vde_work WHERE is_session
"""
_CHANGE_SESSION: Final = """
UPDATE vde_work SET intent_json = :intent, publication_json = :publication WHERE number = :number
"""


def _seventh(connection: Connection) -> None:
    """Version 7: what sessions were decided from, how marks moved, and what is not listed yet.

    Before, the question was not stored, nor the mark before; sessions that ended are listed now.
    What a unit of work published was known from its publication alone.
    """
    connection.execute(text("ALTER TABLE vde_work ADD COLUMN iceberg_snapshot_id BIGINT"))
    for number, publication in connection.execute(text(_PUBLICATIONS)).all():
        published = {"number": number, "published": json.loads(publication)["iceberg_snapshot_id"]}
        connection.execute(text(_PUBLISHED), published)
    for column in ("previous_json TEXT", "work_id VARCHAR", "moved_at BIGINT"):
        connection.execute(text(f"ALTER TABLE vde_marks ADD COLUMN {column}"))
    number = "BIGSERIAL" if connection.dialect.name == "postgresql" else "INTEGER"
    for statement in (_QUESTIONS, _UNLISTED.format(number=number), *_UNLISTED_SO_FAR):
        connection.execute(text(statement))


_PUBLICATIONS: Final = """
SELECT number, publication_json FROM vde_work WHERE publication_json IS NOT NULL
"""
_PUBLISHED: Final = "UPDATE vde_work SET iceberg_snapshot_id = :published WHERE number = :number"
_QUESTIONS: Final = """
CREATE TABLE vde_questions (
  work_id VARCHAR NOT NULL, question_json TEXT NOT NULL, PRIMARY KEY (work_id)
)
"""
_UNLISTED: Final = """
CREATE TABLE vde_unlisted (
  number {number} NOT NULL, model VARCHAR NOT NULL, version VARCHAR NOT NULL, work_id VARCHAR,
  PRIMARY KEY (number)
)
"""
_UNLISTED_SO_FAR: Final = (
    """
INSERT INTO vde_unlisted (model, version, work_id)
SELECT model, version, work_id FROM vde_work
WHERE is_session AND state IN ('done', 'abandoned') ORDER BY number
""",
    """
INSERT INTO vde_unlisted (model, version)
SELECT DISTINCT model, version FROM vde_marks ORDER BY model, version
""",
)


def _eighth(connection: Connection) -> None:
    """Version 8: who promoted, which revision was taken, and which process holds a lease.

    Before, none of these was stored, and every promotion was one of a project's files.
    """
    for table, column in (
        ("vde_promotions", "author VARCHAR DEFAULT '' NOT NULL"),
        ("vde_promotions", "taken_from VARCHAR"),
        ("vde_promotions", "taken_revision INTEGER"),
        ("vde_leases", "process_json TEXT"),
    ):
        connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {column}"))


def _ninth(connection: Connection) -> None:
    """Version 9: which state this is, removed environments, versions to be dropped, and pauses.

    Before, nothing was removed, no plan was noted, and tables did not say which state made them.
    Nobody could publish what audits refused, nor pause a model.
    """
    for table, column in (
        ("vde_work", "accepted BOOLEAN DEFAULT false NOT NULL"),
        ("vde_promotions", "finished_at BIGINT"),
        ("vde_promotions", "removed BOOLEAN DEFAULT false NOT NULL"),
        ("vde_promotions", "forgotten BOOLEAN DEFAULT false NOT NULL"),
    ):
        connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {column}"))
    for statement in (_PAUSES, _IDENTITY, _PLANNED, _TOMBSTONES):
        connection.execute(text(statement))
    _identify(connection)


def _identify(connection: Connection) -> None:
    connection.execute(insert(schema.identity).values(state_id=uuid4().hex))


_PAUSES: Final = """
CREATE TABLE vde_pauses (
  environment VARCHAR NOT NULL, model VARCHAR NOT NULL, paused_at BIGINT NOT NULL,
  author VARCHAR NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (environment, model)
)
"""
_IDENTITY: Final = "CREATE TABLE vde_identity (state_id VARCHAR NOT NULL, PRIMARY KEY (state_id))"
_PLANNED: Final = """
CREATE TABLE vde_planned (
  environment VARCHAR NOT NULL, model VARCHAR NOT NULL, version VARCHAR NOT NULL,
  planned_at BIGINT NOT NULL, PRIMARY KEY (environment, model, version)
)
"""
_TOMBSTONES: Final = """
CREATE TABLE vde_tombstones (
  model VARCHAR NOT NULL, version VARCHAR NOT NULL, recorded_at BIGINT NOT NULL,
  dropping BOOLEAN DEFAULT false NOT NULL, table_uuid VARCHAR DEFAULT '' NOT NULL,
  location TEXT DEFAULT '' NOT NULL, PRIMARY KEY (model, version)
)
"""


def _tenth(connection: Connection) -> None:
    """Version 10: versions that are bounded, and numbers that are never given twice.

    Before, there was none, and SQLite gave the number of the newest row again once it was deleted.
    """
    for column in (
        "bounded_from BIGINT",
        "instead_of VARCHAR DEFAULT '' NOT NULL",
        "preview BOOLEAN DEFAULT false NOT NULL",
    ):
        connection.execute(text(f"ALTER TABLE vde_promoted_snapshots ADD COLUMN {column}"))
    if connection.dialect.name == "sqlite":
        for table, columns in _COUNTED.items():
            _count_once(connection, table, columns)


def _count_once(connection: Connection, table: str, columns: Mapping[str, str]) -> None:
    """Make a table of SQLite again, in which no number is given twice."""
    before, names = f"{table}_before", ", ".join(("number", *columns))
    of_table = text(
        "SELECT name, sql FROM sqlite_schema "
        "WHERE type = 'index' AND tbl_name = :of AND sql IS NOT NULL"
    )
    indexes = connection.execute(of_table, {"of": table}).all()
    defined = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    for statement in (
        *(f"DROP INDEX {each.name}" for each in indexes),
        f"ALTER TABLE {table} RENAME TO {before}",
        f"CREATE TABLE {table} (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, {defined})",
        f"INSERT INTO {table} ({names}) SELECT {names} FROM {before}",  # noqa: S608 - our own names
        f"DROP TABLE {before}",
        *(each.sql for each in indexes),
    ):
        connection.execute(text(statement))


_COUNTED: Final[Mapping[str, Mapping[str, str]]] = {
    "vde_work": {
        "work_id": "VARCHAR NOT NULL UNIQUE",
        "model": "VARCHAR NOT NULL",
        "version": "VARCHAR NOT NULL",
        "environment": "VARCHAR NOT NULL",
        "state": "VARCHAR NOT NULL",
        "is_session": "BOOLEAN NOT NULL",
        "intent_json": "TEXT NOT NULL",
        "publication_json": "TEXT",
        "iceberg_snapshot_id": "BIGINT",
        "audits_json": "TEXT",
        "reason": "TEXT",
        "started_at": "BIGINT NOT NULL",
        "finished_at": "BIGINT",
        "drifted": "BOOLEAN DEFAULT false NOT NULL",
        "accepted": "BOOLEAN DEFAULT false NOT NULL",
    },
    "vde_unlisted": {
        "model": "VARCHAR NOT NULL",
        "version": "VARCHAR NOT NULL",
        "work_id": "VARCHAR",
    },
}
"""The columns of each table with counted numbers, as of version 10."""


_STEPS: Final[Mapping[int, Step]] = {
    2: _second,
    3: _third,
    4: _fourth,
    5: _fifth,
    6: _sixth,
    7: _seventh,
    8: _eighth,
    9: _ninth,
    10: _tenth,
    11: work_indexes.create,
}
"""How to reach each version from the one before it; version 1 is created, not reached."""


def migrate(database: Database, *, moves: bool = True) -> int:
    """Bring the schema to ``schema.VERSION`` in one transaction. Cheap if it is there already.

    Safe in any number of processes at once: the first one writes, the others find it done.

    Args:
        database: The state's.
        moves: Whether a state of an earlier release is moved forward; else only a new one is made.

    Returns:
        The version that was found, 0 for a new state.

    Raises:
        Refused: The state was written by a newer release, or by an earlier one and is not to be
            moved; nothing was written.
    """
    with database.read() as connection:
        found = checked_version(connection)
    if found == schema.VERSION:
        return found
    if not moves:
        refuse_earlier(found)
    with database.write() as connection:
        return bring_forward(connection)


def bring_forward(connection: Connection) -> int:
    """Create the schema, or move it forward, in a transaction; the version that was found.

    Raises:
        Refused: The state was written by a newer release.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    found = checked_version(connection)
    if found == schema.VERSION:
        return found
    if found == 0:
        schema.metadata.create_all(connection)
        _identify(connection)
    else:
        for version in range(found + 1, schema.VERSION + 1):
            _STEPS[version](connection)
    reached = insert(schema.state_version)
    connection.execute(reached.values(version=schema.VERSION, applied_at=now(connection)))
    return found


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
