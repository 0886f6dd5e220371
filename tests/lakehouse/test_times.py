"""A function whose rows are all outside of the interval: never recorded without a word."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from tests.lakehouse.conftest import DAY, NOW
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.unit_of_work import PythonRows
from vde_dagster.core.model.writes import OverwriteIntervals, TimeAxisSpec
from vde_dagster.core.time.intervals import IntervalUnit

if TYPE_CHECKING:
    from tests.lakehouse.conftest import Lake

pytestmark = pytest.mark.spark


def stage(lake: Lake, axis_type: str, time_format: str, *values: str) -> int:
    """How many rows are loaded of the first of January by a function that returns these times."""
    returned = " UNION ALL ".join(f"SELECT {each} AS d" for each in values) or (
        f"SELECT CAST(NULL AS {axis_type}) AS d WHERE FALSE"
    )
    function = PythonRows(
        source=f"def days(context):\n    return context.spark.sql({returned!r})\n",
        function="days",
        path="models/m/days.py",
        interval=DAY,
        execution_time=NOW,
    )
    axis = TimeAxisSpec(column="d", type=axis_type, unit=IntervalUnit.DAY, format=time_format)
    write = OverwriteIntervals(intervals=(DAY,), axis=axis)
    columns = (Column(name="d", type=axis_type),)
    staged = lake.engine.stage(lake.staging(function, write=write, columns=columns))
    return sum(each.rows for sums in staged.sums for each in sums.values())


@pytest.mark.parametrize(
    "axis_type,time_format,values,example",
    [
        ("string", "'%Y-%m-%d'", ("'2024-01-01'",), "'2024-01-01'"),
        ("string", "%Y%m%d", ("'2024-01-01'", "'2024-01-02'"), "'2024-01-01'"),
        ("string", "", ("'01.01.2024'", "NULL"), "'01.01.2024'"),
        ("string", "%Y-%m-%d", ("' 2024-01-01'",), "' 2024-01-01'"),
        ("bigint", "%Y%m%d", ("1704067200",), "'1704067200'"),
        ("bigint", "%Y%m%d", ("170406",), "'170406'"),
        ("date", "", ("CAST(NULL AS DATE)",), "None"),
        ("timestamp", "", ("CAST(NULL AS TIMESTAMP)",), "None"),
    ],
)  # fmt: skip
def test_rows_without_any_time_are_refused(
    lake: Lake, axis_type: str, time_format: str, values: tuple[str, ...], example: str
) -> None:
    with pytest.raises(EvaluationFailed) as found:
        stage(lake, axis_type, time_format, *values)
    assert "models/m/days.py: days returns" in str(found.value)
    assert f"but {example}, for example" in str(found.value)


@pytest.mark.parametrize(
    "axis_type,time_format,values,words",
    [
        ("date", "", ("DATE '2024-02-01'", "DATE '2023-12-31'"), "from 2023-12-31 to 2024-02-01"),
        ("timestamp", "", ("TIMESTAMP '2024-01-02 00:00:00Z'",), "from 2024-01-02 00:00:00"),
        ("string", "%Y%m%d", ("'20240201'", "'other'"), "from 20240201 to other"),
        ("string", "", ("'2024-02-01T10:00:00'",), "from 2024-02-01T10:00:00"),
        ("bigint", "%Y%m%d", ("20240201",), "from 20240201 to 20240201"),
    ],
)  # fmt: skip
def test_times_that_are_all_outside_are_told(
    lake: Lake,
    caplog: pytest.LogCaptureFixture,
    axis_type: str,
    time_format: str,
    values: tuple[str, ...],
    words: str,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert stage(lake, axis_type, time_format, *values) == 0
    (record,) = [each for each in caplog.records if each.name.startswith("vde_dagster")]
    assert "models/m/days.py: days returns" in record.getMessage()
    assert words in record.getMessage()


@pytest.mark.parametrize(
    "axis_type,values,loaded",
    [
        ("date", ("DATE '2024-01-01'", "DATE '2023-12-31'", "CAST(NULL AS DATE)"), 1),
        ("string", ("'2024-01-01'", "'other'"), 1),
        ("string", (), 0),
    ],
)
def test_rows_of_the_interval_and_none_at_all_are_loaded_without_a_word(
    lake: Lake,
    caplog: pytest.LogCaptureFixture,
    axis_type: str,
    values: tuple[str, ...],
    loaded: int,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert stage(lake, axis_type, "", *values) == loaded
    assert not [each for each in caplog.records if each.name.startswith("vde_dagster")]
