"""What environments show, compared with what they have to show."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final

from tests.app.generated_models import HISTORIES, ORDERED, VERSIONED, Form, Made
from tests.app.memory_world import MemoryWorld
from tests.simulator.commands import Models
from tests.simulator.reference import FOREVER, Row, Shown, expected, floor
from tests.simulator.sources import TABLES, Sources
from tests.worlds.engine import MemoryEngine
from tests.worlds.tables import Table
from vde_dagster.app.inspect.status import EnvironmentStatus
from vde_dagster.core.names import TableName, ViewNaming, environment_view

SHOWN_COLUMNS: Final = ("id", "at", "amount")


@dataclass
class Comparison:
    """What environments show, beside what landed.

    The rows of models that are ``loose`` depend on when they were computed. Those of ``emptied``
    ones may have been recorded without rows, of which production knows nothing, and those of
    ``bounded`` ones begin later in an environment. ``meddled`` are tables and views that other
    programs changed. ``stays`` are rows of tables that may never go, and ``seen`` what histories
    can have seen so far.
    """

    world: MemoryWorld
    sources: Sources
    loose: set[str] = field(default_factory=set)
    emptied: set[str] = field(default_factory=set)
    bounded: dict[str, set[str]] = field(default_factory=dict)
    meddled: set[str] = field(default_factory=set)
    seen: dict[str, set[Row]] = field(default_factory=dict)
    stays: dict[TableName, set[Any]] = field(default_factory=dict)

    def note_seen(self, models: Models) -> None:
        """Note what histories see if they look now."""
        if any(made.form in HISTORIES for made in models):
            for name, table in self._expected(models, self.loose).items():
                self.seen.setdefault(name, set()).update(table.rows or ())

    def wrong_rows(
        self, environment: str, models: Models, status: EnvironmentStatus
    ) -> Iterator[str]:
        """What an environment shows that is neither as from scratch nor told to be behind."""
        behind = {str(each.node.name) for each in status.models}
        behind |= {str(each.pause.model) for each in status.pauses}
        behind |= {str(each) for each in status.dropped_views}
        loose = self.loose | self.bounded.get(environment, set())
        wanted = self._expected(models, loose | (self.emptied if environment != "prod" else set()))
        for made in models:
            name = f"gen.{made.name}"
            yield from self._lost(environment, made)
            if not behind.isdisjoint(made.parents):
                behind.add(name)
            rows = wanted[name].rows
            if name in behind or made.form is Form.EMBEDDED or rows is None:
                continue
            found = shown(self.world, environment, made)
            if made.form in HISTORIES and found is not None:
                # each interval looks at the table as it is then, so only the next one looks again
                is_known = made.parents[0] not in TABLES or self.seen[name].issuperset(found)
                rows = tuple(found) if is_known else rows
            landed = floor(made, self.sources.landed) if made.waits else FOREVER
            # an edit without the signal may share the table, and fills what signals hold back
            has = partial(_is_certain, wanted[name], landed)
            right = sorted((row for row in rows if has(row)), key=_null_last)
            if found is None and not right:
                continue  # what has no interval yet has no view either
            if found is None or [row for row in found if has(row)] != right:
                yield (
                    f"{environment} says that {name} ({made.form.name}) is up to date, and it has "
                    f"{differing(found, right)}"
                )

    def _expected(self, models: Models, loose: Collection[str]) -> dict[str, Shown]:
        return expected(models, self.sources.shown, loose, landed=self.sources.landed)

    def _lost(self, environment: str, made: Made) -> Iterator[str]:
        """What is gone of what is never computed again: kept rows, and what a history closed."""
        view = self.world.catalog.view(view_of(environment, made))
        table = self.world.catalog.tables.get(view.target) if view is not None else None
        if view is None or table is None or str(view.target) in self.meddled:
            return
        if not view.target.namespace.startswith("vde__"):  # another program turned the view
            return
        if made.form is Form.KEPT and not made.lookback:
            now = {*whole(table)}
        elif made.form in HISTORIES:
            now = {row for row in whole(table) if row[-1] is not None}
        else:
            return
        if lost := self.stays.get(view.target, set()) - now:
            yield f"{environment}: {made.name} ({made.form.name}) has lost {lost}"
        self.stays[view.target] = now


def _is_certain(wanted: Shown, landed: datetime, row: Row) -> bool:
    return wanted.has(row) and row[1] < landed


def shown(world: MemoryWorld, environment: str, made: Made) -> list[Any] | None:
    """The rows of an environment's view, in the columns that every definition of a model has.

    Of a history these are the rows that are valid now.
    """
    found = world.catalog.view(view_of(environment, made))
    if found is None:
        return None
    table = world.catalog.tables.get(found.target)
    if table is None or made.form in ORDERED:  # a physical view, or one that leaves rows out
        return fetched(world, found.name, made)
    open_rows = [row for row in whole(table) if len(row) == len(SHOWN_COLUMNS) or row[-1] is None]
    return sorted((row[: len(SHOWN_COLUMNS)] for row in open_rows), key=_null_last)


def fetched(world: MemoryWorld, name: TableName, made: Made, where: str = "TRUE") -> list[Any]:
    """The rows that a reader of a table or view gets, of versions with when they are valid."""
    validity = f"valid_from, COALESCE(valid_to, TIMESTAMP '{FOREVER}')"
    columns = [*SHOWN_COLUMNS, *[validity] * (made.form in VERSIONED)]
    sql = f"SELECT {', '.join(columns)} FROM {name} WHERE {where}"
    _, rows = MemoryEngine(world.catalog).fetch(sql, limit=100_000)
    return sorted((tuple(row) for row in rows), key=_null_last)


def _null_last(row: Any) -> tuple[object, ...]:
    return row[0] is None, row[0] or 0, *row[1:]


def whole(table: Table) -> list[Any]:
    """The rows of a table in the columns that every definition has; a history's with `valid_to`."""
    names = [each.name for each in table.columns]
    at = [names.index(each) for each in (*SHOWN_COLUMNS, "valid_to") if each in names]
    return [tuple(row[each] for each in at) for row in table.rows_at(table.head)]


def view_of(environment: str, made: Made) -> TableName:
    """The view by which an environment shows a model."""
    return environment_view(made.key, environment, ViewNaming())


def differing(found: Sequence[Any] | None, wanted: Sequence[Any]) -> str:
    """How rows differ from others, for people."""
    if found is None:
        return "no view"
    more = [each for each in found if each not in wanted]
    less = [each for each in wanted if each not in found]
    return f"{more[:3]} for {less[:3]} ({len(found)} rows, {len(wanted)} from scratch)"
