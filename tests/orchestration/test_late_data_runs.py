"""Runs of models with late data alone: the automation's decision and job, for these only."""

from __future__ import annotations

import pytest

from tests.app.memory_world import EVENTS, PROJECT
from tests.orchestration.launchpad import Launchpad, Make, failure, materialize, shown, written

JOB = "vde_automation"
ONLY_LATE = {"only_late_data": True}
SENSOR = "vde_late_data_prod"
OTHER = EVENTS.replace("staging.events", "staging.others").replace("amount AS", "amount + 1 AS")
TWO = {**PROJECT, "others": OTHER}
LOG = """
MODEL (name staging.log, kind INCREMENTAL_UNMANAGED, cron '@hourly',
  late_data (mode stateless, sources (raw.events)));
SELECT id, at, amount FROM raw.events
"""
HOURLY = """
MODEL (name core.hourly, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
TRACKER = """
MODEL (name core.tracker, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly',
  freshness '4 hours',
  late_data (mode stateful, sources ('raw.events|at', core.hourly)));
SELECT raw.id AS id, raw.at AS at, COUNT(hours.id) AS n
FROM raw.events AS raw LEFT JOIN core.hourly AS hours
  ON hours.id = raw.id AND hours.at BETWEEN @start_dt AND @end_dt
WHERE raw.at BETWEEN @start_dt AND @end_dt
GROUP BY 1, 2
"""
LATE = "2024-01-01-07:00"


@pytest.fixture
def shop(make: Make) -> Launchpad:
    return make(TWO)


def test_every_model_with_late_data_is_loaded_and_no_other_one(shop: Launchpad) -> None:
    shop.world.land((7.5, 5), until=48)
    result = shop.start(JOB, ONLY_LATE)
    assert written(result) == {("staging/events", LATE), ("staging/others", LATE)}
    assert shown(result)["vde/rows_written"] == 2
    assert len(shop.world.rows("staging.events")) == 3
    assert [row[1] for row in shop.world.rows("mart.daily")] == [10, 1]
    assert shop.skipped(SENSOR) == "with late data, prod is up to date"
    assert shown(shop.start(JOB, ONLY_LATE))["vde/reason"].startswith("nothing to do")
    shop.start(JOB)
    assert [row[1] for row in shop.world.rows("mart.daily")] == [15, 1]


def test_a_model_without_late_data_that_is_behind_holds_back_no_late_rows(make: Make) -> None:
    """Nobody computes it here: what reads it is loaded up to where it is, and late rows at once."""
    shop = make({"hourly": HOURLY, "tracker": TRACKER})
    shop.world.land((7.5, 5), until=48)
    shop.world.land((50.5, 3), until=72)
    assert written(shop.launch(shop.request(SENSOR))) == {("core/tracker", LATE)}
    assert [row[2] for row in shop.world.rows("core.tracker")] == [1, 1, 0]
    assert "core.tracker" in shop.skipped(SENSOR)
    assert written(shop.start(JOB)) >= {("core/hourly", LATE), ("core/tracker", LATE)}
    assert [row[2] for row in shop.world.rows("core.tracker")] == [1, 1, 1, 1]


def test_late_rows_of_an_append_only_model_are_of_no_partition(make: Make) -> None:
    shop = make({"log": LOG})
    shop.world.land((7.5, 5), until=48)
    result = shop.start(JOB, ONLY_LATE)
    assert written(result) == {("staging/log", None)}
    assert shown(result)["vde/rows_written"] == 1
    assert len(shop.world.rows("staging.log")) == 3

    shop.world.land((7.6, 6), until=48)
    materialize(shop.definitions(), shop.instance, "staging/log")
    assert len(shop.world.rows("staging.log")) == 4
    again = materialize(shop.definitions(), shop.instance, "staging/log", fails=True)
    assert "its source has no new rows" in failure(again)
    assert len(shop.world.rows("staging.log")) == 4
