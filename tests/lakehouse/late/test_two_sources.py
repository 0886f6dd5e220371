"""A stateful model over two real tables with lags of their own (seed 003, part 3), on Spark.

What each step loads is written here; what the model then holds is computed from what has landed.
"""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest

from tests.lakehouse.kinds.projects import SCHEMA, SOURCES, Folder, bound
from tests.lakehouse.kinds.worlds import START
from vde_dagster.app.catch_up.detecting import detect
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.core.ledger.late.decision import Load, NothingToLoad
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from vde_dagster.app.evaluate.evaluated import Evaluated

pytestmark = [pytest.mark.spark, pytest.mark.full]

NAME: Final = ModelName("a", "both")
MODEL: Final = """MODEL (
  name a.both, kind INCREMENTAL_BY_TIME_RANGE (time_column hour), cron '@hourly',
  late_data (mode stateful, sources ('raw.events|at', 'raw.others|at'))
);
WITH every AS (
  SELECT at, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
  UNION ALL SELECT at, 100 * amount FROM raw.others WHERE at BETWEEN @start_dt AND @end_dt
)
SELECT DATE_TRUNC('HOUR', at) AS hour, SUM(amount) AS amount FROM every
GROUP BY DATE_TRUNC('HOUR', at)
"""


class Two:
    """The project, and what has landed in its two tables."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.landed: dict[str, list[tuple[float, int]]] = {"events": [], "others": []}
        with (folder.path / "external_models.yaml").open("a", encoding="utf-8") as file:
            file.write(SOURCES.replace("raw.events", "raw.others"))
        folder.project().iceberg_catalog().create_table("raw.others", SCHEMA)

    def land(self, table: str, *rows: tuple[float, int], until: float) -> None:
        found = self.folder.project().iceberg_catalog().load_table(f"raw.{table}")
        values = [
            {"id": len(self.landed[table]) + number, "at": at(hour), "amount": amount}
            for number, (hour, amount) in enumerate(rows)
        ]
        with found.transaction() as change:
            if values:
                change.append(pa.Table.from_pylist(values, schema=SCHEMA))
            change.set_properties({"vde.valid-to": at(until).isoformat()})
        self.landed[table] += rows

    def decision(self) -> Load | NothingToLoad:
        services = self.folder.project().services
        found = detect(services, bound(services), NAME)
        assert isinstance(found, Load | NothingToLoad)
        return found

    def catch_up(self) -> Evaluated | NothingToLoad:
        project = self.folder.project()
        project.open_spark()
        return catch_up(project.services, bound(project.services), NAME)

    def expected(self, until: int) -> list[tuple[datetime, int]]:
        sums: Counter[datetime] = Counter()
        for table, times in (("events", 1), ("others", 100)):
            for hour, amount in self.landed[table]:
                if hour < until:
                    sums[at(int(hour))] += times * amount
        return sorted(sums.items())


def at(hour: float) -> datetime:
    return START + timedelta(hours=hour)


def hours(intervals: Sequence[Interval]) -> list[int]:
    return [
        hour
        for each in intervals
        for hour in range(
            (each.start - START) // timedelta(hours=1), (each.end - START) // timedelta(hours=1)
        )
    ]


@pytest.fixture
def two(tmp_path: Path, spark: SparkSession) -> Two:
    del spark  # it is there, and the engine finds it
    folder = Folder.make(tmp_path / "project", f"lake_{uuid.uuid4().hex[:8]}", {"a.both": MODEL})
    made = Two(folder)
    made.land("events", *((hour + 0.5, hour) for hour in range(6)), until=6)
    made.land("others", *((hour + 0.2, 1) for hour in range(6)), until=6)
    folder.project().open_spark()
    folder.apply()
    assert folder.rows("a.both") == made.expected(6)
    return made


def test_a_session_goes_as_far_as_the_slowest_source_and_the_rest_is_pending(two: Two) -> None:
    two.land("events", (6.5, 6), (7.5, 7), until=8)
    two.land("others", until=7)
    found = two.decision()
    assert isinstance(found, Load)
    assert (hours(found.fill), found.limit) == ([6], at(7))
    two.catch_up()
    assert two.folder.rows("a.both") == two.expected(7)
    assert isinstance(two.decision(), NothingToLoad)
    two.land("others", until=8)  # nothing came, and that is known now
    two.catch_up()
    assert two.folder.rows("a.both") == two.expected(8)


def test_late_rows_in_different_hours_of_two_sources_repair_both_and_nothing_between(
    two: Two,
) -> None:
    two.land("events", (1.7, 50), until=6)
    two.land("others", (4.7, 9), until=6)
    found = two.decision()
    assert isinstance(found, Load)
    assert hours(found.fill) == [1, 4]
    two.catch_up()
    assert two.folder.rows("a.both") == two.expected(6)
    assert isinstance(two.decision(), NothingToLoad)


def test_a_late_row_of_one_source_is_not_held_up_by_the_lag_of_the_other(two: Two) -> None:
    two.land("events", (2.7, 50), until=6)  # a file of its own: bounds are those of files
    two.land("events", (6.5, 6), until=7)
    found = two.decision()
    assert isinstance(found, Load)
    assert hours(found.fill) == [2]
    two.catch_up()
    assert two.folder.rows("a.both") == two.expected(6)
    two.land("others", (0.9, 2), until=6)
    two.land("others", (6.1, 3), until=7)
    found = two.decision()
    assert isinstance(found, Load)
    assert hours(found.fill) == [0, 6]
    two.catch_up()
    assert two.folder.rows("a.both") == two.expected(7)
