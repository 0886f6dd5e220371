"""Environments and every revision that they had. Functions of one transaction each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypedDict

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Subquery,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.exc import IntegrityError

from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.staleness import LastLook
from vde_dagster.core.model.snapshot import Bounded, DecidedBy, ModelSnapshot, Revision, VersionKey
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.ports.state import Environment, Lease, environment_resource, version_resource
from vde_dagster.state import codec, leases, schema
from vde_dagster.state.database import now
from vde_dagster.state.ledger import record_looks
from vde_dagster.state.pairs import (
    is_alike,
    key_of,
    of_version,
    of_versions,
    pairs,
    refer,
    while_adding,
)
from vde_dagster.state.snapshots import (
    decode,
    owners_of,
    pass_on,
    release,
    set_owner,
    stored_ids,
)

_promotions = schema.promotions
_promoted = schema.promoted_snapshots
_REVISION: Final = ("environment", "revision")
_VERSION: Final = ("model", "version")
_SHOWN: Final = ("version", "decided_by", "drifted")
"""What an environment may show of a snapshot in place of the stored values."""
_BOUND: Final = ("bounded_from", "instead_of", "preview")
"""What only an environment says of a snapshot."""
_SNAPSHOTS: Final = (
    select(
        *(each for each in schema.snapshots.c if each.name not in _SHOWN),
        *(_promoted.c[name] for name in (*_SHOWN, *_BOUND, "hidden")),
    )
    .join_from(_promoted, schema.snapshots)
    .where(
        _promoted.c.environment == bindparam("environment"),
        _promoted.c.revision == bindparam("revision"),
    )
    .order_by(schema.snapshots.c.model)
)
_LATEST: Final = (
    select(_promotions)
    .where(_promotions.c.environment == bindparam("environment"))
    .order_by(_promotions.c.revision.desc())
    .limit(1)
)
_LOCKED_LATEST: Final = _LATEST.with_for_update()


def names(connection: Connection) -> tuple[str, ...]:
    """The names of all environments, sorted, without those whose removal is finished."""
    latest = _revisions_now()
    found = select(_promotions).join(latest, is_alike(_promotions, latest, _REVISION))
    return tuple(sorted(row.environment for row in connection.execute(found) if not _is_gone(row)))


def shown(connection: Connection, name: str, *, revision: int | None = None) -> Environment | None:
    """The latest revision of an environment, or the given one."""
    row = _latest(connection, name) if revision is None else _at(connection, name, revision)
    if row is None or (revision is None and _is_gone(row)):
        return None
    found = connection.execute(_SNAPSHOTS, {"environment": name, "revision": row.revision})
    shows = [(_shown_snapshot(each), each.hidden) for each in found]
    return Environment(
        name=name,
        revision=row.revision,
        plan_id=row.plan_id,
        promoted_at=codec.decode_instant(row.promoted_at),
        snapshots={each.name: each for each, _ in shows},
        promoting=not row.finished,
        hidden=frozenset(each.name for each, is_hidden in shows if is_hidden),
        author=row.author,
        taken=None if row.taken_from is None else Revision(row.taken_from, row.taken_revision),
        is_removed=row.removed,
        is_forgotten=row.forgotten,
    )


def revision(connection: Connection, name: str) -> int:
    """The revision of what an environment shows; 0 if there is none."""
    row = _latest(connection, name)
    return 0 if row is None or _is_gone(row) else int(row.revision)


def drifted(connection: Connection, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
    """Those of these versions that production or their owner ever showed for another definition."""
    return _keys_of(connection, _DRIFTED, keys)


def adopted(connection: Connection, keys: Iterable[VersionKey]) -> frozenset[VersionKey]:
    """Those of these versions that production or their owner adopted for another definition."""
    return _keys_of(connection, _ADOPTED, keys)


def _promoted_by_writers(how: ColumnElement[bool]) -> Select[Any]:
    version = [_promoted.c[name] for name in _VERSION]
    owned = is_alike(schema.owners, _promoted, ("environment", *_VERSION))
    by_writer = or_(_promoted.c.environment == PRODUCTION, exists().where(owned))
    return select(*version).where(pairs(*version), how, by_writer).distinct()


# A bounded version has the rows of one definition, whatever the one in whose place it is has.
_IS_UNBOUNDED: Final = _promoted.c.bounded_from.is_(None)
_DRIFTED: Final = _promoted_by_writers(_promoted.c.drifted & _IS_UNBOUNDED)
_BY_DATA: Final = _promoted.c.decided_by == DecidedBy.DATA.value
_ADOPTED: Final = _promoted_by_writers(_BY_DATA & _IS_UNBOUNDED)
_SHOWN_ONCE: Final = _promoted_by_writers(true())


def _keys_of(
    connection: Connection, query: Select[Any], keys: Iterable[VersionKey]
) -> frozenset[VersionKey]:
    return frozenset(map(key_of, of_versions(connection, query, keys)))


def begin_promotion(
    connection: Connection,
    name: str,
    *,
    expected_revision: int,
    plan_id: str,
    snapshots: Sequence[ModelSnapshot],
    lease: Lease,
    hidden: Collection[ModelName] = (),
    author: str = "",
    taken: Revision | None = None,
    looks: Mapping[VersionKey, LastLook] | None = None,
) -> Environment:
    """Add the next revision of an environment, not finished, and store its looks.

    Raises:
        Conflict: Its revision is not the expected one.
        LeaseLost: The lease was taken over.
        Refused: A snapshot is not stored, a model is given twice, or production would show a
            version that is bounded.
    """
    while_adding(connection)
    leases.check(connection, lease)
    refer(connection, [each.key for each in snapshots])
    record_looks(connection, looks or {})
    _refuse_bounded(name, snapshots)
    key = _begin(
        connection,
        name,
        expected_revision=expected_revision,
        plan_id=plan_id,
        author=author,
        taken_from=None if taken is None else taken.environment,
        taken_revision=None if taken is None else taken.number,
    )
    _check_stored(connection, snapshots)
    rows = [
        {
            **key,
            **of_version(each.key),
            "digest": each.fingerprint.digest,
            "hidden": each.name in hidden,
            "decided_by": each.decided_by.value,
            "drifted": each.drifted,
            **_encode_bounded(each.bounded),
        }
        for each in snapshots
    ]
    if rows:
        connection.execute(insert(_promoted), rows)
    return _known(connection, **key)


def begin_removal(
    connection: Connection,
    name: str,
    *,
    expected_revision: int,
    plan_id: str,
    lease: Lease,
    author: str = "",
) -> Environment:
    """Add a last revision to an environment, not finished, that shows nothing.

    Raises:
        Conflict: Its revision is not the expected one.
        LeaseLost: The lease was taken over.
    """
    leases.check(connection, lease)
    key = _begin(
        connection,
        name,
        expected_revision=expected_revision,
        plan_id=plan_id,
        author=author,
        removed=True,
    )
    return _known(connection, **key)


class _Key(TypedDict):
    environment: str
    revision: int


def _begin(connection: Connection, name: str, *, expected_revision: int, **values: object) -> _Key:
    """Add the next revision. An environment that was removed counts as a new one."""
    row = _latest(connection, name, lock=True)
    revision = 0 if row is None else row.revision
    shown_revision = 0 if row is None or _is_gone(row) else revision
    if shown_revision != expected_revision:
        raise _moved(name, expected_revision, shown_revision)
    key = _Key(environment=name, revision=revision + 1)
    begun = {**key, **values, "promoted_at": now(connection), "finished": False}
    try:
        connection.execute(insert(_promotions), begun)
    except IntegrityError as error:  # on Postgres, if there was no row to lock
        raise _moved(name, expected_revision, revision + 1) from error
    return key


def _known(connection: Connection, environment: str, revision: int) -> Environment:
    found = shown(connection, environment, revision=revision)
    assert found is not None, "it was just recorded"
    return found


def finish(connection: Connection, name: str, *, plan_id: str) -> Environment:
    """Finish a started promotion; production becomes the owner of exactly what it shows.

    Raises:
        Refused: No promotion of this plan was started.
        Conflict: A later promotion began before this one was finished.
    """
    latest = _latest(connection, name, lock=True)
    begun = connection.execute(
        select(_promotions)
        .where(_promotions.c.environment == name, _promotions.c.plan_id == plan_id)
        .order_by(_promotions.c.revision.desc())
        .limit(1)
    ).one_or_none()
    if latest is None or begun is None:
        raise Refused(
            f"plan {plan_id} did not start a promotion of {name}; there is nothing to finish"
        )
    if not begun.finished:
        if begun.revision != latest.revision:
            raise Conflict(
                f"the promotion of {name} by plan {plan_id} was overtaken by plan "
                f"{latest.plan_id} (revision {latest.revision}); nothing was changed"
            )
        connection.execute(
            update(_promotions)
            .where(_promotions.c.environment == name, _promotions.c.revision == begun.revision)
            .values(finished=True, finished_at=now(connection))
        )
    result = _known(connection, name, latest.revision)
    if begun.removed and not begun.finished:
        pass_on(connection, name, to=_showing(connection, name))
        for table in (schema.planned, schema.pauses):
            connection.execute(delete(table).where(table.c.environment == name))
    if name == PRODUCTION and not begun.finished:
        keys = [each.key for each in result.snapshots.values()]
        set_owner(connection, keys, PRODUCTION)
        pass_on(connection, name, to=_showing(connection, name), keeps=keys)
    elif not begun.finished:
        _settle_owners(connection, result)
    return result


def _settle_owners(connection: Connection, shown_now: Environment) -> None:
    """Let versions that are shown be owned by an environment that shows them (rule R9).

    What ``shown_now`` owned and left passes to another one that shows it. What it shows, and its
    owner showed once and neither shows nor writes any more, becomes its own. An owner that never
    showed it may be about to, or to publish what an audit refused.
    """
    name, keys = shown_now.name, {each.key for each in shown_now.snapshots.values()}
    left = {key: to for key, to in _showing(connection, name).items() if key not in keys}
    for to in sorted({*left.values()}):
        set_owner(connection, [key for key in left if left[key] == to], to)
    shown_once = _keys_of(connection, _SHOWN_ONCE, keys)
    owned = owners_of(connection, shown_once)
    theirs = {key: owner for key, owner in owned.items() if owner != name}
    held = leases.resources(connection) if theirs else ()
    for owner in sorted({*theirs.values()}):
        found = shown(connection, owner)
        seen = {each.key for each in found.snapshots.values()} if found is not None else set()
        if environment_resource(owner) not in held:
            mine = [key for key, each in theirs.items() if each == owner and key not in seen]
            set_owner(connection, (k for k in mine if version_resource(k) not in held), name)


def release_unfilled(connection: Connection, environment: str, *, lease: Lease) -> None:
    """Release what an environment owns, none shows or writes, and nothing was loaded of.

    Rows that an audit refused may still be accepted: they are published as long as the version's
    table is what it was, and the first to publish owns it.

    Raises:
        LeaseLost: The lease was taken over.
    """
    leases.check(connection, lease)
    owners, latest = schema.owners, _revisions_now()
    shows = select(_promoted.c.model).join(latest, is_alike(latest, _promoted, _REVISION))
    needed = (
        shows.where(is_alike(_promoted, owners)),
        select(schema.ledger.c.model).where(is_alike(schema.ledger, owners)),
        select(schema.work.c.model).where(is_alike(schema.work, owners), schema.IS_OPEN),
    )
    unneeded = select(owners).where(
        owners.c.environment == environment, *(~exists(each.correlate(owners)) for each in needed)
    )
    found = list(map(key_of, connection.execute(unneeded)))
    held = leases.resources(connection) if found else ()
    release(connection, [key for key in found if version_resource(key) not in held])


def _is_gone(row: Row[Any]) -> bool:
    """Whether the latest revision of an environment is its removal, which is finished."""
    return bool(row.removed and row.finished)


def _showing(connection: Connection, removed: str) -> dict[VersionKey, str]:
    """An environment that shows each version that an environment owned, if there is one."""
    owners, latest = schema.owners, _revisions_now()
    rows = connection.execute(
        select(_promoted.c.environment, _promoted.c.model, _promoted.c.version)
        .join(owners, is_alike(owners, _promoted))
        .join(latest, is_alike(latest, _promoted, _REVISION))
        .where(owners.c.environment == removed, _promoted.c.environment != removed)
        .distinct()
    ).all()
    found: dict[VersionKey, str] = {}
    for row in sorted(rows, key=lambda each: (each.environment != PRODUCTION, each.environment)):
        found.setdefault(key_of(row), row.environment)
    return found


def _revisions_now() -> Subquery:
    """The latest revision of each environment."""
    return (
        select(_promotions.c.environment, func.max(_promotions.c.revision).label("revision"))
        .group_by(_promotions.c.environment)
        .subquery()
    )


def _at(connection: Connection, name: str, revision: int) -> Row[Any] | None:
    return connection.execute(
        select(_promotions).where(
            _promotions.c.environment == name, _promotions.c.revision == revision
        )
    ).one_or_none()


def _latest(connection: Connection, name: str, *, lock: bool = False) -> Row[Any] | None:
    if lock:  # on Postgres there may be a later revision after waiting for the lock: read again
        connection.execute(_LOCKED_LATEST, {"environment": name}).all()
    return connection.execute(_LATEST, {"environment": name}).one_or_none()


def _check_stored(connection: Connection, snapshots: Sequence[ModelSnapshot]) -> None:
    if len({each.name for each in snapshots}) != len(snapshots):
        raise Refused("an environment shows each model once; a model was given twice")
    ids = [(each.name, each.fingerprint.digest) for each in snapshots]
    found = stored_ids(connection, ids)
    missing = sorted(str(name) for name, digest in ids if (name, digest) not in found)
    if missing:
        raise Refused(
            f"these snapshots are not stored: {', '.join(missing)}", advice="store them first"
        )


def _refuse_bounded(name: str, snapshots: Sequence[ModelSnapshot]) -> None:
    bounded = sorted(str(each.name) for each in snapshots if each.bounded is not None)
    if name == PRODUCTION and bounded:
        raise Refused(
            f"{PRODUCTION} cannot show a bounded version, such as that of {', '.join(bounded)}"
        )


def _encode_bounded(bounded: Bounded | None) -> dict[str, object]:
    if bounded is None:
        return {"bounded_from": None, "instead_of": "", "preview": False}
    return {
        "bounded_from": codec.encode_instant(bounded.since),
        "instead_of": bounded.instead_of,
        "preview": bounded.is_preview,
    }


def _shown_snapshot(row: Row[Any]) -> ModelSnapshot:
    """The snapshot in a row of `_SNAPSHOTS`, with its bound; for most there is none."""
    if row.bounded_from is None:
        return decode(row)
    bounded = Bounded(
        since=codec.decode_instant(row.bounded_from),
        instead_of=row.instead_of,
        is_preview=row.preview,
    )
    return replace(decode(row), bounded=bounded)


def _moved(name: str, expected: int, found: int) -> Conflict:
    return Conflict(
        f"environment {name} is at revision {found}, not {expected}: another plan was applied in "
        "the meantime",
        advice="plan again",
    )
