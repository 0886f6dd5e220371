"""Several processes at once: one dies, sleeps, writes what another one writes, or reads meanwhile.

Real processes, real Spark, real Iceberg. A process that neither dies nor sleeps, or that needs no
Spark, is this one.

The short form kills a process at work: at each point at which something is left to do, once, each
time with another kind. It covers the rest in part: in memory with `test_power_cuts` (every kind),
`test_sleepers` and, for audits,
`tests/app/evaluate/test_auditing.py`; on Spark, for one kind, with
`tests/lakehouse/kinds/test_in_projects.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.app.faults.driver import converge
from tests.app.faults.every_kind import KINDS
from tests.app.faults.lake import DAYS, EVENTS, OF_A_THIRD_DAY, OF_THE_FIRST_DAY, Kept, Lake
from tests.app.faults.processes import Driver, Drivers
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.composition import VdeProject
from vde_dagster.ports.state import environment_resource, version_resource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    found = Drivers(tmp_path_factory.mktemp("drivers"))
    yield found
    found.end()


def verified(lake: Lake, *without: str) -> dict[str, object]:
    """What a run finds that has left nothing to do; some models have no rows of their own."""
    return {"verified": {name: True for name in lake.models if name not in without}, "left": []}


BY_INTERVAL: Final = ("time_range", "full")
"""Kinds whose loaded intervals may be evaluated again; the others refuse that."""


SLOW: Final = """\
from vde_dagster import model

@model("kept.{name}", kind="FULL", columns={{"n": "bigint"}})
def slow(context):
    import os

    slept = f"java_method('java.lang.Thread', 'sleep', {{os.environ['VDE_TEST_SLEEP']}}L) AS slept"
    rows = f"SELECT {{slept}} FROM RANGE(0, 16, 1, 16)"
    return context.spark.sql(f"SELECT COUNT(slept) AS n FROM ({{rows}})")
