"""One life of a model in two worlds at once: in memory, and on Spark and Iceberg."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, Final, cast

import pyarrow as pa

from tests.lakehouse.conftest import Lake, graph_of
from tests.lakehouse.kinds.worlds import START, Values, ordered
from tests.worlds.catalog import MemoryCatalog
from tests.worlds.clock import ManualClock
from tests.worlds.engine import MemoryEngine
from tests.worlds.ids import CountingIds
from tests.worlds.state import memory_state
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.inspect.verify import verify
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import VdeError
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import EPOCH
from vde_dagster.ports.engine import Engine
from vde_dagster.ports.state import State

Event = tuple[int, float, int | None, str]
"""What lands: id, the hour in which it happened, amount, label."""

_COLUMNS: Final = {"id": "bigint", "at": "timestamp", "amount": "int", "label": "string"}
_SCHEMA: Final = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("amount", pa.int32()),
        ("label", pa.string()),
    ]
)


class Counted:
    """An engine, and the calls of it that need Spark."""

    def __init__(self, engine: object) -> None:
        self._engine = engine
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in ("stage", "columns_of", "create_view", "sums"):
            self.calls.append(name)
        return getattr(self._engine, name)


@dataclass(kw_only=True)
class Side:
    """One of the two worlds. ``put`` gives the source these rows in addition to those it has.

    If the source has lost some of them, all its rows are replaced.
    """

    schema: str
    services: Services
    clock: ManualClock
    engine: Counted
    put: Callable[[Sequence[Event], Sequence[Event]], None]
    declare: Callable[[datetime], None]
    digests: dict[str, int] = field(default_factory=dict)

    def binding(self, environment: str) -> Binding:
        """What an environment runs."""
        found = bind_environment(self.services, environment)
        assert found is not None
        return found

    def apply(self, models: Mapping[str, str], environment: str, options: PlanOptions) -> Done:
        """Plan and apply, and report what readers, the ledger and people see of it."""
        calls, plan, reported = len(self.engine.calls), None, ""
        restate = tuple(each.replace("{s}", self.schema) for each in options.restate)
        options = replace(options, restate=restate)
        computed: dict[str, int] = {}
        kept: set[str] = set()
        try:
            graph = graph_of(self.schema, {"events": _COLUMNS}, models)
            plan = plan_environment(self.services, graph, environment, options)
            due = tuple(replace(each, staleness=None) for each in plan.changes)
            plan = replace(plan, changes=due)  # a life is about what each event loads
            for each in apply_plan(self.services, plan, lambda _: None):
                name = each.key.model.name
                computed[name] = computed.get(name, 0) + each.rows
                kept |= {name} if each.reused else set()
        except VdeError as error:
            reported = type(error).__name__
        return Done(
            error=reported,
            computed={name: rows for name, rows in computed.items() if name not in kept},
            kept=kept,
            changes=changes_of(plan),
            asked=len(self.engine.calls) > calls,
            is_empty=plan is not None and plan.is_empty,
        )

    def shown(self, environment: str, name: str) -> tuple[list[str], list[Values]]:
        """The columns and the rows that readers of a view see, as `plain` values."""
        namespace = self.schema if environment == "prod" else f"{self.schema}__{environment}"
        sql = f"SELECT * FROM {namespace}.{name}"
        columns, rows = self.services.engine.fetch(sql, limit=1000)
        return list(columns), ordered([tuple(map(plain, row)) for row in rows])

    def words(self, environment: str, name: str) -> list[tuple[str, str, str]]:
        """Name, type and comment of each column of a view."""
        namespace = self.schema if environment == "prod" else f"{self.schema}__{environment}"
        view = self.services.catalog.view(TableName(namespace, name))
        assert view is not None
        return [(each.name, each.type, each.description) for each in view.columns]

    def recorded(self, environment: str, names: Sequence[str]) -> list[tuple[object, ...]]:
        """The ledger; D-SHAs are numbers by their first appearance, since engines hash alike."""
        binding = self.binding(environment)
        keys = [binding.key(ModelName(self.schema, name)) for name in names]
        ledger = self.services.state.ledger(keys)
        assert not any(self.services.state.open_work(key) for key in keys)
        return [self._entry(each) for key in keys for each in ledger.get(key, ())]

    def _entry(self, entry: LedgerEntry) -> tuple[object, ...]:
        return (
            entry.interval,
            entry.status,
            entry.rows.rows,
            [(each.name, each.type) for each in entry.columns],
            entry.algorithm,
            entry.trace is None,
            self.digests.setdefault(entry.digest, len(self.digests)),
        )

    def wrong(self, environment: str) -> list[str]:
        """What `verify` finds, as texts; nothing if all is right."""
        found = verify(self.services, self.binding(environment))
        return [str(each) for each in found if not each.holds]


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a plan said and did. ``asked`` is whether the engine was needed, apart from readers."""

    error: str
    computed: dict[str, int]
    kept: set[str]
    changes: list[tuple[object, ...]]
    asked: bool
    is_empty: bool


