"""What the janitor would do now, and why it leaves the rest. Reads the state and the catalog."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.references import ReadingView, References, Times
from vde_dagster.core.clean_up.sweeping import Sweep, expired, sweep
from vde_dagster.core.model.snapshot import VersionKey, version_of
from vde_dagster.core.names import TableName
from vde_dagster.ports.physical_layer import StoredFiles, StoredTable

_NAME: Final = re.compile(r"\w+__[0-9a-f]{32}", re.ASCII)
NO_FILES: Final = StoredFiles()


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A table or view in our schemas that stays, although nothing refers to it, and why."""

    table: TableName
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What there is to clean up.

    ``stored`` are the tables and views of versions that the state knows, ``views`` all views that
    read versions, and ``elsewhere`` those of them that are not in the schemas of versions.
    ``expired`` are environments whose time to live is over.
    """

    found: References
    swept: Sweep
    views: tuple[ReadingView, ...]
    stored: Mapping[VersionKey, StoredTable]
    expired: tuple[str, ...]
    left: tuple[Left, ...]
    elsewhere: tuple[StoredTable, ...] = ()

    def files(self, services: Services, key: VersionKey) -> StoredFiles:
        """The files of a version."""
        stored = self.stored.get(key)
        return NO_FILES if stored is None else services.catalog.files(stored)

    def sizes(self, services: Services) -> dict[VersionKey, StoredFiles]:
        """The files of every version to which nothing refers."""
        keys = (*self.swept.due, *self.swept.waiting, *self.swept.marked)
        return {key: self.files(services, key) for key in keys}

    def droppable(self, due: Iterable[VersionKey]) -> list[VersionKey]:
        """Those of the versions that are due that have no table, or one that this state made.

        Of one to which something referred when this looked, it is not known who made its table.
        """
        left = {each.table for each in self.left}
        return [key for key in due if key not in self.swept.kept and key.table not in left]


def look(services: Services, times: Times) -> Look:
    """Find out what nothing refers to. Writes nothing."""
    # The catalog first: what the state refers to by the time it is read counts.
    layer = services.catalog.physical_layer()
    elsewhere = services.catalog.reading_views()
    found = services.state.references()
    views = tuple(_readings([*layer, *elsewhere], found.known))
    swept = sweep(found, views, times)
    stored = {key: each for each in layer if (key := version_of(each.name)) and key in found.known}
    return Look(
        found=found,
        swept=swept,
        views=views,
        stored=stored,
        expired=expired(found, services.state.environments(), times),
        left=tuple(_left(services, layer, found, swept)),
        elsewhere=tuple(elsewhere),
    )


def _readings(
    stored: Iterable[StoredTable], known: Collection[VersionKey]
) -> Iterator[ReadingView]:
    """What each view reads, by the names of versions in its text."""
    by_name = {key.table.name: key for key in known}
    for each in stored:
        if each.is_view:
            names = set(_NAME.findall(each.text))
            reads = frozenset(by_name[name] for name in names if name in by_name)
            yield ReadingView(name=each.name, reads=reads, key=version_of(each.name))


def _left(
    services: Services, layer: Iterable[StoredTable], found: References, swept: Sweep
) -> Iterator[Left]:
    state = services.state.identity()
    dropping = {each.key for each in found.tombstones.values() if each.is_dropping}
    unreachable = found.known - swept.kept.keys()
    for apart in sorted(each for each in unreachable if each.model.catalog):
        yield Left(table=apart.table, reason="it is not in the project's catalog")
    for each in layer:
        key = version_of(each.name)
        if key is None or key not in found.known | dropping:
            yield Left(table=each.name, reason="it is not recorded in this state")
        elif key in unreachable:
            why = why_not_ours(each, state)
            if why is not None:
                yield Left(table=each.name, reason=why)


def why_not_ours(stored: StoredTable, state: str) -> str | None:
    """Why a table or view may not be touched; None if it is known that this state made it."""
    if stored.location.rstrip("/").rpartition("/")[2] != stored.name.name:
        return f"its files are in {stored.location}, which is not a folder of its own"
    if stored.beside:
        other = stored.beside
        return (
            f"its folder also has the files of {other}; copy {other} to another folder, "
            "then drop it"
        )
    if stored.state == state:
        return None
    return "another state created it" if stored.state else "it does not say which state created it"
