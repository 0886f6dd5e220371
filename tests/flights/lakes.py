"""The flights example as its user has it, in memory by its use cases, or on Spark by `vde`.

In memory `mart.punctuality`, which is Python, is replaced by a query of the same meaning.
"""

from __future__ import annotations

import json
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import landing
import pytest

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call
from tests.flights.world import HOUR, START, feeds, tuples
from tests.worlds.clock import ManualClock
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import plan_run
from vde_dagster.app.clean_up.janitor import clean_up
from vde_dagster.app.clean_up.maintaining import maintain
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.app.services import VALID_TO, Services
from vde_dagster.cli.printing import as_json
from vde_dagster.composition import VdeProject
from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.clean_up.upkeep import Upkeep
from vde_dagster.core.columns import Column
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import PHYSICAL_PREFIX, ModelName, TableName, environment_view
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.project.loading import models_kept_in

EXAMPLE: Final = Path(landing.__file__).parent
_TYPES: Final = {
    "boolean": "boolean",
    "date": "date",
    "double": "double",
    "int": "int",
    "string": "string",
    "timestamptz": "timestamp",
}
AT_ONCE: Final = Times(history=timedelta(0), grace=timedelta(0), environment=None)
_AT_ONCE: Final = """
clean_up: {history: 0 seconds, grace: 0 seconds, environments: never}
maintain: {snapshots: 0 seconds, small_files: 2}
"""
_PUNCTUALITY: Final = """\
MODEL (name mart.punctuality, kind FULL, cron '@daily');
SELECT
  carrier AS carrier,
  COUNT(*) AS flights,
  COUNT(departure_delay_minutes) AS departed,
  COUNT_IF(departure_delay_minutes <= 15) AS on_time,
  CAST(COUNT_IF(departure_delay_minutes <= 15) AS DOUBLE)
    / NULLIF(COUNT(departure_delay_minutes), 0) AS punctuality,
  MAX(departure_delay_minutes) AS longest_departure_delay_minutes
FROM core.flights
GROUP BY carrier
"""


@dataclass(frozen=True)
class FlightsLake(ABC):
    """The project's folder, its commands, and what readers of its views see."""

    folder: Path

    @abstractmethod
    def land(self, until: datetime) -> None:
        """All that is known before ``until``, a whole hour, arrives hour by hour."""

    @property
    @abstractmethod
    def services(self) -> Services:
        """The ports as a command gets them."""

    @property
    def reading_any_column(self) -> frozenset[str]:
        """The models that may read any column, so that a change of one concerns them."""
        return frozenset()

    @abstractmethod
    def plan(self, environment: str, **options: Any) -> dict[str, int]:
        """Plan the files for an environment and apply that: the intervals computed of each model.

        What a kind without intervals computes counts as one. Views have no rows of their own and
        are left out. ``options`` are fields of `PlanOptions`.
        """

    @abstractmethod
    def promote(self, source: str, target: str = "prod") -> dict[str, int]:
        """Let an environment show what another one shows; see `plan`."""

    @abstractmethod
    def rollback(self, environment: str) -> dict[str, int]:
        """Go back to what an environment showed before; see `plan`."""

    @abstractmethod
    def run(self, environment: str) -> dict[str, int]:
        """A scheduled run, or the tick of a sensor; see `plan`."""

    @abstractmethod
    def clean_up(self) -> None:
        """The janitor comes twice, when the times of all that it keeps are over."""

    @abstractmethod
    def maintain(self) -> None:
        """Tables are maintained, and nothing is kept for readers alone."""

    @abstractmethod
    def physical(self) -> dict[TableName, dict[str, int]]:
        """All physical tables and views of which there is anything, each with its files' sizes."""

    def edit(self, model: str, old: str, new: str) -> None:
        """Replace a part of a model's file that is there once."""
        path = self.folder / "models" / f"{model.replace('.', '/')}.sql"
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{model}: {old}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def versions(self, environment: str) -> dict[str, str]:
        """The version of each model that an environment shows."""
        return {str(name): each.version for name, each in self._snapshots(environment).items()}

    def shown(self, environment: str) -> dict[str, list[list[Any]]]:
        """The rows that readers of each of its views find, in no order that means anything."""
        return {str(each): self.rows(environment, each) for each in self._snapshots(environment)}

    def rows(self, environment: str, name: ModelName) -> list[list[Any]]:
        """The rows of one view."""
        services = self.services
        view = environment_view(name, environment, services.naming)
        _, rows = services.engine.fetch(f"SELECT * FROM {view}", limit=1_000_000)
        return unordered(rows)

    def tables(self, environment: str) -> set[TableName]:
        """The physical tables and views of an environment's versions."""
        return {each.key.table for each in self._snapshots(environment).values()}

    def heads(self, environment: str) -> dict[str, tuple[str, int | None]]:
        """The version and the Iceberg snapshot of each table that an environment shows."""
        found: dict[str, tuple[str, int | None]] = {}
        services = self.services  # opened once: a database has only so many connections
        for name, snapshot in self._snapshots(environment).items():
            table = services.catalog.table(snapshot.key.table)
            head = table.iceberg_snapshot_id if table is not None else None
            found[str(name)] = (snapshot.version, head)
        return found

    def _snapshots(self, environment: str) -> dict[ModelName, ModelSnapshot]:
        """What it shows of each model; sources are no models of its views."""
        shown = self.services.state.environment(environment)
        assert shown is not None, environment
        return {name: each for name, each in shown.snapshots.items() if not each.is_source}


