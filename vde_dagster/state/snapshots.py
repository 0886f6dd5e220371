"""Stored snapshots and the owners of their versions. Functions of one transaction each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, select

from vde_dagster.core.model.fingerprint import Fingerprint
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import Category, DecidedBy, ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.state import codec, schema
from vde_dagster.state.database import insert_absent, now, upsert
from vde_dagster.state.pairs import (
    key_of,
    of_pairs,
    of_version,
    of_versions,
    pairs,
    refer,
    while_adding,
)

_snapshots = schema.snapshots
_owners = schema.owners
_OF_IDS: Final = pairs(_snapshots.c.model, _snapshots.c.digest)
_STORED: Final = select(_snapshots).where(_OF_IDS)
_STORED_IDS: Final = select(_snapshots.c.model, _snapshots.c.digest).where(_OF_IDS)
_STORED_VERSIONS: Final = select(_snapshots.c.model, _snapshots.c.version).where(_OF_IDS).distinct()
_VERSIONS: Final = (
    select(_snapshots.c.model, _snapshots.c.data, _snapshots.c.parent_data, _snapshots.c.version)
    .where(pairs(_snapshots.c.model, _snapshots.c.data), ~_snapshots.c.drifted)
    .distinct()
)
_OWNERS: Final = select(_owners).where(pairs(_owners.c.model, _owners.c.version))
_RELEASE: Final = delete(_owners).where(
    _owners.c.model == bindparam("model"), _owners.c.version == bindparam("version")
)

_COLUMNS: Final = attrgetter(
    *("model", "data", "parent_data", "metadata", "parent_metadata", "version", "category"),
    *("reasons_json", "source_json", "decided_by", "decided_from", "drifted"),
)
"""In the order in which `_decoded` takes them."""

SnapshotId = tuple[ModelName, str]
"""A model's name and its fingerprint's digest."""


def stored(connection: Connection, ids: Iterable[SnapshotId]) -> dict[SnapshotId, ModelSnapshot]:
    """The stored ones among these snapshots."""
    found: dict[SnapshotId, ModelSnapshot] = {}
    for row in of_pairs(connection, _STORED, _encode_ids(ids)):
        snapshot = decode(row)
        found[snapshot.name, row.digest] = snapshot
    return found


def stored_ids(connection: Connection, ids: Iterable[SnapshotId]) -> frozenset[SnapshotId]:
    """Those of these snapshots that are stored."""
    rows = of_pairs(connection, _STORED_IDS, _encode_ids(ids))
    return frozenset((codec.decode_model(row.model), row.digest) for row in rows)


def _encode_ids(ids: Iterable[SnapshotId]) -> Iterator[tuple[str, str]]:
    return ((codec.encode_model(name), digest) for name, digest in ids)


def store_snapshots(
    connection: Connection,
    snapshots: Sequence[ModelSnapshot],
    *,
    environment: str,
    shows: Collection[VersionKey] = (),
) -> None:
    """Store what is not stored yet, with the versions that a plan shows; see the port.

    Raises:
        Conflict: One of the versions is being dropped.
    """
    while_adding(connection)
    refer(connection, [*(each.unbounded.key for each in snapshots), *shows])
    _store(connection, snapshots, environment=environment)
    if shows:
        _note_planned(connection, shows, environment=environment)


def _note_planned(connection: Connection, keys: Iterable[VersionKey], *, environment: str) -> None:
    at = now(connection)
    rows = [
        {**of_version(key), "environment": environment, "planned_at": at}
        for key in dict.fromkeys(keys)
    ]
    upsert(connection, schema.planned, rows)


def _store(connection: Connection, given: Sequence[ModelSnapshot], *, environment: str) -> None:
    """Store what is not stored yet; owners are set for the versions as they are stored.

    Of a bounded snapshot it is the bounded version that gets an owner, and not the one that others
    would have to fill.
    """
    there = stored_ids(connection, ((each.name, each.fingerprint.digest) for each in given))
    new = [each for each in given if (each.name, each.fingerprint.digest) not in there]
    insert_absent(connection, _snapshots, [_encode(_stored(each)) for each in new])
    ids = [(each.name, each.fingerprint.digest) for each in given if each.bounded is None]
    owned = [each.key for each in given if each.bounded is not None]
    owned += map(key_of, of_pairs(connection, _STORED_VERSIONS, _encode_ids(ids)))
    claims = [{**of_version(key), "environment": environment} for key in owned]
    insert_absent(connection, _owners, claims)


def _stored(snapshot: ModelSnapshot) -> ModelSnapshot:
    """A snapshot as it is stored, whatever its environment is bounded to."""
    return snapshot if snapshot.bounded is None else snapshot.as_stored


def versions(
    connection: Connection, definitions: Iterable[tuple[ModelName, Fingerprint]]
) -> dict[VersionKey, tuple[VersionKey, ...]]:
    """The versions of stored snapshots, by the version that each one's fingerprint gives."""
    wanted = {
        (codec.encode_model(name), each.data, each.parent_data): VersionKey(name, each.data_version)
        for name, each in definitions
    }
    found: dict[VersionKey, set[VersionKey]] = {}
    for row in of_pairs(connection, _VERSIONS, ((model, data) for model, data, _ in wanted)):
        key = wanted.get((row.model, row.data, row.parent_data))
        if key is not None:
            found.setdefault(key, set()).add(VersionKey(key.model, row.version))
    return {key: tuple(sorted(each)) for key, each in found.items()}


