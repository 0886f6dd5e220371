"""Sessions in real processes: one dies anywhere, two want the same, rows land meanwhile.

Real Spark and Iceberg. What each table must hold is computed by DuckDB from all that has landed. In
memory, `tests/app/catch_up/test_stateful_faults.py` cuts the power around every call.
"""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa
import pytest

from tests.app.faults.driver import converge
from tests.app.faults.gates import Evaluations
from tests.app.faults.lake import CONFIGURATION, SCHEMA, SOURCES, Lake
from tests.app.faults.processes import Drivers
from vde_dagster.app.binding import Binding, bind_environment
from vde_dagster.app.catch_up.listing import list_late_data
from vde_dagster.app.catch_up.sessions import catch_up, load
from vde_dagster.core.errors import Conflict, OutcomeUnknown
from vde_dagster.core.ledger.rows_lost import WaitingRows
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.full

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
POINTS: Final = ("pinned", "staged", "recorded", "published", "finalized")
FIRST: Final = ((1, 0.5, 10), (2, 1.5, 20), (3, 2.5, 30))
LATE: Final = ((4, 1.7, 5), (5, 3.1, 40))
"""Ids, hours and amounts: three hours are loaded, then rows of the second and the fourth come."""

_WITHIN: Final = "WHERE at BETWEEN @start_dt AND @end_dt"
TEXTS: Final = {
    "late": f"""
MODEL (
  name kept.NAME, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
  late_data (mode stateless, sources (raw.events))
);
SELECT id, at, amount FROM raw.events {_WITHIN}
""",
    "sums": f"""
MODEL (
  name kept.NAME, kind INCREMENTAL_BY_TIME_RANGE (time_column hour), cron '@hourly',
  late_data (mode stateful, sources (kept.base))
);
SELECT DATE_TRUNC('hour', at) AS hour, SUM(amount) AS amount FROM kept.base {_WITHIN}
GROUP BY DATE_TRUNC('hour', at)
""",
    "total": f"""
MODEL (
  name kept.NAME, kind INCREMENTAL_BY_TIME_RANGE (time_column hour), cron '@hourly',
  columns (hour timestamp, amount bigint),
  late_data (mode stateful, sources (kept.base))
);
SELECT CAST(@start_dt AS TIMESTAMP) AS hour, SUM(amount) AS amount
FROM (SELECT amount FROM kept.NAME UNION ALL SELECT amount FROM kept.base {_WITHIN}) AS every
""",
}
EXPECTED: Final = {
    "late": 'SELECT id, "at", amount FROM events WHERE "at" < $until',
    "sums": """
SELECT date_trunc('hour', "at") AS hour, sum(amount)::BIGINT AS amount FROM events
WHERE "at" < $until GROUP BY ALL
""",
    "total": """
SELECT hour, (SELECT sum(amount) FROM events WHERE "at" < hour + INTERVAL 1 HOUR)::BIGINT AS amount
FROM (SELECT unnest(generate_series($start, $until - INTERVAL 1 HOUR, INTERVAL 1 HOUR)) AS hour)
""",
}

Events = Sequence[tuple[int, float, int]]


