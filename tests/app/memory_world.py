"""A whole world in memory, a small project in it, and a power cut at any call of any port."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

from tests.app.read_models import read_before
from tests.worlds.catalog import MemoryCatalog
from tests.worlds.clock import ManualClock
from tests.worlds.engine import MemoryEngine
from tests.worlds.ids import CountingIds
from tests.worlds.state import copied_state, memory_state
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import Wanted, plan_run
from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.inspect.verify import verify
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.ledger.unit_of_work import Staged, Staging
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.ports.clock import Ids
from vde_dagster.ports.state import State
from vde_dagster.project.cache.models import known_models
from vde_dagster.project.defaults import Defaults
from vde_dagster.project.model_files import external_source, read_model

P = ParamSpec("P")
T = TypeVar("T")

START = datetime(2024, 1, 1, tzinfo=UTC)
RAW = TableName("raw", "events")
SOURCE = ModelName("raw", "events")
RAW_COLUMNS = {"id": "bigint", "at": "timestamp", "amount": "bigint"}
DEFAULTS = Defaults(start=START)

EVENTS = """
MODEL (
  name staging.events,
  kind INCREMENTAL_BY_TIME_RANGE (time_column at),
  cron '@hourly',
  late_data (mode stateless, sources (raw.events))
);
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
DAILY = """
MODEL (name mart.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM staging.events
WHERE at BETWEEN @start_dt AND @end_dt AND amount > 0
GROUP BY CAST(at AS DATE)
"""
TOTALS = """
MODEL (name mart.totals, kind FULL, cron '@daily');
SELECT COUNT(*) AS days, SUM(amount) AS amount FROM mart.daily
"""
PEOPLE = """
MODEL (name mart.people, kind VIEW);
SELECT day AS day, amount AS amount FROM mart.daily
"""
PROJECT = {"events": EVENTS, "daily": DAILY, "totals": TOTALS, "people": PEOPLE}


WRITING: Final = frozenset(
    [
        *("acquire_lease", "renew_lease", "release_lease"),
        *("store_snapshots", "begin_promotion", "finish_promotion", "swap_views"),
        "next_view_number",
        *("record_intent", "record_audits", "record_staged", "finalize", "abandon", "outdate"),
        *("record_looks", "record_detected", "record_accepted"),
        *("pause", "resume"),
        *("begin_removal", "release_unfilled", "record_sweep", "begin_drop", "drop_physical"),
        *("finish_drop", "prune"),
        *("stage", "create_view", "publish", "restore", "drop_branch", "evolve", "describe"),
        *("compact", "announce_expiry", "expire_announced", "settle_expiry"),
        *("drop_tag", "delete_files"),
    ]
)
"""The methods of the ports that write. What is durable after one stays so until the next one."""


READING: Final = {
    *("accepted", "adopted", "branches", "changed_since", "closed_before", "data_files", "digests"),
    *("drifted", "dropped_views", "drops", "earliest", "environment", "environments", "files"),
    *("columns_at", "files_of", "heads", "history", "entries_within", "holdings", "identity"),
    *("last_looks",),
    *("ledger", "line", "latest", "marks", "missing_files", "newest_computed", "named_since"),
    *("named_snapshots", "open_work", "table_heads", "origin", "owners", "pauses", "pending"),
    *("physical_layer", "present", "preview", "reading_views", "references", "revision"),
    *("row_changes", "sessions", "snapshots", "stays", "stored", "stray_files", "sums", "table"),
    *("table_history", "taken", "totals", "unfinished", "used", "failed", "versions", "views"),
    *("work", "works"),
}
"""Methods of the ports that change nothing: a cut around one is a cut around its neighbours."""


class PowerCut(BaseException):
    """The machine went off: nothing that follows in this process happens."""


@dataclass
class Fuse:
    """Counts calls of all ports, and cuts the power before or after one of them.

    It is the one of a number, or the first one of a name.
    """

    cut_at: int | None = None
    cut_name: str = ""
    after: bool = False
    calls: int = 0
    blown: bool = False
    names: list[str] = field(default_factory=list)

    @property
    def changing(self) -> list[int]:
        """The numbers of the calls that are not known to read only."""
        return [at for at, name in enumerate(self.names, start=1) if name not in READING]


_OF_THE_PROCESS: Final = {"interrupt", "sharing"}
"""Methods that are about threads alone: without power there are none."""