def owners_of(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, str]:
    """The owner of each of these versions that has one."""
    return {key_of(row): row.environment for row in of_versions(connection, _OWNERS, keys)}


def set_owner(connection: Connection, keys: Iterable[VersionKey], environment: str) -> None:
    """Make an environment the owner of versions, also of owned ones."""
    rows = [{**of_version(key), "environment": environment} for key in dict.fromkeys(keys)]
    upsert(connection, _owners, rows)


def pass_on(
    connection: Connection,
    environment: str,
    *,
    to: Mapping[VersionKey, str],
    keeps: Collection[VersionKey] = (),
) -> None:
    """Let an environment own only what it keeps: others get its other versions, or none does."""
    owned = connection.execute(select(_owners).where(_owners.c.environment == environment))
    keys = set(map(key_of, owned)).difference(keeps)
    release(connection, keys)
    for name in sorted({to[key] for key in keys if key in to}):
        set_owner(connection, [key for key in keys if to.get(key) == name], name)


def release(connection: Connection, keys: Iterable[VersionKey]) -> None:
    """Leave these versions without an owner."""
    rows = list(map(of_version, keys))
    if rows:
        connection.execute(_RELEASE, rows)


def decode(row: Row[Any]) -> ModelSnapshot:
    """The snapshot in a row that has the columns of ``schema.snapshots``.

    Equal rows give one shared value: a plan reads what it shows several times.
    """
    return _decoded(_COLUMNS(row))


@lru_cache(maxsize=8192)
def _decoded(columns: tuple[Any, ...]) -> ModelSnapshot:
    model, data, parent_data, metadata, parent_metadata, version, category, *rest = columns
    reasons_json, source_json, decided_by, decided_from, drifted = rest
    return ModelSnapshot(
        name=codec.decode_model(model),
        fingerprint=Fingerprint(
            data=data,
            parent_data=parent_data,
            metadata=metadata,
            parent_metadata=parent_metadata,
        ),
        version=version,
        category=None if category is None else Category(category),
        reasons=codec.decode(tuple[str, ...], reasons_json),
        source=codec.decode_source(source_json),
        decided_by=DecidedBy(decided_by),
        decided_from=decided_from,
        drifted=drifted,
    )


def _encode(snapshot: ModelSnapshot) -> Mapping[str, object]:
    fingerprint = snapshot.fingerprint
    return {
        "model": codec.encode_model(snapshot.name),
        "digest": fingerprint.digest,
        "data": fingerprint.data,
        "parent_data": fingerprint.parent_data,
        "metadata": fingerprint.metadata,
        "parent_metadata": fingerprint.parent_metadata,
        "version": snapshot.version,
        "category": None if snapshot.category is None else snapshot.category.value,
        "reasons_json": codec.encode(tuple[str, ...], snapshot.reasons),
        "source_json": codec.encode(ModelSource, snapshot.source),
        "decided_by": snapshot.decided_by.value,
        "decided_from": snapshot.decided_from,
        "drifted": snapshot.drifted,
    }