@dataclass(frozen=True)
class Hours(Lake):
    """A project with sessions over events that have landed; each model is named after its text."""

    hour: list[int] = field(default_factory=list)

    @classmethod
    def over(cls, folder: Path, names: Sequence[str]) -> Hours:
        (folder / "models").mkdir()
        configuration = CONFIGURATION.format(catalog=f"lake_{uuid.uuid4().hex[:8]}")
        (folder / "vde.yaml").write_text(configuration, encoding="utf-8")
        (folder / "external_models.yaml").write_text(SOURCES, encoding="utf-8")
        for name in names:
            text = TEXTS[kind_of(name)].replace("NAME", name)
            (folder / "models" / f"{name}.sql").write_text(text, encoding="utf-8")
        lake = cls(folder, {})
        catalog = lake.project.iceberg_catalog()
        catalog.create_namespace("raw")
        catalog.create_table("raw.events", SCHEMA)
        return lake

    def arrive(self, events: Events, *, until: int) -> None:
        """Events arrive; the source is complete to an hour."""
        rows = [{"id": n, "at": START + timedelta(hours=h), "amount": a} for n, h, a in events]
        with self.project.iceberg_catalog().load_table("raw.events").transaction() as change:
            if rows:
                change.append(pa.Table.from_pylist(rows, schema=SCHEMA))
            end = START + timedelta(hours=until)
            change.set_properties({"vde.valid-to": end.isoformat()})
        self.hour[:] = [until]

    @cached_property
    def shown(self) -> Binding:
        """What production shows; nobody changes that here."""
        found = bind_environment(self.project.services, "prod")
        assert found is not None
        return found

    def assert_exact(self, name: str) -> None:
        """The table has what all that has landed gives, up to the hour."""
        raw = self.project.iceberg_catalog().load_table("raw.events").scan().to_arrow()
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("events", raw)
            connection.register("found", self.rows(name))
            until = START + timedelta(hours=self.hour[0])
            values = {"until": until} | ({"start": START} if kind_of(name) == "total" else {})
            wanted = connection.execute(EXPECTED[kind_of(name)], values).fetchall()
            found = connection.execute("FROM found").fetchall()
        assert sorted(found) == sorted(wanted), name

    def outcomes(self, name: str) -> Counter[str]:
        """How the sessions of a model ended, by the table that people query."""
        list_late_data(self.project.services)
        table = self.project.iceberg_catalog().load_table("vde_meta.late_sessions")
        rows = table.scan(f"process_name = 'kept.{name}'").to_arrow().to_pylist()
        ids = [row["session_id"] for row in rows]
        assert len(ids) == len(set(ids)), "each session is listed once"
        return Counter(row["outcome"] for row in rows)


def kind_of(name: str) -> str:
    first = name.partition("_")[0]
    return "late" if first == "base" else first


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    found = Drivers(tmp_path_factory.mktemp("drivers"))
    yield found
    found.end()


def left(lake: Hours) -> object:
    """What a plan finds to do after everything was brought up to date here."""
    (found,) = converge(str(lake.folder))
    assert isinstance(found, dict)
    assert set(found["verified"].values()) == {True}
    return found["left"]


def test_a_session_that_dies_between_two_phases_loses_and_doubles_nothing(
    drivers: Drivers, tmp_path: Path, spark: SparkSession
) -> None:
    del spark  # it is there, and this process converges with it
    names = [f"{kind}_{point}" for kind in TEXTS for point in POINTS]
    lake = Hours.over(tmp_path, ["base", *names])
    lake.arrive(FIRST, until=3)
    assert left(lake) == []
    lake.arrive(LATE, until=4)
    catch_up(lake.project.services, lake.shown, ModelName("kept", "base"))
    with drivers.lent(1) as (driver,):
        points = {name: name.partition("_")[2] for name in names}
        driver.tell("sessions", tmp_path, points=points, then="kill")
        driver.wait_until_killed()
    for name in names:
        lake.recover(name)
        assert not lake.project.services.state.open_work(lake.key(name))
        if points[name] in ("recorded", "published", "finalized"):
            lake.assert_exact(name)  # what was staged and recorded is finished, not repeated
    assert left(lake) == []
    for name in names:
        lake.assert_exact(name)
        assert max(lake.publications(name).values()) == 1, f"{name} was published twice"
        is_lost = points[name] in ("pinned", "staged")
        assert lake.outcomes(name) == {"done": 2} | ({"abandoned": 1} if is_lost else {})


def test_of_two_daemons_that_want_the_same_sessions_one_runs_each(
    drivers: Drivers, tmp_path: Path, spark: SparkSession
) -> None:
    del spark
    lake = Hours.over(tmp_path, ["base", "late", "sums", "total"])
    lake.arrive(FIRST, until=3)
    assert left(lake) == []
    lake.arrive(LATE, until=4)
    names = ["base", "late"]
    with drivers.lent(2) as (one, other):
        assert one.ask("sessions", tmp_path, points=dict.fromkeys(names, "staged")) == "there"
        assert other.ask("session", tmp_path, models=names) == ["Conflict", "Conflict"]
        assert one.ask("go_on", tmp_path) == dict.fromkeys(names, "done")
        assert other.ask("session", tmp_path, models=names) == ["nothing", "nothing"]
        follow = ["sums", "total"]
        assert other.ask("sessions", tmp_path, points=dict.fromkeys(follow, "published")) == "there"
        assert one.ask("session", tmp_path, models=follow) == ["Conflict", "Conflict"]
        assert other.ask("go_on", tmp_path) == dict.fromkeys(follow, "done")
        assert one.ask("session", tmp_path, models=follow) == ["nothing", "nothing"]
    for name in (*names, *follow):
        lake.assert_exact(name)
        assert lake.outcomes(name) == {"done": 2}
    assert left(lake) == []


