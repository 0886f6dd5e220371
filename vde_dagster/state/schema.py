"""The state's tables. What must not happen twice is a primary key, not a check in code.

Instants are whole microseconds since 1970 in UTC. Texts named ``*_json`` are written and read by
``state.codec`` alone. ``high`` and ``low`` are the upper and the lower 64 bits of a row sum; each
goes up to 2**64 - 1 and is therefore a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    literal_column,
    text,
)
from sqlalchemy.types import TypeEngine

VERSION: Final = 1
"""The version of this schema. Raise it together with a step in ``state.migrations``."""

metadata: Final = MetaData()


def _keys(*names: str) -> Iterator[Column[Any]]:
    """Texts that are the primary key, or its first part."""
    return (Column(name, String, primary_key=True) for name in names)


def _required(of: type[TypeEngine[Any]], *names: str) -> Iterator[Column[Any]]:
    """Columns of a type in which there is no NULL."""
    return (Column(name, of, nullable=False) for name in names)


def _flag(name: str) -> Column[Any]:
    """Whether something is so; mostly it is not."""
    return Column(name, Boolean, nullable=False, server_default=text("false"))


state_version: Final = Table(
    "vde_state_version",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("applied_at", BigInteger, nullable=False),
)

# One row: which state this is. Physical tables carry it as a property (rule R12).
identity: Final = Table("vde_identity", metadata, Column("state_id", String, primary_key=True))

snapshots: Final = Table(
    "vde_snapshots",
    metadata,
    *_keys("model", "digest"),
    *_required(String, "data", "parent_data", "metadata", "parent_metadata", "version"),
    Column("category", String),
    *_required(Text, "reasons_json", "source_json"),
    Column("decided_by", String, nullable=False, server_default="automatic"),
    Column("decided_from", String, nullable=False, server_default=""),
    _flag("drifted"),
)

owners: Final = Table(
    "vde_owners",
    metadata,
    *_keys("model", "version"),
    Column("environment", String, nullable=False),
)

# One row for every revision that an environment ever had; the highest is what it shows.
promotions: Final = Table(
    "vde_promotions",
    metadata,
    Column("environment", String, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("plan_id", String, nullable=False),
    Column("promoted_at", BigInteger, nullable=False),
    Column("finished", Boolean, nullable=False),
    Column("author", String, nullable=False, server_default=""),
    # The revision of an environment whose snapshots it took, if it was not a plan of files.
    Column("taken_from", String),
    Column("taken_revision", Integer),
    Column("finished_at", BigInteger),
    # With this revision the environment was removed.
    _flag("removed"),
    # Its versions may have been dropped, and not all of its snapshots are stored any more.
    _flag("forgotten"),
)

# What plans were to show when they were applied last.
planned: Final = Table(
    "vde_planned",
    metadata,
    *_keys("environment", "model", "version"),
    Column("planned_at", BigInteger, nullable=False),
)

# Versions to which nothing refers. Of one that is being dropped nothing else is stored.
tombstones: Final = Table(
    "vde_tombstones",
    metadata,
    *_keys("model", "version"),
    Column("recorded_at", BigInteger, nullable=False),
    _flag("dropping"),
    Column("table_uuid", String, nullable=False, server_default=""),
    Column("location", Text, nullable=False, server_default=""),
)

promoted_snapshots: Final = Table(
    "vde_promoted_snapshots",
    metadata,
    Column("environment", String, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("model", String, primary_key=True),
    Column("digest", String, nullable=False),
    _flag("hidden"),
    # How the environment shows the snapshot, which may have been stored with other values.
    Column("version", String, nullable=False, server_default=""),
    Column("decided_by", String, nullable=False, server_default="automatic"),
    _flag("drifted"),
    # The instant from which the version is bounded; NULL for one that is not. It is shown in the
    # place of another one then. There is none in production.
    Column("bounded_from", BigInteger),
    Column("instead_of", String, nullable=False, server_default=""),
    _flag("preview"),
    ForeignKeyConstraint(
        ["environment", "revision"], ["vde_promotions.environment", "vde_promotions.revision"]
    ),
    ForeignKeyConstraint(["model", "digest"], ["vde_snapshots.model", "vde_snapshots.digest"]),
    Index("vde_promoted_by_version", "model", "version", "drifted"),
)

# A row stays when its lease is given back (holder ''), so that epochs only ever rise.
leases: Final = Table(
    "vde_leases",
    metadata,
    Column("resource", String, primary_key=True),
    Column("holder", String, nullable=False),
    *_required(BigInteger, "epoch", "expires_at"),
    Column("process_json", Text),
)

ledger: Final = Table(
    "vde_ledger",
    metadata,
    *_keys("model", "version"),
    Column("interval_start", BigInteger, primary_key=True, autoincrement=False),
    *_required(BigInteger, "interval_end", "row_count"),
    *_required(String, "high", "low"),
    Column("columns_json", Text, nullable=False),
    *_required(String, "digest", "work_id"),
    Column("iceberg_snapshot_id", BigInteger),
    Column("status", String, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    Column("algorithm", String, nullable=False),
    Column("trace_json", Text),
    # The number of the last change of the entry; see `vde_dagster.core.ledger.holdings.Holding`.
    Column("number", BigInteger, nullable=False, server_default="0"),
    Index("vde_ledger_by_number", "model", "version", "number"),
)

# The summary of each version's ledger.
holdings: Final = Table(
    "vde_holdings",
    metadata,
    *_keys("model", "version"),
    *_required(BigInteger, "number", "removed"),
    Column("holding_json", Text, nullable=False),
)

# The last comparison of each version with its inputs.
last_looks: Final = Table(
    "vde_last_looks",
    metadata,
    *_keys("model", "version"),
    Column("look_json", Text, nullable=False),
)

_OPEN: Final = "state IN ('intent', 'staged')"
_AUDITED: Final = "audits_json IS NOT NULL"
_DRIFTED: Final = ("drifted", "model", "version", "state")
_ACCEPTED: Final = ("accepted", "model", "version")


def _where(on_sqlite: str, on_postgres: str) -> dict[str, Any]:
    """Which rows an index has."""
    return {"sqlite_where": text(on_sqlite), "postgresql_where": text(on_postgres)}


work: Final = Table(
    "vde_work",
    metadata,
    # Orders units of work that began in the same instant. It is never given twice, so a higher one
    # was recorded later. SQLite counts only in an INTEGER column.
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("work_id", String, nullable=False, unique=True),
    *_required(String, "model", "version", "environment", "state"),
    Column("is_session", Boolean, nullable=False),
    Column("intent_json", Text, nullable=False),
    Column("publication_json", Text),
    # Of the publication: what is published is asked for more often than what was changed.
    Column("iceberg_snapshot_id", BigInteger),
    Column("audits_json", Text),
    Column("reason", Text),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    _flag("drifted"),
    # Whether a person accepted its rows, which audits had refused.
    _flag("accepted"),
    Index("vde_work_newest", "model", "version", "state", "number"),
    Index("vde_work_sessions", "model", "version", "is_session", "number"),
    # Of the work of years these have few rows, and each is asked for by itself. The column of the
    # condition comes first: SQLite takes an index that has it rather than one that has not.
    Index("vde_work_open", "state", "model", "version", **_where(_OPEN, _OPEN)),
    Index("vde_work_drifted", *_DRIFTED, **_where("drifted = 1", "drifted")),
    Index("vde_work_accepted", *_ACCEPTED, **_where("accepted = 1", "accepted")),
    Index("vde_work_audited", "model", "version", "number", **_where(_AUDITED, _AUDITED)),
    sqlite_autoincrement=True,
)
OPEN: Final = ("intent", "staged")
"""The states of work that is neither done nor abandoned."""
IS_OPEN: Final[ColumnElement[bool]] = work.c.state.in_(
    [literal_column(f"'{each}'") for each in OPEN]
)
"""Whether work is neither done nor abandoned, in the words of its index: a database uses a partial
index only where it sees, without any parameter, that a condition implies its own."""

marks: Final = Table(
    "vde_marks",
    metadata,
    *_keys("model", "version", "source"),
    Column("mark_json", Text, nullable=False),
    # The mark before it, and what moved it when: a session's id, or '' for a look that found
    # nothing to load.
    Column("previous_json", Text),
    Column("work_id", String),
    Column("moved_at", BigInteger),
)

# What each session was decided from.
questions: Final = Table(
    "vde_questions",
    metadata,
    Column("work_id", String, primary_key=True),
    Column("question_json", Text, nullable=False),
)

# Sessions that ended (with an id) and marks that moved (without), which the tables of late data in
# the catalog do not show yet. A row is deleted once they do.
unlisted: Final = Table(
    "vde_unlisted",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    *_required(String, "model", "version"),
    Column("work_id", String),
    sqlite_autoincrement=True,
)

# What is known of a version's sources and not loaded.
pending: Final = Table(
    "vde_pending",
    metadata,
    *_keys("model", "version"),
    Column("pending_json", Text, nullable=False),
)

# The models that an environment does not evaluate until a person resumes them.
pauses: Final = Table(
    "vde_pauses",
    metadata,
    *_keys("environment", "model"),
    Column("paused_at", BigInteger, nullable=False),
    Column("author", String, nullable=False),
    Column("reason", Text, nullable=False),
)
