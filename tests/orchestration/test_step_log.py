"""What Dagster's log says while models are computed, and what Spark does meanwhile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import dagster as dg
import pytest

from tests.app.memory_world import PROJECT
from tests.orchestration.launchpad import Launchpad, Make, materialize
from tests.worlds.engine import MemoryEngine
from vde_dagster.core.ledger.unit_of_work import Staged, Staging
from vde_dagster.orchestration.assets import step_log
from vde_dagster.orchestration.assets.step_log import logged_progress
from vde_dagster.orchestration.keys import RunTag
from vde_dagster.ports.engine import EngineProgress, StageProgress

LIVE = "MODEL (name mart.live, kind MANAGED);\nSELECT COUNT(*) AS n FROM raw.events"


@pytest.fixture
def shop(make: Make) -> Launchpad:
    return make({**PROJECT, "live": LIVE})


def said(shop: Launchpad, result: dg.ExecuteInProcessResult) -> list[str]:
    """The lines that steps wrote to the log of a run."""
    entries = shop.instance.all_logs(result.run_id)
    return [each.user_message for each in entries if not each.is_dagster_event]


def one(lines: list[str], start: str) -> str:
    (found,) = [line for line in lines if line.startswith(start)]
    return found


@pytest.mark.full
def test_an_asset_run_says_what_it_reads_before_and_what_it_wrote_after(shop: Launchpad) -> None:
    shop.world.land((7.5, 5), until=48)
    shop.start("vde_automation", {"only_late_data": True})
    definitions = shop.definitions()
    lines = said(shop, materialize(definitions, shop.instance, "mart/daily", "2024-01-01"))
    head = "mart.daily, 2024-01-01 to 2024-01-02: "
    before, after = (line for line in lines if line.startswith(head))
    assert before == f"{head}reads staging.events 2024-01-01 to 2024-01-02"
    assert after.startswith(f"{head}read staging.events 2024-01-01 to 2024-01-02 at Iceberg snap")
    assert "; wrote 1 row as Iceberg snapshot " in after
    again = said(shop, materialize(definitions, shop.instance, "mart/daily", "2024-01-02"))
    assert "; reused, nothing was computed: " in again[-1]


def test_plans_sessions_and_automation_say_it_of_each_unit_of_work(
    shop: Launchpad,
) -> None:
    shop.world.land((7.5, 5), until=48)
    session = said(shop, shop.start("vde_automation", {"only_late_data": True}))
    assert "read raw.events from Iceberg snapshot " in one(session, "staging.events")
    automatic = said(shop, shop.start("vde_automation"))
    assert "read staging.events 2024-01-01 to 2024-01-02 at Iceberg snapshot" in (
        one(automatic, "mart.daily, ")
    )
    shop.edit("daily", "SUM(amount)", "SUM(amount) * 2")
    planned = said(shop, shop.start("vde_plan", {"apply": True}))
    assert planned[0].startswith("## Plan for prod")
    assert "; wrote 2 rows as Iceberg snapshot " in one(planned, "mart.daily, 2024-01-01 to ")
    assert one(planned, "mart.people: ").startswith("mart.people: read all of mart.daily; created")
    assert planned[-1].startswith("prod shows this plan. Reload this code location")
    assert one(automatic, "mart.live: read").startswith(
        "mart.live: read raw.events at Iceberg snapshot "
    )


class Engine:
    """What an engine says it does, one answer after the other, and the last one for ever."""

    def __init__(self, *answers: EngineProgress | None) -> None:
        self._answers = [*answers]
        self.told = threading.Event()

    def progress(self) -> EngineProgress | None:
        if len(self._answers) > 1:
            return self._answers.pop(0)
        self.told.set()
        return self._answers[0]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_log, "LOOK_SECONDS", 0.001)


@pytest.fixture
def log(instance: dg.DagsterInstance) -> Iterator[tuple[dg.DagsterLogManager, list[str]]]:
    """The log of a step, and what it has at the end."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage().removeprefix("system - "))

    with dg.build_op_context(instance=instance) as context:
        kept = Kept()
        context.log.addHandler(kept)
        yield context.log, lines
        context.log.removeHandler(kept)


AT_WORK = EngineProgress(
    address="http://driver:4040",
    stages=(
        StageProgress(stage=7, tasks=200, done=15),
        StageProgress(stage=8, tasks=4, done=0, failed=1),
    ),
)


@pytest.mark.usefixtures("quick")
def test_while_the_engine_works_there_is_a_line_every_few_looks_and_its_address_once(
    log: tuple[dg.DagsterLogManager, list[str]],
) -> None:
    manager, lines = log
    idle = EngineProgress(address=AT_WORK.address)
    engine = Engine(None, idle, *[AT_WORK] * 10, idle)
    with logged_progress(manager, engine.progress):
        assert engine.told.wait(30)
    line = "Spark: stage 7 has done 15 of 200 tasks; stage 8 has done 0 of 4 tasks, 1 failed"
    assert lines == ["Spark's UI: http://driver:4040", line, line]


@pytest.mark.usefixtures("quick")
def test_a_line_is_not_left_out_because_the_engine_was_idle_when_it_was_due(
    log: tuple[dg.DagsterLogManager, list[str]],
) -> None:
    manager, lines = log
    idle = EngineProgress(address=AT_WORK.address)
    engine = Engine(*[idle] * 5, AT_WORK, idle)
    with logged_progress(manager, engine.progress):
        assert engine.told.wait(30)
    assert len(lines) == 2


@pytest.mark.usefixtures("quick")
def test_an_engine_that_was_not_started_says_nothing(
    log: tuple[dg.DagsterLogManager, list[str]],
) -> None:
    manager, lines = log
    engine = Engine(None)
    before = threading.active_count()
    with logged_progress(manager, engine.progress):
        assert engine.told.wait(30)
    assert lines == []
    assert threading.active_count() == before


@pytest.mark.full
@pytest.mark.usefixtures("quick")
def test_lines_about_the_engine_are_in_the_log_of_runs(
    shop: Launchpad, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, stage = threading.Semaphore(0), MemoryEngine.stage

    def progress(_engine: MemoryEngine) -> EngineProgress | None:
        asked.release()
        return AT_WORK

    def patient(engine: MemoryEngine, staging: Staging) -> Staged:
        for _ in range(step_log.LINE_LOOKS + 1):  # at the next look the line is there
            assert asked.acquire(timeout=30)
        return stage(engine, staging)

    monkeypatch.setattr(MemoryEngine, "progress", progress)
    monkeypatch.setattr(MemoryEngine, "stage", patient)
    shop.edit("totals", "SUM(amount)", "SUM(amount) + 1")
    planned = said(shop, shop.start("vde_plan", {"apply": True}))
    assert "Spark's UI: http://driver:4040" in planned
    shop._locations.clear()
    definitions, by_force = shop.definitions(), {RunTag.FORCE: "true"}
    again = said(shop, materialize(definitions, shop.instance, "mart/totals", tags=by_force))
    for lines in (planned, again):
        assert any(line.startswith("Spark: stage 7 has done 15 of 200 tasks") for line in lines)