def test_rows_that_land_while_sessions_run_are_loaded_by_the_next_ones(
    drivers: Drivers, tmp_path: Path, spark: SparkSession
) -> None:
    del spark
    lake = Hours.over(tmp_path, ["base", "late", "sums", "total"])
    lake.arrive(FIRST, until=3)
    assert left(lake) == []
    first, second = LATE
    lake.arrive([first], until=3)
    with drivers.lent(1) as (driver,):
        names = ["base", "late"]
        assert driver.ask("sessions", tmp_path, points=dict.fromkeys(names, "staged")) == "there"
        lake.arrive([second, (6, 0.2, 3)], until=4)
        assert driver.ask("go_on", tmp_path) == dict.fromkeys(names, "done")
        follow = ["sums", "total"]
        assert driver.ask("sessions", tmp_path, points=dict.fromkeys(follow, "staged")) == "there"
        lake.arrive([(7, 2.9, 2)], until=4)
        assert driver.ask("session", tmp_path, models=names) == ["done", "done"]
        assert driver.ask("go_on", tmp_path) == dict.fromkeys(follow, "done")
    assert left(lake) == []
    for name in ("base", "late", "sums", "total"):
        lake.assert_exact(name)


@pytest.mark.parametrize("name", ["late", "sums", "total"])
@pytest.mark.parametrize("point", ["pinned", "staged", "published"])
def test_rows_that_land_while_a_person_evaluates_hours_are_loaded_by_the_next_session(
    tmp_path: Path, spark: SparkSession, name: str, point: str
) -> None:
    del spark
    lake = Hours.over(tmp_path, ["base", name])
    lake.arrive(FIRST, until=3)
    assert left(lake) == []
    model, hours = ModelName("kept", name), Interval(START, START + timedelta(hours=3))
    evaluations = Evaluations.of(str(lake.folder))
    services, gate = evaluations.services(point)
    loads = load(services, lake.shown, model, hours, waiting=WaitingRows(), force=True)
    backfill = threading.Thread(target=list, args=(loads,))
    backfill.start()
    assert gate.reached.wait(timeout=300)
    lake.arrive(LATE, until=4)
    catch_up(lake.project.services, lake.shown, ModelName("kept", "base"))
    with pytest.raises(Conflict):
        catch_up(lake.project.services, lake.shown, model)
    gate.open.set()
    backfill.join()
    catch_up(lake.project.services, lake.shown, model)
    lake.assert_exact(name)
    assert max(lake.publications(name).values()) == 1
    assert left(lake) == []


@dataclass(frozen=True)
class Mute:
    """A catalog whose answer to publishing gets lost, before or after it was done."""

    catalog: Catalog
    is_done: bool

    def __getattr__(self, name: str) -> Any:
        return getattr(self.catalog, name)

    def publish(self, *arguments: Any, **named: Any) -> None:
        if self.is_done:
            self.catalog.publish(*arguments, **named)
        raise OutcomeUnknown("the answer was lost")


@pytest.mark.parametrize("is_done", [True, False], ids=["done", "not done"])
def test_a_session_whose_publishing_is_not_known_to_be_done_is_finished_once(
    tmp_path: Path, spark: SparkSession, is_done: bool
) -> None:
    del spark
    lake = Hours.over(tmp_path, ["base", "sums", "total"])
    lake.arrive(FIRST, until=3)
    assert left(lake) == []
    lake.arrive(LATE, until=4)
    services = lake.project.services
    mute: Any = Mute(services.catalog, is_done)
    for name in ("base", "sums", "total"):
        with pytest.raises(OutcomeUnknown):
            catch_up(replace(services, catalog=mute), lake.shown, ModelName("kept", name))
        catch_up(services, lake.shown, ModelName("kept", name))
        lake.assert_exact(name)
        assert max(lake.publications(name).values()) == 1
        assert lake.outcomes(name) == {"done": 2}
    assert left(lake) == []
