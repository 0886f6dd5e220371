"""Sums stay exact where tasks and stages fail and are run again; see `faulty_writes`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.lakehouse.digest import faulty_writes

pytestmark = [pytest.mark.spark, pytest.mark.full]
FAULTS = ("above", "below", "stage above", "stage below")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What the script says of each write."""
    command = [sys.executable, faulty_writes.__file__, str(tmp_path_factory.mktemp("faults"))]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr[-3000:]
    found: Mapping[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("fault", FAULTS)
def test_all_rows_are_committed_once(told: Mapping[str, Any], fault: str) -> None:
    assert told[fault]["added"] == faulty_writes.ROWS


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_observed_is_right_or_not_believed(told: Mapping[str, Any], fault: str) -> None:
    assert told[fault]["observed"] in (None, told[fault]["expected"])


@pytest.mark.parametrize("fault", FAULTS)
def test_staged_rows_have_the_sum_of_the_rows_that_were_meant(
    told: Mapping[str, Any], fault: str
) -> None:
    assert told[fault]["staged"] == told[fault]["expected"]


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_took_place(told: Mapping[str, Any], fault: str) -> None:
    # Each task of the source would begin once.
    assert told[fault]["begun"] > faulty_writes.PARTITIONS


@pytest.mark.parametrize("fault", ["above", "below"])
def test_a_task_that_is_tried_again_is_counted_once(told: Mapping[str, Any], fault: str) -> None:
    assert told[fault]["observed"] == told[fault]["expected"]


def test_a_stage_that_is_run_again_after_it_was_observed_is_noticed(
    told: Mapping[str, Any],
) -> None:
    # Spark adds up what every run of a task before a shuffle has seen.
    assert told["stage above"]["observed"] is None
