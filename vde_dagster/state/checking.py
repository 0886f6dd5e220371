"""Whether a state is whole: every row is read, and what rows say of each other is compared.

Nothing is written. What a row means is read with the same code as everywhere else, so that a row
that is called whole here can be used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Row, Table, func, inspect, select, text

from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.ledger.entries import EntryStatus, LedgerEntry, Trace
from vde_dagster.core.ledger.holdings import NOTHING, Holding, holding_of
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.late.question import Question
from vde_dagster.core.ledger.staleness import LastLook
from vde_dagster.core.ledger.unit_of_work import Publication, UnitOfWorkState
from vde_dagster.core.model.snapshot import Category, DecidedBy
from vde_dagster.core.names import PRODUCTION, environment_name
from vde_dagster.state import codec, schema
from vde_dagster.state.ledger import decode_entry
from vde_dagster.state.pairs import is_alike
from vde_dagster.state.processes import from_json

Decoder = Callable[[Any], object]

MOST: Final = 20
"""How many findings of one sort are listed."""
_BATCH: Final = 1000
_BY_COLUMN: Final[Mapping[str, Decoder]] = {
    "columns_json": codec.decode_columns,
    "holding_json": partial(codec.decode_holding, number=0, removed=0),
    "intent_json": codec.decode_intent,
    "process_json": from_json,
    "source_json": codec.decode_source,
    "environment": environment_name,
    "model": codec.decode_model,
    "source": codec.decode_model,
    "category": Category,
    "decided_by": DecidedBy,
    "status": EntryStatus,
    "state": UnitOfWorkState,
    **{
        name: partial(codec.decode, kind)
        for name, kind in {
            "audits_json": tuple[AuditResult, ...],
            "look_json": LastLook,
            "mark_json": HighWaterMark,
            "pending_json": tuple[Pending, ...],
            "previous_json": HighWaterMark,
            "publication_json": Publication,
            "question_json": Question,
            "reasons_json": tuple[str, ...],
            "trace_json": Trace,
        }.items()
    },
    **{
        column.name: codec.decode_instant
        for table in schema.metadata.sorted_tables
        for column in (table.columns if table is not schema.leases else ())
        if isinstance(column.type, BigInteger) and column.name.endswith(("_at", "_from"))
    },
}
"""What reads a column; columns of one name mean the same in every table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: the table, the key of the row (empty for several), and what."""

    table: str
    row: str
    problem: str

    def __str__(self) -> str:
        return f"{self.table}{f' ({self.row})' if self.row else ''}: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunPromotion:
    """A promotion that was started and is not finished."""

    environment: str
    revision: int
    plan_id: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunWork:
    """A unit of work that is neither done nor abandoned."""

    work_id: str
    model: str
    version: str
    environment: str
    state: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StateReport:
    """What a check found. What was started may be under way; the next plan or run finishes it."""

    findings: tuple[Finding, ...]
    promotions: tuple[BegunPromotion, ...]
    work: tuple[BegunWork, ...]
    rows: Mapping[str, int]


def check(connection: Connection) -> StateReport:
    """Look at every row of a state that has this release's version."""
    lacking = list(_lacking(connection))
    if lacking:  # what is missing cannot be read
        return StateReport(findings=tuple(lacking), promotions=(), work=(), rows={})
    sorts: list[Iterable[Finding]] = [_damaged(connection)]
    sorts += [_unreadable(connection, table) for table in schema.metadata.sorted_tables]
    sorts += [_unreferenced(connection), _unknown_versions(connection)]
    readable = [each for sort in sorts for each in _first(sort)]
    ledgers = () if readable else _first(_ledgers(connection))
    return StateReport(
        findings=(*readable, *ledgers),
        promotions=() if readable else tuple(_begun_promotions(connection)),
        work=() if readable else tuple(_begun_work(connection)),
        rows={table.name: _count(connection, table) for table in schema.metadata.sorted_tables},
    )