@dataclass(frozen=True)
class InMemory(FlightsLake):
    """All ports are in memory; queries are run by DuckDB."""

    world: MemoryWorld
    at: list[datetime] = field(default_factory=lambda: [START])

    @property
    def services(self) -> Services:
        """See `FlightsLake`."""
        sources = (ModelName("raw", "departures"), ModelName("raw", "arrivals"))
        models = models_kept_in(self.folder)
        return replace(self.world.services(), clock_sources=sources, models=models)

    def plan(self, environment: str, **options: Any) -> dict[str, int]:
        """See `FlightsLake`."""
        graph = VdeProject.load(self.folder).files.graph
        chosen = PlanOptions(**options)
        return self._applied(plan_environment(self.services, graph, environment, chosen))

    def promote(self, source: str, target: str = "prod") -> dict[str, int]:
        """See `FlightsLake`."""
        return self._applied(plan_promotion(self.services, source, target))

    def rollback(self, environment: str) -> dict[str, int]:
        """See `FlightsLake`."""
        return self._applied(plan_rollback(self.services, environment))

    def run(self, environment: str) -> dict[str, int]:
        """See `FlightsLake`."""
        return self._applied(plan_run(self.services, environment))

    def clean_up(self) -> None:
        """See `FlightsLake`."""
        for _ in range(2):
            clean_up(self.services, AT_ONCE)

    def maintain(self) -> None:
        """See `FlightsLake`."""
        upkeep = Upkeep(snapshots=timedelta(0), small_files=2)
        found = maintain(self.services, AT_ONCE, upkeep)
        assert (found.left, found.busy) == ((), ())

    def physical(self) -> dict[TableName, dict[str, int]]:
        """See `FlightsLake`."""
        catalog = self.world.catalog
        files = {
            name: {str(at): len(each.rows) for at, each in table.snapshots.items()}
            for name, table in catalog.tables.items()
        }
        files |= {name: {name.name: len(text)} for name, text in catalog.queries.items()}
        return {
            name: each for name, each in files.items() if name.namespace.startswith(PHYSICAL_PREFIX)
        }

    def _applied(self, plan: Plan) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in apply_plan(self.services, plan, lambda _: None):
            kept = 0 if each.saved is None else each.saved.intervals
            if plan.graph[each.key.model].model.kind.stores_rows and len(each.entries) > kept:
                name = str(each.key.model)
                found[name] = found.get(name, 0) + len(each.entries) - kept
        return found

    def land(self, until: datetime) -> None:
        """See `FlightsLake`."""
        while self.at[-1] < until:
            end = self.at[-1] + HOUR
            for name, feed in feeds().items():
                table = TableName("raw", name)
                batch = feed.next_batch(self.at[-1], end)
                if batch is not None:
                    self.world.catalog.append(table, tuples(batch.rows))
                self.world.catalog.set_property(table, VALID_TO, end.isoformat())
            self.at.append(end)


