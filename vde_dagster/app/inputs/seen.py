"""What one look at an environment reads of the state and of sources, each of it once.

Decisions about many models ask for the same versions and sources again and again. They are true of
one moment: the process that acts on a decision decides again under the version's lease.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from vde_dagster.app.binding import Binding
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.ledger.late.pending import Pending
from vde_dagster.core.ledger.staleness import LastLook
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName
from vde_dagster.ports.catalog import TableState


@dataclass(kw_only=True)
class Seen:
    """What is known of some versions; each thing is read when it is first asked for.

    Args:
        services: The ports.
        binding: The versions.
        names: The models.
    """

    services: Services
    binding: Binding
    names: frozenset[ModelName]
    _sources: dict[ModelName, TableState | None] = field(default_factory=dict)

    @classmethod
    def above(cls, services: Services, binding: Binding, names: Iterable[ModelName]) -> Seen:
        """Of these models and those upstream of them."""
        above = frozenset(node.name for node in binding.graph.upstream(names))
        return cls(services=services, binding=binding, names=above)

    @cached_property
    def now(self) -> datetime | None:
        """The project's clock."""
        return self.services.project_now()

    @cached_property
    def holdings(self) -> Mapping[VersionKey, Holding]:
        """The summaries of their ledgers."""
        return self.services.state.holdings(self._keys)

    @cached_property
    def owners(self) -> Mapping[VersionKey, str]:
        """The environments that own them."""
        return self.services.state.owners(self._keys)

    @cached_property
    def heads(self) -> Mapping[VersionKey, int]:
        """The Iceberg snapshots at which their ledgers are true."""
        return self.services.state.heads(self._keys)

    @cached_property
    def last_looks(self) -> Mapping[VersionKey, LastLook]:
        """The last looks at them."""
        return self.services.state.last_looks(self._keys)

    @cached_property
    def pending(self) -> Mapping[VersionKey, tuple[Pending, ...]]:
        """What is known of their sources and not loaded."""
        return self.services.state.pending(self._keys)

    def holding(self, key: VersionKey) -> Holding:
        """The summary of one ledger."""
        return self.holdings.get(key, NOTHING)

    def source(self, name: ModelName) -> TableState | None:
        """A source's table; None if it does not exist."""
        if name not in self._sources:
            self._sources[name] = self.services.source(name)
        return self._sources[name]

    @property
    def _keys(self) -> list[VersionKey]:
        snapshots = self.binding.snapshots
        return [snapshots[name].key for name in sorted(self.names) if name in snapshots]
