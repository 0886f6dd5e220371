"""Landing on a real SQL catalog, compared with DuckDB over the CSV files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import expected
import landing
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate

TWO_DAYS = datetime(2013, 1, 3, tzinfo=UTC)
MORNING = datetime(2013, 1, 1, 15, tzinfo=UTC)
"""Ten o'clock in New York: 19 commits. From the sixth one on flights depart, then also arrive."""
EVENING = datetime(2013, 1, 1, 20, tzinfo=UTC)
Landed: TypeAlias = Mapping[str, expected.Rows]
STREAMS = ("raw.departures", "raw.arrivals", "raw.weather")


def open_lake(folder: Path) -> SqlCatalog:
    return SqlCatalog("lake", uri=f"sqlite:///{folder}/lake.db", warehouse=f"file://{folder}/wh")


class FlakyCatalog(SqlCatalog):
    """Raises `error` at the `fail_at`-th commit (from 0), before or after it was applied."""

    def __init__(self, folder: Path, error: Exception, *, fail_at: int, applied: bool) -> None:
        super().__init__("lake", uri=f"sqlite:///{folder}/lake.db", warehouse=f"file://{folder}/wh")
        self.error = error
        self.applied = applied
        self.fail_at = fail_at
        self.commits = 0

    def commit_table(
        self,
        table: Table,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> CommitTableResponse:
        number, self.commits = self.commits, self.commits + 1
        if number == self.fail_at and not self.applied:
            raise self.error
        answer = super().commit_table(table, requirements, updates)
        if number == self.fail_at:
            raise self.error
        return answer


@pytest.fixture(scope="module")
def morning() -> Landed:
    return expected.landed_rows(MORNING)


def loaded(catalog: Catalog, name: str, columns: tuple[str, ...]) -> expected.Rows:
    rows = catalog.load_table(name).scan().to_arrow().select(list(columns)).to_pylist()
    return expected.normalized(columns, [tuple(row.values()) for row in utc(rows)])


def utc(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [
        {k: v.astimezone(UTC) if isinstance(v, datetime) else v for k, v in row.items()}
        for row in rows
    ]


def assert_holds(catalog: Catalog, wanted: Landed) -> None:
    for name, rows in wanted.items():
        assert loaded(catalog, name, rows.columns) == rows, name


@pytest.mark.full
def test_landing_two_days_lands_exactly_what_upstream_had_committed(lake: SqlCatalog) -> None:
    assert_holds(lake, expected.landed_rows(TWO_DAYS))


@pytest.mark.full
@pytest.mark.parametrize("name", STREAMS)
def test_each_landed_hour_is_one_iceberg_snapshot_of_one_partition(
    lake: SqlCatalog, name: str
) -> None:
    table = lake.load_table(name)
    rows = table.scan().to_arrow().to_pylist()
    by_hour = Counter((row["landing_date"], row["landing_hour"], row["batch_id"]) for row in rows)
    added = [
        int(snapshot.summary["added-records"] or 0)
        for snapshot in table.metadata.snapshots
        if snapshot.summary
    ]
    assert added == [by_hour[hour] for hour in sorted(by_hour)]
    assert all(f"{d:%Y%m%d}T{h:02d}" == batch for d, h, batch in by_hour)


@pytest.mark.full
@pytest.mark.parametrize("name", STREAMS)
def test_streams_are_v2_partitioned_by_landing_and_declare_what_they_are_valid_to(
    lake: SqlCatalog, name: str
) -> None:
    table = lake.load_table(name)
    event_time = "observed_at" if name == "raw.weather" else "scheduled_departure"
    assert table.metadata.format_version == 2
    assert [(field.name, str(field.transform)) for field in table.spec().fields] == [
        ("landing_date", "identity"),
        ("landing_hour", "identity"),
        ("batch_id", "identity"),
    ]
    assert table.properties["vde.valid-to"] == "2013-01-03T00:00:00+00:00"
    for column in ("event_landing_ts", event_time):
        assert table.properties[f"write.metadata.metrics.column.{column}"] == "full"


@pytest.mark.full
def test_landing_again_changes_nothing(lake: SqlCatalog) -> None:
    before = {name: lake.load_table(name).metadata_location for name in STREAMS}
    summary = landing.land(lake, until=TWO_DAYS)
    earlier = landing.land(lake, until=EVENING)
    assert summary.rows_landed == earlier.rows_landed == 0
    assert {name: lake.load_table(name).metadata_location for name in STREAMS} == before


@pytest.mark.full
def test_airports_and_planes_are_landed_once_in_one_snapshot(lake: SqlCatalog) -> None:
    for name, count in (("raw.airports", 1_458), ("raw.planes", 3_322)):
        table = lake.load_table(name)
        assert len(table.metadata.snapshots) == 1
        assert table.scan().to_arrow().num_rows == count


@pytest.mark.full
def test_landing_in_steps_equals_landing_at_once(tmp_path: Path, morning: Landed) -> None:
    catalog = open_lake(tmp_path)
    for hour in (0, 5, 11, 12, 14, 15):
        until = datetime(2013, 1, 1, hour, tzinfo=UTC)
        summary = landing.land(catalog, until=until)
        streams = [table for table in summary.tables if table.valid_to is not None]
        assert [table.valid_to for table in streams] == [until] * 3
    assert_holds(catalog, morning)


@pytest.mark.full
def test_progress_is_reported_once_per_table_and_hour_in_order(tmp_path: Path) -> None:
    seen: list[landing.LandingProgress] = []
    summary = landing.land(open_lake(tmp_path), until=MORNING, report=seen.append)
    hours = [datetime(2013, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(1, 16)]
    for table in summary.tables[:3]:
        reports = [progress for progress in seen if progress.table == table.table]
        assert [progress.landed_to for progress in reports] == hours
        assert (reports[-1].rows, reports[-1].snapshots) == (table.rows, table.snapshots)


@pytest.mark.full
@pytest.mark.parametrize(
    "until, advice",
    [
        (datetime(2013, 1, 4), "has no zone"),
        (datetime(2013, 1, 4, 0, 30, tzinfo=UTC), "whole hour"),
        (datetime(2012, 12, 31, 23, tzinfo=UTC), "2014-01-01T09:00:00"),
        (datetime(2014, 1, 1, 10, tzinfo=UTC), "2014-01-01T09:00:00"),
    ],
)
def test_an_until_that_cannot_be_landed_is_refused_before_anything_is_written(
    tmp_path: Path, until: datetime, advice: str
) -> None:
    catalog = open_lake(tmp_path)
    with pytest.raises(ValueError, match=advice):
        landing.land(catalog, until=until)
    assert catalog.list_namespaces() == []


COMMITS = {"first": 0, "first-of-a-stream": 2, "first-hour-of-all": 7, "last-hour": 16}


@pytest.mark.full
@pytest.mark.parametrize("fail_at", COMMITS.values(), ids=COMMITS)
@pytest.mark.parametrize("applied", [False, True])
def test_a_landing_that_died_around_a_commit_ends_with_exact_rows_when_run_again(
    tmp_path: Path, morning: Landed, *, applied: bool, fail_at: int
) -> None:
    killed = FlakyCatalog(tmp_path, OSError("killed"), fail_at=fail_at, applied=applied)
    with pytest.raises(OSError, match="killed"):
        landing.land(killed, until=MORNING)
    landing.land(open_lake(tmp_path), until=MORNING)
    assert_holds(open_lake(tmp_path), morning)


@pytest.mark.full
@pytest.mark.parametrize(
    "error, applied",
    [
        (CommitFailedException("lost"), False),
        (CommitStateUnknownException("no answer"), False),
        (CommitStateUnknownException("no answer"), True),
    ],
)
@pytest.mark.parametrize("fail_at", [0, 5, 12])
def test_a_lost_race_or_a_lost_answer_is_read_again_and_landing_goes_on(
    tmp_path: Path, morning: Landed, *, error: Exception, applied: bool, fail_at: int
) -> None:
    catalog = FlakyCatalog(tmp_path, error, fail_at=fail_at, applied=applied)
    landing.land(catalog, until=MORNING)
    assert catalog.commits > fail_at
    assert_holds(open_lake(tmp_path), morning)


@pytest.mark.full
def test_a_table_of_another_maker_is_refused(tmp_path: Path) -> None:
    catalog = open_lake(tmp_path)
    catalog.create_namespace("raw")
    schema = landing._schema(landing.DEPARTURE_COLUMNS)
    catalog.create_table("raw.departures", schema=schema)
    with pytest.raises(landing.LandingBlockedError, match="not made by this landing"):
        landing.land(catalog, until=MORNING)
