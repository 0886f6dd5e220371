"""Naming the table whose files are gone from storage, where an evaluation failed for that.

`vde status` looks at no file, so this is where lost files are found by themselves. From then on
the files of that table are looked for by whoever looks, until its rows are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator

from vde_dagster.app.binding import Binding
from vde_dagster.app.publish.foreign_writes import (
    advice_on,
    head_damage,
    missing_rows,
    record_lost_files,
)
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.faults import Fault, fault_of
from vde_dagster.core.ledger.damage import described
from vde_dagster.core.ledger.unit_of_work import Staging
from vde_dagster.core.names import TableName


class DamagedInput(Refused):
    """An evaluation needs a version's table that cannot be read, since files of it are gone."""


def damaged_input(
    services: Services, binding: Binding, staging: Staging, error: Exception
) -> DamagedInput | None:
    """What an engine's error comes down to, if files of a version that was read are gone.

    Files are looked for only if the error says that one is not there.
    """
    found = fault_of(error)
    if found is None or found.fault not in (Fault.FILE_GONE, Fault.METADATA_GONE):
        return None
    versions = {each.key.table: each.key for each in binding.snapshots.values()}
    for key in (versions[table] for table in _tables(staging) if table in versions):
        recorded = services.state.heads([key]).get(key)
        damage = head_damage(services, key, recorded)
        if damage is None:
            damage = missing_rows(services, key, recorded)
            if damage is not None and key != staging.target:
                record_lost_files(services, binding.environment, key, damage)
        if damage is not None:
            model = binding.node(key.model).model
            return DamagedInput(
                f"{described(key, damage)}. {staging.target.model} was not computed",
                advice=advice_on(
                    services, key, damage, environment=binding.environment, model=model
                ),
            )
    return None


def _tables(staging: Staging) -> Iterator[TableName]:
    """The tables that a unit of work reads, its own one last."""
    for part in staging.parts:
        yield from (each.table for each in part.inputs.values())
    yield from (each.table for each in staging.audit_inputs.values())
    yield from (each.table for each in staging.statement_inputs.values())
    yield staging.target.table