def _first(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first findings of a sort, and that there are more."""
    left = iter(findings)
    yield from itertools.islice(left, MOST)
    if (more := next(left, None)) is not None:
        yield Finding(table=more.table, row="", problem="and more of these")


def _lacking(connection: Connection) -> Iterator[Finding]:
    """Tables and columns that are missing."""
    found = inspect(connection)
    there = set(found.get_table_names())
    for table in schema.metadata.sorted_tables:
        if table.name not in there:
            yield Finding(table=table.name, row="", problem="the table is missing")
            continue
        columns = {each["name"] for each in found.get_columns(table.name)}
        for column in table.columns:
            if column.name not in columns:
                problem = f"the column {column.name} is missing"
                yield Finding(table=table.name, row="", problem=problem)


def _damaged(connection: Connection) -> Iterator[Finding]:
    """What SQLite finds wrong with its own file; other servers check theirs themselves."""
    if connection.dialect.name == "sqlite":
        for (said,) in connection.execute(text("PRAGMA integrity_check")):
            if said != "ok":
                yield Finding(table="the file", row="", problem=str(said))


def _unreadable(connection: Connection, table: Table) -> Iterator[Finding]:
    """Rows of a table that cannot be read, each with its first column that cannot."""
    decoders: list[tuple[str, Decoder]] = [
        (column.key, decoder)
        for column in table.columns
        if (decoder := _BY_COLUMN.get(column.name)) is not None
    ]
    for row in _rows(connection, table):
        values = [(key, decoder, getattr(row, key)) for key, decoder in decoders]
        if table is schema.ledger:
            values.append(("the entry", decode_entry, row))
        for key, decoder, value in values:
            if value is None:
                continue
            try:
                decoder(value)
            except Exception as error:  # whatever reading damaged text raises is the finding
                problem = f"{key} cannot be read: {type(error).__name__}: {error}"
                yield Finding(table=table.name, row=_key(table, row), problem=problem)
                break


def _unreferenced(connection: Connection) -> Iterator[Finding]:
    """What an environment showed and is not stored, and revisions that were never recorded."""
    shown, stored, promotions = schema.promoted_snapshots, schema.snapshots, schema.promotions
    query = (
        select(shown, stored.c.model.label("is_stored"), promotions.c.revision.label("is_promoted"))
        .outerjoin(stored, is_alike(shown, stored, ("model", "digest")))
        .outerjoin(promotions, is_alike(shown, promotions, ("environment", "revision")))
        .where(stored.c.model.is_(None) | promotions.c.revision.is_(None))
    )
    for row in connection.execute(query):
        lacks = "snapshot is not stored" if row.is_stored is None else "promotion is not recorded"
        key = _key(shown, row)
        yield Finding(table=shown.name, row=key, problem=f"its {lacks}")


def _unknown_versions(connection: Connection) -> Iterator[Finding]:
    """Records of versions that no snapshot has.

    Until an environment shows it, a version that is bounded has none, and may be filled already.
    """
    shown, stored, work = schema.promoted_snapshots, schema.snapshots, schema.work
    known = {
        (row.model, row.version)
        for each in (
            select(stored.c.model, stored.c.version),
            select(shown.c.model, shown.c.version),
            select(work.c.model, work.c.version).where(work.c.environment != PRODUCTION),
        )
        for row in connection.execute(each.distinct())
    }
    of_stored = (schema.ledger, schema.holdings, schema.marks, schema.pending)
    for table in (*of_stored, schema.last_looks, schema.owners):
        found = connection.execute(select(table.c.model, table.c.version).distinct())
        for model, version in sorted({(row.model, row.version) for row in found} - known):
            problem = "no snapshot has this version"
            yield Finding(table=table.name, row=f"{model}, {version}", problem=problem)


def _ledgers(connection: Connection) -> Iterator[Finding]:
    """Entries that overlap, and summaries that do not say what the entries of a version say."""
    kept = {
        (row.model, row.version): codec.decode_holding(row.holding_json, number=0, removed=0)
        for row in connection.execute(select(schema.holdings))
    }
    for (model, version), entries in itertools.groupby(
        _rows(connection, schema.ledger), key=lambda row: (row.model, row.version)
    ):
        key, found = f"{model}, {version}", [decode_entry(row) for row in entries]
        for before, after in itertools.pairwise(found):
            if before.interval.end > after.interval.start:
                problem = f"{before.interval} and {after.interval} overlap"
                yield Finding(table=schema.ledger.name, row=key, problem=problem)
        holding = kept.pop((model, version), None)
        if holding is not None and not _is_summary(holding, found):
            problem = "the summary does not match the entries"
            yield Finding(table=schema.holdings.name, row=key, problem=problem)
    for (model, version), holding in kept.items():
        if holding.recorded:
            problem = "the summary has intervals, but there are no entries"
            yield Finding(table=schema.holdings.name, row=f"{model}, {version}", problem=problem)


def _is_summary(holding: Holding, entries: list[LedgerEntry]) -> bool:
    found = holding_of(entries) if entries else NOTHING
    said = (holding.computed, holding.outdated, holding.empty)
    return said == (found.computed, found.outdated, found.empty)


def _begun_promotions(connection: Connection) -> Iterator[BegunPromotion]:
    """Of each environment's last revision: one that was promoted over is of no concern."""
    table = schema.promotions
    last = table.alias()
    newest = select(func.max(last.c.revision)).where(last.c.environment == table.c.environment)
    query = select(table).where(
        table.c.finished.is_(False), table.c.revision == newest.scalar_subquery()
    )
    for row in connection.execute(query.order_by(table.c.environment)):
        yield BegunPromotion(
            environment=row.environment,
            revision=row.revision,
            plan_id=row.plan_id,
            started_at=codec.decode_instant(row.promoted_at),
        )


def _begun_work(connection: Connection) -> Iterator[BegunWork]:
    table = schema.work
    query = select(table).where(schema.IS_OPEN).order_by(table.c.number)
    for row in connection.execute(query):
        yield BegunWork(
            work_id=row.work_id,
            model=row.model,
            version=row.version,
            environment=row.environment,
            state=row.state,
            started_at=codec.decode_instant(row.started_at),
        )


def _rows(connection: Connection, table: Table) -> Iterator[Row[Any]]:
    """All rows of a table in the order of its key, a batch at a time."""
    query = select(table).order_by(*table.primary_key)
    yield from connection.execute(query, execution_options={"yield_per": _BATCH})


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _key(table: Table, row: Row[Any]) -> str:
    return ", ".join(str(getattr(row, each.key)) for each in table.primary_key)
