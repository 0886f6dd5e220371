"""`vde evaluate`: rows of a model as its file is, with nothing written."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.cli.conftest import WithoutJava
from tests.lakehouse.kinds.projects import Folder

DAILY = """MODEL (name a.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)
"""


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_last_day_is_shown_and_a_range_if_it_is_asked_for(tmp_path: Path) -> None:
    folder = Folder.make(tmp_path / "p", f"lake_{uuid.uuid4().hex[:8]}", {"a.daily": DAILY})
    folder.land([(1, 1, 10), (2, 25, 5), (3, 26, 2)], until=48)
    before = folder.project().iceberg_catalog().list_namespaces()
    done = call("evaluate", "a.daily", "--project", folder.path)
    assert done.exit_code == 0, done.stderr
    assert ["2024-01-02", "7"] in [line.split() for line in done.stdout.splitlines()]
    assert "a.daily from 2024-01-02 to 2024-01-03; nothing was written." in done.stderr
    asked = call(
        *("evaluate", "a.daily", "--start", "2024-01-01", "--end", "2024-01-02", "--limit", "1"),
        *("--format", "json", "--project", folder.path),
    )
    found = json.loads(asked.stdout)
    assert (found["columns"], len(found["rows"]), found["more"]) == (["day", "amount"], 1, True)
    assert found["start"].startswith("2024-01-01")
    assert folder.project().iceberg_catalog().list_namespaces() == before
    assert folder.project().services.state.environments() == ()


def test_what_is_not_due_is_refused_without_java(tmp_path: Path, without_java: WithoutJava) -> None:
    folder = Folder.make(tmp_path / "p", f"lake_{uuid.uuid4().hex[:8]}", {"a.daily": DAILY})
    done = without_java("evaluate", "a.daily", "--project", folder.path)
    assert done.returncode == 1
    assert "a.daily is not due" in done.stderr
