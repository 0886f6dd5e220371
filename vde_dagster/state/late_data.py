"""High-water marks of versions, and what is pending. Functions of one transaction each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, delete, select

from vde_dagster.core.ledger.late.marks import HighWaterMark, marks_after
from vde_dagster.core.ledger.late.pending import Pending, pending_after
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.state import codec, schema
from vde_dagster.state.database import chunks, few_pairs, in_pairs, upsert
from vde_dagster.state.ledger import of_version

_marks = schema.marks
_pending = schema.pending

_PENDING: Final = select(_pending).where(few_pairs(_pending.c.model, _pending.c.version))
_OWN_MARKS: Final = (
    select(_marks.c.mark_json)
    .where(_marks.c.model == bindparam("model"), _marks.c.version == bindparam("version"))
    .order_by(_marks.c.source)
)


def marks(connection: Connection, key: VersionKey) -> dict[ModelName, HighWaterMark]:
    """The high-water marks of a version, by source."""
    rows = connection.execute(_OWN_MARKS, of_version(key)).all()
    found = [codec.decode_mark(row.mark_json) for row in rows]
    return {mark.source: mark for mark in found}


def pending(
    connection: Connection, keys: Iterable[VersionKey]
) -> dict[VersionKey, tuple[Pending, ...]]:
    """What is known of the sources of these versions and not loaded; absent if nothing is."""
    found: dict[VersionKey, tuple[Pending, ...]] = {}
    for chunk in chunks((codec.encode_model(key.model), key.version) for key in keys):
        for row in connection.execute(_PENDING, in_pairs(chunk)):
            left = codec.decode_pending(row.pending_json)
            if left:
                found[VersionKey(codec.decode_model(row.model), row.version)] = left
    return found


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
    _write_marks(connection, key, before, after)
    if left != known:
        _write_pending(connection, key, left)


def record_detected(
    connection: Connection,
    key: VersionKey,
    moved: Sequence[HighWaterMark],
    left: tuple[Pending, ...],
) -> None:
    """Move marks of a version to what is known of its sources, of which nothing is loaded."""
    before = marks(connection, key)
    _write_marks(connection, key, before, {**before, **{each.source: each for each in moved}})
    _write_pending(connection, key, left)


def _write_marks(
    connection: Connection,
    key: VersionKey,
    before: Mapping[ModelName, HighWaterMark],
    after: Mapping[ModelName, HighWaterMark],
) -> None:
    for source in before.keys() - after.keys():
        connection.execute(
            delete(_marks).where(
                _marks.c.model == codec.encode_model(key.model),
                _marks.c.version == key.version,
                _marks.c.source == codec.encode_model(source),
            )
        )
    moved = [mark for source, mark in after.items() if before.get(source) != mark]
    upsert(connection, _marks, [_encode_mark(key, mark) for mark in moved])


def _write_pending(connection: Connection, key: VersionKey, left: tuple[Pending, ...]) -> None:
    own = {"model": codec.encode_model(key.model), "version": key.version}
    upsert(connection, _pending, [{**own, "pending_json": codec.encode_pending(left)}])


def _encode_mark(key: VersionKey, mark: HighWaterMark) -> dict[str, object]:
    return {
        "model": codec.encode_model(key.model),
        "version": key.version,
        "source": codec.encode_model(mark.source),
        "mark_json": codec.encode_mark(mark),
    }
