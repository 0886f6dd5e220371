"""Marks, what is pending, what is to be listed, and paused models.

Functions of one transaction each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from sqlalchemy import Connection, bindparam, delete, insert, select

from vde_dagster.core.ledger.late.marks import HighWaterMark, MarkMove, marks_after
from vde_dagster.core.ledger.late.pending import Pending, pending_after
from vde_dagster.core.ledger.late.question import Question
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.pauses import Pause
from vde_dagster.ports.records import Unlisted
from vde_dagster.ports.state import Lease
from vde_dagster.state import codec, leases, schema
from vde_dagster.state.database import chunks, insert_absent, now, upsert
from vde_dagster.state.pairs import is_of, key_of, of_version, of_versions, pairs

_marks = schema.marks
_pending = schema.pending
_questions = schema.questions
_unlisted = schema.unlisted

_PENDING: Final = select(_pending).where(pairs(_pending.c.model, _pending.c.version))
_OWN_MARKS: Final = (
    select(_marks)
    .where(_marks.c.model == bindparam("model"), _marks.c.version == bindparam("version"))
    .order_by(_marks.c.source)
)


def marks(connection: Connection, key: VersionKey) -> dict[ModelName, HighWaterMark]:
    """The high-water marks of a version, by source."""
    rows = connection.execute(_OWN_MARKS, of_version(key)).all()
    found = [codec.decode(HighWaterMark, row.mark_json) for row in rows]
    return {mark.source: mark for mark in found}


def mark_moves(connection: Connection, key: VersionKey) -> tuple[MarkMove, ...]:
    """How the marks of a version moved last, by source."""
    rows = connection.execute(_OWN_MARKS, of_version(key)).all()
    return tuple(
        MarkMove(
            latest=codec.decode(HighWaterMark, row.mark_json),
            previous=codec.decode(HighWaterMark, row.previous_json) if row.previous_json else None,
            session_id=row.work_id,
            moved_at=None if row.moved_at is None else codec.decode_instant(row.moved_at),
        )
        for row in rows
    )


def record_question(connection: Connection, work_id: str, question: Question) -> None:
    """Store what a session was decided from. Doing it again changes nothing."""
    row = {"work_id": work_id, "question_json": codec.encode(Question, question)}
    insert_absent(connection, _questions, [row])


def question(connection: Connection, work_id: str) -> Question | None:
    """What a session was decided from; None if that is not stored."""
    query = select(_questions.c.question_json).where(_questions.c.work_id == work_id)
    found = connection.execute(query).scalar_one_or_none()
    return None if found is None else cast("Question", codec.decode(Question, found))


def list_later(connection: Connection, key: VersionKey, work_id: str | None = None) -> None:
    """Note that a session has ended or, without its id, that a mark has moved."""
    connection.execute(insert(_unlisted), {**of_version(key), "work_id": work_id})


def unlisted(connection: Connection, *, limit: int) -> tuple[Unlisted, ...]:
    """What `list_later` has noted, oldest first."""
    rows = connection.execute(select(_unlisted).order_by(_unlisted.c.number).limit(limit))
    return tuple(
        Unlisted(number=row.number, key=key_of(row), session_id=row.work_id) for row in rows
    )


def record_listed(connection: Connection, numbers: Iterable[int]) -> None:
    """Forget what is listed now."""
    for chunk in chunks(numbers):
        connection.execute(delete(_unlisted).where(_unlisted.c.number.in_(chunk)))


def pending(
    connection: Connection, keys: Iterable[VersionKey]
) -> dict[VersionKey, tuple[Pending, ...]]:
    """What is known of the sources of these versions and not loaded; absent if nothing is."""
    rows = of_versions(connection, _PENDING, keys)
    every = {key_of(row): codec.decode(tuple[Pending, ...], row.pending_json) for row in rows}
    return {key: left for key, left in every.items() if left}


def move_marks(
    connection: Connection, key: VersionKey, intent: Intent, publication: Publication
) -> None:
    """Move the marks of a version, and what is pending, as its published unit of work says."""
    before = marks(connection, key)
    after = marks_after(
        before,
        publication.changes,
        moved=publication.marks,
        inputs=intent.inputs,
        is_appended=not publication.marks_stay,
    )
    known = pending(connection, [key]).get(key, ())
    is_session = bool(publication.marks)
    left = publication.pending if is_session else pending_after(known, publication.changes)
    _write_marks(connection, key, before, after, session_id=intent.work_id)
    if left != known:
        _write_pending(connection, key, left)


def record_detected(
    connection: Connection,
    key: VersionKey,
    moved: Sequence[HighWaterMark],
    left: tuple[Pending, ...],
    *,
    lease: Lease,
) -> None:
    """Move marks of a version to what is known of its sources, of which nothing is loaded.

    Raises:
        LeaseLost: The lease was taken over.
    """
    leases.check(connection, lease)
    before = marks(connection, key)
    after = {**before, **{each.source: each for each in moved}}
    _write_marks(connection, key, before, after, session_id="")
    _write_pending(connection, key, left)


def _write_marks(
    connection: Connection,
    key: VersionKey,
    before: Mapping[ModelName, HighWaterMark],
    after: Mapping[ModelName, HighWaterMark],
    *,
    session_id: str,
) -> None:
    if before == after:
        return
    for source in before.keys() - after.keys():
        connection.execute(
            delete(_marks).where(is_of(_marks, key), _marks.c.source == codec.encode_model(source))
        )
    at = now(connection)
    rows = [
        {
            **of_version(key),
            "source": codec.encode_model(source),
            "mark_json": codec.encode(HighWaterMark, mark),
            "previous_json": codec.encode(HighWaterMark, before[source])
            if source in before
            else None,
            "work_id": session_id,
            "moved_at": at,
        }
        for source, mark in after.items()
        if before.get(source) != mark
    ]
    upsert(connection, _marks, rows)
    list_later(connection, key)


def _write_pending(connection: Connection, key: VersionKey, left: tuple[Pending, ...]) -> None:
    text = codec.encode(tuple[Pending, ...], left)
    upsert(connection, _pending, [{**of_version(key), "pending_json": text}])


_pauses = schema.pauses


def pauses(connection: Connection, environment: str) -> Mapping[ModelName, Pause]:
    """The paused models of an environment."""
    own = select(_pauses).where(_pauses.c.environment == environment)
    found = [
        Pause(
            environment=row.environment,
            model=codec.decode_model(row.model),
            paused_at=codec.decode_instant(row.paused_at),
            author=row.author,
            reason=row.reason,
        )
        for row in connection.execute(own.order_by(_pauses.c.model))
    ]
    return {each.model: each for each in found}


def pause(connection: Connection, pauses: Sequence[Pause]) -> None:
    """Pause models, all or none."""
    rows = [
        {
            "environment": each.environment,
            "model": codec.encode_model(each.model),
            "paused_at": codec.encode_instant(each.paused_at),
            "author": each.author,
            "reason": each.reason,
        }
        for each in pauses
    ]
    upsert(connection, _pauses, rows)


def resume(connection: Connection, environment: str, models: Iterable[ModelName]) -> None:
    """End the pauses of models, all or none."""
    for chunk in chunks(map(codec.encode_model, models)):
        connection.execute(
            delete(_pauses)
            .where(_pauses.c.environment == environment)
            .where(_pauses.c.model.in_(chunk))
        )
