"""INCREMENTAL_UNMANAGED: what a model may say, sentence by sentence.

What happens to rows is tested in `tests.lakehouse.kinds.test_whole_tables`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from tests.kinds.sentences.projects import instant, problems, read, span
from vde_dagster.core.model.kinds import IncrementalUnmanaged
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

EXAMPLE = """MODEL (
  name db.events,
  kind INCREMENTAL_UNMANAGED,
  start '2024-01-01'
);
SELECT id, event_date FROM raw.rows
"""
NAME = ModelName("db", "events")


def test_its_kind_is_all_that_it_needs() -> None:
    assert read(EXAMPLE).kind == IncrementalUnmanaged()
    assert read(EXAMPLE).warnings == ()


@pytest.mark.parametrize(
    "cron,days",
    [
        ("@daily", list(range(1, 16))),
        ("0 0 */5 * *", [1, 6, 11]),  # the first has nothing before it
        ("@weekly", [1, 7, 14]),  # on Sundays
    ],
)
def test_its_query_runs_on_the_cadence_of_its_cron(cron: str, days: list[int]) -> None:
    """Looked at every hour of two weeks: it runs at each tick, for the time since the last one."""
    model = read(EXAMPLE.replace("start '2024", f"cron '{cron}', start '2024"))
    runs: list[tuple[datetime, Interval]] = []
    for hour in range(24 * 14 + 1):
        now = instant("2024-01-01") + timedelta(hours=hour)
        loaded = [interval for _, interval in runs]
        runs += [(now, each) for each in model.kind.missing(model, loaded, now)]
    borders = [instant(f"2024-01-{day:02}") for day in days]
    assert runs == [(end, Interval(start, end)) for start, end in pairwise(borders)]


def test_what_fell_due_while_nothing_ran_is_one_run() -> None:
    model, now = read(EXAMPLE), instant("2024-01-04T05:00")
    rules = model.kind
    loaded = (span("2024-01-01", "2024-01-02"),)
    assert rules.missing(model, (), now) == (span("2024-01-01", "2024-01-04"),)
    assert rules.missing(model, loaded, now) == (span("2024-01-02", "2024-01-04"),)
    assert rules.missing(model, (span("2024-01-01", "2024-01-04"),), now) == ()


@pytest.mark.parametrize("option", ["batch_size", "batch_concurrency"])
def test_how_it_is_loaded_is_not_managed(option: str) -> None:
    text = EXAMPLE.replace("UNMANAGED", f"UNMANAGED ({option} 2)")
    (found,) = problems(text)
    assert found.message == f"the kind INCREMENTAL_UNMANAGED has no option {option!r}"
