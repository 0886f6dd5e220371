"""INCREMENTAL_BY_PARTITION: what a model may say, sentence by sentence.

What happens to rows is tested in `tests.lakehouse.kinds.test_by_partition`.
"""

from __future__ import annotations

import pytest

from tests.kinds.sentences.projects import inputs_of, problems, read, refusal, rows_of
from vde_dagster.core.model.kinds import IncrementalByPartition
from vde_dagster.core.model.storage import PartitionField, Transform
from vde_dagster.core.names import ModelName

REGION = """MODEL (
  name db.events,
  kind INCREMENTAL_BY_PARTITION,
  partitioned_by region,
  start '2024-01-01'
);
SELECT id, region, department, event_date FROM raw.rows
"""
UPDATED = """MODEL (
  name demo.by_partition,
  kind INCREMENTAL_BY_PARTITION,
  partitioned_by (region),
  start '2024-01-01'
);
WITH partitions_to_update AS (
  SELECT DISTINCT region FROM raw.rows WHERE event_date BETWEEN @start_ds AND @end_ds
)
SELECT id, region FROM raw.rows WHERE region IN (SELECT region FROM partitions_to_update)
"""
NAME = ModelName("db", "events")


def fields(written: str, header: str = "") -> tuple[PartitionField, ...]:
    text = REGION.replace("partitioned_by region", f"partitioned_by {written}{header}")
    return read(text).storage.partitioned_by


def test_it_needs_a_partitioning_key() -> None:
    (found,) = problems(REGION.replace("  partitioned_by region,\n", ""))
    assert "INCREMENTAL_BY_PARTITION" in found.message
    assert "needs partitioned_by" in found.message


def test_the_key_is_the_property_partitioned_by() -> None:
    assert read(REGION).kind == IncrementalByPartition()
    assert fields("region") == fields("(region)") == (PartitionField(column="region"),)


def test_a_key_may_have_several_columns() -> None:
    found = fields("(region, department)")
    assert found == (PartitionField(column="region"), PartitionField(column="department"))


@pytest.mark.parametrize(
    "written,header",
    [
        ("DATE_TRUNC(event_date, MONTH)", ", dialect bigquery"),
        ("DATE_TRUNC('month', event_date)", ""),
        ("months(event_date)", ""),
        ("(month(event_date))", ""),
    ],
)
def test_a_key_may_be_the_month_of_a_date(written: str, header: str) -> None:
    expected = PartitionField(column="event_date", transform=Transform.MONTHS)
    assert fields(written, header) == (expected,)


@pytest.mark.parametrize("written", ["region || department", "UPPER(region)", "LENGTH(region)"])
def test_a_key_that_iceberg_cannot_have_is_refused(written: str) -> None:
    found = refusal(REGION.replace("partitioned_by region", f"partitioned_by ({written})"))
    assert "not a partitioning that Iceberg supports" in found


def test_a_key_of_what_the_query_does_not_return_is_refused() -> None:
    found = refusal(REGION.replace("partitioned_by region", "partitioned_by (regoin)"))
    assert found == "the partitioned_by column 'regoin' is not among the columns"


@pytest.mark.parametrize(
    "kind",
    [
        "FULL",
        "INCREMENTAL_BY_TIME_RANGE (time_column event_date)",
        "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)",
        "INCREMENTAL_UNMANAGED",
    ],
)
def test_a_model_of_another_kind_may_have_partitions_too(kind: str) -> None:
    text = REGION.replace("INCREMENTAL_BY_PARTITION", kind).rstrip()
    model = read(f"{text} WHERE event_date BETWEEN @start_date AND @end_date")
    assert model.storage.partitioned_by == (PartitionField(column="region"),)
    assert not isinstance(model.kind, IncrementalByPartition)
    assert model.kind.is_whole == (kind == "FULL")


def test_a_range_of_time_may_choose_the_partitions_to_update() -> None:
    rows = [
        ["1", "0", "north", "a", "2024-01-01"],
        ["2", "0", "south", "a", "2024-01-02"],
        ["3", "0", "south", "a", "2023-05-06"],
        ["4", "0", "west", "a", "2024-01-03"],
    ]
    found = rows_of(UPDATED, start="2024-01-02", end="2024-01-03", data={"raw.rows": rows})
    assert found == [(2, "south"), (3, "south")]  # the whole partition, whatever its dates
    (read_of,) = inputs_of(UPDATED, start="2024-01-02", end="2024-01-03")
    assert read_of == ModelName("raw", "rows")
