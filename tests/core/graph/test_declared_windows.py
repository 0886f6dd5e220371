"""What a Python model reads by ``depends_on``: all of its interval, however the parent has time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.core.written_project import write_project
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.constants import Moments
from vde_dagster.core.sql.reads.input_ranges import WholeTable, covers
from vde_dagster.core.time.intervals import Interval, IntervalUnit
from vde_dagster.project.loading import load_project

PARENT, MODEL = ModelName("m", "p"), ModelName("m", "x")
START = datetime(2024, 1, 1, tzinfo=UTC)
TIMES = {
    "timestamp": ("ts", ""),
    "timestamp_ntz": ("CAST(ts AS TIMESTAMP_NTZ)", ""),
    "date": ("CAST(ts AS DATE)", ""),
    "iso": ("DATE_FORMAT(ts, 'yyyy-MM-dd')", ""),
    "digits": ("DATE_FORMAT(ts, 'yyyyMMdd')", "yyyyMMdd"),
    "hour": ("DATE_FORMAT(ts, 'yyyy-MM-dd HH')", "yyyy-MM-dd HH"),
    "second": ("DATE_FORMAT(ts, \"yyyy-MM-dd'T'HH:mm:ss\")", "yyyy-MM-dd'T'HH:mm:ss"),
    "month": ("DATE_FORMAT(ts, 'yyyy-MM')", "yyyy-MM"),
    "number": ("CAST(DATE_FORMAT(ts, 'yyyyMMdd') AS BIGINT)", "yyyyMMdd"),
}
UNITS = {"@hourly": IntervalUnit.HOUR, "@daily": IntervalUnit.DAY, "@monthly": IntervalUnit.MONTH}
OF_PARENT = {"month": "@monthly", "hour": "@hourly", "second": "@hourly", "timestamp": "@hourly"}
WINDOWS = [{}, {"before": "3 days"}, {"after": "2 hours"}, {"before": "1 day", "after": "1 day"}]
LENGTHS = {"3 days": 72, "2 hours": 2, "1 day": 24}


def loaded(folder: Path, time: str, cron: str, window: object) -> Graph:
    written, pattern = TIMES[time]
    column = f'(at, "{pattern}")' if pattern else "at"
    parent = (
        f"MODEL (name m.p, kind INCREMENTAL_BY_TIME_RANGE (time_column {column}), "
        f"cron '{OF_PARENT.get(time, '@daily')}');\nSELECT id, {written} AS at FROM raw.t "
        "WHERE ts BETWEEN @start_dt AND @end_dt"
    )
    model = (
        "from vde_dagster import model\n\n\n"
        '@model(name="m.x", kind={"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "at"}, '
        f'cron="{cron}", columns={{"at": "timestamp"}}, depends_on={{"m.p": {window!r}}})\n'
        'def run(context):\n    return context.table("m.p")\n'
    )
    source = "- name: raw.t\n  columns: {id: int, ts: timestamp}\n"
    write_project(folder, source, {"models/m/p.sql": parent, "models/m/x.py": model})
    return load_project(folder).graph


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("cron", UNITS)
@pytest.mark.parametrize("time", TIMES)
def test_a_window_covers_the_interval_and_what_it_declares(
    tmp_path: Path, time: str, cron: str, window: dict[str, str]
) -> None:
    found = loaded(tmp_path, time, cron, window)
    unit = UNITS[cron]
    for interval in unit.cells(Interval(START, unit.shifted(START, 27))):
        read = reads_of(found, MODEL).ranges(Moments.between(interval, interval))[PARENT]
        before, after = (
            timedelta(hours=LENGTHS.get(window.get(each, ""), 0)) for each in ("before", "after")
        )
        wanted = Interval(interval.start - before, interval.end + after)
        assert not isinstance(read, WholeTable)
        assert covers(read, (wanted,))
        owned = found[PARENT].model.unit.widen(wanted)
        assert covers((owned,), read), "no more than the parent's units around it"


@pytest.mark.parametrize("length", ["-1 day", "-2 hours"])
def test_a_window_is_never_narrower_than_the_interval(tmp_path: Path, length: str) -> None:
    for number, side in enumerate(("before", "after")):
        with pytest.raises(ProjectInvalid):
            loaded(tmp_path / str(number), "timestamp", "@daily", {side: length})
