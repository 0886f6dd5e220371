"""Where a version's table stands, and whether that is what was booked (rule R4)."""

from __future__ import annotations

from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict
from vde_dagster.core.model.snapshot import VersionKey


class ForeignWrite(Conflict):
    """A version's table is not what was booked: somebody else wrote to it, or removed it.

    Nothing is built on such rows, since nobody knows what they are.
    """


def head_of(services: Services, key: VersionKey) -> int | None:
    """The Iceberg snapshot that a unit of work on a version starts from; None for no rows yet.

    It is where the table is now: at what was booked last, or at a compaction of just that. No JVM
    is started.

    Raises:
        ForeignWrite: The table has other rows than what was booked last.
    """
    booked = services.state.heads([key]).get(key)
    table = services.catalog.table(key.table)
    found = table.iceberg_snapshot_id if table is not None else None
    if found != booked and not _is_compacted(services, key, found, booked):
        raise ForeignWrite(_told(services, key, found, booked))
    return found


def readable(services: Services, key: VersionKey, booked: int | None) -> int | None:
    """Where the rows can be read that were booked at an Iceberg snapshot.

    That is the snapshot itself. Where it has expired, it is where the table is now, if that is a
    compaction of it.
    """
    if booked is None or services.catalog.retains(key.table, booked):
        return booked
    table = services.catalog.table(key.table)
    found = table.iceberg_snapshot_id if table is not None else None
    return found if _is_compacted(services, key, found, booked) else booked


def foreign_write(services: Services, key: VersionKey, booked: int | None) -> str:
    """What to say where readers see other rows of a version than were booked; empty where not.

    What a unit of work has published and not booked yet is its own, and no write of others.

    Args:
        services: The ports.
        key: The version.
        booked: The Iceberg snapshot that was booked last, a moment ago.
    """
    while True:
        table = services.catalog.table(key.table)
        found = table.iceberg_snapshot_id if table is not None else None
        if found == booked or _is_compacted(services, key, found, booked):
            return ""
        published = [work.publication for work in services.state.open_work(key)]
        if any(each is not None and each.iceberg_snapshot_id == found for each in published):
            return ""
        now = services.state.heads([key]).get(key)
        if now == booked:
            return _told(services, key, found, booked)
        booked = now


def _is_compacted(
    services: Services, key: VersionKey, found: int | None, booked: int | None
) -> bool:
    """Whether two Iceberg snapshots have the same rows, as far as that can be told.

    Where all that is retained up to the one that was found are compactions, and what was booked has
    expired, nothing speaks for a write of somebody else: it is the same table after maintenance.
    """
    if found is None or booked is None:
        return False
    origin, retains = services.catalog.origin, services.catalog.retains
    first = origin(key.table, found)
    if first == origin(key.table, booked):
        return True
    return not retains(key.table, first) and not retains(key.table, booked)


def _told(services: Services, key: VersionKey, found: int | None, booked: int | None) -> str:
    catalog = services.naming.catalog or "CATALOG"
    what = f"{key.model}: its table {key.table}"
    if found is None:
        return (
            f"{what} is gone, or was emptied, and the Iceberg snapshot {booked} was booked. "
            "Nothing was done. Restore it, or write another `stamp` in the model, which gives it a "
            "new version."
        )
    if booked is None:
        return (
            f"{what} has rows (Iceberg snapshot {found}) that nothing was booked of: somebody else "
            "wrote them, or this state is not the one of this warehouse. Nothing was done. Drop "
            "the table, or use the state that belongs to it."
        )
    return (
        f"{what} is at the Iceberg snapshot {found}, and {booked} was booked: somebody else wrote "
        "to it, and nothing is built on rows that nobody knows. Nothing was done. Undo that write, "
        f"in Spark `CALL {catalog}.system.rollback_to_snapshot('{key.table}', {booked})`, and run "
        "this again."
    )
