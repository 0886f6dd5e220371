"""Stored snapshots and the owners of their versions. Functions of one transaction each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, select

from vde_dagster.core.model.fingerprint import Fingerprint
from vde_dagster.core.model.snapshot import Category, DecidedBy, ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.state import codec, schema
from vde_dagster.state.database import chunks, few_pairs, in_pairs, insert_absent, upsert

_snapshots = schema.snapshots
_owners = schema.owners
_OF_IDS: Final = few_pairs(_snapshots.c.model, _snapshots.c.digest)
_STORED: Final = select(_snapshots).where(_OF_IDS)
_STORED_VERSIONS: Final = select(_snapshots.c.model, _snapshots.c.version).where(_OF_IDS).distinct()
_VERSIONS: Final = (
    select(_snapshots.c.model, _snapshots.c.data, _snapshots.c.parent_data, _snapshots.c.version)
    .where(few_pairs(_snapshots.c.model, _snapshots.c.data), ~_snapshots.c.drifted)
    .distinct()
)
_OWNERS: Final = select(_owners).where(few_pairs(_owners.c.model, _owners.c.version))

SnapshotId = tuple[ModelName, str]
"""A model's name and its fingerprint's digest."""


def stored(connection: Connection, ids: Iterable[SnapshotId]) -> dict[SnapshotId, ModelSnapshot]:
    """The stored ones among these snapshots."""
    found: dict[SnapshotId, ModelSnapshot] = {}
    for chunk in chunks((codec.encode_model(name), digest) for name, digest in ids):
        for row in connection.execute(_STORED, in_pairs(chunk)).all():
            snapshot = decode(row)
            found[snapshot.name, row.digest] = snapshot
    return found


def store(connection: Connection, given: Sequence[ModelSnapshot], *, environment: str) -> None:
    """Store what is not stored yet; owners are set for the versions as they are stored."""
    insert_absent(connection, _snapshots, [_encode(each) for each in given])
    ids = [(codec.encode_model(each.name), each.fingerprint.digest) for each in given]
    claims: list[dict[str, object]] = []
    for chunk in chunks(ids):
        rows = connection.execute(_STORED_VERSIONS, in_pairs(chunk)).all()
        claims.extend(
            {"model": row.model, "version": row.version, "environment": environment} for row in rows
        )
    insert_absent(connection, _owners, claims)


def versions(
    connection: Connection, definitions: Iterable[tuple[ModelName, Fingerprint]]
) -> dict[VersionKey, tuple[VersionKey, ...]]:
    """The versions of stored snapshots, by the version that each one's fingerprint gives."""
    wanted = {
        (codec.encode_model(name), each.data, each.parent_data): VersionKey(name, each.data_version)
        for name, each in definitions
    }
    found: dict[VersionKey, set[VersionKey]] = {}
    for chunk in chunks((model, data) for model, data, _ in wanted):
        for row in connection.execute(_VERSIONS, in_pairs(chunk)).all():
            key = wanted.get((row.model, row.data, row.parent_data))
            if key is not None:
                found.setdefault(key, set()).add(VersionKey(key.model, row.version))
    return {key: tuple(sorted(each)) for key, each in found.items()}


def owners(connection: Connection, keys: Iterable[VersionKey]) -> dict[VersionKey, str]:
    """The owner of each of these versions that has one."""
    found: dict[VersionKey, str] = {}
    for chunk in chunks((codec.encode_model(key.model), key.version) for key in keys):
        for row in connection.execute(_OWNERS, in_pairs(chunk)).all():
            found[VersionKey(codec.decode_model(row.model), row.version)] = row.environment
    return found


def set_owner(connection: Connection, keys: Iterable[VersionKey], environment: str) -> None:
    """Make an environment the owner of versions, whoever owned them before."""
    rows = [
        {
            "model": codec.encode_model(key.model),
            "version": key.version,
            "environment": environment,
        }
        for key in dict.fromkeys(keys)
    ]
    upsert(connection, _owners, rows)


def pass_on(connection: Connection, environment: str, *, to: Mapping[VersionKey, str]) -> None:
    """Let an environment own nothing any more: others get its versions, or nobody does."""
    owned = connection.execute(select(_owners).where(_owners.c.environment == environment)).all()
    connection.execute(delete(_owners).where(_owners.c.environment == environment))
    for row in owned:
        key = VersionKey(codec.decode_model(row.model), row.version)
        if key in to:
            set_owner(connection, [key], to[key])


def release_others(connection: Connection, keys: Iterable[VersionKey], environment: str) -> None:
    """Let an environment own only these versions, and release its others."""
    kept = {(codec.encode_model(key.model), key.version) for key in keys}
    owned = connection.execute(
        select(_owners.c.model, _owners.c.version).where(_owners.c.environment == environment)
    )
    for model, version in [(row.model, row.version) for row in owned]:
        if (model, version) not in kept:
            connection.execute(
                delete(_owners).where(_owners.c.model == model, _owners.c.version == version)
            )


def decode(row: Row[Any]) -> ModelSnapshot:
    """The snapshot in a row that has the columns of ``schema.snapshots``."""
    return ModelSnapshot(
        name=codec.decode_model(row.model),
        fingerprint=Fingerprint(
            data=row.data,
            parent_data=row.parent_data,
            metadata=row.metadata,
            parent_metadata=row.parent_metadata,
        ),
        version=row.version,
        category=None if row.category is None else Category(row.category),
        reasons=codec.decode_reasons(row.reasons_json),
        source=codec.decode_source(row.source_json),
        decided_by=DecidedBy(row.decided_by),
        decided_from=row.decided_from,
        drifted=row.drifted,
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
        "reasons_json": codec.encode_reasons(snapshot.reasons),
        "source_json": codec.encode_source(snapshot.source),
        "decided_by": snapshot.decided_by.value,
        "decided_from": snapshot.decided_from,
        "drifted": snapshot.drifted,
    }
