"""Which versions anything may refer to, and what becomes of the others (rule R12).

A version is reachable from what environments show, from their history within its time to live,
from plans, from running work, and from views that read it. What is not gets a tombstone, and is
dropped by a later pass if it was unreachable for the whole grace period.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from vde_dagster.core.clean_up.references import (
    OpenWork,
    ReadingView,
    References,
    ShownVersions,
    Times,
)
from vde_dagster.core.model.snapshot import Revision, VersionKey
from vde_dagster.core.names import TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What one pass finds.

    - ``kept`` has why each reachable version is kept, for people.
    - ``forgotten`` are revisions that their environments cannot go back to any more.
    - ``marked`` get a tombstone, and ``cleared`` lose theirs, since something refers to them again.
    - ``waiting`` have one, and the instant from which they may be dropped.
    - ``due`` may be dropped.
    """

    kept: Mapping[VersionKey, str]
    forgotten: tuple[Revision, ...] = ()
    marked: tuple[VersionKey, ...] = ()
    cleared: tuple[VersionKey, ...] = ()
    waiting: Mapping[VersionKey, datetime]
    due: tuple[VersionKey, ...] = ()


def sweep(found: References, views: Sequence[ReadingView], times: Times) -> Sweep:
    """Decide about every version that the state knows."""
    ttl = times.history
    past = [each for each in found.revisions if why_in_history(found, each, ttl) is None]
    kept = reachable(found, views, ttl)
    rest = sorted(found.known - kept.keys())
    ready = {
        key: found.tombstones[key].recorded_at + times.grace
        for key in rest
        if key in found.tombstones
    }
    return Sweep(
        kept=kept,
        forgotten=tuple(sorted(each.revision for each in past)),
        marked=tuple(key for key in rest if key not in ready),
        cleared=tuple(
            sorted(
                key
                for key, each in found.tombstones.items()
                if not each.is_dropping and (key in kept or key not in found.known)
            )
        ),
        waiting={key: at for key, at in ready.items() if at > found.now},
        due=tuple(key for key, at in ready.items() if at <= found.now),
    )


def reachable(
    found: References, views: Sequence[ReadingView], ttl: timedelta
) -> dict[VersionKey, str]:
    """The versions that anything may refer to, each with one reason."""
    kept: dict[VersionKey, str] = {}
    for key, why in _roots(found, ttl):
        kept.setdefault(key, why)
    reads: dict[VersionKey, list[ReadingView]] = defaultdict(list)
    versions = found.known | {key for key, each in found.tombstones.items() if each.is_dropping}
    for view in views:
        if view.key is not None and view.key in versions:
            reads[view.key].append(view)
        else:
            _keep(kept, view)
    waiting = list(kept)
    while waiting:
        for view in reads.get(waiting.pop(), ()):
            waiting.extend(_keep(kept, view))
    return kept


def by_version(views: Iterable[ReadingView]) -> dict[VersionKey, list[ReadingView]]:
    """The views that read each version."""
    found: dict[VersionKey, list[ReadingView]] = defaultdict(list)
    for view in views:
        for key in view.reads:
            found[key].append(view)
    return found


def readers(
    key: VersionKey,
    reading: Mapping[VersionKey, Iterable[ReadingView]],
    *,
    without: Container[VersionKey] = (),
) -> tuple[ReadingView, ...]:
    """The views that read a version, also through other views: no other view can keep it.

    Args:
        key: The version.
        reading: The outcome of `by_version`.
        without: Versions whose physical views are missing.
    """
    found: dict[TableName, ReadingView] = {}
    waiting = [key]
    while waiting:
        for view in reading.get(waiting.pop(), ()):
            if view.name not in found and (view.key is None or view.key not in without):
                found[view.name] = view
                waiting += [] if view.key is None else [view.key]
    return tuple(found.values())


def _keep(kept: dict[VersionKey, str], view: ReadingView) -> list[VersionKey]:
    new = sorted(view.reads - kept.keys())
    kept.update(dict.fromkeys(new, f"the view {view.name} reads it"))
    return new


def why_in_history(found: References, shown: ShownVersions, ttl: timedelta) -> str | None:
    """Why a revision stays in its environment's history; None if it does not."""
    name = shown.revision.environment
    if shown.until is None:
        return f"{name} shows it"
    if found.now < shown.until + ttl:
        return f"{name} showed it at revision {shown.revision.number}"
    if any(each.environment == name and each.began <= shown.until for each in _running(found, ttl)):
        return f"work that {name} started reads it"
    return None


def _roots(found: References, ttl: timedelta) -> Iterator[tuple[VersionKey, str]]:
    for shown in sorted(found.revisions, key=lambda each: each.until is not None):
        why = why_in_history(found, shown, ttl)
        if why is not None:
            yield from ((key, why) for key in shown.versions)
    for planned in found.planned:
        if planned.environment in found.busy:
            yield planned.key, f"a plan of {planned.environment} is being applied"
        elif found.now < planned.at + ttl:
            yield planned.key, f"a plan of {planned.environment} was to show it"
    yield from ((key, "in use by a process") for key in found.written)
    for work in _running(found, ttl):
        yield work.key, "a unit of work on it is not finished"


def _running(found: References, ttl: timedelta) -> Iterator[OpenWork]:
    """Open work whose process may still run."""
    for each in found.open_work:
        if each.key in found.written or found.now < each.began + ttl:
            yield each


def expired(found: References, environments: Iterable[str], times: Times) -> tuple[str, ...]:
    """The environments to be removed, sorted; those that a process holds are not among them.

    Their time to live is over, or a process began to remove them and ended.
    """

    def is_over(name: str) -> bool:
        end = expires_at(name, found.used, times)
        return name in found.removing or (end is not None and end <= found.now)

    return tuple(sorted(e for e in environments if e not in found.busy and is_over(e)))


def expires_at(environment: str, used: Mapping[str, datetime], times: Times) -> datetime | None:
    """When an environment expires unless it is planned or promoted before; None for never."""
    ttl, last = times.of(environment), used.get(environment)
    return None if ttl is None or last is None else last + ttl
