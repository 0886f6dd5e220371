"""Which columns Iceberg can partition and sort by, from its specification's table of transforms."""

from __future__ import annotations

import pytest

from vde_dagster.core.model.partition_types import layout_problems
from vde_dagster.core.model.storage import PartitionField, Storage, Transform

TIMES = ("date", "timestamp", "timestamp_ntz")
FITS = {
    Transform.IDENTITY: (*TIMES, "int", "bigint", "smallint", "string", "varchar(3)", "boolean",
                         "double", "decimal(9,2)", "binary"),
    Transform.BUCKET: (*TIMES, "int", "bigint", "smallint", "string", "decimal(9,2)", "binary",
                       "varchar(3)"),
    Transform.TRUNCATE: ("int", "bigint", "smallint", "string", "varchar(3)", "decimal(9,2)",
                         "binary"),
    Transform.YEARS: TIMES,
    Transform.MONTHS: TIMES,
    Transform.DAYS: TIMES,
    Transform.HOURS: ("timestamp", "timestamp_ntz"),
}  # fmt: skip
EVERY = sorted({name for names in FITS.values() for name in names})
NESTED = ("array<int>", "map<string,int>", "struct<a:int>")


@pytest.mark.parametrize("transform", Transform)
def test_a_transform_takes_the_types_of_the_specification(transform: Transform) -> None:
    storage = Storage(partitioned_by=(PartitionField(column="c", transform=transform),))
    fit = [each for each in (*EVERY, *NESTED) if not layout_problems(storage, {"c": each})]
    assert fit == sorted(FITS[transform])
    assert layout_problems(storage, {"c": "unknown"}) == ()


def test_every_misfit_is_reported_with_what_to_do() -> None:
    storage = Storage(
        partitioned_by=(
            PartitionField(column="Day", transform=Transform.HOURS),
            PartitionField(column="gone"),
        ),
        clustered_by=("tree", "day", "lost"),
    )
    found = layout_problems(storage, {"day": "date", "tree": "struct<a:int>"})
    assert [each.message for each in found] == [
        "Iceberg cannot partition by hours(Day), because Day is of type date",
        "it is partitioned by gone, but has no column gone",
        "Iceberg cannot sort by tree, which is of type struct<a:int>",
        "it is clustered by lost, but has no such column",
    ]
    assert [each.advice for each in found] == [
        "Write days of a DATE, or make the column a TIMESTAMP.",
        "",
        "Cluster by a column of a simple type.",
        "",
    ]
