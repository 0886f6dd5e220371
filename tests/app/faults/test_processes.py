"""Several processes at once: one dies or sleeps, or its parent is computed meanwhile.

Real processes, real Spark, real Iceberg. A process that neither dies nor sleeps, or that needs no
Spark, is this one.

In memory `test_power_cuts` and `test_sleepers` have every kind; on Spark
`tests/lakehouse/kinds/test_in_projects.py` has two processes that write one kind.
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
