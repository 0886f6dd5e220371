"""A function whose rows are all outside of the interval: refused, or recorded with a finding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp

from tests.lakehouse.conftest import DAY, python_rows
from vde_dagster.core.audits.values import Audit, EachRow
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import EvaluationFailed
from vde_dagster.core.ledger.unit_of_work import Staged, Staging
from vde_dagster.core.model.writes import OverwriteIntervals, TimeAxisSpec
from vde_dagster.core.time.intervals import IntervalUnit

if TYPE_CHECKING:
    from tests.lakehouse.conftest import Lake

pytestmark = pytest.mark.spark


def stage(lake: Lake, axis_type: str, time_format: str, *values: str) -> Staged:
    """What is staged of the first of January by a function that returns these times."""
    returned = " UNION ALL ".join(f"SELECT {each} AS d" for each in values) or (
        f"SELECT CAST(NULL AS {axis_type}) AS d WHERE FALSE"
    )
    body = f"return context.spark.sql({returned!r})"
    return lake.engine.stage(staging_of(lake, body, axis_type, time_format))


def staging_of(lake: Lake, body: str, axis_type: str, time_format: str = "") -> Staging:
    source = f"def days(context):\n    {body}\n"
    function = python_rows(source, function="days", path="models/m/days.py")
    axis = TimeAxisSpec(column="d", type=axis_type, unit=IntervalUnit.DAY, format=time_format)
    write = OverwriteIntervals(intervals=(DAY,), axis=axis)
    return lake.staging(function, write=write, columns=(Column(name="d", type=axis_type),))


def loaded(staged: Staged) -> int:
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
    assert f"for example {example}. Nothing was loaded" in str(found.value)


@pytest.mark.full
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
def test_times_that_are_all_outside_are_recorded(
    lake: Lake, axis_type: str, time_format: str, values: tuple[str, ...], words: str
) -> None:
    staged = stage(lake, axis_type, time_format, *values)
    (found,) = staged.audits
    assert (loaded(staged), found.passed, found.stops) == (0, False, False)
    assert "models/m/days.py: days returns" in found.message
    assert words in found.message


@pytest.mark.full
@pytest.mark.parametrize(
    "axis_type,values,rows",
    [
        ("date", ("DATE '2024-01-01'", "DATE '2023-12-31'", "CAST(NULL AS DATE)"), 1),
        ("string", ("'2024-01-01'", "'other'"), 1),
        ("string", (), 0),
        ("date", (), 0),
    ],
)
def test_rows_of_the_interval_and_none_at_all_are_loaded_without_a_word(
    lake: Lake, axis_type: str, values: tuple[str, ...], rows: int
) -> None:
    staged = stage(lake, axis_type, "", *values)
    assert (loaded(staged), staged.audits) == (rows, ())


@pytest.mark.full
@pytest.mark.parametrize(
    "day,rows", [("2024-01-01", 1), ("2024-02-01", 0), ("2023-02-01", 0)], ids=str
)
def test_the_rows_of_a_function_are_computed_once(
    lake: Lake, tmp_path: Path, day: str, rows: int
) -> None:
    computed = tmp_path / "computed"
    body = f"""
    def noted(batches):
        with open({str(computed)!r}, "a") as file:
            file.write("x")
        yield from batches
    one = context.spark.sql("SELECT DATE '{day}' AS d").coalesce(1)
    return one.mapInPandas(noted, "d date")"""
    assert loaded(lake.engine.stage(staging_of(lake, body, "date"))) == rows
    assert computed.read_text() == "x"


def test_the_finding_comes_behind_those_of_the_audits(lake: Lake) -> None:
    body = """return context.spark.sql("SELECT DATE '2024-02-01' AS d")"""
    audit = Audit(name="given", check=EachRow(fails=exp.true()))
    staging = replace(staging_of(lake, body, "date"), audits=(audit,))
    staged = lake.engine.stage(staging)
    assert [(each.name, each.passed) for each in staged.audits] == [
        ("given", True),
        ("rows_in_interval", False),
    ]
