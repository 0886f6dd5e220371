"""Maintaining tables: compaction, expiry of Iceberg snapshots, and orphan files.

Each table is maintained under the lease that its evaluation takes. Each step is recorded in the
table before the next, so that it can be cut at any point. Nothing that anything names is removed:
see `vde_dagster.core.clean_up.pinning`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from vde_dagster.app.clean_up.due import Decider, Target, find_targets
from vde_dagster.app.clean_up.looking import NO_FILES, Left
from vde_dagster.app.recover.recovery import recover
from vde_dagster.app.services import Services
from vde_dagster.core.clean_up.references import Times
from vde_dagster.core.clean_up.upkeep import Upkeep
from vde_dagster.core.errors import Conflict, EvaluationFailed, OutcomeUnknown, Refused
from vde_dagster.ports.engine import Compacted
from vde_dagster.ports.physical_layer import StoredFiles, StrayFile
from vde_dagster.ports.state import Lease

RESOURCE: Final = "maintenance"
"""The name of the lease that keeps maintenance from running twice concurrently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintained:
    """What was done to a table or view; with a dry run, what would be done.

    - ``compacted`` are the small files that were replaced, ``not_compacted`` is why they were not.
    - ``tags`` are those of repairs whose time was over.
    - ``expired`` are the Iceberg snapshots that were removed, ``expired_files`` the files that only
      they had. ``kept`` has why each of the others stays.
    - ``strays`` are files that nothing named.
    """

    target: Target
    compacted: Compacted | None = None
    not_compacted: str = ""
    tags: tuple[str, ...] = ()
    expired: tuple[int, ...] = ()
    kept: Mapping[int, str] = field(default_factory=dict)
    expired_files: StoredFiles = NO_FILES
    strays: StoredFiles = NO_FILES

    @property
    def is_changed(self) -> bool:
        """Whether anything was done."""
        files = self.expired_files.count or self.strays.count
        return bool(self.compacted or self.tags or self.expired or files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """What was done, or would be done, to all tables and views that were asked for.

    ``left`` are those that are not maintained, and why; ``busy`` those that others write: the next
    run looks at them again.
    """

    done: tuple[Maintained, ...]
    left: tuple[Left, ...]
    busy: tuple[Left, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A table or view whose turn it is, the ``number``th of ``count``; ``done`` once that is over.

    ``done`` stays None for one that is left, or that others write.
    """

    target: Target
    number: int
    count: int
    done: Maintained | None = None


Report = Callable[[Progress], None]


def maintain(
    services: Services,
    times: Times,
    upkeep: Upkeep,
    *,
    models: Sequence[str] = (),
    report: Report = lambda _: None,
) -> Maintenance:
    """Maintain the tables and views of some models, or of all. One that fails stops no other.

    Several processes may do it at once: a table is maintained under the lease under which it is
    written, so who comes second finds it busy or done; of a view only files are deleted, and one
    that is missing already is not an error. So a person's `vde maintain` need not wait for a
    scheduled run of all tables.

    See `vde_dagster.app.clean_up.due.find_targets` for ``models``.

    Raises:
        Refused: There is no table or view of one of the names.
    """
    return _each(services, times, upkeep, models=models, report=report, do=_maintained)


def maintain_alone(
    services: Services,
    times: Times,
    upkeep: Upkeep,
    *,
    models: Sequence[str] = (),
    report: Report = lambda _: None,
) -> Maintenance:
    """`maintain`, unless another process does it in this way already.

    That is for schedules, so that they do not do the same work twice. The lease of it is not a
    lock: `maintain` itself needs none but those of the tables.

    Raises:
        LeaseHeld: Another process does it; nothing was done.
        Refused: There is no table or view of one of the names.
    """
    with services.lease(RESOURCE, "maintenance of tables"):
        return maintain(services, times, upkeep, models=models, report=report)


def look_at_upkeep(
    services: Services,
    times: Times,
    upkeep: Upkeep,
    *,
    models: Sequence[str] = (),
) -> Maintenance:
    """What `maintain` would do now. Writes nothing, and takes no lease.

    Raises:
        Refused: There is no table or view of one of the names.
    """
    return _each(services, times, upkeep, models=models, report=lambda _: None, do=_looked_at)


def _each(
    services: Services,
    times: Times,
    upkeep: Upkeep,
    *,
    models: Sequence[str],
    report: Report,
    do: Callable[[Decider, Target], Maintained],
) -> Maintenance:
    found = find_targets(services, times, models)
    decider = Decider.of(services, times, upkeep, found.look.found)
    done, left, busy = list[Maintained](), list(found.left), list[Left]()
    for number, target in enumerate(found.targets, start=1):
        turn = Progress(target=target, number=number, count=len(found.targets))
        report(turn)
        try:
            done.append(do(decider, target))
        except (Conflict, OutcomeUnknown) as error:
            busy.append(Left(table=target.stored.name, reason=error.message))
        except (Refused, EvaluationFailed) as error:
            left.append(Left(table=target.stored.name, reason=str(error)))
        else:
            report(replace(turn, done=done[-1]))
    return Maintenance(done=tuple(done), left=tuple(left), busy=tuple(busy))


def _looked_at(decider: Decider, target: Target) -> Maintained:
    if target.stored.is_view:
        return Maintained(target=target, strays=_size(decider.strays(target)))
    services, name = decider.services, target.stored.name
    holder = services.state.lease_holder(target.lease)
    if holder:
        raise Conflict(f"in use by {holder}")
    decider.check_sound(target)
    (found, not_compacted), due = decider.compaction(target), decider.expiry(target)
    return Maintained(
        target=target,
        compacted=None
        if found is None
        else Compacted(files=found.files, files_after=found.files_after),
        not_compacted=not_compacted,
        tags=tuple(due.tags),
        expired=due.expiry.expired,
        kept=due.expiry.kept,
        expired_files=services.catalog.files_of(name, due.expiry.expired)
        if due.expiry.expired
        else NO_FILES,
        strays=_size(decider.strays(target)),
    )


def _maintained(decider: Decider, target: Target) -> Maintained:
    if target.stored.is_view:
        return Maintained(target=target, strays=_without_strays(decider, target))
    services, name = decider.services, target.stored.name
    with services.lease(target.lease, "maintenance") as lease:
        if target.key is not None:
            recover(services, target.key, lease)
        decider.check_sound(target)
        settled = services.catalog.settle_expiry(name)
        found, not_compacted = decider.compaction(target)
        compacted = services.engine.compact(name, found) if found is not None else None
        expired = _expired(decider, target, lease)
        services.state.renew_lease(lease, ttl=services.lease_ttl)
        return Maintained(
            target=target,
            compacted=compacted,
            not_compacted=not_compacted,
            tags=expired.tags,
            expired=expired.expired,
            kept=expired.kept,
            expired_files=_together(settled, expired.expired_files),
            strays=_without_strays(decider, target),
        )


def _expired(decider: Decider, target: Target, lease: Lease) -> Maintained:
    """Remove tags and Iceberg snapshots that are due.

    The expiry is announced first. A process that has recorded by then that it reads one of the
    Iceberg snapshots is found by the second look; one that records it later finds the announcement
    (rule R3, `vde_dagster.app.evaluate.statements`).

    Raises:
        Conflict: Another process changed the table, or began to read what was to expire; nothing
            expired.
    """
    services, name = decider.services, target.stored.name
    tags = decider.expiry(target).tags
    for tag, at in tags.items():
        services.catalog.drop_tag(name, tag, at)
    due = decider.expiry(target)
    found = due.expiry
    if due.history is None or not found.expired:
        return Maintained(target=target, tags=tuple(tags), kept=found.kept)
    token = services.ids.new()
    services.state.renew_lease(lease, ttl=services.lease_ttl)
    services.catalog.announce_expiry(
        name, found.expired, token=token, metadata=due.history.metadata
    )
    pinned = {*found.expired} - {*decider.decided(target, due.history).expired}
    if pinned:
        services.catalog.settle_expiry(name)
        raise Conflict("a reader started on a snapshot that was about to expire; none expired")
    services.state.renew_lease(lease, ttl=services.lease_ttl)
    return Maintained(
        target=target,
        tags=tuple(tags),
        expired=found.expired,
        kept=found.kept,
        expired_files=services.catalog.expire_announced(name, token=token),
    )


def _without_strays(decider: Decider, target: Target) -> StoredFiles:
    """Delete the orphan files."""
    found = decider.strays(target)
    if found:
        decider.services.catalog.delete_files(target.stored, found)
    return _size(found)


def _size(files: Collection[StrayFile]) -> StoredFiles:
    return StoredFiles(count=len(files), size=sum(each.size for each in files))


def _together(*several: StoredFiles) -> StoredFiles:
    return StoredFiles(
        count=sum(each.count for each in several), size=sum(each.size for each in several)
    )
