"""Lands the events of a small streaming service, in three deliveries.

`first` are the events of the hours 0 to 5, as they came. `late` is what lands in hours 6 and 7:
signups and plans of hour 6, with some of the hours 2 and 3 that were held up, and cancels of the
hours 6 and 7, with one of hour 5. `rest` completes hour 7. `converging` has one more late plan,
which changes nothing from hour 4 on, and the hour 8.

Each delivery of a table is one Iceberg snapshot, together with the property `vde.valid-to`, which
says up to when the table is complete. A delivery that was landed is not landed again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DateType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

NAMESPACE = "raw"
VALID_TO = "vde.valid-to"
DELIVERED = "lifecycle.delivered"
MIDNIGHT = datetime(2023, 9, 14, tzinfo=UTC)

LANDING: Mapping[str, IcebergType] = {
    "event_landing_ts": TimestamptzType(),
    "landing_date": DateType(),
    "landing_hour": IntegerType(),
    "batch_id": StringType(),
}
COLUMNS: Mapping[str, Mapping[str, IcebergType]] = {
    "signups": {"account_id": LongType(), "happened_at": TimestamptzType(), **LANDING},
    "plans": {
        "account_id": LongType(),
        "change": StringType(),
        "happened_at": TimestamptzType(),
        **LANDING,
    },
    "cancel_requests": {"account_id": LongType(), "happened_at": TimestamptzType(), **LANDING},
    "cancels": {"account_id": LongType(), "processing_ts": TimestamptzType(), **LANDING},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What lands in one hour: by table the events (account, hour of the event, change of plan).

    ``until`` is the hour up to which each table is complete afterwards.
    """

    name: str
    lands_in: int
    until: Mapping[str, int]
    events: Mapping[str, Sequence[tuple[object, ...]]] = field(default_factory=dict)


DELIVERIES = (
    Delivery(
        name="first",
        lands_in=5,
        until=dict.fromkeys(COLUMNS, 6),
        events={
            "signups": [(hour + 1, hour + 0.1) for hour in range(6)],
            "plans": [(1, 1.4, "upgraded"), (2, 4.5, "upgraded"), (1, 5.2, "downgraded")],
            "cancel_requests": [(3, 2.7), (4, 4.2)],
            "cancels": [(3, 3.6), (5, 5.3)],
        },
    ),
    Delivery(
        name="late",
        lands_in=7,
        until={"signups": 7, "plans": 7, "cancel_requests": 8, "cancels": 8},
        events={
            "signups": [(20, 2.2), (30, 3.3), (60, 6.1)],
            "plans": [(20, 2.8, "upgraded"), (30, 3.9, "upgraded"), (60, 6.4, "upgraded")],
            "cancel_requests": [(60, 6.6)],
            "cancels": [(4, 5.8), (60, 6.9), (1, 7.2)],
        },
    ),
    Delivery(
        name="rest",
        lands_in=8,
        until={"signups": 8, "plans": 8, "cancel_requests": 8, "cancels": 8},
        events={"signups": [(70, 7.5)], "plans": [(70, 7.6, "upgraded")]},
    ),
    Delivery(
        name="converging",
        lands_in=9,
        until=dict.fromkeys(COLUMNS, 9),
        events={
            # Account 2 is upgraded in hour 4 in any case.
            "plans": [(2, 3.5, "upgraded")],
            "signups": [(80, 8.1)],
            "cancel_requests": [(6, 8.2)],
            "cancels": [(6, 8.3)],
        },
    ),
)
NAMES = tuple(each.name for each in DELIVERIES)


def land(catalog: Catalog, delivery: str) -> dict[str, int]:
    """Land a delivery, after those before it; what was landed already stays as it is.

    Args:
        catalog: The project's catalog.
        delivery: One of `NAMES`.

    Returns:
        How many events each table got.
    """
    landed = dict.fromkeys(COLUMNS, 0)
    for each in DELIVERIES[: NAMES.index(delivery) + 1]:
        for name in COLUMNS:
            landed[name] += _deliver(catalog, name, each)
    return landed


def _deliver(catalog: Catalog, name: str, delivery: Delivery) -> int:
    """One delivery of a table: its rows and properties, in one commit. It counts the rows."""
    table = _table(catalog, name)
    landed = table.properties.get(DELIVERED, "").split()
    if delivery.name in landed:
        return 0
    rows = [_row(name, delivery, event) for event in delivery.events.get(name, ())]
    until = MIDNIGHT + timedelta(hours=delivery.until[name])
    with table.transaction() as commit:
        if rows:
            commit.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
        commit.set_properties(
            {DELIVERED: " ".join([*landed, delivery.name]), VALID_TO: until.isoformat()}
        )
    return len(rows)


def _row(name: str, delivery: Delivery, event: tuple[object, ...]) -> dict[str, object]:
    account, hour, *change = event
    assert isinstance(hour, float)
    time = "processing_ts" if name == "cancels" else "happened_at"
    landed = MIDNIGHT + timedelta(hours=delivery.lands_in, minutes=59)
    found = {
        "account_id": account,
        time: MIDNIGHT + timedelta(hours=hour),
        "event_landing_ts": landed,
        "landing_date": landed.date(),
        "landing_hour": delivery.lands_in,
        "batch_id": f"{name}-{delivery.name}",
    }
    return found | ({"change": change[0]} if change else {})


def _table(catalog: Catalog, name: str) -> Table:
    """A raw table, partitioned by landing date, hour and batch; it is made if it is missing."""
    identifier = (NAMESPACE, name)
    catalog.create_namespace_if_not_exists(NAMESPACE)
    if not catalog.table_exists(identifier):
        columns = COLUMNS[name]
        fields = [
            NestedField(number, column, kind, required=False)
            for number, (column, kind) in enumerate(columns.items(), start=1)
        ]
        numbers = {each.name: each.field_id for each in fields}
        spec = PartitionSpec(
            *(
                PartitionField(numbers[column], 1000 + at, IdentityTransform(), column)
                for at, column in enumerate(("landing_date", "landing_hour", "batch_id"))
            )
        )
        catalog.create_table(
            identifier,
            Schema(*fields),
            partition_spec=spec,
            properties={"format-version": "2", VALID_TO: MIDNIGHT.isoformat()},
        )
    return catalog.load_table(identifier)


def main(arguments: Iterable[str] | None = None) -> None:
    """Land a delivery in the catalog of the project in this folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("delivery", choices=NAMES)
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    from vde_dagster import VdeProject

    project = VdeProject.load(Path(__file__).parent)
    landed = land(project.iceberg_catalog(), chosen.delivery)
    for name, events in landed.items():
        print(f"{NAMESPACE}.{name}: {events} new")


if __name__ == "__main__":
    main()
