"""The current Iceberg snapshot of a version, and whether it has the recorded rows (rule R4)."""

from __future__ import annotations

from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, with_advice
from vde_dagster.core.ledger.damage import (
    Damage,
    HeadExpired,
    HeadMoved,
    NeverRecorded,
    TableDropped,
    described,
    mended_by,
)
from vde_dagster.core.model.snapshot import VersionKey


class ForeignWrite(Conflict):
    """A version's table is not as recorded: another program wrote to it, or removed it.

    Nothing is built on such rows, since it is not known what they are.
    """


def head_of(services: Services, key: VersionKey) -> int | None:
    """The Iceberg snapshot that a unit of work on a version starts from; None for no rows yet.

    It is the table's current one: the last recorded one, or a compaction of it. No JVM is started.

    Raises:
        ForeignWrite: The table has other rows than were recorded last.
    """
    recorded = services.state.heads([key]).get(key)
    table = services.catalog.table(key.table)
    found = table.iceberg_snapshot_id if table is not None else None
    if found != recorded and not _is_compacted(services, key, found, recorded):
        damage = _damage(services, key, found, recorded, there=table is not None)
        raise ForeignWrite(
            f"{described(key, damage)}. Nothing was done", advice=mended(services, key, damage)
        )
    return found


def head_damage(services: Services, key: VersionKey, recorded: int | None) -> Damage | None:
    """What is wrong where readers see other rows of a version than were recorded; None if nothing.

    What a unit of work has published and not recorded yet is not a foreign write.

    Args:
        services: The ports.
        key: The version.
        recorded: The Iceberg snapshot that was recorded last, a moment ago.
    """
    while True:
        table = services.catalog.table(key.table)
        found = table.iceberg_snapshot_id if table is not None else None
        if found == recorded or _is_compacted(services, key, found, recorded):
            return None
        published = [work.publication for work in services.state.open_work(key)]
        if any(each is not None and each.iceberg_snapshot_id == found for each in published):
            return None
        now = services.state.heads([key]).get(key)
        if now == recorded:
            return _damage(services, key, found, recorded, there=table is not None)
        recorded = now


def foreign_write(services: Services, key: VersionKey, recorded: int | None) -> str:
    """A message if readers see other rows of a version than were recorded; empty otherwise.

    See `head_damage`.
    """
    damage = head_damage(services, key, recorded)
    if damage is None:
        return ""
    return with_advice(f"{described(key, damage)}", mended(services, key, damage))


def mended(services: Services, key: VersionKey, damage: Damage) -> str:
    """What mends it, for people, where the version is owned, or shown if nobody owns it."""
    owner = services.state.owners([key]).get(key) or _shown_by(services, key)
    return mended_by(key, damage, owner=owner)


def _shown_by(services: Services, key: VersionKey) -> str | None:
    """An environment that shows a version, such as one that production has moved on from."""
    for name in services.state.environments():
        shown = services.state.environment(name)
        own = shown.snapshots.get(key.model) if shown is not None else None
        if own is not None and own.key == key:
            return name
    return None


def readable(services: Services, key: VersionKey, recorded: int | None) -> int | None:
    """The Iceberg snapshot at which the rows recorded at another one can be read.

    That is the recorded one itself. If it has expired, it is the table's current one, provided that
    this is a compaction of it.
    """
    if recorded is None or services.catalog.retains(key.table, recorded):
        return recorded
    table = services.catalog.table(key.table)
    found = table.iceberg_snapshot_id if table is not None else None
    return found if _is_compacted(services, key, found, recorded) else recorded


def _is_compacted(
    services: Services, key: VersionKey, found: int | None, recorded: int | None
) -> bool:
    """Whether two Iceberg snapshots have the same rows, as far as is known.

    If the recorded one has expired, and all retained ones up to the one that was found are
    compactions, nothing indicates a foreign write: it is the same table after maintenance.
    """
    if found is None or recorded is None:
        return False
    origin, retains = services.catalog.origin, services.catalog.retains
    first = origin(key.table, found)
    if first == origin(key.table, recorded):
        return True
    return not retains(key.table, first) and not retains(key.table, recorded)


def _damage(
    services: Services, key: VersionKey, found: int | None, recorded: int | None, *, there: bool
) -> Damage:
    if recorded is None:
        assert found is not None, "no rows were recorded, and there are none"
        return NeverRecorded(found=found)
    if not there:
        return TableDropped(recorded=recorded)
    if found is None or not services.catalog.retains(key.table, recorded):
        return HeadExpired(found=found, recorded=recorded)
    return HeadMoved(found=found, recorded=recorded)
