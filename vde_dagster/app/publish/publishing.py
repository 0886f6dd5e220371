"""Publishing what is staged, and recording it (rules R4 and R5).

Only the state and the catalog's metadata are read and written here, so no JVM is started.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Final

from vde_dagster.app.publish.shown_views import show_first
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, OutcomeUnknown
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.unit_of_work import Intent, Publication, UnitOfWorkState, why_given_up
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.state import Lease

_LOG: Final = logging.getLogger(__name__)


def publish(
    services: Services, key: VersionKey, base: int | None, publication: Publication
) -> None:
    """Let readers see what is staged on ``base``; does nothing if they already do.

    Raises:
        TableMoved: It can never be published.
        Conflict: Other commits kept getting in first; nothing was published.
        OutcomeUnknown: The answer was lost.
    """
    if publication.iceberg_snapshot_id is not None:
        services.catalog.publish(key.table, base=base, staged=publication.iceberg_snapshot_id)


def record(
    services: Services,
    environment: str,
    key: VersionKey,
    work_id: str,
    publication: Publication,
    *,
    lease: Lease,
) -> tuple[LedgerEntry, ...]:
    """Record what is published; a version's first rows get their view before that.

    Returns the entries of the intervals that were set.

    Raises:
        LeaseLost: Another process took over the version's lease, and records it.
    """
    if not services.state.holdings([key]):
        show_first(services, environment, key, publication.columns)
    recorded = services.state.finalize(work_id, lease=lease)
    _drop_closed_branches(services, key)
    return recorded


def give_up(
    services: Services, key: VersionKey, work_id: str, *, reason: str, lease: Lease
) -> None:
    """Drop what a unit of work staged, which will never be published.

    Raises:
        LeaseLost: Another process took over the version's lease, and decides.
    """
    services.catalog.drop_branch(key.table, work_id)
    services.state.abandon(work_id, reason=reason, lease=lease)


def give_up_after(
    services: Services, key: VersionKey, work_id: str, error: Exception, *, lease: Lease
) -> None:
    """Give up a unit of work that failed, and whose error is raised next.

    What made it fail, as a full disk, may keep its branch from being removed, too. Then the error
    is still the one to tell, and the next unit of work of the version gives this one up.

    Raises:
        LeaseLost: Another process took over the version's lease, and decides.
    """
    with suppress(OutcomeUnknown):
        give_up(services, key, work_id, reason=why_given_up(error), lease=lease)


def _drop_closed_branches(services: Services, key: VersionKey) -> None:
    """Remove the branches of all units of work that are done or abandoned.

    They are those of work that changed nothing, those that an audit refused, and those of processes
    that wrote on after another one took over their lease. Closed work is never reopened, so this is
    safe even if the lease is lost by now.

    All is recorded already, so a branch that cannot be removed is not a failure: the next unit of
    work that is recorded removes it.
    """
    try:
        for work_id in services.catalog.branches(key.table):
            work = services.state.work(work_id)
            if work is not None and work.state in (UnitOfWorkState.DONE, UnitOfWorkState.ABANDONED):
                services.catalog.drop_branch(key.table, work_id)
    except (Conflict, OutcomeUnknown) as error:
        _LOG.warning(
            "a branch of %s was not removed; the next run removes it: %s", key.table, error
        )


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
