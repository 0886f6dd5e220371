"""Which of the tables that a unit of work read have other rows now, by metadata alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.evaluate.pinned_reading import pin
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.unit_of_work import AsOf
from vde_dagster.core.names import ModelName
from vde_dagster.ports.catalog import TableState


def changed_inputs(
    services: Services,
    binding: Binding,
    read: Mapping[ModelName, int | None],
    *,
    since: datetime,
) -> Iterator[tuple[ModelName, int | None]]:
    """The tables that were read and have other rows now, with their current Iceberg snapshots.

    A compaction changes no rows. A change of columns does, if one has become another one.

    Args:
        services: The ports.
        binding: Which version of each model is read.
        read: At which Iceberg snapshot each was read (`Intent.inputs`).
        since: When the unit of work began to read them.

    Raises:
        Refused: A source does not exist any more.
    """
    known = {name: at for name, at in read.items() if name in binding.graph}
    sources: dict[ModelName, TableState] = {}
    for name, now in pin(services, binding, sorted(known), {}, sources=sources).items():
        rows = _rows_at(services, now, now.iceberg_snapshot_id)
        others = name in sources and sources[name].may_have_replaced(known[name], since=since)
        if others or rows != _rows_at(services, now, known[name]):
            yield name, rows


def _rows_at(services: Services, table: AsOf, snapshot_id: int | None) -> int | None:
    if snapshot_id is None:
        return None
    return services.catalog.origin(table.table, snapshot_id)
