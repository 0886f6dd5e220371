"""Sessions and high-water marks as rows of tables that people can query (seed 003)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from vde_dagster.core.ledger.earlier_schemas import uuid_of
from vde_dagster.core.ledger.late.decision import Load, SourceFound
from vde_dagster.core.ledger.late.marks import HighWaterMark, MarkMove
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.unit_of_work import UnitOfWork, UnitOfWorkState
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.time.intervals import merge

_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedUri:
    """One input partition of a session: its tuple as JSON, and what its new files hold."""

    source: str
    partition: str
    files: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSource:
    """A source of a session: its Iceberg snapshots before and after, and how much is new."""

    source: str
    table_uuid: str
    previous_snapshot_id: int | None
    latest_snapshot_id: int
    files: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPending:
    """Time of a model that a session left, and why."""

    start: datetime
    end: datetime
    reason: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """A session that has ended; the fields are the columns of the table of sessions.

    Event time is that of the rows that were written, and processing time that of the commits to the
    sources: both from their first hour to their last one. They are None if there are none, and the
    beginning of the processing time is None for a first session.
    """

    process_name: str
    version: str
    session_id: str
    environment: str
    mode: str
    outcome: str
    reason: str
    started_at: datetime
    finished_at: datetime | None
    processing_uris: tuple[ListedUri, ...]
    sources: tuple[ListedSource, ...]
    from_event_date: date | None
    from_event_hour: int | None
    to_event_date: date | None
    to_event_hour: int | None
    from_processing_date: date | None
    from_processing_hour: int | None
    to_processing_date: date | None
    to_processing_hour: int | None
    complete_to: datetime | None
    rows_written: int
    pending: tuple[ListedPending, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMark:
    """A high-water mark; the fields are the columns of the table of marks.

    ``session_id`` is None if no session has moved it: nothing of what came was to be loaded.
    """

    process_name: str
    version: str
    source: str
    table_uuid: str
    latest_snapshot_id: int
    latest_sequence_number: int
    latest_committed_at: datetime
    previous_snapshot_id: int | None
    previous_sequence_number: int | None
    previous_committed_at: datetime | None
    complete_to: datetime | None
    session_id: str | None
    moved_at: datetime | None


def listed_session(work: UnitOfWork) -> ListedSession:
    """The row of a session that has ended."""
    session = work.intent.session
    assert session is not None, "only sessions are listed"
    is_done = work.state is UnitOfWorkState.DONE
    changes = work.publication.changes if is_done and work.publication is not None else ()
    written = merge(each.interval for each in changes)
    first = written[0].start if written else None
    last = written[-1].end - _MICROSECOND if written else None
    before = [each.before.committed_at for each in session.sources if each.before is not None]
    since = min(before, default=None)
    until = max(each.after.committed_at for each in session.sources)
    return ListedSession(
        process_name=str(work.intent.key.model),
        version=work.intent.key.version,
        session_id=work.intent.work_id,
        environment=work.intent.environment,
        mode=session.mode.value,
        outcome=work.state.value,
        reason=work.reason,
        started_at=work.started_at,
        finished_at=work.finished_at,
        processing_uris=tuple(_uris(session)),
        sources=tuple(map(_source, session.sources)),
        from_event_date=_date(first),
        from_event_hour=_hour(first),
        to_event_date=_date(last),
        to_event_hour=_hour(last),
        from_processing_date=_date(since),
        from_processing_hour=_hour(since),
        to_processing_date=_date(until),
        to_processing_hour=_hour(until),
        complete_to=session.limit,
        rows_written=sum(each.rows.rows for each in changes),
        pending=tuple(_pending(session.pending)),
    )


def listed_marks(key: VersionKey, moves: Iterable[MarkMove]) -> tuple[ListedMark, ...]:
    """The rows of a version's marks."""
    return tuple(_mark(key, each.latest, each) for each in moves)


def _mark(key: VersionKey, latest: HighWaterMark, move: MarkMove) -> ListedMark:
    previous = move.previous
    return ListedMark(
        process_name=str(key.model),
        version=key.version,
        source=str(latest.source),
        table_uuid=uuid_of(latest.table_uuid),
        latest_snapshot_id=latest.iceberg_snapshot_id,
        latest_sequence_number=latest.sequence_number,
        latest_committed_at=latest.committed_at,
        previous_snapshot_id=previous.iceberg_snapshot_id if previous else None,
        previous_sequence_number=previous.sequence_number if previous else None,
        previous_committed_at=previous.committed_at if previous else None,
        complete_to=latest.complete_to,
        session_id=move.session_id or None,
        moved_at=move.moved_at,
    )


def _uris(session: Load) -> Iterable[ListedUri]:
    for each in session.sources:
        for uri in each.evidence:
            partition = uri.as_json()
            yield ListedUri(
                source=str(each.name), partition=partition, files=uri.files, rows=uri.rows
            )


def _source(found: SourceFound) -> ListedSource:
    return ListedSource(
        source=str(found.name),
        table_uuid=uuid_of(found.after.table_uuid),
        previous_snapshot_id=found.before.iceberg_snapshot_id if found.before else None,
        latest_snapshot_id=found.after.iceberg_snapshot_id,
        files=sum(each.files for each in found.evidence),
        rows=sum(each.rows for each in found.evidence),
    )


def _pending(pending: Iterable[Pending]) -> Iterable[ListedPending]:
    for each in pending:
        yield ListedPending(
            start=each.interval.start,
            end=each.interval.end,
            reason=each.reason.value,
            sources=tuple(map(str, each.sources)),
        )


def _date(instant: datetime | None) -> date | None:
    return None if instant is None else instant.date()


def _hour(instant: datetime | None) -> int | None:
    return None if instant is None else instant.hour