"""
"""A model of which each of 16 tasks sleeps, so many milliseconds as its process says."""


@pytest.mark.full
def test_ctrl_c_gives_up_models_that_run_at_once_and_the_next_run_computes_them(
    drivers: Drivers, tmp_path: Path
) -> None:
    lake = Lake.make(tmp_path, {})
    lake.land(OF_THE_FIRST_DAY, until=DAYS[0].end)
    for name in ("one", "two"):
        (tmp_path / "models" / f"{name}.py").write_text(SLOW.format(name=name), "utf-8")
    project = VdeProject.load(tmp_path)
    services = project.services
    with drivers.lent(1) as (driver,):
        assert driver.ask("interrupted", tmp_path, models=2, sleep=1000) == {
            "ended": "KeyboardInterrupt",
            "threads": [],
        }
        plan = plan_environment(services, project.files.graph, "prod")
        keys = [plan.snapshots[each.name].key for each in plan.backfills]
        assert len(keys) == 2
        for key in keys:
            assert not services.state.open_work(key)
            assert not services.catalog.branches(key.table)
            assert not services.state.lease_holder(version_resource(key))
        assert services.state.environment("prod") is None
        assert not services.state.lease_holder(environment_resource("prod"))
        assert driver.ask("at_once", tmp_path, models=2, sleep=0) == {"one": 1, "two": 1}
    assert plan_environment(services, project.files.graph, "prod").is_empty


def again(kind: str) -> str:
    return "reused" if kind in BY_INTERVAL else "Refused"


@pytest.mark.full
def test_children_have_the_rows_that_their_parent_had_when_they_began(
    drivers: Drivers, tmp_path: Path
) -> None:
    children = {kind: Kept(kind=kind, source="kept.parent") for kind in KINDS}
    lake = Lake.make(tmp_path, {"parent": Kept(kind="time_range"), **children})
    *first, late = OF_THE_FIRST_DAY
    lake.land(first, until=DAYS[0].end)
    halves = tuple(KINDS)[::2], tuple(KINDS)[1::2]
    with drivers.lent(2) as both:
        assert both[0].ask("hold", tmp_path, models=["parent"]) == "held"
        for driver, own in zip(both, halves, strict=True):
            assert driver.ask("begin", tmp_path, points=dict.fromkeys(own, "pinned"), day=0)
        lake.land([late], until=DAYS[0].end)
        assert both[0].ask("hold", tmp_path, models=["parent"]) == "held"
        lake.assert_rows_are_exact("parent")
        for driver in both:
            driver.tell("go_on", tmp_path)
        for driver, own in zip(both, halves, strict=True):
            assert driver.answer() == dict.fromkeys(own, "done")
        for kind in children:
            lake.assert_rows_are_exact(kind, first)
        found = both[1].ask("converge", tmp_path, restate=["kept.parent"])
    assert found == verified(lake)
    for name in lake.models:
        lake.assert_rows_are_exact(name)


BLOCKING: Final = ", audits (forall (criteria := (amount <> 9)))"
WARNING: Final = BLOCKING.replace("forall", "forall_non_blocking")
REFUSED: Final = (*KINDS, "managed", "seed")
"""Every kind that is audited: a VIEW has no rows of its own, and shows those of another model."""
OLD: Final = [3, 35]
"""How many rows readers see of the first day, and the sum of their amounts."""
NEW: Final = {
    name: [3, 21] if name in ("unique_key", "by_partition") else [5, 51]
    for name in (*REFUSED, "view", "warned")
}
"""The same for both days; rows of the second day may replace those of the first."""


@pytest.mark.full
def test_readers_of_any_kind_see_the_old_rows_while_an_audit_fails_and_until_the_next_success(
    drivers: Drivers, tmp_path: Path
) -> None:
    models = {kind: Kept(kind=kind, more=BLOCKING) for kind in REFUSED}
    models["view"] = Kept(kind="view", source="kept.time_range")
    models["warned"] = Kept(kind="unmanaged", more=WARNING)
    lake = Lake.make(tmp_path, models)
    lake.write_seed(OF_THE_FIRST_DAY)
    lake.land(OF_THE_FIRST_DAY, until=DAYS[0].end)
    with drivers.lent(2) as (run, reader):
        reader.tell("start", tmp_path)
        assert run.ask("apply", tmp_path) == sorted(models)
        assert reader.answer() == "ready"
        ledger = {name: lake.ledger(name) for name in models}
        shown = lake.project.services.state.environment("prod")
        lake.write_seed(EVENTS)
        assert run.ask("begin", tmp_path, points={"seed": "audited"}) == "there"
        lake.land(EVENTS[len(OF_THE_FIRST_DAY) :], until=DAYS[1].end)
        audited = dict.fromkeys([*KINDS, "managed", "warned"], "audited")
        assert run.ask("begin", tmp_path, points=audited) == "there"
        assert reader.ask("read", tmp_path) == dict.fromkeys(models, OLD)
        ended = dict.fromkeys(REFUSED, "AuditFailed") | {"warned": "done"}
        assert run.ask("go_on", tmp_path) == ended
        lake.assert_rows_are_exact("warned")
        assert reader.ask("read", tmp_path) == dict.fromkeys(models, OLD) | {
            "warned": NEW["warned"]
        }
        assert lake.project.services.state.environment("prod") == shown
        for name in REFUSED:
            assert lake.ledger(name) == ledger[name]
        for name in (*KINDS, "managed"):
            (kept,) = lake.refs(name) - {"main"}
            assert lake.rows(name, kept).num_rows > 0, "what was refused can be looked at"
        lake.write(dict.fromkeys(models, ""))
        assert reader.ask("converge", tmp_path) == verified(lake, "view")
        assert reader.ask("read", tmp_path) == NEW
    for name in (*KINDS, "warned"):
        lake.assert_rows_are_exact(name)
        assert lake.refs(name) == {"main"}


MANY: Final = 300_000
NOT_RECORDED: Final = ("writing", "staged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Which kinds reach which point, in a process that dies and in one that sleeps.

    With a ``third_day`` all are evaluated once more after the sleeper woke up.
    """

    killed: Mapping[str, Sequence[str]]
    asleep: Mapping[str, Sequence[str]] = field(default_factory=dict)
    third_day: bool = False

    @property
    def models(self) -> dict[str, Kept]:
        """Each is named after the process, the kind and the point."""
        return {
            f"{fate}_{kind}_{point}": Kept(kind=kind, copies=MANY if point == "writing" else 1)
            for fate, points in (("killed", self.killed), ("asleep", self.asleep))
            for point, kinds in points.items()
            for kind in kinds
        }


