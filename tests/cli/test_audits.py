"""`vde audits`: what audits found, for people and for programs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.app.memory_world import bound
from tests.cli.calling import call
from tests.cli.promoted import begun, promote
from vde_dagster.composition import VdeProject
from vde_dagster.core.audits.values import AuditResult
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

REVENUE = ModelName("mart", "revenue")
DAY = Interval(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC))
PASSED = AuditResult(name="not_null", failing=0, message="the audit not_null passed")
FAILED = AuditResult(
    name="accepted_range",
    arguments=(("column", "revenue"), ("min_v", "0")),
    failing=2,
    columns=("customer", "revenue"),
    sample=(("ann", -3), (None, -4.5)),
    message="the audit accepted_range failed: 2 rows fail",
)


def record(folder: Path, *results: AuditResult) -> str:
    """A unit of work of the shown version whose rows a blocking audit refused."""
    services = VdeProject.load(folder).services
    with begun(services, bound(services).key(REVENUE), (DAY,)) as (work_id, lease):
        services.state.record_audits(work_id, results, lease=lease)
        services.state.abandon(work_id, reason="its audits found bad rows", lease=lease)
    return work_id


@pytest.fixture
def refused(project: Path) -> str:
    promote(project)
    return record(project, PASSED, FAILED)


def test_the_contract(project: Path, refused: str) -> None:
    done = call("audits", "mart.revenue", "--project", project, "--format", "json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == ["version", "model", "environment", "work"]
    (work,) = found["work"]
    assert (work["work_id"], work["state"]) == (refused, "abandoned")
    assert work["branch"].endswith(f".branch_w_{refused}")
    assert work["intervals"] == [
        {"start": "2024-01-01T00:00:00+00:00", "end": "2024-01-02T00:00:00+00:00"}
    ]
    assert work["audits"][1] == {
        "name": "accepted_range",
        "arguments": [["column", "revenue"], ["min_v", "0"]],
        "blocking": True,
        "passed": False,
        "failing": 2,
        "message": "the audit accepted_range failed: 2 rows fail",
        "columns": ["customer", "revenue"],
        "sample": [["ann", -3], [None, -4.5]],
    }


def test_a_person_sees_the_rows_and_where_all_of_them_lie(project: Path, refused: str) -> None:
    done = call("audits", "mart.revenue", "--project", project)
    assert done.exit_code == 0, done.stderr
    assert "not_null: passed" in done.stdout
    assert "not published" in done.stdout
    assert "-4.5" in done.stdout
    assert "NULL" in done.stdout
    assert f"branch_w_{refused}" in done.stdout


def test_a_model_without_audits_so_far_says_so(project: Path) -> None:
    done = call("audits", "mart.revenue", "--project", project)
    assert done.exit_code == 0
    assert "No audit of mart.revenue has run yet" in done.stderr


def test_values_and_reasons_with_brackets_are_shown_as_they_are(project: Path) -> None:
    promote(project)
    odd = replace(FAILED, sample=(("[/mnt]", "[3]"),), message="the audit [x] fails for [/mnt]")
    work_id = record(project, odd)
    done = call("audits", "mart.revenue", "--project", project)
    assert done.exit_code == 0, done.stderr
    assert "the audit [x] fails for [/mnt]" in done.stdout
    assert re.search(r"\[/mnt\]\s+\[3\]", done.stdout)
    again = f"publish {work_id} --accept accepted_range --reason TEXT"
    assert again in done.stdout, "a command that is copied is in one line"
