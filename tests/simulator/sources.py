"""The sources of a history: what has landed in them, and up to when."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from tests.app.generated_models import OTHERS
from tests.app.memory_world import RAW, RAW_COLUMNS, SOURCE, START, MemoryWorld, hour_of
from tests.simulator.reference import Row, Shown
from tests.simulator.steps import Correct, Hush, Land, Reshape
from vde_dagster.app.services import VALID_TO
from vde_dagster.core.columns import Column
from vde_dagster.core.names import TableName

SPARE: Final = Column(name="spare", type="bigint")
"""A column that sources may have, and that nobody reads."""
TABLES: Final = {str(SOURCE): RAW, str(OTHERS): TableName("raw", "others")}


@dataclass
class Sources:
    """The rows that landed, by source, and up to which hour each is complete; signals pass what
    ends by ``landed``, and sources that are ``reshaped`` had other columns."""

    world: MemoryWorld
    rows: dict[str, list[Row]] = field(default_factory=lambda: {source: [] for source in TABLES})
    until: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 0))
    landed: datetime = START
    reshaped: set[str] = field(default_factory=set)
    _number: int = 0

    def __post_init__(self) -> None:
        self._create(str(OTHERS))
        self.let_pass(START + timedelta(hours=12))

    @property
    def shown(self) -> dict[str, Shown]:
        """What each source shows now."""
        return {
            name: Shown(tuple(rows), hour_of(self.until[name])) for name, rows in self.rows.items()
        }

    def let_pass(self, landed: datetime) -> None:
        """Let signals pass what ends by a time."""
        self.landed = landed
        os.environ["VDE_TEST_LANDED"] = landed.isoformat()

    def land(self, step: Land) -> None:
        """Let rows arrive in a source, and time go on; the source that lags catches up."""
        if step.hours:
            until = max(self.until.values()) + step.hours
            for source in (step.source,) if step.alone else TABLES:
                self.until[source] = until
        until = self.until[step.source]
        hours = [(hour if hour >= 0 else until + hour, amount) for hour, amount in step.rows]
        known = self.rows[step.source]
        new = [self._row(max(hour, 0), amount) for hour, amount in hours]
        new += [known[at % len(known)] for at in step.again if known]
        if new:
            self.world.catalog.append(TABLES[step.source], self._stored(step.source, new))
            known += new
        for source, table in TABLES.items():
            complete = hour_of(self.until[source]).isoformat()
            self.world.catalog.set_property(table, VALID_TO, complete)

    def correct(self, step: Correct) -> None:
        """Change a row of a source, or take it out."""
        rows = self.rows[step.source]
        if len(rows) < (4 if step.amount is None else 2):
            return
        at = 1 + step.at % (len(rows) - 1)  # the first row marks the beginning of the source
        if step.amount is None:
            self._overwrite(step.source, [*rows[:at], *rows[at + 1 :]])
        else:  # wherever it is: rows of one id are one change
            changed = (rows[at][0], rows[at][1], step.amount)
            self._overwrite(step.source, [changed if row == rows[at] else row for row in rows])

    def hush(self, step: Hush) -> None:
        """Take all rows of some hours out of a source, but for the one that marks its beginning."""
        begin = START + timedelta(hours=step.begins)
        end = begin + timedelta(hours=step.hours)
        first, *rows = self.rows[step.source]
        left = [row for row in rows if not begin <= row[1] < end]
        if len(left) < len(rows):
            self._overwrite(step.source, [first, *left])

    def _overwrite(self, source: str, rows: list[Row]) -> None:
        self.rows[source] = rows
        self.world.catalog.overwrite(TABLES[source], self._stored(source, rows))

    def tidy(self, source: str, *, expires: bool) -> None:
        """Forget earlier Iceberg snapshots of a source, or compact it."""
        tidied = self.world.catalog.expire if expires else self.world.catalog.compact
        tidied(TABLES[source])

    def reshape(self, step: Reshape, during: Callable[[], None]) -> None:
        """Add a column to a source, or drop it; or drop one that is read, and put it back after
        what happens ``during`` that; or create the source again with the rows that it has."""
        catalog, name = self.world.catalog, TABLES[step.source]
        table = catalog.tables[name]
        has = any(column.name == SPARE.name for column in table.columns)
        self.reshaped.add(step.source)
        match step.how:
            case "lose column":
                catalog.drop_column(name, "amount")
                during()
                table.put_columns_back()
            case "create again":
                catalog.drop_table(name)
                self._create(step.source)
                catalog.append(name, self._stored(step.source, self.rows[step.source]))
            case "drop column" if has:
                catalog.drop_column(name, SPARE.name)
            case "add column" if not has:
                table.widen((*table.columns, SPARE))

    def _create(self, source: str) -> None:
        columns = [Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items()]
        until = {VALID_TO: hour_of(self.until[source]).isoformat()}
        self.world.catalog.create_table(TABLES[source], columns, properties=until)

    def _stored(self, source: str, rows: Sequence[Row]) -> list[tuple[object, ...]]:
        """Rows with the columns of a source that nobody reads."""
        more = len(self.world.catalog.tables[TABLES[source]].columns) - len(RAW_COLUMNS)
        return [(*row, *[7] * more) for row in rows]

    def _row(self, hour: float, amount: int) -> Row:
        self._number += 1
        return self._number, START + timedelta(seconds=int(hour * 3600)), amount
