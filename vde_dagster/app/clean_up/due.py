"""What there is to do on one table or view, from the state and metadata alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from vde_dagster.app.binding import bind_environment
from vde_dagster.app.clean_up.targets import Target
from vde_dagster.app.publish.foreign_writes import advice_on, head_damage
from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.compaction import Compaction, compaction
from vde_dagster.core.clean_up.expiry import Expiry, TableHistory, due_tags, expiry
from vde_dagster.core.clean_up.pinning import Pins, both, pins
from vde_dagster.core.clean_up.references import References, Times
from vde_dagster.core.clean_up.upkeep import Upkeep
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.damage import described
from vde_dagster.core.names import ModelName
from vde_dagster.ports.maintenance import StrayFile

NOTHING_EXPIRES: Final = Expiry(kept={}, expired=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What there is to do on a table or view.

    ``not_compacted`` is why small files stay all the same; empty if they do not.
    """

    compaction: Compaction | None = None
    not_compacted: str = ""
    tags: Mapping[str, int] = field(default_factory=dict)
    expiry: Expiry = NOTHING_EXPIRES
    history: TableHistory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Decides about tables. What names Iceberg snapshots was read once, before any of them.

    ``pinned`` is what follows from that, ``number`` that of the newest unit of work by then. What
    may name Iceberg snapshots of a table since then is read when it is its turn. ``now`` is by the
    database's clock; see `vde_dagster.core.clean_up.pinning.pins` for ``by_history``.
    """

    services: Services
    times: Times
    upkeep: Upkeep
    now: datetime
    pinned: Pins
    number: int
    by_history: frozenset[ModelName]

    @classmethod
    def of(cls, services: Services, times: Times, upkeep: Upkeep, found: References) -> Decider:
        """Read what names Iceberg snapshots now."""
        by_history = _by_history(services, found)
        named = services.state.named_snapshots()
        return cls(
            services=services,
            times=times,
            upkeep=upkeep,
            now=found.now,
            pinned=pins(named, by_history=by_history),
            number=named.number,
            by_history=by_history,
        )

    def pins(self, target: Target) -> Pins:
        """What is pinned of a table by now, whoever pinned it. Its lease is held."""
        since = self.services.state.named_since(self.number, target.key)
        return both(pins(since, by_history=self.by_history), self.pinned)

    def check_sound(self, target: Target) -> None:
        """Refuse a version whose table is not as it was recorded.

        Raises:
            Refused: With what ends it.
        """
        if target.key is None:
            return
        services, key = self.services, target.key
        damage = head_damage(services, key, services.state.heads([key]).get(key))
        if damage is not None:
            raise Refused(described(key, damage), advice=advice_on(services, key, damage))

    def compaction(self, target: Target) -> Due:
        """Whether files are worth rewriting, and why they stay if that would lose something."""
        name = target.stored.name
        found = compaction(
            self.services.catalog.data_files(name),
            least=self.upkeep.small_files,
            file_size=self.upkeep.file_size,
        )
        if found is not None and self.services.catalog.branches(name):
            why = "rows that an audit refused could not be published any more"
            return Due(not_compacted=why)
        return Due(compaction=found)

    def expiry(self, target: Target) -> Due:
        """Which tags and Iceberg snapshots go."""
        history = self.services.catalog.table_history(target.stored.name)
        if history is None:
            return Due()
        due = due_tags(history, now=self.now, ttl=self.times.history)
        tags = {name: history.tags[name] for name in due}
        rest = {name: at for name, at in history.tags.items() if name not in tags}
        history = replace(history, tags=rest)
        return Due(tags=tags, expiry=self.decided(target, history), history=history)

    def decided(self, target: Target, history: TableHistory) -> Expiry:
        """Which Iceberg snapshots of a table go, by what is pinned now."""
        return expiry(
            history,
            self.pins(target),
            now=self.now,
            keep=self.upkeep.snapshots,
            newest=target.newest,
        )

    def strays(self, target: Target) -> tuple[StrayFile, ...]:
        """The files of nobody.

        Raises:
            Refused: It is not certain which files are whose.
        """
        before = self.now - self.upkeep.orphans
        return tuple(self.services.catalog.stray_files(target.stored, before=before))


def _by_history(services: Services, found: References) -> frozenset[ModelName]:
    """The models whose tables are loaded in parts that no time column tells apart.

    So are taken those that no environment shows now: they may be.
    """
    by_history, otherwise = set[ModelName](), set[ModelName]()
    for name in services.state.environments():
        binding = bind_environment(services, name)
        for node in binding.graph if binding is not None else ():
            in_parts = node.model.kind.is_by_interval and node.time_axis is None
            (by_history if in_parts else otherwise).add(node.name)
    return frozenset({key.model for key in found.known} - (otherwise - by_history))
