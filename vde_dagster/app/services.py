"""The ports that every use case works with, as one value."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from vde_dagster.app.leases import TTL, holder_of, leased
from vde_dagster.core.ledger.dsha import DEFAULT_ALGORITHM
from vde_dagster.core.names import ModelName, TableName, ViewNaming
from vde_dagster.core.time.intervals import parse_instant
from vde_dagster.ports.catalog import Catalog, TableState
from vde_dagster.ports.clock import Clock, Ids
from vde_dagster.ports.engine import Engine
from vde_dagster.ports.late_tables import LateTables
from vde_dagster.ports.state import Lease, State
from vde_dagster.project.cache.models import ModelCache
from vde_dagster.project.loading import ProjectFiles

VALID_TO = "vde.valid-to"
"""The table property by which a source says up to when it is complete (seed 003, VTTS)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Adapters of all ports. ``clock`` is the machine's; the project's is `project_now`.

    ``clock_sources`` are the sources whose valid-to time is the project's clock; empty for the
    wall clock. ``naming`` is how the project names the views of environments from now on.
    ``models`` is a cache of parsed models. ``algorithm`` is what rows are hashed with.
    ``lease_ttl`` is how long a lease lasts without being renewed. ``retries`` is whether what
    failed is tried again as often as its model says; else that is up to the caller.
    ``late_tables`` is where sessions are listed for people; None for nowhere. ``author`` is who
    promotes, as histories of environments name them. ``asked_at`` is when the plan or run was asked
    for of which everything that is done now is a part; None outside of one.
    """

    state: State
    catalog: Catalog
    engine: Engine
    clock: Clock
    ids: Ids
    clock_sources: tuple[ModelName, ...] = ()
    naming: ViewNaming = field(default_factory=ViewNaming)
    models: ModelCache | None = None
    algorithm: str = DEFAULT_ALGORITHM
    lease_ttl: timedelta = TTL
    retries: bool = True
    late_tables: LateTables | None = None
    author: str = ""
    asked_at: datetime | None = None

    @property
    def execution_time(self) -> datetime:
        """What ``@execution_ts`` stands for: the same moment for all models of a plan or run."""
        return self.asked_at if self.asked_at is not None else self.clock.now()

    def project_now(self) -> datetime | None:
        """The project's clock (configuration.md): the least valid-to time of its sources.

        None if a source has none yet, so nothing can be due.
        """
        if not self.clock_sources:
            return self.clock.now()
        times = [valid_to_of(self.source(source)) for source in self.clock_sources]
        known = [time for time in times if time is not None]
        return min(known) if len(known) == len(times) else None

    def lease(self, resource: str, what: str) -> AbstractContextManager[Lease]:
        """Hold a lease for a ``with`` block; ``what`` says for people what its holder does.

        Raises:
            LeaseHeld: Another process holds it.
        """
        holder = holder_of(self.ids, what)
        return leased(self.state, resource, holder=holder, ttl=self.lease_ttl)

    def source(self, name: ModelName) -> TableState | None:
        """A source's table; None where it does not exist."""
        return self.catalog.table(TableName(name.schema, name.name, name.catalog))


def valid_to_of(source: TableState | None) -> datetime | None:
    """Up to when a source declares itself complete; None where it does not."""
    written = source.properties.get(VALID_TO) if source is not None else None
    return parse_instant(written) if written else None


class Project(Protocol):
    """A user's project with its adapters, each opened when it is first needed."""

    @property
    def services(self) -> Services:
        """All ports of the project."""
        ...

    @property
    def files(self) -> ProjectFiles:
        """The models in the project's files now.

        Raises:
            ProjectInvalid: Something is wrong in the files; all problems at once.
        """
        ...
