"""What cleaning up did, or would do, for people: what became of which table, why, and its bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vde_dagster.core.listing import plural

if TYPE_CHECKING:
    from datetime import datetime

    from vde_dagster.app.clean_up.janitor import Cleaned
    from vde_dagster.app.clean_up.looking import Left, Look
    from vde_dagster.app.clean_up.maintaining import Maintained, Maintenance
    from vde_dagster.core.model.snapshot import VersionKey
    from vde_dagster.ports.physical_layer import StoredFiles

_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
_STEP: Final = 1000
_BEGUN: Final = "its removal was started"
_UNUSED: Final = "nothing refers to it"


@dataclass(frozen=True, slots=True)
class Line:
    """What is done with a table, view, environment or revision, why, and the size; empty for none.

    Example: ``dropped``, ``vde__mart.mart__revenue__63f0...``, ``nothing referred to it``,
    ``1.2 MB``.
    """

    what: str
    name: str
    why: str
    size: str = ""


def look_lines(seen: Look, files: Mapping[VersionKey, StoredFiles]) -> Iterator[Line]:
    """What the janitor would do; ``files`` are those of versions that are due, wait or are marked.

    Each line is about one version, environment or revision.
    """
    swept, begun = seen.swept, seen.found.removing
    for name in seen.expired:
        yield Line(
            "remove",
            f"environment {name}",
            _BEGUN if name in begun else ("its time to live is over"),
        )
    for each in swept.forgotten:
        yield Line("forget", str(each), "its time to live is over")
    for what, keys in (("drop", seen.droppable(swept.due)), ("mark", swept.marked)):
        for key in keys:
            yield Line(what, str(key.table), _UNUSED, files_text(files[key]))
    for key, at in swept.waiting.items():
        yield Line("wait", str(key.table), f"{_UNUSED}; until {_time(at)}", files_text(files[key]))
    for key in sorted(each.key for each in seen.found.tombstones.values() if each.is_dropping):
        yield Line("finish", str(key.table), "its drop was started")
    yield from _left("leave", seen.left)


def look_summary(seen: Look, files: Mapping[VersionKey, StoredFiles]) -> str:
    """How much would be free."""
    total = sum(files[key].size for key in seen.droppable(seen.swept.due))
    return f"Nothing was changed. {bytes_text(total)} would be freed."


def cleaned_lines(done: Cleaned) -> Iterator[Line]:
    """What the janitor did, a line for each version, environment and revision."""
    swept = done.swept
    for name in done.removed:
        yield Line("removed", f"environment {name}", f"its time to live was over, or {_BEGUN}")
    for revision in swept.forgotten:
        yield Line("forgot", str(revision), "its time to live was over")
    for each in done.dropped:
        size = files_text(each.files)
        yield Line("dropped", str(each.key.table), "nothing referred to it", size)
    for key in done.finished:
        yield Line("finished", str(key.table), "its drop was started")
    for key in swept.marked:
        yield Line("marked", str(key.table), _UNUSED)
    for key, at in swept.waiting.items():
        yield Line("waits", str(key.table), f"{_UNUSED}; until {_time(at)}")
    for busy in done.busy:
        yield Line("busy", busy, "in use by a process; the next run checks it again")
    yield from _left("left", done.left)
    yield from _left("failed", done.failed)


def _left(what: str, listed: Iterable[Left]) -> Iterator[Line]:
    for left in listed:
        yield Line(what, str(left.table), left.reason)


def cleaned_summary(done: Cleaned) -> str:
    """How much the janitor dropped, and what else it removed."""
    total = sum(each.files.size for each in done.dropped)
    text = f"{len(done.dropped):,} versions were dropped: {bytes_text(total)}."
    if done.branches or done.records:
        text += (
            f"\n{len(done.branches):,} branches of closed work and {done.records:,} old records "
            "were removed."
        )
    return text


def maintenance_lines(found: Maintenance, *, dry_run: bool = False) -> Iterator[Line]:
    """What was done to tables and views, with a dry run what would be; and what was left."""
    for each in found.done:
        yield from maintained_lines(each, dry_run=dry_run)
    yield from _left("leave" if dry_run else "left", found.left)
    yield from _left("busy", found.busy)


def maintained_lines(each: Maintained, *, dry_run: bool = False) -> Iterator[Line]:
    """What was done to one table or view, with a dry run what would be."""
    name = str(each.target.stored.name)
    remove = "remove" if dry_run else "removed"
    if each.compacted is not None:
        about = "about " if dry_run else ""
        why = f"{each.compacted.files:,} small files become {about}{each.compacted.files_after:,}"
        yield Line("rewrite" if dry_run else "rewrote", name, why)
    if each.not_compacted:
        why = f"small files stay: {each.not_compacted}"
        yield Line("keep" if dry_run else "kept", name, why)
    for tag in each.tags:
        yield Line(remove, name, f"the time to live of the tag {tag} is over")
    size = bytes_text(each.expired_files.size)
    if each.expired:
        yield Line(
            remove,
            name,
            f"{plural(len(each.expired), 'Iceberg snapshot')} that nothing refers to",
            size,
        )
    elif each.expired_files.count:
        yield Line(remove, name, "files of Iceberg snapshots that an earlier run removed", size)
    if each.strays.count:
        why = f"{plural(each.strays.count, 'file')} that nothing refers to"
        yield Line(remove, name, why, bytes_text(each.strays.size))


def maintenance_summary(found: Maintenance, *, dry_run: bool = False) -> str:
    """How many tables and views were maintained, and how much was removed."""
    size = bytes_text(sum(each.size for each in removed_files(found)))
    if dry_run:
        return f"Nothing was changed. {size} would be freed."
    changed = sum(each.is_changed for each in found.done)
    return f"{changed:,} of {len(found.done):,} tables and views were maintained: {size}."


def removed_files(found: Maintenance) -> Iterator[StoredFiles]:
    """The files that were removed, with a dry run those that would be."""
    for each in found.done:
        yield from (each.expired_files, each.strays)


def files_text(files: StoredFiles) -> str:
    """The bytes of files for people."""
    return bytes_text(files.size) if files.count else "no files"


def bytes_text(size: int) -> str:
    """Bytes for people, in the largest unit of which there is at least one."""
    shown, unit = float(size), 0
    while shown >= _STEP and unit < len(_UNITS) - 1:
        shown, unit = shown / _STEP, unit + 1
    return f"{shown:,.0f} {_UNITS[unit]}" if unit == 0 else f"{shown:,.1f} {_UNITS[unit]}"


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
