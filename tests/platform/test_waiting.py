"""A cluster that has no room yet: people are told what a plan waits for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from tests.platform.processes import started_vde
from tests.platform.programs import LOOPBACK
from tests.platform.spark_servers import WORKERS, master, worker

pytestmark = [pytest.mark.full, pytest.mark.story, pytest.mark.timeout(3000)]

_PATIENCE_SECONDS: Final = 900


def test_a_plan_says_that_it_waits_for_executors_and_goes_on_when_it_gets_one(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "project"
    (folder / "models").mkdir(parents=True)
    (folder / "models" / "one.sql").write_text("MODEL (name a.one, kind FULL);\nSELECT 1 AS id\n")
    with master(tmp_path) as url:
        (folder / "vde.yaml").write_text(f"""
name: waiting
spark:
  master: {url}
  conf:
    spark.driver.host: {LOOPBACK}
    spark.driver.bindAddress: {LOOPBACK}
    spark.executor.memory: 512m
""")
        asked = ("plan", "prod", "--auto-apply", "--project", folder)
        with started_vde(tmp_path / "plan.log", *asked) as program:
            line = f"Spark waits for executors: {url} has assigned none yet."
            end = time.monotonic() + _PATIENCE_SECONDS
            while line not in program.said():
                assert program.process.poll() is None, program.said()
                assert time.monotonic() < end, program.said()
                time.sleep(0.5)
            with worker(tmp_path, WORKERS[0], url):
                assert program.process.wait(_PATIENCE_SECONDS) == 0, program.said()
            assert "built model=a.one" in program.said()
