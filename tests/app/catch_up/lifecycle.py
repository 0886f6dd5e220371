"""The seed's customer lifecycle in memory: three facts, and what becomes of an account by hour."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from tests.app.memory_world import MemoryWorld, bound, build, declared_source, graph_of, hour_of
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.late.decision import Decision, NothingToLoad
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.time.intervals import Interval

COLUMNS: Final = {"account": "bigint", "at": "timestamp", "landed": "timestamp"}
RAW: Final = ("signups", "plans", "cancels", "requests")
SIGNUPS: Final = ModelName("life", "signups")
PLANS: Final = ModelName("life", "plans")
REQUESTS: Final = ModelName("life", "requests")
CANCELS: Final = ModelName("life", "cancels")
STATE: Final = ModelName("life", "state")
MODELS: Final = (SIGNUPS, PLANS, REQUESTS, CANCELS, STATE)


def fact(name: str) -> str:
    return f"""
MODEL (
  name life.{name}, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
  late_data (mode stateless, sources (raw.{name} (tracked_by landed)))
);
SELECT account AS account, at AS at FROM raw.{name} WHERE at BETWEEN @start_ts AND @end_ts
"""


CANCELS_TEXT: Final = """
MODEL (
  name life.cancels, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
  late_data (mode stateful, sources ('raw.cancels|at', life.requests){options})
);
SELECT c.account AS account, c.at AS at, r.account IS NOT NULL AS asked
FROM raw.cancels AS c
LEFT JOIN life.requests AS r ON r.account = c.account
"""
STATE_TEXT: Final = """
MODEL (
  name life.state, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
  late_data (mode stateful, sources (life.signups, life.plans, life.cancels){options})
);
SELECT account AS account, at AS at, 1 AS state FROM life.signups
UNION ALL SELECT account AS account, at AS at, 2 AS state FROM life.plans
UNION ALL SELECT account AS account, at AS at, 3 AS state FROM life.cancels
"""


SEQUENTIAL: Final = """
MODEL (
  name life.state, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
  columns (account bigint, at timestamp, state bigint),
  late_data (mode stateful, sources (life.signups, life.plans, life.cancels){options})
);
SELECT account AS account, CAST(@start_ts AS TIMESTAMP) AS at, MAX_BY(state, place) AS state
FROM (
  SELECT account, state, 0 AS place FROM life.state
  UNION ALL SELECT account, 1 AS state, 1 AS place FROM life.signups
  UNION ALL SELECT account, 2 AS state, 2 AS place FROM life.plans
  UNION ALL SELECT account, 3 AS state, 3 AS place FROM life.cancels
) AS events
GROUP BY account
"""
"""The state of each account at the end of each hour, from the hour before and the hour's events."""


def texts(cancels: str = "", state: str = "") -> dict[str, str]:
    return {
        "signups": fact("signups"),
        "plans": fact("plans"),
        "requests": fact("requests"),
        "cancels": CANCELS_TEXT.format(options=cancels),
        "state": STATE_TEXT.format(options=state),
    }


def project(cancels: str = "", state: str = "") -> Graph:
    return graph_of(texts(cancels, state), *map(raw, RAW))


def sequential(state: str = "", **more: str) -> Graph:
    """The same facts, and a dimension in which each hour reads the hour before."""
    found = texts() | {"state": SEQUENTIAL.format(options=state)} | more
    return graph_of(found, *map(raw, RAW))


def raw(name: str) -> ModelSource:
    return declared_source(ModelName("raw", name), COLUMNS)


@dataclass
class Lifecycle:
    """The world of the seed's example; the hours of each raw table land one after the other."""

    world: MemoryWorld = field(default_factory=MemoryWorld)
    graph: Graph = field(default_factory=project)
    made: bool = False

    def __post_init__(self) -> None:
        if self.made:
            return
        columns = tuple(Column(name=name, type=kind) for name, kind in COLUMNS.items())
        for name in RAW:
            start = {VALID_TO: hour_of(0).isoformat()}
            self.world.catalog.create_table(TableName("raw", name), columns, properties=start)

    def services(self) -> Services:
        """The project's clock is that of the machine."""
        return replace(self.world.services(), clock_sources=())

    def at(self, hour: float) -> None:
        """The time comes to this hour."""
        wanted = hour_of(hour)
        self.world.clock.advance(wanted - self.world.clock.now())

    def land(self, name: str, *events: tuple[int, float], until: int | None = None) -> None:
        """Rows (account, hour of the event) of a raw table land now, in one file each."""
        now = self.world.clock.now()
        table = TableName("raw", name)
        for account, hour in events:
            self.world.catalog.append(table, [(account, hour_of(hour), now)])
        if until is not None:
            self.world.catalog.set_property(table, VALID_TO, hour_of(until).isoformat())

    def build(self) -> tuple[Evaluated, ...]:
        return build(self.services(), self.graph)

    def decided(self, name: ModelName) -> Decision:
        services = self.services()
        return detect(services, bound(services), name)

    def catch_up(self, name: ModelName) -> Evaluated | NothingToLoad:
        services = self.services()
        return catch_up(services, bound(services), name)

    def rows(self, name: ModelName) -> list[tuple[object, ...]]:
        return self.world.rows(str(name))

    def landed(self, name: str) -> list[tuple[int, datetime]]:
        """The events of a raw table, whatever was loaded of them: accounts and times."""
        table = self.world.catalog.tables[TableName("raw", name)]
        rows: Iterable[tuple[Any, ...]] = table.rows_at(table.head)
        return [(account, at) for account, at, _ in rows]


def hours(*numbers: int) -> tuple[Interval, ...]:
    """Single hours, not merged."""
    return tuple(Interval(hour_of(each), hour_of(each + 1)) for each in numbers)


def span(first: int, last: int) -> Interval:
    """From an hour to the end of another one."""
    return Interval(hour_of(first), hour_of(last + 1))
