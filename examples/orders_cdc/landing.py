"""Lands the changes of a shop's orders, in three deliveries.

`first` are two days of changes as they happened. `late` has changes of the first day that were held
up, some that came before already, and a delete. `older` has a change of the order that was deleted,
from before that.

Each delivery is one Iceberg snapshot, together with the property `vde.valid-to`, which says up to
when the feed is complete. A delivery that was landed is not landed again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog

FEED = ("raw", "order_changes")
VALID_TO = "vde.valid-to"
DELIVERED = "orders.delivered"
START = datetime(2024, 3, 1, tzinfo=UTC)
COLUMNS = pa.schema(
    [
        ("order_id", pa.int64()),
        ("status", pa.string()),
        ("amount", pa.decimal128(10, 2)),
        ("op", pa.string()),
        ("changed_at", pa.timestamp("us", "UTC")),
        ("change_id", pa.int64()),
    ]
)
Change = tuple[int, int, str, str, str, float]
"""Its number, the order, what it does, the status, the amount, and the hour since the start."""

FIRST: tuple[Change, ...] = (
    (1, 1, "I", "placed", "20.00", 9.0),
    (2, 2, "I", "placed", "35.50", 10.0),
    (4, 1, "U", "shipped", "20.00", 20.0),
    (5, 3, "I", "placed", "12.00", 30.0),
    (7, 2, "U", "shipped", "33.00", 33.0),
    (8, 3, "U", "paid", "12.00", 34.0),
)
LATE: tuple[Change, ...] = (
    (3, 1, "U", "paid", "20.00", 12.0),  # between two changes that are known
    (4, 1, "U", "shipped", "20.00", 20.0),  # once more
    (6, 2, "U", "paid", "35.50", 31.0),
    (9, 3, "D", "paid", "12.00", 40.0),  # the order is withdrawn
    (10, 4, "I", "placed", "8.00", 41.0),
)
OLDER: tuple[Change, ...] = ((11, 3, "U", "placed", "14.00", 32.0),)
DELIVERIES = {"first": (FIRST, 36.0), "late": (LATE, 42.0), "older": (OLDER, 42.0)}


def land(catalog: Catalog, delivery: str) -> int:
    """Land a delivery, after those before it; what was landed already stays as it is.

    Returns:
        How many changes the feed got.
    """
    rows = 0
    catalog.create_namespace_if_not_exists(FEED[0])
    table = catalog.create_table_if_not_exists(FEED, COLUMNS)
    for name, (changes, until) in DELIVERIES.items():
        landed = table.properties.get(DELIVERED, "").split()
        if name not in landed:
            complete_to = START + timedelta(hours=until)
            with table.transaction() as commit:
                commit.append(pa.Table.from_pylist([*map(_row, changes)], schema=COLUMNS))
                commit.set_properties(
                    {DELIVERED: " ".join([*landed, name]), VALID_TO: complete_to.isoformat()}
                )
            rows += len(changes)
        if name == delivery:
            break
    return rows


def _row(change: Change) -> dict[str, object]:
    number, order, does, status, amount, hour = change
    return {
        "order_id": order,
        "status": status,
        "amount": Decimal(amount),
        "op": does,
        "changed_at": START + timedelta(hours=hour),
        "change_id": number,
    }


def main(arguments: Iterable[str] | None = None) -> None:
    """Land a delivery in the catalog of the project in this folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("delivery", choices=DELIVERIES)
    chosen = parser.parse_args(None if arguments is None else list(arguments))
    from vde_dagster import VdeProject

    project = VdeProject.load(Path(__file__).parent)
    landed = land(project.iceberg_catalog(), chosen.delivery)
    print(f"{'.'.join(FEED)}: {landed} new")


if __name__ == "__main__":
    main()
