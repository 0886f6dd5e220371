"""Sums stay exact where tasks, stages and actions fail or are run twice; see `faulty_writes`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.lakehouse.digest import faulty_writes, reference
from tests.lakehouse.digest.rows import LONG, STRING
from tests.platform.spark_servers import cluster
from vde_dagster.core.ledger.dsha import MODULUS

pytestmark = pytest.mark.full
ROOT: Final = Path(__file__).parents[3]
HAPPENED: Final = {
    "task, shuffled": {"ExceptionFailure": 6},  # three tasks, twice each
    "stage before": {"FetchFailed": 1, "stages again": 2},
    "stage, shuffled": {"FetchFailed": 1, "stages again": 2},
}
"""What Spark's event log says of each fault, at least."""
COPIED: Final = ("copy", "copy, shuffled")
READ_AGAIN: Final = 2
JOBS: Final = {
    "task, shuffled": 2,
    "stage before": 2,
    "stage, shuffled": 2 + READ_AGAIN,
    "copy": 1,
    "copy, shuffled": 2,
}
"""How many jobs it takes: one for each stage, and to read the staged rows again where what was
observed is too much."""


def tell(folder: Path, master: str, *faults: str) -> Mapping[str, Any]:
    """What the module reports of each fault."""
    command = [sys.executable, "-m", faulty_writes.__name__, str(folder), master, *faults]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr[-3000:]
    found: Mapping[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Two cores in one process, and each task has four attempts."""
    return tell(tmp_path_factory.mktemp("faults"), "local[2,4]", *HAPPENED)


@pytest.fixture(scope="module")
def meant() -> Mapping[str, object]:
    """The sum of the rows that were meant, by another implementation."""
    hashes = [
        reference.xxhash64x2(list(zip((LONG, STRING, LONG), values, strict=True)))
        for values in map(faulty_writes.values, range(faulty_writes.ROWS))
    ]
    return {"rows": len(hashes), "sum": str(sum(hashes) % MODULUS)}


@pytest.mark.parametrize("fault", HAPPENED)
def test_what_is_recorded_and_what_is_stored_are_the_rows_that_were_meant(
    reported: Mapping[str, Any], meant: Mapping[str, object], fault: str
) -> None:
    assert reported[fault]["recorded"] == meant
    assert reported[fault]["stored"] == meant


@pytest.mark.parametrize("fault", HAPPENED)
def test_the_fault_took_place(reported: Mapping[str, Any], fault: str) -> None:
    for event, times in HAPPENED[fault].items():
        assert reported[fault].get(event, 0) >= times, event


@pytest.mark.parametrize("fault", [fault for fault in JOBS if fault in HAPPENED])
def test_rows_are_read_again_where_what_was_observed_is_too_much_and_not_else(
    reported: Mapping[str, Any], fault: str
) -> None:
    assert reported[fault]["jobs"] == JOBS[fault]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """On a cluster, whose tasks are copied where they take long."""
    with cluster(tmp_path_factory.mktemp("cluster")) as master:
        return tell(tmp_path_factory.mktemp("copied"), master, *COPIED)


@pytest.mark.parametrize("fault", COPIED)
def test_a_task_of_which_there_was_a_copy_is_counted_once(
    copied: Mapping[str, Any], meant: Mapping[str, object], fault: str
) -> None:
    assert copied[fault]["copies"] >= 1
    assert copied[fault]["TaskKilled"] >= 1  # the task that the copy was faster than
    assert copied[fault]["recorded"] == meant
    assert copied[fault]["stored"] == meant
    assert copied[fault]["jobs"] == JOBS[fault]  # what was observed is used