POINTS: Final = ("staged", "recorded", "published", "finalized", "writing")
KILLED: Final = {
    "staged": ["time_range"],
    "recorded": ["unique_key"],
    "published": ["history"],
    "writing": ["unmanaged"],
}
"""What the short form kills. After `finalized` nothing is left to do: in memory that is shown."""


def of_one(kind: str) -> Case:
    return Case(
        killed={point: [kind] for point in POINTS},
        asleep={point: [kind] for point in ("staged", "recorded", "published", "writing")},
        third_day=True,
    )


CASES: Final = [
    pytest.param(Case(killed=KILLED), id="each point at which something is left to do once"),
    *(pytest.param(of_one(kind), id=kind, marks=pytest.mark.full) for kind in KINDS),
]


def fail(driver: Driver, lake: Lake, fate: str, then: str) -> None:
    points = {name: point_of(name) for name in lake.models if name.startswith(fate)}
    (writing,) = (name for name, point in points.items() if point == "writing")
    del points[writing]
    driver.tell("fail", lake.folder, then=then, points=points, writing=writing)


def point_of(name: str) -> str:
    return name.rpartition("_")[2]


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_whoever_dies_or_sleeps_anywhere_each_row_is_there_once_after_the_next_run(
    case: Case, drivers: Drivers, tmp_path: Path, spark: SparkSession
) -> None:
    del spark  # it is there, and this process converges with it
    lake = Lake.make(tmp_path, case.models)
    lake.land(EVENTS, until=DAYS[1].end)
    with drivers.lent(2 if case.asleep else 1) as (killed, *asleep):
        fail(killed, lake, "killed", then="kill")
        for each in asleep:
            fail(each, lake, "asleep", then="stop")
        killed.wait_until_killed()
        for each in asleep:
            each.wait_until_stopped()
        for name in lake.models:
            assert_readers_see_one_day_or_two(lake, name)
            lake.recover(name)
            assert_recovered(lake, name)
        assert not lake.project.engine.started, "a recovery needs no JVM"
        assert [*converge(str(tmp_path))] == [verified(lake)]
        assert_exact(lake, lake.models)
        for each in asleep:
            assert_nothing_changes_when_it_wakes_up(lake, each)
        if case.third_day:
            lake.land(OF_A_THIRD_DAY, until=DAYS[2].end)
            assert [*converge(str(tmp_path))] == [verified(lake)]
            assert_exact(lake, lake.models)
            assert all(lake.refs(name) == {"main"} for name in lake.models)


def assert_nothing_changes_when_it_wakes_up(lake: Lake, asleep: Driver) -> None:
    before = {name: (lake.ledger(name), lake.publications(name)) for name in lake.models}
    asleep.wake()
    sleepers = [name for name in lake.models if name.startswith("asleep")]
    assert asleep.answer() == {"ended": dict.fromkeys(sleepers, "LeaseLost"), "caught": True}
    assert_exact(lake, sleepers)
    after = {name: (lake.ledger(name), lake.publications(name)) for name in lake.models}
    assert before == after


def assert_readers_see_one_day_or_two(lake: Lake, name: str) -> None:
    if point_of(name) in ("published", "finalized"):
        lake.assert_rows_are_exact(name)
    else:
        assert len(lake.ledger(name)) == 1
        lake.assert_rows_are_exact(name, OF_THE_FIRST_DAY)


def assert_recovered(lake: Lake, name: str) -> None:
    """What was recorded as staged is published and recorded, all else leaves no trace."""
    assert not lake.project.services.state.open_work(lake.key(name))
    if point_of(name) in NOT_RECORDED:
        lake.assert_rows_are_exact(name, OF_THE_FIRST_DAY)
    else:
        lake.assert_rows_are_exact(name)
    if point_of(name) != "finalized":
        assert lake.refs(name) == {"main"}


def assert_exact(lake: Lake, names: Iterable[str]) -> None:
    for name in names:
        lake.assert_rows_are_exact(name)
        assert max(lake.publications(name).values()) == 1, f"{name} was published twice"
