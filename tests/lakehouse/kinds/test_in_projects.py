"""Two processes at once on one version in a project folder, with real Spark."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Final

import pytest

from tests.lakehouse.kinds.projects import Folder, reported
from tests.lakehouse.kinds.worlds import hours

pytestmark = pytest.mark.spark

RUNS: Final = """MODEL (
  name m.runs, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly'
);
SELECT id, at, @execution_tstz AS run FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""


@pytest.mark.full
@pytest.mark.usefixtures("spark")
def test_two_processes_alternate_and_leave_no_mixed_rows(tmp_path: Path) -> None:
    folder = Folder.make(tmp_path / "project", f"lake_{uuid.uuid4().hex[:8]}", {"m.runs": RUNS})
    folder.land([(number, number / 4, 0) for number in range(48)], until=1)
    folder.apply()
    folder.land([], until=12)
    spans = [(1, 6), (4, 9), (9, 12)]
    processes = [folder.elsewhere("m.runs", hours(*each), patient=True) for each in spans]
    assert [reported(each)["ended"] for each in processes] == ["evaluated"] * len(spans)
    rows = folder.rows("m.runs")
    assert [number for number, *_ in rows] == list(range(48))
    by_hour = [{run for *_, run in rows[4 * hour : 4 * hour + 4]} for hour in range(12)]
    assert all(len(each) == 1 for each in by_hour)
    assert by_hour[1] == by_hour[2] == by_hour[3]
    assert by_hour[6] == by_hour[7] == by_hour[8]
    assert by_hour[4] == by_hour[5]
    assert by_hour[4] in (by_hour[1], by_hour[6])
    assert by_hour[9] == by_hour[10] == by_hour[11] not in (by_hour[1], by_hour[6])
