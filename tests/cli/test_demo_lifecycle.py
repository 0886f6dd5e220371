"""`./run demo --example customer_lifecycle`: what each delivery of events leads to."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.telling import call_demo
from tests.orchestration.lifecycle_landing import EXAMPLE
from vde_dagster.cli.projects.copying import copy_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.full]  # the same by sensors is full, too
STATE = "lifecycle.account_state"


def hours(*ranges: tuple[int, int]) -> list[str]:
    return [f"[2023-09-14 {a:02}:00, 2023-09-14 {b:02}:00)" for a, b in ranges]


def test_it_tells_the_seeds_story_and_again_has_nothing_to_tell(
    tmp_path: Path, spark: SparkSession
) -> None:
    folder = tmp_path / "life"
    copy_project(EXAMPLE, folder)
    with (folder / "vde.yaml").open("a", encoding="utf-8") as settings:
        settings.write(f"catalog: {{name: demo_{uuid.uuid4().hex[:8]}}}\n")
    done = call_demo(folder, "--example", "customer_lifecycle", "--format", "json")
    assert done.exit_code == 0, done.stderr
    chapters = {each["delivery"]: each["sessions"] for each in json.loads(done.stdout)["chapters"]}
    written = {
        (delivery, each["model"]): each["intervals"]
        for delivery, sessions in chapters.items()
        for each in sessions
    }
    assert written["first", STATE] == ["[2023-09-14, 2023-09-14 06:00)"]
    assert written["late", "lifecycle.signups"] == hours((2, 4), (6, 7))
    assert written["late", "lifecycle.cancels"] == hours((5, 8))
    assert written["late", STATE] == hours((2, 7))
    assert written["rest", STATE] == hours((7, 8))
    assert ("rest", "lifecycle.cancels") not in written
    assert written["converging", STATE] == hours((3, 5), (8, 9))
    again = call_demo(folder, "--example", "customer_lifecycle")
    assert again.exit_code == 0, again.stderr
    assert again.stdout.count("nothing to load") == 4
    assert "upgraded" in again.stdout
