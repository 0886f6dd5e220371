"""A disk that is full once Dagster writes what a run of `vde` did."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.app.memory_world import MemoryWorld, graph_of, plan
from tests.cli.test_faults import small_disk
from vde_dagster.composition import VdeProject
from vde_dagster.core.faults import Fault, fault_of
from vde_dagster.orchestration.jobs.runs import run_plan
from vde_dagster.project.configuration import Configuration

MODELS = {
    name: f"MODEL (name mart.{name}, kind FULL);\nSELECT SUM(amount) AS amount FROM {reads}"
    for name, reads in [("a", "raw.events"), ("b", "mart.a"), ("c", "mart.b")]
}


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("left", [0, 8])
def test_a_disk_that_is_full_of_dagsters_runs_is_told_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    at: int,
    left: int,
) -> None:
    disk = tmp_path / "small"
    with small_disk(disk, "4m"):
        monkeypatch.setenv("DAGSTER_HOME", str(disk / "home"))
        world = MemoryWorld()
        world.land((1, 10), (2.5, 20), until=24)
        project = VdeProject(Configuration(folder=tmp_path, name="in_memory"))
        vars(project)["services"] = world.services()
        built: list[object] = []
        filler = disk / "filler"

        def report(unit: object) -> None:
            built.append(unit)
            if len(built) == at:
                free = os.statvfs(disk)
                filler.write_bytes(b"0" * ((free.f_bavail - left) * free.f_frsize))

        asked = plan(world.services(), graph_of(MODELS))
        with pytest.raises(Exception) as full:  # noqa: PT011 - whatever raises it
            run_plan(project, asked, report)
        said = capfd.readouterr()
        found = fault_of(full.value)
        assert found is not None, "which `vde` tells with what to do"
        assert found.fault in {Fault.DISK_FULL, Fault.DISK_ERROR}
        assert "Exception while writing" not in said.err
        assert "Traceback" not in said.err
        filler.unlink()
        run_plan(project, plan(world.services(), graph_of(MODELS)), lambda _: None)
        assert world.rows("mart.c") == [(30,)]
