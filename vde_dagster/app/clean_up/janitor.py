"""The janitor: environments whose time is over, versions that nothing refers to, and what is left.

That is work of processes that ended on versions that no run computes any more, and old records.

Each step is recorded before the next, and each decides again on what is there. So it can be cut at
any point, and run at any time, next to plans, runs and promotions (rule R12).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from vde_dagster.app.clean_up.looking import Left, Look, look
from vde_dagster.app.promote.promotion import remove_unused
from vde_dagster.app.recover.recovery import recover
from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.references import ReadingView, Times, Tombstone
from vde_dagster.core.clean_up.sweeping import Sweep, by_version, readers
from vde_dagster.core.errors import Conflict, Refused
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.ports.physical_layer import StoredFiles, StoredTable
from vde_dagster.ports.state import version_resource

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

    ``finished`` are versions whose drop an earlier process had started, ``busy`` what others were
    at work on: it is looked at again the next time. ``failed`` are dropped, and some of their files
    could not be deleted, each with the reason. ``branches`` are the units of work whose branch was
    removed, ``records`` how many old records were deleted.
    """

    removed: tuple[str, ...]
    swept: Sweep
    dropped: tuple[Dropped, ...]
    finished: tuple[VersionKey, ...]
    left: tuple[Left, ...]
    busy: tuple[str, ...]
    failed: tuple[Left, ...]
    branches: tuple[str, ...]
    records: int


def clean_up(services: Services, times: Times) -> Cleaned:
    """Drop what was unreachable for long, and mark what became unreachable for a later pass.

    Raises:
        LeaseHeld: Another janitor is at work.
        OutcomeUnknown: An answer was lost; the next run does the rest.
    """
    with services.lease(RESOURCE, _JANITOR):
        tried = _Tried()
        finished = [
            each.key
            for each in services.state.drops()
            if tried.done(each.key, partial(finish_drop, services, each))
        ]
        before = look(services, times)
        _finish_work(services, before, tried)
        removed = _expire(services, before, tried)
        found = look(services, times) if removed else before
        swept = services.state.record_sweep(found.views, times)
        dropped = _drop_due(services, found, swept, times, tried)
        gone = {each.key for each in dropped}
        tables = [each for key, each in found.stored.items() if key not in gone]
        branches = _drop_branches(services, tables, times)
        rest = {each for table in tables for each in table.branches} - {*branches}
        return Cleaned(
            removed=removed,
            swept=swept,
            dropped=dropped,
            finished=tuple(finished),
            left=found.left,
            busy=tuple(tried.busy),
            failed=tuple(tried.failed),
            branches=branches,
            records=services.state.prune(times.history, branches=rest),
        )


@dataclass(frozen=True, slots=True)
class _Tried:
    """What did not succeed: one of these is not a reason to leave the others."""

    busy: list[str] = field(default_factory=list)
    failed: list[Left] = field(default_factory=list)

    def done(self, key: VersionKey, doing: Callable[[], bool | None]) -> bool:
        """Whether something is done with a version; if ``doing`` it returns False, it is not."""
        try:
            return doing() is not False
        except Conflict:
            self.busy.append(str(key.table))
        except Refused as error:
            self.failed.append(Left(table=key.table, reason=str(error)))
        return False


def _finish_work(services: Services, seen: Look, tried: _Tried) -> None:
    """Finish or undo the work of processes that have ended, on versions that no run computes.

    Those that an environment shows are left to its next plan or run, which reports it.
    """
    shown = {key for e in seen.found.revisions if e.until is None for key in e.versions}
    for key in sorted({each.key for each in seen.found.open_work} - shown):
        tried.done(key, partial(_recovered, services, key))


def _recovered(services: Services, key: VersionKey) -> None:
    with services.lease(version_resource(key), _JANITOR) as lease:
        recover(services, key, lease)


def _expire(services: Services, seen: Look, tried: _Tried) -> tuple[str, ...]:
    """Remove environments; returns those that were.

    Those that were planned, promoted or removed since they were looked at are left.
    """
    removed = list[str]()
    for name in seen.expired:
        try:
            if remove_unused(services, name, used=seen.found.used[name]):
                removed.append(name)
        except Conflict:
            tried.busy.append(f"environment {name}")
    return tuple(removed)


def _drop_due(
    services: Services, found: Look, swept: Sweep, times: Times, tried: _Tried
) -> tuple[Dropped, ...]:
    """Drop what has been unreachable long enough, views before tables; returns that."""
    dropped, reading = dict[VersionKey, Dropped](), by_version(found.views)
    due = found.droppable(swept.due)
    first = {key for key, each in found.stored.items() if each.is_view}
    for key in sorted(due, key=lambda each: (each not in first, each)):
        files = found.files(services, key)
        views = readers(key, reading, without=dropped)
        if tried.done(key, partial(drop, services, key, found.stored.get(key), views, times)):
            dropped[key] = Dropped(key=key, files=files)
    return tuple(dropped.values())


def _drop_branches(
    services: Services, tables: Collection[StoredTable], times: Times
) -> tuple[str, ...]:
    """Remove the branches of work that was closed long ago, such as rows that an audit refused."""
    every = {work_id: table for table in tables for work_id in table.branches}
    old = sorted(services.state.closed_before(every, times.history))
    for work_id in old:
        services.catalog.drop_branch(every[work_id].name, work_id)
    return tuple(old)


_JANITOR = "the janitor"


def drop(
    services: Services,
    key: VersionKey,
    stored: StoredTable | None,
    views: Sequence[ReadingView],
    times: Times,
) -> bool:
    """Drop a version that nothing refers to; returns whether that is still so.

    Args:
        services: The ports.
        key: The version.
        stored: Its table or view; None if there is none.
        views: The views of the catalog that read it, also through others.
        times: How long it is kept.

    Raises:
        Conflict: A process writes it, or its table is changed right now.
        Refused: Its files cannot be deleted. Nothing shows it any more, and the next run goes on.
        OutcomeUnknown: An answer was lost; the next run does the rest.
    """
    uuid, location = (stored.uuid, stored.location) if stored is not None else ("", "")
    with services.lease(version_resource(key), _JANITOR) as lease:
        begun = services.state.begin_drop(
            key, views, times, lease=lease, uuid=uuid, location=location
        )
        if begun:
            _delete(services, key, uuid=uuid, location=location)
        return begun


def finish_drops(services: Services, keys: Collection[VersionKey]) -> None:
    """Finish the drops of these versions that an earlier process began; see `finish_drop`."""
    for each in services.state.drops():
        if each.key in keys:
            finish_drop(services, each)


def finish_drop(services: Services, begun: Tombstone) -> None:
    """Finish a drop that an earlier process began.

    Raises:
        Conflict: Another process is dropping it right now, or changes its table.
        Refused: Its files cannot be deleted.
        OutcomeUnknown: An answer was lost; the next run does the rest.
    """
    with services.lease(version_resource(begun.key), _JANITOR):
        _delete(services, begun.key, uuid=begun.uuid, location=begun.location)


def _delete(services: Services, key: VersionKey, *, uuid: str, location: str) -> None:
    if uuid:
        services.catalog.drop_physical(key.table, uuid=uuid, location=location)
    services.state.finish_drop(key)
