"""The janitor: environments whose time is over, versions that nothing refers to, and old records.

Each step is recorded before the next, and each decides again on what is there. So it can be cut at
any point, and run at any time, next to plans, runs and promotions (rule R12).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from vde_dagster.app.clean_up.dropping import drop, finish_drops
from vde_dagster.app.clean_up.looking import Left, Look, look
from vde_dagster.app.leases import holder_of, leased
from vde_dagster.app.promote.promotion import remove_unused
from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.clean_up.sweeping import Sweep, by_version, readers
from vde_dagster.core.errors import Conflict
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.physical_layer import StoredFiles, StoredTable

RESOURCE: Final = "janitor"
"""The name of the lease that the janitor works under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A version that was dropped, and the files that it had."""

    key: VersionKey
    files: StoredFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What the janitor did.

    ``finished`` are versions whose drop an earlier process had begun, ``busy`` what others were at
    work on: it is looked at again the next time. ``branches`` are the units of work whose branch
    was removed, ``records`` how many old records were deleted.
    """

    removed: tuple[str, ...]
    swept: Sweep
    dropped: tuple[Dropped, ...]
    finished: tuple[VersionKey, ...]
    left: tuple[Left, ...]
    busy: tuple[str, ...]
    branches: tuple[str, ...]
    records: int


def clean_up(services: Services, times: Times) -> Cleaned:
    """Remove what is due, and mark what is unreachable for a later pass.

    Raises:
        Conflict: Another janitor is at work.
        OutcomeUnknown: An answer was lost; the next run does the rest.
    """
    holder = holder_of(services.ids, "the janitor")
    with leased(services.state, RESOURCE, holder=holder, ttl=services.lease_ttl):
        finished = finish_drops(services)
        before = look(services, times)
        removed, busy = _expire(services, before)
        found = look(services, times) if removed else before
        swept = services.state.record_sweep(found.views, times)
        dropped, written = _drop_due(services, found, swept, times)
        gone = {each.key for each in dropped}
        tables = [each for key, each in found.stored.items() if key not in gone]
        branches = _drop_branches(services, tables, times)
        rest = {each for table in tables for each in table.branches} - {*branches}
        return Cleaned(
            removed=removed,
            swept=swept,
            dropped=dropped,
            finished=tuple(each.key for each in finished),
            left=found.left,
            busy=(*busy, *written),
            branches=branches,
            records=services.state.prune(times.history, branches=rest),
        )


def _expire(services: Services, seen: Look) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Remove environments; returns those that were, and those that a process holds.

    Those that somebody has planned, promoted or removed since they were looked at are left.
    """
    removed, busy = list[str](), list[str]()
    for name in seen.expired:
        try:
            if remove_unused(services, name, used=seen.found.used[name]):
                removed.append(name)
        except Conflict:
            busy.append(f"environment {name}")
    return tuple(removed), tuple(busy)


def _drop_due(
    services: Services, found: Look, swept: Sweep, times: Times
) -> tuple[tuple[Dropped, ...], tuple[str, ...]]:
    """Drop what is due, views before tables; returns that, and what others write."""
    dropped, busy = list[Dropped](), list[str]()
    reading, gone = by_version(found.views), set[VersionKey]()
    due = [key for key in swept.due if found.may_drop(key)]
    for key in sorted(due, key=lambda each: (not _is_view(found.stored.get(each)), each)):
        files = found.files(services, key)
        views = readers(key, reading, without=gone)
        try:
            if drop(services, key, found.stored.get(key), views, times):
                dropped.append(Dropped(key=key, files=files))
                gone.add(key)
        except Conflict:
            busy.append(str(key.table))
    return tuple(dropped), tuple(busy)


def _is_view(stored: StoredTable | None) -> bool:
    return stored is not None and stored.is_view


def _drop_branches(
    services: Services, tables: Collection[StoredTable], times: Times
) -> tuple[str, ...]:
    """Remove the branches of work that was closed long ago, such as rows that an audit refused."""
    every = {work_id: table for table in tables for work_id in table.branches}
    old = sorted(services.state.closed_before(every, times.history))
    for work_id in old:
        services.catalog.drop_branch(every[work_id].name, work_id)
    return tuple(old)
