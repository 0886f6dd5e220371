"""What `vde` says while it computes, where its output is no terminal."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call
from tests.cli.changing import leave_dagster_out, write_files
from tests.cli.promoted import edit
from tests.worlds.catalog import MemoryCatalog
from tests.worlds.engine import MemoryEngine
from vde_dagster.app.services import Services
from vde_dagster.cli.plans import progress
from vde_dagster.composition import VdeProject
from vde_dagster.core.ledger.unit_of_work import Staged, Staging
from vde_dagster.ports.engine import EngineProgress, StageProgress

AT_WORK = EngineProgress(stages=(StageProgress(stage=7, tasks=200, done=15),))
WAITING = replace(AT_WORK, waits_for="executors: spark://there:7077 has assigned none yet")


class AtWork(MemoryEngine):
    """An engine that computes nothing before it was asked often enough what it is doing."""

    def __init__(self, catalog: MemoryCatalog) -> None:
        super().__init__(catalog)
        self.asked = threading.Semaphore(0)
        self.answers = [WAITING, WAITING]

    def progress(self) -> EngineProgress | None:
        self.asked.release()
        return self.answers.pop() if self.answers else AT_WORK

    def stage(self, staging: Staging) -> Staged:
        for _ in range(6):  # at the next look what was seen before is said
            assert self.asked.acquire(timeout=60)
        return super().stage(staging)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AtWork:
    """That of a project which has models to compute; it is looked at often."""
    world = MemoryWorld()
    world.land((7.5, 5), until=48)
    found = AtWork(world.catalog)
    write_files(tmp_path)

    def services(project: VdeProject) -> Services:
        return replace(world.services(), models=project.models, engine=found)

    monkeypatch.setattr(VdeProject, "services", property(services))
    monkeypatch.setattr(progress, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(progress, "LINE_LOOKS", 2)
    leave_dagster_out(monkeypatch)
    return found


@pytest.mark.full
def test_a_plan_says_every_few_looks_what_the_engine_does_and_what_it_waits_for(
    engine: AtWork, tmp_path: Path
) -> None:
    done = call("plan", "prod", "--auto-apply", "--project", tmp_path)
    assert done.exit_code == 0, done.stderr
    lines = done.stderr.splitlines()
    assert f"Spark waits for {WAITING.waits_for}" in lines
    assert "Spark: stage 7 has done 15 of 200 tasks" in lines
    assert engine.answers == []


def test_what_an_audit_only_warns_of_is_said(engine: AtWork, tmp_path: Path) -> None:
    audit = "audits (number_of_rows (threshold := 5, blocking := false))"
    edit(tmp_path / "models" / "total.sql", "cron '@daily'", f"cron '@daily', {audit}")
    done = call("plan", "prod", "--auto-apply", "--project", tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "the audit number_of_rows (blocking := false, threshold := 5) failed: " in done.stderr
