"""Restating and recording as empty, as runs of Dagster; in the full form on Spark, too."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.orchestration.conftest import DAILY, START, Sample
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.ledger.entries import EntryStatus
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.time.intervals import Interval
from vde_dagster.orchestration.jobs import run_plan

pytestmark = pytest.mark.spark

HOURLY = """\
MODEL (name mart.hourly, kind INCREMENTAL_BY_TIME_RANGE (time_column happened), cron '@hourly');
SELECT id, happened, amount FROM raw.events WHERE happened BETWEEN @start_dt AND @end_dt
"""
BY_DAY = DAILY.replace("staging.events", "mart.hourly").replace("doubled", "amount")
TOTAL = "MODEL (name mart.total, kind FULL);\nSELECT SUM(events) AS events FROM mart.daily"


@pytest.fixture
def shop(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Sample:
    """Models that read their source directly, without late data."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    (sample.folder / "models/staging/events.sql").unlink()
    sample.write("models/mart/hourly.sql", HOURLY)
    sample.write("models/mart/daily.sql", BY_DAY)
    sample.write("models/mart/total.sql", TOTAL)
    return sample


def run(shop: Sample, environment: str = "prod", **options: Any) -> Plan:
    project = shop.project()
    chosen = PlanOptions(**options)
    plan = plan_environment(project.services, project.files.graph, environment, chosen)
    run_plan(project, plan, lambda _: None)
    return plan


def statuses(shop: Sample, plan: Plan, name: str) -> set[EntryStatus]:
    key = plan.snapshots[ModelName.parse(name)].key
    return {each.status for each in shop.project().services.state.ledger([key])[key]}


def test_a_restated_hour_is_read_again_with_the_days_and_totals_above_it(shop: Sample) -> None:
    run(shop)
    assert shop.rows("mart.total") == [(24,)]
    shop.land((99, 5.2, 1), (98, 7.2, 1), until=24)  # the second is not asked for, and late
    start = START + timedelta(hours=5)
    done = run(shop, restate=("mart.hourly",), start=start, end=start + timedelta(hours=1))
    work = {each.name.name: each.restated for each in done.backfills}
    assert work["hourly"] == (Interval(start, start + timedelta(hours=1)),)
    assert set(work) == {"hourly", "daily", "total"}
    assert shop.rows("mart.total") == [(26,)]
    assert [row[1] for row in shop.rows("mart.people")] == [26]
    assert len(shop.rows("mart.hourly")) == 26
    for name in ("mart.hourly", "mart.daily", "mart.total"):
        assert statuses(shop, done, name) == {EntryStatus.COMPUTED}
