"""Stateful sessions of a Python model on Spark: it is given the rows of each hour alone."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

import pytest

from tests.lakehouse.kinds.projects import Folder, bound
from tests.lakehouse.kinds.worlds import hours
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad
from vde_dagster.core.names import ModelName

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NAME: Final = ModelName("a", "sums")
MODEL: Final = """from pyspark.sql import functions as F

from vde_dagster import model


@model(
    name="a.sums",
    kind={"name": "INCREMENTAL_BY_TIME_RANGE", "time_column": "hour"},
    cron="@hourly",
    columns={"hour": "timestamp", "amount": "bigint", "read": "bigint"},
    depends_on=["raw.events"],
    late_data={"mode": "stateful", "sources": "raw.events|at"},
)
def sums(context):
    events = context.table("raw.events")
    start = F.lit(context.start).cast("timestamp")
    return events.agg(
        F.max(start).alias("hour"), F.sum("amount").alias("amount"), F.count("*").alias("read")
    ).where("amount IS NOT NULL")
"""


def test_late_rows_of_two_hours_are_repaired_by_what_these_hours_have(
    tmp_path: Path, spark: SparkSession
) -> None:
    del spark  # it is there, and the engine finds it
    folder = Folder.make(tmp_path / "project", f"lake_{uuid.uuid4().hex[:8]}", {})
    (folder.path / "models" / "sums.py").write_text(MODEL, encoding="utf-8")
    folder.land([(1, 0, 10), (2, 0.5, 1), (3, 1, 20), (4, 2, 30), (5, 3, 40)], until=4)
    folder.apply()
    at = [hours(hour, hour + 1).start for hour in range(4)]
    assert folder.rows("a.sums") == [
        (at[0], 11, 2),
        (at[1], 20, 1),
        (at[2], 30, 1),
        (at[3], 40, 1),
    ]

    folder.land([(6, 1.2, 5)], until=4)
    folder.land([(7, 3.9, 2)], until=4)
    services = folder.project().services
    decision = detect(services, bound(services), NAME)
    assert isinstance(decision, Load)
    assert decision.fill == (hours(1, 2), hours(3, 4))
    catch_up(services, bound(services), NAME)
    assert folder.rows("a.sums") == [
        (at[0], 11, 2),
        (at[1], 25, 2),
        (at[2], 30, 1),
        (at[3], 42, 2),
    ]
    assert isinstance(detect(services, bound(services), NAME), NothingToLoad)
