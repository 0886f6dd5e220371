"""What a unit of work reads is kept while it runs, or it does not begin to read it (rule R3).

The intent names what is read before anything is; `vde maintain` announces what it is about to
remove before it looks at intents. So whoever looks second sees the other one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vde_dagster.app.publish.publishing import give_up
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict
from vde_dagster.core.ledger.unit_of_work import AsOf, Input, RowsWithin, Staging
from vde_dagster.core.model.snapshot import VersionKey, version_of
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.ports.state import Lease


def pinned_beside(staging: Staging) -> tuple[int, ...]:
    """The Iceberg snapshots of versions that audits and statements read, sorted."""
    return tuple(sorted({at for _, _, at in _pinned(_beside(staging))}))


def read_beside(staging: Staging) -> dict[ModelName, int | None]:
    """At which Iceberg snapshot audits and statements read each model and source."""
    return {
        _name_of(each.table): each.iceberg_snapshot_id
        for each in _beside(staging)
        if isinstance(each, AsOf)
    }


def check_pins_stay(services: Services, staging: Staging, *, lease: Lease) -> None:
    """Give a unit of work up, once its intent is recorded, if something that it reads may expire.

    That is only looked up for what is not the recorded head of its version: a head never expires.

    Raises:
        Conflict: It may; nothing was computed.
    """
    every = [input_ for part in staging.parts for input_ in part.inputs.values()]
    pinned = sorted(set(_pinned((*every, *_beside(staging)))))
    heads = services.state.heads({key for key, _, _ in pinned}) if pinned else {}
    for key, table, at in pinned:
        if heads.get(key) != at and not services.catalog.stays(table, at):
            reason = f"the Iceberg snapshot {at} of {table}, which it reads, has expired meanwhile"
            give_up(services, staging.target, staging.work_id, reason=reason, lease=lease)
            raise Conflict(
                f"{staging.target.model} was not computed: {reason}",
                advice=f"run it again: it then reads {key.model} as it is by then.",
            )


def _beside(staging: Staging) -> tuple[Input, ...]:
    """What audits and statements read."""
    return (*staging.audit_inputs.values(), *staging.statement_inputs.values())


def _name_of(table: TableName) -> ModelName:
    """The model that a table is a version of, or else the source that it is."""
    key = version_of(table)
    return key.model if key is not None else ModelName(table.namespace, table.name, table.catalog)


def _pinned(inputs: Iterable[Input]) -> Iterator[tuple[VersionKey, TableName, int]]:
    """The versions' tables among some inputs, and the Iceberg snapshots at which they are read."""
    for each in inputs:
        if isinstance(each, AsOf | RowsWithin) and each.iceberg_snapshot_id is not None:
            key = version_of(each.table)
            if key is not None:
                yield key, each.table, each.iceberg_snapshot_id
