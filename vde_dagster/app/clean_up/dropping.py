"""Dropping one version: forgotten in the state first, and then its files (rule R12).

In between the state has a note with the uuid and the folder of its table, from which every process
that comes across it goes on. Until then no plan shows the version and no work writes it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vde_dagster.app.leases import holder_of, leased
from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.references import ReadingView, Times, Tombstone
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.physical_layer import StoredTable
from vde_dagster.ports.state import version_resource

_JANITOR = "the janitor"


def drop(
    services: Services,
    key: VersionKey,
    stored: StoredTable | None,
    views: Sequence[ReadingView],
    times: Times,
) -> bool:
    """Drop a version that nothing refers to; returns whether that is still so.

    Args:
        services: The ports.
        key: The version.
        stored: Its table or view; None if there is none.
        views: The views of the catalog that read it, also through others.
        times: How long it is kept.

    Raises:
        Conflict: A process writes it, or its table is changed right now.
        Refused: Its files cannot be deleted. Nothing shows it any more, and the next run goes on.
        OutcomeUnknown: An answer was lost; the next run does the rest.
    """
    uuid, location = (stored.uuid, stored.location) if stored is not None else ("", "")
    resource, ttl = version_resource(key), services.lease_ttl
    holder = holder_of(services.ids, _JANITOR)
    with leased(services.state, resource, holder=holder, ttl=ttl) as lease:
        begun = services.state.begin_drop(
            key, views, times, lease=lease, uuid=uuid, location=location
        )
        if begun:
            _delete(services, key, uuid=uuid, location=location)
        return begun


def finish_drops(services: Services, keys: Collection[VersionKey]) -> None:
    """Finish the drops of these versions that an earlier process began; see `finish_drop`."""
    for each in services.state.drops():
        if each.key in keys:
            finish_drop(services, each)


def finish_drop(services: Services, begun: Tombstone) -> None:
    """Finish a drop that an earlier process began.

    Raises:
        Conflict: Another process is dropping it right now, or changes its table.
        Refused: Its files cannot be deleted.
        OutcomeUnknown: An answer was lost; the next run does the rest.
    """
    resource, ttl = version_resource(begun.key), services.lease_ttl
    holder = holder_of(services.ids, _JANITOR)
    with leased(services.state, resource, holder=holder, ttl=ttl):
        _delete(services, begun.key, uuid=begun.uuid, location=begun.location)


def _delete(services: Services, key: VersionKey, *, uuid: str, location: str) -> None:
    if uuid:
        services.catalog.drop_physical(key.table, uuid=uuid, location=location)
    services.state.finish_drop(key)
