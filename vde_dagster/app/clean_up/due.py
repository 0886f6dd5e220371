"""What there is to do on one table or view, from the state and metadata alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Final

from vde_dagster.app.binding import bind_environment
from vde_dagster.app.catch_up.listing import RESOURCE as LATE_TABLES
from vde_dagster.app.clean_up.looking import Left, Look, look, why_not_ours
from vde_dagster.app.publish.foreign_writes import advice_on, head_damage
from vde_dagster.app.services import Services
from vde_dagster.app.view_names import every_view_name
from vde_dagster.core.clean_up.compaction import Compaction, compaction
from vde_dagster.core.clean_up.expiry import Expiry, TableHistory, due_tags, expiry
from vde_dagster.core.clean_up.pinning import Pins, both, pins
from vde_dagster.core.clean_up.references import References, Times
from vde_dagster.core.clean_up.upkeep import Upkeep
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.damage import described
from vde_dagster.core.listing import plural
from vde_dagster.core.model.snapshot import VersionKey, version_of
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.unresolved import guess
from vde_dagster.ports.late_tables import KEPT
from vde_dagster.ports.physical_layer import StoredTable, StrayFile
from vde_dagster.ports.state import version_resource

NOTHING_EXPIRES: Final = Expiry(kept={}, expired=())


@dataclass(frozen=True, slots=True, kw_only=True)
class DueExpiry:
    """Which tags and Iceberg snapshots of a table go, by its history; None if it has none."""

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
        """What is pinned of a table by now, by any process. Its lease is held."""
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

    def compaction(self, target: Target) -> tuple[Compaction | None, str]:
        """Which files are worth rewriting, or why they stay if that would lose something."""
        name = target.stored.name
        files = self.services.catalog.data_files(name)
        found = compaction(
            files,
            least=self.upkeep.small_files,
            file_size=self.upkeep.file_size,
        )
        if found is not None and self.services.catalog.branches(name):
            return None, "rows that failed an audit could no longer be published"
        others = sum(each.is_anothers for each in files)
        if found is not None and others:
            return None, f"it is a shallow copy, and compaction would copy {plural(others, 'file')}"
        return found, ""

    def expiry(self, target: Target) -> DueExpiry:
        """Which tags and Iceberg snapshots go."""
        history = self.services.catalog.table_history(target.stored.name)
        if history is None:
            return DueExpiry()
        due = due_tags(history, now=self.now, ttl=self.times.history)
        tags = {name: history.tags[name] for name in due}
        rest = {name: at for name, at in history.tags.items() if name not in tags}
        history = replace(history, tags=rest)
        return DueExpiry(tags=tags, expiry=self.decided(target, history), history=history)

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
        """The orphan files.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table or view that is maintained.

    ``key`` is the version that it has, or whose rows it shows; None for a table of late data, and
    for a view that is dropped.
    ``lease`` is the name of the lease under which a table is written; empty for a view, whose files
    no process changes. At least ``newest`` of its Iceberg snapshots stay.
    """

    stored: StoredTable
    key: VersionKey | None
    lease: str = ""
    newest: int = 0

    @property
    def model(self) -> ModelName | None:
        """The model whose rows it has or shows."""
        return None if self.key is None else self.key.model


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What is maintained, in order, and what is not, with the reasons."""

    targets: tuple[Target, ...]
    left: tuple[Left, ...]
    look: Look


def find_targets(services: Services, times: Times, models: Sequence[str] = ()) -> Targets:
    """What there is to maintain. Writes nothing.

    What nothing refers to is left to the janitor, which drops it.

    Args:
        services: The ports.
        times: How long unused versions and snapshots are kept.
        models: Names of models, in which `*` and `?` stand for any text and any character; none for
            all models and the tables of late data.

    Raises:
        Refused: There is no table or view of one of the names.
    """
    found = look(services, times)
    chosen = _chosen(found, models)
    targets, left = list[Target](), list[Left]()
    state = services.state.identity()
    for key in chosen:
        stored = found.stored[key]
        why = why_not_ours(stored, state)
        if key not in found.swept.kept:
            why = "nothing refers to it"
        if why is None:
            lease = "" if stored.is_view else version_resource(key)
            targets.append(Target(stored=stored, key=key, lease=lease))
        else:
            left.append(Left(table=stored.name, reason=why))
    targets += _environment_views(services, found, {key.model for key in chosen})
    if not models:
        targets += _late_tables(services)
        targets += _dropped_views(services, found, state)
    return Targets(targets=tuple(targets), left=tuple(left), look=found)


def _chosen(found: Look, models: Sequence[str]) -> list[VersionKey]:
    """The versions with a table or view that some names mean, sorted."""
    known = sorted(found.stored)
    if not models:
        return known
    names = sorted({str(key.model) for key in known})
    patterns = [each.lower() for each in models]
    unknown = [each for each in patterns if not any(fnmatchcase(name, each) for name in names)]
    if unknown:
        raise Refused(
            f"no table or view found for {', '.join(unknown)}",
            advice=guess(unknown[0], names)
            or ("`vde environments` lists all models with a table or view."),
        )
    return [key for key in known if any(fnmatchcase(str(key.model), each) for each in patterns)]


def _environment_views(
    services: Services, found: Look, models: Collection[ModelName]
) -> Iterator[Target]:
    """The views of environments that show versions of some models."""
    shown = services.catalog.views([each.name for each in found.elsewhere])
    for stored in found.elsewhere:
        key = version_of(shown[stored.name].target) if stored.name in shown else None
        if key is not None and key in found.found.known and key.model in models:
            yield Target(stored=stored, key=key)


def _dropped_views(services: Services, found: Look, state: str) -> Iterator[Target]:
    """The views that no environment shows, or showed in the time for which it can go back.

    So each was dropped as long ago, and no reader needs the files that are left of it.
    """
    dropped = services.catalog.dropped_views(state=state)
    if not dropped:
        return
    forgotten = frozenset(found.swept.forgotten)
    shown = {
        (key.model, each.revision.environment)
        for each in found.found.revisions
        if each.revision not in forgotten
        for key in each.versions
    }
    kept = {name for model, of in shown for name in every_view_name(services, model, of)}
    yield from (Target(stored=each, key=None) for each in dropped if each.name not in kept)


def _late_tables(services: Services) -> Iterator[Target]:
    for name in services.late_tables.names if services.late_tables is not None else ():
        stored = services.catalog.stored(name)
        if stored is not None and not stored.is_view:
            yield Target(stored=stored, key=None, lease=LATE_TABLES, newest=KEPT)