class Wired:
    """A port behind a fuse."""

    def __init__(self, port: object, fuse: Fuse) -> None:
        self._port = port
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found) or name in _OF_THE_PROCESS:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            fuse = self._fuse
            if fuse.blown:
                raise PowerCut
            fuse.calls += 1
            fuse.names.append(name)
            cut = fuse.calls == fuse.cut_at or name == fuse.cut_name
            if cut and not fuse.after:
                fuse.blown = True
                raise PowerCut
            result = found(*args, **kwargs)
            if cut:
                fuse.blown = True
                raise PowerCut
            return result

        return call


class Instead:
    """A port of which some methods are others."""

    def __init__(self, port: object, **methods: Callable[..., Any]) -> None:
        self._port = port
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)


def instead(services: Services, port: str, **methods: Callable[..., Any]) -> Services:
    """The services of a process, with other methods of one port."""
    ports: dict[str, Any] = {port: Instead(getattr(services, port), **methods)}
    return replace(services, **ports)


def slow(services: Services, clock: ManualClock) -> Services:
    """An engine that takes 30 seconds for each unit of work."""

    def stage(staging: Staging) -> Staged:
        clock.advance(timedelta(seconds=30))
        return services.engine.stage(staging)

    return instead(services, "engine", stage=stage)


def raising(error: BaseException) -> Callable[..., Any]:
    """A method that always fails."""

    def method(*_: object, **__: object) -> NoReturn:
        raise error

    return method


@dataclass
class MemoryWorld:
    """Everything that outlives a process, in memory."""

    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    catalog: MemoryCatalog = field(default_factory=MemoryCatalog)
    ids: Ids = field(default_factory=CountingIds)

    def __post_init__(self) -> None:
        self.state: State = memory_state(self.clock)
        self.catalog.clock = self.clock
        self._numbers = itertools.count(1)
        if RAW not in self.catalog.tables:
            columns = tuple(Column(name=name, type=kind) for name, kind in RAW_COLUMNS.items())
            self.catalog.create_table(RAW, columns, properties={VALID_TO: START.isoformat()})

    @classmethod
    def landed(cls, *events: tuple[float, int], until: float) -> MemoryWorld:
        """A world in which rows have arrived; see `land`."""
        world = cls()
        world.land(*events, until=until)
        return world

    def copied(self) -> MemoryWorld:
        """The same world once more; what happens in one does not happen in the other."""
        assert isinstance(self.ids, CountingIds)
        clock = ManualClock(self.clock.now())
        made = MemoryWorld(clock=clock, catalog=self.catalog.copied(), ids=self.ids.copied())
        made.state = copied_state(self.state, clock)
        reached = next(self._numbers)
        self._numbers, made._numbers = itertools.count(reached), itertools.count(reached)
        return made

    def services(self, fuse: Fuse | None = None) -> Services:
        """What one process works with."""
        services = Services(
            state=self.state,
            catalog=self.catalog,
            engine=MemoryEngine(self.catalog, self.state.identity()),
            clock=self.clock,
            ids=self.ids,
            clock_sources=(SOURCE,),
            models=read_before(),
        )
        if fuse is None:
            return services
        wired: dict[str, Any] = {
            name: Wired(getattr(services, name), fuse) for name in ("state", "catalog", "engine")
        }
        return replace(services, **wired)

    def land(self, *events: tuple[float, int], until: float) -> None:
        """Rows arrive: (hour of the event, amount). The source is complete to ``until`` hours."""
        if events:
            self.catalog.append(
                RAW,
                [
                    (next(self._numbers), START + timedelta(hours=hour), amount)
                    for hour, amount in events
                ],
            )
        self.catalog.set_property(RAW, VALID_TO, hour_of(until).isoformat())

    def plan(self, graph: Graph, environment: str = "prod", **options: Any) -> Plan:
        """A plan of one process, with options by their names."""
        services = self.services()
        finish_promotions(services, environment)
        return plan_environment(services, graph, environment, PlanOptions(**options))

    def apply(self, plan: Plan) -> tuple[Evaluated, ...]:
        """Apply a plan, in another process than planned it."""
        return apply_plan(self.services(), plan, lambda _: None)

    def build(
        self, graph: Graph, environment: str = "prod", **options: Any
    ) -> tuple[Evaluated, ...]:
        """Plan and apply."""
        return self.apply(self.plan(graph, environment, **options))

    def plan_run(self, environment: str = "prod", wanted: Wanted = Wanted.DUE_AND_STALE) -> Plan:
        """What a run would do."""
        return plan_run(self.services(), environment, wanted)

    def run(self, environment: str = "prod", **options: Any) -> tuple[Evaluated, ...]:
        """A run, with options by their names."""
        asked = PlanOptions(**options)
        return self.apply(plan_run(self.services(), environment, Wanted.DUE_AND_STALE, asked))

    def bound(self, environment: str = "prod") -> Binding:
        """What an environment shows."""
        return bound(self.services(), environment)

    def catch_up(self, name: ModelName, **options: Any) -> Evaluated | NothingToLoad:
        """A session of a model in production."""
        services = self.services()
        return catch_up(services, bound(services), name, **options)

    def reboot(self) -> None:
        """Time passes until every lease of a dead process has expired."""
        self.clock.advance(timedelta(minutes=10))

    def rows(self, view: str) -> list[tuple[object, ...]]:
        """What a reader of a view sees, sorted, with NULL first."""
        _, rows = MemoryEngine(self.catalog).fetch(f"SELECT * FROM {view}", limit=100_000)
        return sorted(map(tuple, rows), key=lambda row: [(each is not None, each) for each in row])

    def amounts(self, view: str) -> list[int]:
        """The amounts that a reader of a view sees, whose columns are those of the events."""
        return sorted(int(str(row[2])) for row in self.rows(view))