def changes_of(plan: Plan | None) -> list[tuple[object, ...]]:
    """What a plan says of each model."""
    return [
        (
            *(each.name, each.change, each.category, each.version, each.previous_version),
            *(each.missing, each.restated, each.skipped, each.may_adopt, each.schema_changes),
        )
        for each in (plan.changes if plan is not None else ())
    ]


def plain(value: object) -> object:
    """Instants as hours of the life, days as texts, and 1970 as such; others unchanged."""
    match value:
        case datetime() if value == EPOCH:
            return "1970"
        case datetime():
            return int((value - START).total_seconds() // 3600)
        case date():
            return value.isoformat()
        case _:
            return value


def in_memory(schema: str) -> Side:
    """A life in memory."""
    catalog, clock = MemoryCatalog(), ManualClock(START)
    name = TableName(schema, "events")
    catalog.create_table(name, [Column(name=each, type=of) for each, of in _COLUMNS.items()])

    def put(before: Sequence[Event], rows: Sequence[Event]) -> None:
        if rows[: len(before)] == before:
            catalog.append(name, map(_values, rows[len(before) :]))
        else:
            catalog.overwrite(name, map(_values, rows))

    def declare(until: datetime) -> None:
        catalog.set_property(name, VALID_TO, until.isoformat())

    engine = Counted(MemoryEngine(catalog))
    services = _services(schema, memory_state(clock), catalog, engine, clock)
    return Side(
        schema=schema, services=services, clock=clock, engine=engine, put=put, declare=declare
    )


def on_spark(lake: Lake) -> Side:
    """The same life on Spark and Iceberg."""
    name, clock = (lake.schema, "events"), ManualClock(START)
    lake.iceberg.create_namespace(lake.schema)
    lake.iceberg.create_table(name, _SCHEMA)

    def put(before: Sequence[Event], rows: Sequence[Event]) -> None:
        added = rows[: len(before)] == before
        values = zip(*map(_values, rows[len(before) :] if added else rows), strict=True)
        table = pa.Table.from_arrays(
            [pa.array(each, of) for each, of in zip(values, _SCHEMA.types, strict=True)],
            schema=_SCHEMA,
        )
        source = lake.iceberg.load_table(name)
        (source.append if added else source.overwrite)(table)

    def declare(until: datetime) -> None:
        with lake.iceberg.load_table(name).transaction() as change:
            change.set_properties({VALID_TO: until.isoformat()})

    engine = Counted(lake.engine)
    services = _services(lake.schema, memory_state(clock), lake.catalog, engine, clock)
    return Side(
        schema=lake.schema, services=services, clock=clock, engine=engine, put=put, declare=declare
    )


def _services(
    schema: str, state: State, catalog: Any, engine: Counted, clock: ManualClock
) -> Services:
    return Services(
        state=state,
        catalog=catalog,
        engine=cast(Engine, engine),
        clock=clock,
        ids=CountingIds(),
        clock_sources=(ModelName(schema, "events"),),
    )


def _values(event: Event) -> tuple[object, ...]:
    number, hour, amount, label = event
    return number, START + timedelta(hours=hour), amount, label
