"""Models at once in one process, on Spark: rows of every kind, and what Ctrl-C leaves of them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.app.faults.driver import converge
from tests.app.faults.every_kind import KINDS
from tests.app.faults.lake import DAYS, EVENTS, OF_THE_FIRST_DAY, Kept, Lake
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.composition import VdeProject
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.ports.state import version_resource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MERGED: Final = ("unique_key", "by_partition", "full")
SLEEP: Final = "VDE_TEST_SLEEP"
"""How many milliseconds each of 16 tasks sleeps."""
SLOW: Final = """\
from vde_dagster import model

@model("kept.{name}", kind="FULL", columns={{"n": "bigint"}})
def slow(context):
    import os

    length = os.environ["VDE_TEST_SLEEP"]
    slept = f"java_method('java.lang.Thread', 'sleep', {{length}}L) AS slept"
    rows = f"SELECT {{slept}} FROM RANGE(0, 16, 1, 16)"
    return context.spark.sql(f"SELECT COUNT(slept) AS n FROM ({{rows}})")
"""


def at_once(project: VdeProject, models: int) -> tuple[Evaluated, ...]:
    plan = plan_environment(project.services, project.files.graph, "prod")
    concurrency = Concurrency(models=models)
    return apply_plan(project.services, plan, lambda _: None, concurrency=concurrency)


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(MERGED, id="some"),
        pytest.param(tuple(KINDS), id="every", marks=pytest.mark.full),
    ],
)
def test_kinds_that_are_evaluated_at_once_have_each_row_once(
    kinds: tuple[str, ...], tmp_path: Path, spark: SparkSession
) -> None:
    del spark  # it is there
    lake = Lake.make(tmp_path, {kind: Kept(kind=kind) for kind in kinds})
    for day, events in enumerate((OF_THE_FIRST_DAY, EVENTS[len(OF_THE_FIRST_DAY) :])):
        lake.land(events, until=DAYS[day].end)
        at_once(VdeProject.load(tmp_path), models=len(kinds))
    for kind in kinds:
        lake.assert_rows_are_exact(kind)
        assert max(lake.publications(kind).values()) == 1, "nothing is published twice"
    assert [*converge(str(tmp_path))] == [
        {"verified": dict.fromkeys(kinds, True), "left": []},
    ]


@contextmanager
def ctrl_c_raises() -> Iterator[None]:
    """Inside, SIGINT raises as it does by itself; one that comes late does nothing."""
    inside = True

    def handler(number: int, frame: object) -> None:
        if inside:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        inside = False
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_gives_up_what_runs_and_the_next_run_does_it(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    del spark  # it is there
    lake = Lake.make(tmp_path, {})
    lake.land(OF_THE_FIRST_DAY, until=DAYS[0].end)
    for name in ("one", "two"):
        (tmp_path / "models" / f"{name}.py").write_text(SLOW.format(name=name), "utf-8")
    monkeypatch.setenv(SLEEP, "1000")
    project = VdeProject.load(tmp_path)
    services = project.services

    def stop() -> None:
        found = None
        while found is None or not found.stages:
            found = services.engine.progress()
        os.kill(os.getpid(), signal.SIGINT)

    with ctrl_c_raises():
        threading.Thread(target=stop, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            at_once(project, models=2)
    assert not [each for each in threading.enumerate() if each.name.startswith("models ")]
    for key in _keys(project):
        assert not services.state.open_work(key)
        assert not list(services.catalog.branches(key.table))
        assert not services.state.lease_holder(version_resource(key))
    assert services.state.environment("prod") is None
    monkeypatch.setenv(SLEEP, "0")
    assert sorted(each.rows for each in at_once(project, models=2)) == [1, 1]
    assert plan_environment(services, project.files.graph, "prod").is_empty


def _keys(project: VdeProject) -> list[VersionKey]:
    plan = plan_environment(project.services, project.files.graph, "prod")
    return [plan.snapshots[each.name].key for each in plan.backfills]
