"""Recording that a version's table does not exist any more, so that its next rows are the first."""

from __future__ import annotations

from vde_dagster.app.services import Services
from vde_dagster.core.ledger.unit_of_work import Intent, Publication
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.state import Lease


def record_dropped(services: Services, environment: str, key: VersionKey, *, lease: Lease) -> None:
    """Record a unit of work that published nothing and left no Iceberg snapshot behind.

    It is the last one that is recorded, so the version has no head any more. What was loaded has to
    be outdated before. Nothing is done if the table is there, or if no head is recorded.

    Raises:
        LeaseLost: Another process took over the version's lease, and records it.
    """
    recorded = services.state.heads([key]).get(key)
    if recorded is None or services.catalog.table(key.table) is not None:
        return
    holding = services.state.holdings([key]).get(key)
    work_id = services.ids.new()
    intent = Intent(
        work_id=work_id,
        key=key,
        environment=environment,
        intervals=holding.written if holding is not None else (),
        inputs={},
        base=recorded,
        execution_time=services.clock.now(),
    )
    columns = holding.columns if holding is not None else ()
    nothing = Publication(iceberg_snapshot_id=None, changes=(), columns=columns, marks_stay=True)
    services.state.record_intent(intent, lease=lease)
    services.state.record_staged(work_id, nothing, lease=lease)
    services.state.finalize(work_id, lease=lease)
