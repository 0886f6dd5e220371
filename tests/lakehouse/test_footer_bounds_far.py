"""A file with a time that Python has no date for."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import FileFormat

from vde_dagster.lakehouse.footer_bounds import footer_bounds


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
