"""INCREMENTAL_UNMANAGED: what a model may say, sentence by sentence.

What happens to rows is tested when the kind is evaluated.
"""

from __future__ import annotations

import pytest

from tests.kinds.sentences.projects import graph_of, instant, problems, read, span
from vde_dagster import kinds
from vde_dagster.core.kind import IncrementalUnmanaged
from vde_dagster.core.names import ModelName
from vde_dagster.core.restatement import restate

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


def test_its_query_runs_once_for_each_time_that_it_is_due() -> None:
    model, now = read(EXAMPLE), instant("2024-01-04T05:00")
    rules = kinds.of(model)
    held = (span("2024-01-01", "2024-01-02"),)
    assert rules.missing(model, (), now) == (span("2024-01-01", "2024-01-04"),)
    assert rules.missing(model, held, now) == (span("2024-01-02", "2024-01-04"),)
    assert rules.missing(model, (span("2024-01-01", "2024-01-04"),), now) == ()


@pytest.mark.parametrize("option", ["batch_size", "batch_concurrency"])
def test_how_it_is_loaded_is_not_managed(option: str) -> None:
    text = EXAMPLE.replace("UNMANAGED", f"UNMANAGED ({option} 2)")
    (found,) = problems(text)
    assert f"{option} is no option of INCREMENTAL_UNMANAGED" in found.message
    assert "INCREMENTAL_BY_TIME_RANGE or INCREMENTAL_BY_UNIQUE_KEY" in found.advice


def test_it_is_restated_whole() -> None:
    found = restate(
        graph_of(EXAMPLE),
        NAME,
        span("2024-02-01", "2024-02-02"),
        {NAME: [span("2024-01-01", "2024-03-01")]},
        whole=lambda model: kinds.of(model).restates_whole,
    )
    assert found.ranges == {NAME: (span("2024-01-01", "2024-03-01"),)}