def made_once(make: Callable[P, MemoryWorld]) -> Callable[P, MemoryWorld]:
    """Make a world once for equal arguments; whoever asks for it gets a copy of its own."""
    worlds: dict[str, MemoryWorld] = {}

    @wraps(make)
    def copied(*args: P.args, **kwargs: P.kwargs) -> MemoryWorld:
        key = repr((args, kwargs))
        if key not in worlds:
            worlds[key] = make(*args, **kwargs)
        return worlds[key].copied()

    return copied


def there(found: T | None) -> T:
    """What was looked for, which has to be there."""
    assert found is not None
    return found


def hour_of(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def file_of(name: str) -> Path:
    """The file of a model, which is one of SQL unless its name says more."""
    path = Path("models", name)
    return path if path.suffix else path.with_suffix(".sql")


def declared_source(name: ModelName, columns: Mapping[str, str]) -> ModelSource:
    """A source of these columns, as a project declares it."""
    place = Place(path=Path("external_models.yaml"))
    return external_source(name, dict(columns), place=place, defaults=DEFAULTS)


def graph_of(
    texts: dict[str, str],
    *sources: ModelSource,
    files: Mapping[str, Mapping[str, str]] | None = None,
    **columns: str,
) -> Graph:
    """The project of these MODEL texts over the one source, and others, by their files' names.

    ``columns`` are other types of columns of the one source, and ``files`` those that belong to a
    MODEL text, by the name of that.
    """
    source = declared_source(SOURCE, RAW_COLUMNS | columns)
    written = [
        ModelSource(
            path=file_of(name),
            text=text,
            defaults=DEFAULTS.as_texts(),
            attachments=(files or {}).get(name, {}),
        )
        for name, text in texts.items()
    ]
    with known_models(read_before()) as known:
        models = [known.model(each, read_model) for each in (source, *sources, *written)]
        return build_graph(models, known=known)


def plan(services: Services, graph: Graph, environment: str = "prod") -> Plan:
    finish_promotions(services, environment)
    return plan_environment(services, graph, environment)


def build(services: Services, graph: Graph, environment: str = "prod") -> tuple[Evaluated, ...]:
    """Plan and apply, as one process does."""
    return apply_plan(services, plan(services, graph, environment), lambda _: None)


def build_due(services: Services, graph: Graph, environment: str = "prod") -> None:
    """Apply a plan without what is late or changed upstream."""
    due = plan(services, graph, environment)
    changes = tuple(replace(each, staleness=None) for each in due.changes)
    apply_plan(services, replace(due, changes=changes), lambda _: None)


def bound(services: Services, environment: str = "prod") -> Binding:
    binding = bind_environment(services, environment)
    assert binding is not None
    return binding


def mismatches(services: Services, name: ModelName) -> list[str]:
    """Where the rows of a model in production are not as they were recorded."""
    found = verify(services, bound(services), [name])
    return [str(each) for one in found for each in one.mismatches]
