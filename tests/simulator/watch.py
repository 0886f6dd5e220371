"""What changes from step to step: rows and tables go only where they may, and owners write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from tests.app.generated_models import HISTORIES, LOOKED_THROUGH, Made
from tests.app.memory_world import START, MemoryWorld
from tests.simulator.commands import Models
from tests.simulator.leftovers import TIMES
from tests.simulator.shown import Comparison, whole
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import TableName

_UNSURE: Final = timedelta(minutes=7)
"""By so much the clock may have gone back, or on during a command."""
EVERYBODY: Final = ""
"""Who writes in a step of several commands."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A version that environments show: its model, its owner, where its table is, and where its
    intervals begin that have rows, of which a table that is computed as a whole has one."""

    made: Made
    owner: str
    head: int | None
    times: frozenset[datetime]


@dataclass
class Watch:
    """What was there after the last step.

    ``permitted`` are the models whose rows a person lets go in this step; None for all of them.
    """

    world: MemoryWorld
    comparison: Comparison
    permitted: set[str] | None = field(default_factory=set)
    _held: dict[VersionKey, _Held] = field(default_factory=dict)
    _ever: set[VersionKey] = field(default_factory=set)
    _tables: set[TableName] = field(default_factory=set)
    _shown: dict[TableName, datetime] = field(default_factory=dict)
    _passed: dict[TableName, datetime] = field(default_factory=dict)

    def permit(self, models: Iterable[str] | None) -> None:
        """Let rows of some models go in this step; of all of them where that is None."""
        if models is None or self.permitted is None:
            self.permitted = None
        else:
            self.permitted.update(models)

    def left(self) -> frozenset[VersionKey]:
        """The versions whose owner showed them once and does so no more: who shows them next owns
        them from then on, and its next run computes what is late of them."""
        owners = self.world.services().state.owners(sorted(self._ever))
        shown = {name: self._keys(name) for name in {*owners.values()}}
        return frozenset(key for key, owner in owners.items() if key not in shown[owner])

    def _keys(self, environment: str) -> frozenset[VersionKey]:
        """The versions that an environment shows."""
        found = self.world.services().state.environment(environment)
        if found is None or found.is_removed:
            return frozenset()
        return frozenset(each.key for each in found.snapshots.values())

    def wrong(
        self, shows: Mapping[str, Models], *, writer: str, cleaned_at: datetime | None
    ) -> Iterator[str]:
        """What a step has done that it may not.

        Args:
            shows: What each environment shows now.
            writer: The environment whose command it was.
            cleaned_at: When the step began, if the janitor was at work in it.
        """
        before, self._held = self._held, self._look(shows)
        permitted, self.permitted = self.permitted, set()
        for key in before.keys() & self._held.keys():
            if str(key.table) not in self.comparison.meddled:
                old, new = before[key], self._held[key]
                yield from _lost(old, new, permitted)
                if writer != EVERYBODY and old.head != new.head:
                    yield from _written(old, new, writer)
        yield from self._dropped(cleaned_at)

    def _look(self, shows: Mapping[str, Models]) -> dict[VersionKey, _Held]:
        services = self.world.services()
        found: dict[VersionKey, Made] = {}
        for name, models in shows.items():
            environment = services.state.environment(name)
            if environment is not None and not environment.is_removed:
                of = environment.snapshots
                found.update({of[made.key].key: made for made in models if made.key in of})
        self._ever |= found.keys()
        owners = services.state.owners(sorted(found))
        return {key: self._now(key, made, owners.get(key, "")) for key, made in found.items()}

    def _now(self, key: VersionKey, made: Made, owner: str) -> _Held:
        table = self.world.catalog.tables.get(key.table)
        if table is None or made.form in LOOKED_THROUGH:
            return _Held(made, owner, None, frozenset())
        known = self._held.get(key)
        if known is not None and known.head == table.head and known.made == made:
            times = known.times
        else:
            rows = whole(table)
            if made.form in HISTORIES:
                rows = [row for row in rows if row[-1] is None]
            unit = made.unit
            times = frozenset(unit.floor(row[1]) if made.is_by_time else START for row in rows)
        return _Held(made, owner, table.head, times)

    def _dropped(self, cleaned_at: datetime | None) -> Iterator[str]:
        """The tables and views that are gone too early."""
        catalog, now = self.world.catalog, self.world.clock.now()
        before = self._tables
        every = catalog.tables.keys() | catalog.queries.keys()
        self._tables = {name for name in every if name.namespace.startswith("vde__")}
        for name in before - self._tables:
            shown, passed = self._shown.pop(name, None), self._passed.pop(name, None)
            if str(name) in self.comparison.meddled:
                continue
            if shown is not None and now - shown < TIMES.history - _UNSURE:
                yield f"{name} was dropped {now - shown} after it was shown"
            elif passed is None or now - passed < TIMES.grace - timedelta(minutes=1):
                yield f"{name} was dropped without a time of grace"
        for key in self._held:
            self._shown[key.table] = now
            self._passed.pop(key.table, None)
        if cleaned_at is None:
            return
        for name in self._tables:
            shown = self._shown.get(name)
            if shown is None or now - shown >= TIMES.history - _UNSURE:
                self._passed.setdefault(name, cleaned_at)


def _lost(old: _Held, new: _Held, permitted: Collection[str] | None) -> Iterator[str]:
    """Rows that are gone from a table though nobody let them."""
    is_permitted = permitted is None or new.made.name in permitted
    gone = sorted(old.times - new.times) if old.made.unit == new.made.unit else []
    if gone and not is_permitted:
        yield f"{new.made.name} ({new.made.form.name}) has lost all rows of {gone[0]}"


def _written(old: _Held, new: _Held, writer: str) -> Iterator[str]:
    """A version that another environment has written than the one that owns it."""
    if writer not in (old.owner, new.owner):
        yield f"{writer} has written {new.made.name}, which {old.owner} owns"
