"""Kinds in a project folder on real Spark: restated whole, read at pins, written by two at once."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.app.memory_world import build_due
from tests.lakehouse.kinds.projects import Folder, bound, reported
from tests.lakehouse.kinds.worlds import Values, hours
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.ledger.dsha import total
from vde_dagster.core.ledger.unit_of_work import Staged, Staging
from vde_dagster.core.names import ModelName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EVENTS: Final = """MODEL (
  name m.events, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'
);
SELECT id, at, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
MOST: Final = """MODEL (name m.most, kind FULL, cron '@hourly');
SELECT MAX(amount) AS amount FROM m.events
"""
RUNS: Final = """MODEL (
  name m.runs, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'
);
SELECT id, at, @execution_tstz AS run FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
QUERY: Final = """SELECT CAST(id % 2 AS INT) AS id, SUM(amount) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY id % 2
"""
KEPT: Final = {
    "m.keyed": "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, batch_size 2)",
    "m.parted": "INCREMENTAL_BY_PARTITION, partitioned_by id",
    "m.added": "INCREMENTAL_UNMANAGED",
}


class Interrupted:
    """An engine, and something that happens before or after it stages a model."""

    def __init__(
        self, engine: Any, name: str, *, before: Callable[[], object] = list, after: Any = list
    ) -> None:
        self._engine, self._name, self._before, self._after = engine, name, before, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def stage(self, staging: Staging) -> Staged:
        mine = str(staging.target.model) == self._name
        if mine:
            self._before()
        staged: Staged = self._engine.stage(staging)
        if mine:
            self._after()
        return staged


def interrupted(project: VdeProject, name: str, **moments: Callable[[], object]) -> VdeProject:
    services = replace(project.services, engine=Interrupted(project.engine, name, **moments))
    project.__dict__["services"] = services  # a cached property
    return project


@pytest.fixture
def make(tmp_path: Path, spark: SparkSession) -> Callable[[dict[str, str]], Folder]:
    """Makes a project with a catalog of its own, in the shared JVM."""
    del spark  # it is there, and the engine finds it

    def made(models: dict[str, str]) -> Folder:
        return Folder.make(tmp_path / "project", f"lake_{uuid.uuid4().hex[:8]}", models)

    return made


def kept(name: str) -> str:
    return f"MODEL (name {name}, kind {KEPT[name]}, cron '@hourly');\n{QUERY}"


@pytest.mark.full
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("m.keyed",), id="one kind"),
        pytest.param(tuple(KEPT), id="all kinds", marks=pytest.mark.full),
    ],
)
def test_what_builds_on_itself_is_restated_whole_behind_the_old_rows(
    make: Callable[[dict[str, str]], Folder], names: tuple[str, ...]
) -> None:
    folder = make({name: kept(name) for name in names})
    folder.land([(1, 0, 10), (2, 0, 20), (3, 1, 5)], until=2)
    folder.apply()
    folder.land([(4, 2, 7), (5, 0, 100)], until=3)  # id 5 is late: nobody has read it
    build_due(folder.project().services, folder.project().files.graph)
    loaded: dict[str, list[Values]] = {
        "m.keyed": [(0, 7), (1, 15)],
        "m.parted": [(0, 7), (1, 15)],
        "m.added": [(0, 7), (0, 20), (1, 15)],
    }
    assert {name: folder.rows(name) for name in names} == {name: loaded[name] for name in names}

    services = folder.project().services
    with pytest.raises(Refused, match=r"`vde plan prod --restate-model m\.keyed`"):
        evaluate(services, bound(services), ModelName("m", "keyed"), hours(2, 3))

    seen: list[list[Values]] = []
    project = interrupted(
        folder.project(), "m.keyed", after=lambda: seen.append(folder.rows("m.keyed"))
    )
    folder.apply(project, *names)
    assert seen == [loaded["m.keyed"]]  # once, in one unit of work, before it is published
    # m.keyed follows its batches of two hours, the others see all three hours at once.
    restated: dict[str, list[Values]] = {
        "m.keyed": [(0, 7), (1, 115)],
        "m.parted": [(0, 27), (1, 115)],
        "m.added": [(0, 27), (1, 115)],
    }
    assert {name: folder.rows(name) for name in names} == {name: restated[name] for name in names}
    binding = bound(services)
    for name in names:
        key = binding.key(ModelName.parse(name))
        recorded = total(each.rows for each in services.state.ledger([key])[key])
        assert recorded.rows == len(folder.rows(name))


@pytest.mark.full
def test_a_child_reads_its_parent_as_it_was_when_it_began(
    make: Callable[[dict[str, str]], Folder],
) -> None:
    folder = make({"m.events": EVENTS, "m.most": MOST})
    folder.land([(1, 0, 10), (2, 1, 20)], until=2)

    def parent_publishes() -> None:
        folder.land([(3, 0, 1000)], until=2)
        services = folder.project().services
        evaluate(services, bound(services), ModelName("m", "events"), hours(0, 1), force=True)

    folder.apply()
    assert folder.rows("m.most") == [(20,)]
    project = interrupted(folder.project(), "m.most", before=parent_publishes)
    binding = bound(project.services)
    evaluate(project.services, binding, ModelName("m", "most"), hours(0, 2), force=True)
    assert len(folder.rows("m.events")) == 3
    assert folder.rows("m.most") == [(20,)]
    evaluate(project.services, binding, ModelName("m", "most"), hours(0, 2), force=True)
    assert folder.rows("m.most") == [(1000,)]


@pytest.mark.full  # processes: tests/state/test_processes.py; in memory: tests/app/faults
def test_of_two_processes_on_one_version_the_second_is_refused(
    make: Callable[[dict[str, str]], Folder],
) -> None:
    folder = make({"m.runs": RUNS})
    folder.land([(number, number, 0) for number in range(8)], until=1)
    folder.apply()
    folder.land([], until=8)
    ends: list[dict[str, object]] = []

    def others_come() -> None:
        ends.append(reported(folder.elsewhere("m.runs", hours(3, 7), patient=False)))
        disjoint = folder.project()
        with pytest.raises(Conflict) as refused:
            evaluate(disjoint.services, bound(disjoint.services), name, hours(5, 8))
        spark = disjoint.engine.started
        ends.append({"ended": "Conflict", "text": str(refused.value), "spark": spark})

    name = ModelName("m", "runs")
    project = interrupted(folder.project(), str(name), after=others_come)
    evaluate(project.services, bound(project.services), name, hours(1, 5))
    assert len(ends) == 2
    for end in ends:
        assert end["ended"] == "Conflict"
        assert "a run of prod" in str(end["text"])
        assert end["spark"] is False
    rows = folder.rows("m.runs")
    assert [number for number, *_ in rows] == [0, 1, 2, 3, 4]
    assert len({run for _, _, run in rows[1:]}) == 1


@pytest.mark.full
def test_two_processes_alternate_and_leave_no_mixed_rows(
    make: Callable[[dict[str, str]], Folder],
) -> None:
    folder = make({"m.runs": RUNS})
    folder.land([(number, number / 4, 0) for number in range(48)], until=1)
    folder.apply()
    folder.land([], until=12)
    spans = [(1, 6), (4, 9), (9, 12)]
    processes = [folder.elsewhere("m.runs", hours(*each), patient=True) for each in spans]
    assert [reported(each)["ended"] for each in processes] == ["evaluated"] * len(spans)
    rows = folder.rows("m.runs")
    assert [number for number, *_ in rows] == list(range(48))
    by_hour = [{run for *_, run in rows[4 * hour : 4 * hour + 4]} for hour in range(12)]
    assert all(len(each) == 1 for each in by_hour)
    assert by_hour[1] == by_hour[2] == by_hour[3]
    assert by_hour[6] == by_hour[7] == by_hour[8]
    assert by_hour[4] == by_hour[5]
    assert by_hour[4] in (by_hour[1], by_hour[6])
    assert by_hour[9] == by_hour[10] == by_hour[11] not in (by_hour[1], by_hour[6])
