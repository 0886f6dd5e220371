"""Everything that may refer to a version, as the state and the catalog have it at one instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from vde_dagster.core.model.snapshot import Revision, VersionKey
from vde_dagster.core.names import PRODUCTION, TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How long unused versions and snapshots are kept, by the wall clock.

    - ``history``: how long an environment can go back to what it showed. As long, versions are
      kept that a plan was to show, and closed units of work.
    - ``environment``: after how long an environment that is neither planned nor promoted expires;
      None for never. ``environments`` has those with a time of their own. Production never does.
    - ``grace``: between the tombstone of a version and the removal of its files.
    """

    history: timedelta = timedelta(days=7)
    environment: timedelta | None = timedelta(days=7)
    environments: Mapping[str, timedelta | None] = field(default_factory=dict)
    grace: timedelta = timedelta(days=1)

    def of(self, environment: str) -> timedelta | None:
        """After how long an environment expires; None for never."""
        if environment == PRODUCTION:
            return None
        return self.environments.get(environment, self.environment)


DEFAULT_TIMES: Final = Times()
"""What holds where ``vde.yaml`` says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVersions:
    """The versions of one revision that is still in its environment's history.

    ``until`` is when a later promotion, or the environment's removal, was finished; None while
    views of the environment may show it.
    """

    revision: Revision
    versions: frozenset[VersionKey]
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedVersion:
    """A version that a plan was to show when it was applied last, however that ended."""

    environment: str
    key: VersionKey
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWork:
    """A unit of work that is neither done nor abandoned."""

    environment: str
    key: VersionKey
    began: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """A version that nothing referred to at an instant.

    If it is being dropped, the state knows nothing else of it any more. Then ``uuid`` and
    ``location`` are those of its table or view; empty where there was none.
    """

    key: VersionKey
    recorded_at: datetime
    is_dropping: bool = False
    uuid: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingView:
    """A view of the catalog, and the versions that its text names.

    ``key`` is the version whose physical view it is; None for one of an environment or of others.
    """

    name: TableName
    reads: frozenset[VersionKey]
    key: VersionKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """What the state knows at ``now``, by the database's clock.

    ``known`` are all versions of which the state has anything. ``busy`` are environments that a
    process holds, ``removing`` those whose removal was started and not finished, ``written`` the
    versions that a process holds, and ``used`` is when each environment was planned or promoted
    last.
    """

    now: datetime
    known: frozenset[VersionKey]
    revisions: tuple[ShownVersions, ...] = ()
    planned: tuple[PlannedVersion, ...] = ()
    open_work: tuple[OpenWork, ...] = ()
    tombstones: Mapping[VersionKey, Tombstone] = field(default_factory=dict)
    busy: frozenset[str] = frozenset()
    removing: frozenset[str] = frozenset()
    written: frozenset[VersionKey] = frozenset()
    used: Mapping[str, datetime] = field(default_factory=dict)
