"""Real processes at one environment: planners that compete, readers, and a death at each point.

Nothing is computed, so none of them starts Spark: versions count as loaded, and views are moved.
"""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.app.faults import environment_driver
from tests.app.faults.environment_driver import POINTS
from tests.cli.promoted import promote
from tests.depth import is_full
from tests.forks import Fork, fork
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import environment_view

MODELS: Final = 6
PLANNERS: Final = 8 if is_full() else 3
PROMOTIONS: Final = 101 if is_full() else 7
"""An odd number: the views end at the other set than they begin with."""
PATIENCE: Final = 600.0

MODEL: Final = "MODEL (name kept.m{number}, kind FULL);\nSELECT {value} AS x\n"


def write(folder: Path, value: int) -> None:
    """Write all models so that they give a value."""
    for number in range(MODELS):
        text = MODEL.format(number=number, value=value)
        (folder / "models" / f"m{number}.sql").write_text(text, encoding="utf-8")


def project(folder: Path, value: int) -> Path:
    (folder / "models").mkdir(parents=True)
    (folder / "vde.yaml").write_text("name: shown\n", encoding="utf-8")
    write(folder, value)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Production shows one version of each model, dev another one; all of them are loaded."""
    made = project(tmp_path / "project", 1)
    promote(made, loaded=True)
    write(made, 2)
    promote(made, "dev", loaded=True)
    return made


@contextmanager
def started(*jobs: Sequence[str | Path]) -> Iterator[list[Fork]]:
    """A process for each job; none is left."""
    forks = [fork(environment_driver.act, *map(str, job)) for job in jobs]
    try:
        yield forks
    finally:
        for each in forks:
            each.process.kill()
            each.process.join()


def answer(process: Fork) -> Any:
    assert process.line.poll(PATIENCE), "the process does not answer"
    return process.line.recv()


def go_on(process: Fork) -> None:
    process.line.send("go on")


def versions(folder: Path, environment: str) -> dict[str, str]:
    """What the state says that an environment shows."""
    shown = VdeProject.load(folder).services.state.environment(environment)
    assert shown is not None
    assert not shown.promoting
    return {str(name): each.version for name, each in shown.snapshots.items()}


def targets(folder: Path, environment: str) -> dict[str, str]:
    """What the views of an environment show."""
    opened = VdeProject.load(folder)
    naming = opened.configuration.naming
    names = {environment_view(node.name, environment, naming): node for node in opened.files.graph}
    shown = opened.services.catalog.views(names)
    return {str(names[view].name): each.target.name for view, each in shown.items()}


def assert_shows(folder: Path, environment: str, wanted: dict[str, str]) -> None:
    """State and views agree, and nothing is held any more."""
    assert versions(folder, environment) == wanted
    found = targets(folder, environment)
    assert found.keys() == wanted.keys()
    assert {name: target.rsplit("__", 1)[-1] for name, target in found.items()} == wanted


def test_of_planners_of_one_environment_one_wins_and_the_others_write_nothing(
    tmp_path: Path,
) -> None:
    """Each has files of its own, so that what it writes is known by its models."""
    first = project(tmp_path / "planner0", 10)
    promote(first, loaded=True)
    folders = [first]
    for number in range(1, PLANNERS):
        other = project(tmp_path / f"planner{number}", 10 + number)
        (other / ".vde").symlink_to(first / ".vde", target_is_directory=True)
        folders.append(other)
    write(first, 10 + PLANNERS)
    with started(*(("compete", each, "dev") for each in folders)) as planners:
        for each in planners:
            assert answer(each) == "ready"
        for each in planners:
            go_on(each)
        found = [answer(each) for each in planners]
    assert sorted(each["ended"] for each in found) == [*["Conflict"] * (PLANNERS - 1), "done"]
    (winner,) = (each["plan"] for each in found if each["ended"] == "done")
    shown = VdeProject.load(first).services.state.environment("dev")
    assert shown is not None
    assert (shown.revision, shown.plan_id, shown.promoting) == (1, winner, False)
    assert stored(first) == {"prod": MODELS, "dev": MODELS}, "only the winner's models are stored"


def stored(folder: Path) -> dict[str, int]:
    """How many versions are stored, by the environment that was the first to store them."""
    with closing(sqlite3.connect(VdeProject.load(folder).configuration.database)) as connection:
        query = "SELECT environment, COUNT(*) FROM vde_owners GROUP BY environment"
        owned = dict(connection.execute(query))
        (snapshots,) = connection.execute("SELECT COUNT(*) FROM vde_snapshots").fetchone()
    assert snapshots == sum(owned.values())
    return owned


def test_who_reads_all_views_during_promotions_sees_whole_sets_only(folder: Path) -> None:
    before, after = versions(folder, "prod"), versions(folder, "dev")
    jobs = [("move", folder, "promote", str(PROMOTIONS)), ("read", folder)]
    with started(*jobs) as (writer, reader):
        assert answer(writer) == "ready"
        assert answer(reader) == "reading"
        go_on(writer)
        assert answer(writer) == ["done"] * PROMOTIONS
        go_on(reader)
        seen = answer(reader)
    whole = [set(before.values()), set(after.values())]
    for each in seen:
        assert len(each["targets"]) == MODELS
        found = {name.rsplit("__", 1)[-1] for name in each["targets"]}
        assert found in whole, f"{each['times']} times views of two sets at once"
    assert len(seen) == 2, "it has seen both sets"


def moved(folder: Path, what: str) -> None:
    """Promote dev, or roll production back, in a process of its own."""
    with started(("move", folder, what, "1")) as (process,):
        assert answer(process) == "ready"
        go_on(process)
        assert answer(process) == ["done"]


SHORT: Final = (("promote", "after the views"), ("rollback", "after it is begun"))


@pytest.mark.parametrize(
    "what, point",
    [
        pytest.param(what, point, marks=() if (what, point) in SHORT else pytest.mark.full)
        for what in ("promote", "rollback")
        for point in POINTS
    ],
)
def test_who_is_killed_at_any_point_of_a_promotion_leaves_what_the_next_one_ends(
    folder: Path, what: str, point: str
) -> None:
    before, wanted = versions(folder, "prod"), versions(folder, "dev")
    if what == "rollback":
        moved(folder, "promote")
        before, wanted = wanted, before
    with started(("die", folder, what, point)) as (dead,):
        dead.process.join(PATIENCE)
        assert dead.process.exitcode == -signal.SIGKILL, f"it did not come to the point {point}"
    shown = targets(folder, "prod")
    whole = [{each[name] for name in each} for each in (before, wanted)]
    assert {each.rsplit("__", 1)[-1] for each in shown.values()} in whole
    services = VdeProject.load(folder).services
    finish_promotions(services, "prod")
    if [*POINTS].index(point) < [*POINTS].index("after it is begun"):
        assert versions(folder, "prod") == before
        moved(folder, what)
    assert_shows(folder, "prod", wanted)
    again = plan_promotion(services, "dev", "prod") if what == "promote" else None
    assert again is None or again.is_up_to_date
    back = plan_rollback(services, "prod")
    assert {str(name): each.version for name, each in back.snapshots.items()} == before
