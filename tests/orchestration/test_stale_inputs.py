"""A step that is materialized by hand on stale inputs says so."""

# No `from __future__ import annotations`: Dagster reads the annotation of `context` as an object.
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from tests.app.memory_world import bound
from tests.orchestration.launchpad import materialize
from tests.orchestration.test_assets import events
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.core.names import ModelName

if TYPE_CHECKING:
    from tests.orchestration.conftest import Sample

pytestmark = pytest.mark.spark


def test_a_step_says_which_of_its_inputs_are_behind_at_the_times_that_it_reads(
    applied: "Sample", instance: dg.DagsterInstance
) -> None:
    applied.write(
        "models/mart/total.sql",
        "MODEL (name mart.total, kind FULL);\nSELECT SUM(events) AS events FROM mart.daily",
    )
    applied.land(*[(hour, hour + 0.5, 10) for hour in range(24, 48)], until=48)
    applied.apply()
    definitions = applied.definitions()

    def reported(key: str, first: str | None = None, last: str | None = None) -> list[object]:
        """What the materializations of one step say of its inputs."""
        materialize(definitions, instance, key, first, last)
        found = events(instance, key)
        days = [first, last] if last else [first]
        values = [found[day].metadata.get("vde/stale_inputs") for day in days]
        return [None if each is None else each.value for each in values]

    assert reported("mart/daily", "2024-01-02") == [None]
    applied.land((100, 3.25, 1), until=48)
    late = (
        "1 hour of staging.events: late rows of raw.events have arrived since its high-water mark"
    )
    assert reported("mart/daily", "2024-01-02") == [None], "what is late is of another day"
    assert reported("mart/daily", "2024-01-01") == [late]
    assert reported("mart/daily", "2024-01-01", "2024-01-02") == [late, late]
    assert reported("mart/total") == [None], "the day is as it would be computed now"

    services = applied.project().services
    binding = bound(services)
    catch_up(services, binding, ModelName("staging", "events"))
    changed = "1 day of mart.daily: its inputs from staging.events have changed since"
    assert reported("mart/total") == [changed]
    assert reported("mart/daily", "2024-01-01") == [None]
    assert reported("mart/total") == [None]
