"""Real processes at one environment: readers, and a death at each point.

No process starts Spark: versions count as loaded.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.app.faults import environment_driver
from tests.app.faults.environment_driver import POINTS
from tests.cli.promoted import promote
from tests.depth import is_full
from tests.forks import Fork, fork
from vde_dagster.app.clean_up.maintaining import maintain
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import environment_view

MODELS: Final = 6
PROMOTIONS: Final = 101 if is_full() else 7
"""An odd number: the views end at the other set than they begin with."""
PATIENCE: Final = 600.0

MODEL: Final = "MODEL (name {schema}.m{number}, kind FULL);\nSELECT {value} AS x\n"
SCHEMAS: Final = ("kept", "mart")
BEFORE: Final = 1
AFTER: Final = 2


def write(folder: Path, value: int) -> None:
    """Write all models, in two schemas, so that they give a value."""
    for number in range(MODELS):
        text = MODEL.format(schema=SCHEMAS[number % 2], number=number, value=value)
        (folder / "models" / f"m{number}.sql").write_text(text, encoding="utf-8")


def project(folder: Path, value: int) -> Path:
    (folder / "models").mkdir(parents=True)
    (folder / "vde.yaml").write_text("name: shown\n", encoding="utf-8")
    write(folder, value)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Production shows one version of each model, dev another one; all of them are loaded."""
    made = project(tmp_path / "project", BEFORE)
    promote(made, loaded=True, row=BEFORE)
    write(made, AFTER)
    promote(made, "dev", loaded=True, row=AFTER)
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
    """State and views agree, and no lease is held by anybody who lives."""
    assert versions(folder, environment) == wanted
    found = targets(folder, environment)
    assert found.keys() == wanted.keys()
    assert {name: target.rsplit("__", 1)[-1] for name, target in found.items()} == wanted
    held = VdeProject.load(folder).services.state.leases()
    assert [each for each in held if not each.is_over] == []


@pytest.mark.full
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
    for targets, times in seen["targets"]:
        assert len(targets) == MODELS
        found = {name.rsplit("__", 1)[-1] for name in targets}
        assert found in whole, f"{times} times views of two sets at once"
    assert len(seen["targets"]) == 2, "it has seen both sets"
    of_one_set = [(value,) * MODELS for value in (BEFORE, AFTER)]
    assert sorted(row for row, _ in seen["rows"]) == of_one_set, seen["rows"]


def moved(folder: Path, what: str) -> None:
    """Promote dev, or roll production back, in a process of its own."""
    with started(("move", folder, what, "1")) as (process,):
        assert answer(process) == "ready"
        go_on(process)
        assert answer(process) == ["done"]


@pytest.mark.full
@pytest.mark.parametrize("what", ["promote", "rollback"])
@pytest.mark.parametrize("point", POINTS)
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
    assert finish_promotions(services, "prod")
    assert_shows(folder, "prod", wanted)
    assert_no_files_are_left(folder, is_cut=point != "after the transaction of the views")
    again = plan_promotion(services, "dev", "prod") if what == "promote" else None
    assert again is None or again.is_up_to_date
    back = plan_rollback(services, "prod")
    assert {str(name): each.version for name, each in back.snapshots.items()} == before
    moved(folder, "rollback")
    assert_shows(folder, "prod", before)
    assert services.state.leases() == (), "those of the dead are taken over and given back"


def assert_no_files_are_left(folder: Path, *, is_cut: bool) -> None:
    """Of each view of production there is the file that it has, and at most the one before.

    Whoever died between the files and the catalog left some of the number that a view has now,
    which maintenance takes away.
    """
    spare = spare_files(folder)
    assert any("-current" in each for each in spare) is is_cut
    at = (datetime.now(UTC) - timedelta(days=30)).timestamp()
    for each in view_files(folder):
        os.utime(each, (at, at))
    opened = VdeProject.load(folder)
    maintain(opened.services, opened.configuration.times, opened.configuration.maintain)
    assert spare_files(folder) == [f"m{number}-before" for number in range(MODELS)]


def view_files(folder: Path) -> list[Path]:
    warehouse = VdeProject.load(folder).configuration.warehouse
    return [each for schema in SCHEMAS for each in (warehouse / schema).rglob("*.metadata.json")]


def spare_files(folder: Path) -> list[str]:
    """The metadata files of production's views that the catalog does not name.

    Each by the view and the change that it was written for: the current one, the one before, or an
    earlier one.
    """
    with closing(sqlite3.connect(VdeProject.load(folder).configuration.database)) as connection:
        locations = connection.execute("SELECT metadata_location FROM iceberg_tables").fetchall()
    named = {location.rpartition("/")[2] for (location,) in locations}
    files = [(each.parent.parent.name, each.name) for each in view_files(folder)]
    numbers = {view: int(name.partition("-")[0]) for view, name in files if name in named}
    changes = ("current", "before")
    return sorted(
        f"{view}-{changes[back] if back in (0, 1) else 'earlier'}"
        for view, name in files
        if name not in named
        for back in [numbers[view] - int(name.partition("-")[0])]
    )
