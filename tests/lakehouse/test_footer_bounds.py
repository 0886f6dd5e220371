"""Which times a table has whose Iceberg metadata has no bounds of the column, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import FileFormat

from vde_dagster.core.time.intervals import Interval
from vde_dagster.lakehouse.iceberg.row_changes import earliest, footer_bounds, latest, row_changes

if TYPE_CHECKING:
    from pyiceberg.table import Table

DAY: Final = timedelta(days=1)
TICK: Final = timedelta(microseconds=1)
FIRST, LAST = datetime(1969, 12, 31, 5, tzinfo=UTC), datetime(2024, 2, 29, 23, 59, tzinfo=UTC)

TYPES: Final[dict[str, tuple[pa.DataType, Sequence[object], Interval]]] = {
    "timestamptz": (pa.timestamp("us", "UTC"), [FIRST, LAST], Interval(FIRST, LAST + TICK)),
    "timestamp": (
        pa.timestamp("us"),
        [FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None)],
        Interval(FIRST, LAST + TICK),
    ),
    "date": (
        pa.date32(),
        [date(1969, 12, 31), date(2024, 2, 29)],
        Interval(datetime(1969, 12, 31, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
    ),
    "text": (
        pa.string(),
        ["1969-12-31T05", "2024-02-29T23:59"],
        Interval(datetime(1969, 12, 31, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
    ),
}
NONE: Final = {"write.metadata.metrics.default": "none"}


def table_of(
    folder: Path,
    values: Sequence[object],
    kind: pa.DataType,
    properties: dict[str, str],
    *,
    before: int,
) -> Table:
    """A table whose column `at` comes behind some others."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=folder.as_uri())
    catalog.create_namespace("raw")
    columns = {f"c{number}": pa.array([number] * len(values)) for number in range(before)}
    rows = pa.table({**columns, "at": pa.array(values, kind)})
    table = catalog.create_table("raw.events", rows.schema, properties=properties)
    table.append(rows)
    return table


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("metrics", ["full", "none", "counts"])
def test_times_are_known_whatever_the_metrics_leave_out(
    tmp_path: Path, name: str, metrics: str
) -> None:
    kind, values, wanted = TYPES[name]
    properties = {"write.metadata.metrics.column.at": metrics}
    table = table_of(tmp_path, values, kind, properties, before=1)
    assert (earliest(table, "AT"), latest(table, "AT")) == (wanted.start, wanted.end)
    assert [each.times for each in row_changes(table, after=None, column="at")] == [(wanted,)]


def test_each_file_counts(tmp_path: Path) -> None:
    kind, values, _ = TYPES["timestamptz"]
    table = table_of(tmp_path, values[:1], kind, NONE, before=0)
    table.append(pa.table({"at": pa.array([LAST], kind)}))
    assert latest(table, "at") == LAST + TICK
    assert [each.times for each in row_changes(table, after=None, column="at")] == [
        (Interval(LAST, LAST + TICK),),
        (Interval(FIRST, FIRST + TICK),),
    ]


def test_a_column_that_was_renamed_is_found(tmp_path: Path) -> None:
    kind, values, wanted = TYPES["timestamptz"]
    table = table_of(tmp_path, values, kind, NONE, before=2)
    with table.update_schema() as schema:
        schema.rename_column("at", "seen_at")
        schema.rename_column("c0", "at")
    assert latest(table, "seen_at") == wanted.end
    assert latest(table, "at") is None  # a number is no time


@pytest.mark.parametrize("properties", [{}, NONE], ids=["bounds", "none"])
def test_a_row_without_a_time_or_a_file_that_is_gone_leaves_it_unknown(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    kind, values, _ = TYPES["timestamptz"]
    table = table_of(tmp_path, [*values, None], kind, properties, before=0)
    assert latest(table, "at") is None
    table.overwrite(pa.table({"at": pa.array(values, kind)}))
    for file in tmp_path.rglob("*.parquet"):
        file.unlink()
    assert (latest(table, "at") is None) == (properties == NONE)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([253_402_300_800_000_005], pa.timestamp("us", tz="UTC")),
        pa.array([253_402_300_800_000_005], pa.timestamp("us")),
        pa.array([3_000_000], pa.date32()),
    ],
    ids=("timestamp", "timestamp_ntz", "date"),
)
def test_a_time_after_the_year_9999_has_no_bounds(values: Any, tmp_path: Path) -> None:
    field = pa.field("at", values.type, metadata={"PARQUET:field_id": "2"})
    path = str(tmp_path / "far.parquet")
    pq.write_table(pa.table([values], schema=pa.schema([field])), path)
    file: Any = SimpleNamespace(file_format=FileFormat.PARQUET, file_path=path)
    assert footer_bounds(PyArrowFileIO(), file, 2) is None