@dataclass(frozen=True)
class OnSpark(FlightsLake):
    """The catalog is real, and queries run on the shared session."""

    @property
    def services(self) -> Services:
        """See `FlightsLake`."""
        return VdeProject.load(self.folder).services

    @property
    def reading_any_column(self) -> frozenset[str]:
        """See `FlightsLake`."""
        return frozenset({"mart.punctuality"})

    def plan(self, environment: str, **options: Any) -> dict[str, int]:
        """See `FlightsLake`."""
        words = [f"--{name.replace('_', '-')}" for name, is_on in options.items() if is_on]
        return self._done("plan", environment, *words, "--auto-apply", "--skip-tests")

    def promote(self, source: str, target: str = "prod") -> dict[str, int]:
        """See `FlightsLake`."""
        return self._done("promote", source, target, "--auto-apply")

    def rollback(self, environment: str) -> dict[str, int]:
        """See `FlightsLake`."""
        return self._done("rollback", environment, "--auto-apply")

    def run(self, environment: str) -> dict[str, int]:
        """See `FlightsLake`."""
        return self._done("run", environment)

    def clean_up(self) -> None:
        """See `FlightsLake`."""
        with (self.folder / "vde.yaml").open("a", encoding="utf-8") as settings:
            settings.write(_AT_ONCE)
        for _ in range(2):
            self._said("janitor")

    def maintain(self) -> None:
        """See `FlightsLake`."""
        found = self._said("maintain")
        assert (found["left"], found["busy"]) == ([], [])

    def physical(self) -> dict[TableName, dict[str, int]]:
        """See `FlightsLake`."""
        warehouse = VdeProject.load(self.folder).configuration.warehouse
        found: dict[TableName, dict[str, int]] = {}
        for path in warehouse.glob(f"{PHYSICAL_PREFIX}*/*/**/*"):
            if path.is_file():
                namespace, name, *_ = path.relative_to(warehouse).parts
                files = found.setdefault(TableName(namespace, name), {})
                files[str(path)] = path.stat().st_size
        return found

    def _said(self, *words: str) -> dict[str, Any]:
        done = call(*words, "--project", self.folder, "--format", "json")
        assert done.exit_code == 0, f"{done.stdout}{done.stderr}"
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    def _done(self, *words: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in self._said(*words)["built"]:
            count = 1 if each["intervals"] is None else each["intervals"]
            if each["kind"] != "VIEW" and count > each["kept"]:
                found[each["model"]] = count - each["kept"]
        return found

    def land(self, until: datetime) -> None:
        """See `FlightsLake`."""
        landing.land(VdeProject.load(self.folder).iceberg_catalog(), until=until)


def in_memory(folder: Path, patch: pytest.MonkeyPatch) -> InMemory:
    """The example whose commands work in memory; nothing has landed."""
    _copy(folder)
    (folder / "models" / "mart" / "punctuality.py").unlink()
    (folder / "models" / "mart" / "punctuality.sql").write_text(_PUNCTUALITY, encoding="utf-8")
    lake = InMemory(folder=folder, world=MemoryWorld(clock=ManualClock(datetime.now(UTC))))
    for name, feed in feeds().items():
        columns = tuple(
            Column(name=each, type=_TYPES[str(kind)]) for each, kind in feed.columns.items()
        )
        lake.world.catalog.create_table(
            TableName("raw", name), columns, properties={VALID_TO: START.isoformat()}
        )
    patch.setattr(VdeProject, "services", property(lambda _: lake.services))
    return lake


def on_spark(folder: Path, **properties: str) -> OnSpark:
    """The example as it is, in a catalog that no other test has; nothing has landed.

    ``properties`` are pyiceberg's: of a SQL catalog, whose warehouse lies in the project's folder
    unless they say where, or of another ``type``. Without any the catalog is embedded.
    """
    _copy(folder)
    of_sql = {"type": "sql", "warehouse": f"file://{folder}/.vde/warehouse"}
    given = {**({} if "type" in properties else of_sql), **properties}
    with (folder / "vde.yaml").open("a", encoding="utf-8") as settings:
        settings.write(f"\ncatalog:\n  name: flights_{uuid.uuid4().hex[:8]}\n")
        if properties:
            settings.write(f"  properties: {json.dumps(given)}\n")
    return OnSpark(folder=folder)


def _copy(folder: Path) -> None:
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".vde", "__pycache__"))


def unordered(rows: Iterable[Iterable[object]]) -> list[list[Any]]:
    """Rows as JSON has them, in one order whatever their order is."""
    return sorted(([_plain(value) for value in row] for row in rows), key=json.dumps)


def _plain(value: object) -> object:
    """DuckDB counts in whole decimals where Spark does in integers."""
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        return int(value)
    return as_json(value)
