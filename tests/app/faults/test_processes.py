"""kill -9 at every point of an evaluation, and processes that sleep while others take over.

Real processes, real Spark, real Iceberg. Where a process does without Spark, it is this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.app.faults.every_kind import KINDS
from tests.app.faults.lake import DAYS, OF_A_THIRD_DAY, Kept, Lake
from tests.app.faults.processes import Driver

pytestmark = pytest.mark.timeout(900)  # several JVMs, on a machine that may be busy

MANY: Final = 700_000
ONE_DAY: Final = 3
NOT_RECORDED: Final = ("writing", "staged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Which kind comes to which point, in a process that dies and in one that sleeps.

    With a ``third_day`` all are evaluated once more after the sleeper woke.
    """

    killed: Mapping[str, str]
    asleep: Mapping[str, str]
    third_day: bool = False


MIXED: Final = Case(
    killed={
        "staged": "time_range",
        "recorded": "unique_key",
        "published": "unmanaged",
        "booked": "full",
        "writing": "unmanaged",
    },
    asleep={"recorded": "by_partition", "published": "unmanaged", "writing": "time_range"},
)


def of_one(kind: str) -> Case:
    return Case(
        killed=dict.fromkeys(MIXED.killed, kind),
        asleep=dict.fromkeys(("staged", *MIXED.asleep), kind),
        third_day=True,
    )


CASES: Final = [
    pytest.param(MIXED, id="mixed"),
    *(pytest.param(of_one(kind), id=kind, marks=pytest.mark.full) for kind in KINDS),
]


@contextmanager
def started(lake: Lake, fate: str, then: str, kinds: Mapping[str, str]) -> Iterator[Driver]:
    parked = {f"{fate}_{point}": point for point in kinds if point != "writing"}
    driver = Driver.start(lake.folder, fate, then=then, parked=parked, writing=f"{fate}_writing")
    try:
        yield driver
    finally:
        driver.end()


def next_run(lake: Lake, name: str) -> Mapping[str, Any]:
    driver = Driver.start(lake.folder, name, then="run")
    try:
        return driver.outcome()
    finally:
        driver.end()


def lake_of(folder: Path, case: Case) -> Lake:
    models = {
        f"{fate}_{point}": Kept(kind=kind, copies=MANY if point == "writing" else 1)
        for fate, kinds in (("killed", case.killed), ("asleep", case.asleep))
        for point, kind in kinds.items()
    }
    return Lake.make(folder, models)


@pytest.mark.parametrize("case", CASES)
def test_whoever_dies_or_sleeps_anywhere_each_row_is_there_once_after_the_next_run(
    case: Case, tmp_path: Path
) -> None:
    lake = lake_of(tmp_path, case)
    with (
        started(lake, "killed", "kill", case.killed) as killed,
        started(lake, "asleep", "stop", case.asleep) as asleep,
    ):
        killed.wait_until_killed()
        asleep.wait_until_stopped()
        for name in lake.models:
            assert_readers_see_one_day_or_two(lake, name)
            lake.recover(name)
            assert_recovered(lake, name)
        assert not lake.project.engine.started, "a recovery needs no JVM"
        found = next_run(lake, "run")
        assert found == {"verified": {f"kept.{name}": True for name in lake.models}, "left": []}
        assert_exact(lake)
        before = {name: (lake.ledger(name), lake.publications(name)) for name in lake.models}
        asleep.wake()
        woken = asleep.outcome()
    assert woken == {
        "ended": {f"asleep_{point}": "LeaseLost" for point in case.asleep},
        "caught": True,
    }
    assert_exact(lake)
    assert before == {name: (lake.ledger(name), lake.publications(name)) for name in lake.models}
    if case.third_day:
        lake.land(OF_A_THIRD_DAY, until=DAYS[-1].end + timedelta(days=1))
        assert next_run(lake, "third") == found
        assert_exact(lake)
        assert all(lake.refs(name) == {"main"} for name in lake.models)


def assert_readers_see_one_day_or_two(lake: Lake, name: str) -> None:
    if name.endswith(("published", "booked")):
        lake.assert_rows_are_exact(name)
    else:
        assert len(lake.ledger(name)) == 1
        assert lake.rows(name).num_rows == ONE_DAY


def assert_recovered(lake: Lake, name: str) -> None:
    """What was recorded as staged is published and booked, all else is as if it never was."""
    assert not lake.project.services.state.open_work(lake.key(name))
    if name.endswith(NOT_RECORDED):
        assert lake.rows(name).num_rows == ONE_DAY
    else:
        lake.assert_rows_are_exact(name)
    if not name.endswith("booked"):
        assert lake.refs(name) == {"main"}


def assert_exact(lake: Lake) -> None:
    for name in lake.models:
        lake.assert_rows_are_exact(name)
        assert max(lake.publications(name).values()) == 1, f"{name} was published twice"
