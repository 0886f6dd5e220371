"""The example customer_lifecycle, by its sensor alone: the seed's walk-through (seed 003, part 3).

What each hour has to look like is computed here from the events that were landed, in plain Python.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import dagster as dg
import pytest

from tests.orchestration.automated_world import launch, tick
from tests.orchestration.lifecycle_landing import EXAMPLE, landing
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.binding import bind_environment
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.composition import VdeProject
from vde_dagster.core.ledger.late.pending import PendingReason
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.orchestration.definitions import project_definitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vde_dagster.app.binding import Binding

pytestmark = [pytest.mark.spark, pytest.mark.full]  # in memory: tests/app/catch_up

SENSOR: Final = "vde_late_data_prod"
STATE: Final = "lifecycle.account_state"
CANCELS: Final = "lifecycle.cancels"


@dataclass
class Lifecycle:
    """The example in a folder of its own, as its sensor and its job see it."""

    folder: Path
    instance: dg.DagsterInstance
    spark: SparkSession

    @cached_property
    def project(self) -> VdeProject:
        return VdeProject.load(self.folder)

    @cached_property
    def definitions(self) -> dg.Definitions:
        return project_definitions(self.project, "prod")

    @property
    def binding(self) -> Binding:
        found = bind_environment(self.project.services, "prod")
        assert found is not None
        return found

    def land(self, delivery: str) -> None:
        landing.land(self.project.iceberg_catalog(), delivery)

    def plan(self) -> None:
        services = self.project.services
        plan = plan_environment(services, self.project.files.graph, "prod")
        apply_plan(services, plan, lambda _: None)

    def until_quiet(self) -> list[set[str]]:
        """Tick, and execute what is requested, until a tick requests nothing: models by run."""
        done: list[set[str]] = []
        while not isinstance(requests := tick(self.definitions, self.instance, SENSOR), str):
            assert len(done) < 9, "it does not come to rest"
            (request,) = requests
            done.append(self.run(request))
        return done

    def run(self, request: dg.RunRequest) -> set[str]:
        """Execute a run; the models of which it wrote rows."""
        result = launch(self.definitions, self.instance, request)
        keys = (each.asset_key for each in result.get_asset_materialization_events())
        return {".".join(each.path) for each in keys if each is not None}

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        self.project.open_spark()
        catalog = self.project.configuration.catalog.name
        return sorted(tuple(row) for row in self.spark.table(f"{catalog}.{name}").collect())

    def wrote(self, name: str) -> list[int]:
        """The hours that the last session of a model wrote."""
        key = self.binding.key(ModelName.parse(name))
        (last,) = self.project.services.state.sessions(key, limit=1)
        assert last.publication is not None
        return [hour_of(each.interval) for each in last.publication.changes]

    def pending(self, name: str) -> list[tuple[int, PendingReason]]:
        key = self.binding.key(ModelName.parse(name))
        found = self.project.services.state.pending([key]).get(key, ())
        return [(hour_of(each.interval), each.reason) for each in found]


def hour_of(interval: Interval) -> int:
    hours: int = (interval.start - landing.MIDNIGHT) // timedelta(hours=1)
    return hours


def landed(until: str) -> dict[str, list[tuple[Any, ...]]]:
    """All events of the deliveries up to one, by table."""
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in landing.COLUMNS}
    for each in landing.DELIVERIES[: landing.NAMES.index(until) + 1]:
        for name, events in each.events.items():
            found[name] += events
    return found


def states(until: str, hours: int) -> list[tuple[int, datetime, str]]:
    """The state of each account at the end of each of the first hours, from scratch."""
    events = landed(until)
    happened = [(at, 1, who, "active") for who, at in events["signups"]]
    happened += [(at, 2, who, change) for who, at, change in events["plans"]]
    happened += [(at, 3, who, "cancelled") for who, at in events["cancels"]]
    rows: list[tuple[int, datetime, str]] = []
    current: dict[int, str] = {}
    for hour in range(hours):
        of_hour = sorted(each for each in happened if hour <= each[0] < hour + 1)
        current |= {who: state for _, _, who, state in of_hour}
        start = (landing.MIDNIGHT + timedelta(hours=hour)).replace(tzinfo=None)
        rows += [(who, start, state) for who, state in current.items()]
    return sorted(rows)


def churn(until: str, hours: int) -> dict[int, str]:
    """Whether each account that cancelled had asked for it."""
    events = landed(until)
    asked = dict(events["cancel_requests"])
    return {
        who: "voluntary" if asked.get(who, at + 1) <= at else "involuntary"
        for who, at in events["cancels"]
        if at < hours
    }


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Lifecycle]:
    folder = tmp_path_factory.mktemp("lifecycle") / "customer_lifecycle"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".vde", "__pycache__"))
    with (folder / "vde.yaml").open("a", encoding="utf-8") as settings:
        settings.write(f"catalog: {{name: life_{uuid.uuid4().hex[:8]}}}\n")
    home = tmp_path_factory.mktemp("home")
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        yield Lifecycle(folder, instance, spark)


def test_everything_is_loaded_up_to_hour_five(life: Lifecycle) -> None:
    life.land("first")
    life.plan()
    assert life.rows(STATE) == states("first", 6)
    assert {row[0]: row[2] for row in life.rows(CANCELS)} == churn("first", 6)
    assert life.wrote(STATE) == [0, 1, 2, 3, 4, 5]


def test_late_events_are_carried_from_the_facts_to_the_dimension(life: Lifecycle) -> None:
    life.land("late")
    ticks = life.until_quiet()
    # One run: the facts that the tick found, and then what tracks them.
    facts = {f"lifecycle.{each}" for each in ("account_plans", "cancel_requests", "signups")}
    assert ticks == [{*facts, CANCELS, STATE}]
    assert life.wrote("lifecycle.signups") == [2, 3, 6]
    assert life.wrote("lifecycle.account_plans") == [2, 3, 6]
    assert life.wrote(CANCELS) == [5, 6, 7]
    assert life.wrote(STATE) == [2, 3, 4, 5, 6]
    assert life.rows(STATE) == states("late", 7)
    assert {row[0]: row[2] for row in life.rows(CANCELS)} == churn("late", 8)
    assert life.pending(STATE) == [(7, PendingReason.INCOMPLETE)]


def test_the_pending_hour_is_loaded_once_signups_and_plans_reach_it(life: Lifecycle) -> None:
    life.land("rest")
    assert len(life.until_quiet()) == 1
    assert life.wrote(STATE) == [7]
    assert life.rows(STATE) == states("rest", 8)
    assert life.pending(STATE) == []


def test_the_repair_stops_at_the_hour_that_came_out_equal_and_jumps(life: Lifecycle) -> None:
    life.land("converging")
    life.until_quiet()
    assert life.wrote("lifecycle.account_plans") == [3, 8]
    assert life.wrote(STATE) == [3, 4, 8]
    assert life.rows(STATE) == states("converging", 9)
    assert {row[0]: row[2] for row in life.rows(CANCELS)} == churn("converging", 9)
