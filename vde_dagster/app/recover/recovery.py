"""Finishing or undoing what an earlier process began on a version (rule R5).

Only the state and the catalog's metadata are read and written here, so no JVM is started.
"""

from __future__ import annotations

from vde_dagster.app.publish.publishing import give_up, publish, record
from vde_dagster.app.services import Services
from vde_dagster.core.ledger.unit_of_work import Publication, UnitOfWork, UnitOfWorkState
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.catalog import TableMoved
from vde_dagster.ports.state import Lease


def recover(services: Services, key: VersionKey, lease: Lease) -> tuple[UnitOfWork, ...]:
    """Finish or undo what an earlier process began on a version. Starts no JVM.

    What was staged completely is published and recorded, unless the table has moved since; what was
    only intended is dropped.

    Returns:
        What was finished, oldest first.

    Raises:
        Conflict: The table's catalog or the state is busy; the next run does the rest.
        OutcomeUnknown: An answer was lost; the next run does the rest.
    """
    finished: list[UnitOfWork] = []
    for work in services.state.open_work(key):
        if work.state is not UnitOfWorkState.STAGED or work.publication is None:
            reason = "its process ended before anything was staged"
            give_up(services, key, work.intent.work_id, reason=reason, lease=lease)
        elif _finish(services, work, work.publication, lease):
            finished.append(work)
    return tuple(finished)


def _finish(services: Services, work: UnitOfWork, publication: Publication, lease: Lease) -> bool:
    """Publish and record what was staged; give it up only if it can never be published."""
    intent = work.intent
    try:
        publish(services, intent.key, intent.base, publication)
    except TableMoved as error:
        give_up(services, intent.key, intent.work_id, reason=str(error), lease=lease)
        return False
    record(services, intent.environment, intent.key, intent.work_id, publication, lease=lease)
    return True
