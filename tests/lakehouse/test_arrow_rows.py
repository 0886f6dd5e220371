"""Rows read by pyiceberg, by time columns of every type; more is in test_catalog_contract.py."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.names import TableName
from vde_dagster.core.time.intervals import ALWAYS, Interval, IntervalUnit
from vde_dagster.lakehouse.catalogs.iceberg_catalog import open_iceberg_catalog
from vde_dagster.lakehouse.iceberg.arrow_rows import arrow_rows
from vde_dagster.ports.engine import TableRows

START = datetime(2013, 1, 1, tzinfo=UTC)
DAY = Interval(START, START + timedelta(days=1))
TYPES = {
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "string": pa.string(),
    "bigint": pa.int64(),
}
LATE = timedelta(hours=23)


@pytest.mark.parametrize(
    "type_name, time_format, values",
    [
        ("date", "", [date(2012, 12, 31), date(2013, 1, 1), date(2013, 1, 2)]),
        ("timestamp", "", [START - timedelta(hours=1), START + LATE, DAY.end]),
        ("timestamp_ntz", "", [datetime(2012, 12, 31, 23), datetime(2013, 1, 1, 23), None]),
        ("string", "", ["2012-12-31", "2013-01-01", "2013-01-02"]),
        ("string", "%Y%m%d", ["20121231", "20130101", "20130102"]),
        ("bigint", "%Y%m%d", [20121231, 20130101, 20130102]),
    ],
)
def test_a_day_is_read_by_a_time_of_any_type(
    tmp_path: Path, type_name: str, time_format: str, values: list[object]
) -> None:
    uri = f"sqlite:///{tmp_path}/lake.db"
    catalog = open_iceberg_catalog("lake", {"type": "sql", "uri": uri, "warehouse": str(tmp_path)})
    catalog.create_namespace("raw")
    rows = pa.table({"id": [1, 2, 3], "Day": pa.array(values, type=TYPES[type_name])})
    table = catalog.create_table("raw.days", rows.schema)
    table.append(rows)
    axis = TimeAxisSpec(column="day", type=type_name, unit=IntervalUnit.DAY, format=time_format)

    def ids(*intervals: Interval) -> list[int]:
        wanted = TableRows(
            table=TableName("raw", "days"), axis=axis, intervals=intervals, columns=("id",)
        )
        found: list[int] = arrow_rows(table, wanted)["id"].to_pylist()
        return sorted(found)

    assert ids(DAY) == [2]
    assert ids(ALWAYS) == [number for number, value in zip((1, 2, 3), values, strict=True) if value]


class TableThatCannotBeRead:
    """A table with deletes that pyiceberg does not know, as it reports them."""

    def scan(self, **_: object) -> TableThatCannotBeRead:
        return self

    def to_arrow(self) -> pa.Table:
        raise ValueError("PyIceberg does not yet support equality deletes")


def test_what_pyiceberg_cannot_read_is_reported_with_what_can() -> None:
    said = r"^raw\.days cannot be read by pyiceberg: .* equality deletes\. Annotate the input with"
    with pytest.raises(EvaluationFailed, match=said):
        arrow_rows(TableThatCannotBeRead(), TableRows(table=TableName("raw", "days")))  # type: ignore[arg-type] # a fake
