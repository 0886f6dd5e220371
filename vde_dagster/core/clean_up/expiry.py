"""Which Iceberg snapshots of a table stay, and which may expire (rules R3 and R12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from vde_dagster.core.clean_up.pinning import Pins

REPAIR_TAG: Final = "before_repair_"
"""A tag of this name, with the Iceberg snapshot, keeps what a repair took away from readers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSnapshot:
    """One Iceberg snapshot of a table. ``is_compaction`` if it changed no row."""

    id: int
    parent: int | None
    committed_at: datetime
    is_compaction: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHistory:
    """The Iceberg snapshots that a table retains.

    - ``head`` is the current one, of the branch `main`; None if there is none.
    - ``branches`` are those of the other branches, ``tags`` those of the tags.
    - ``left_at`` is when `main` moved away from one for the last time, as far as that is known.
    - ``metadata`` identifies the state of the table that this was read from.
    - ``never_expires`` is why the catalog lets none of them expire; empty if it does.
    """

    head: int | None
    snapshots: Mapping[int, IcebergSnapshot]
    branches: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    left_at: Mapping[int, datetime] = field(default_factory=dict)
    metadata: str = ""
    never_expires: str = ""

    def line(self, start: int | None) -> Iterator[IcebergSnapshot]:
        """An Iceberg snapshot and its retained ancestors, newest first."""
        current = self.snapshots.get(start) if start is not None else None
        while current is not None:
            yield current
            current = self.snapshots.get(current.parent) if current.parent is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """What becomes of a table's Iceberg snapshots: ``kept`` has one reason for each that stays."""

    kept: Mapping[int, str]
    expired: tuple[int, ...]


def expiry(
    history: TableHistory, pins: Pins, *, now: datetime, keep: timedelta, newest: int = 0
) -> Expiry:
    """Decide about every Iceberg snapshot of a table.

    One stays

    - if a branch or tag names it, or it is what a branch was made from, or leads there;
    - if it is the current one, or what that is a compaction of;
    - if it is pinned, and, where changes since a pinned one must stay known, on the line from there
      to the current one;
    - until another one has been current in its place for the time ``keep``: for that long a process
    that
      reads it, through a view or in a plan, may continue. The line to the current one is never cut;
    - if the catalog lets none expire.

    Args:
        history: The table.
        pins: What the state names.
        now: By the wall clock.
        keep: For how long what was replaced stays.
        newest: At least so many of the current line stay.
    """
    kept: dict[int, str] = {}
    line = tuple(history.line(history.head))
    for at, why in (
        *_referenced(history, line),
        *_uncut(history, line, pins, since=now - keep, newest=newest),
        *((each, pins.at[each]) for each in sorted(history.snapshots) if each in pins.at),
        *((each, pins.since[each]) for each in sorted(history.snapshots) if each in pins.since),
    ):
        kept.setdefault(at, why)
    expired = sorted(each for each in history.snapshots if each not in kept)
    if history.never_expires:
        return Expiry(kept=kept | dict.fromkeys(expired, history.never_expires), expired=())
    return Expiry(kept=kept, expired=tuple(expired))


def due_tags(history: TableHistory, *, now: datetime, ttl: timedelta) -> tuple[str, ...]:
    """The tags of repairs whose time is over, sorted.

    It counts from when readers stopped seeing the rows; a tag of which that is not known stays.
    """
    return tuple(
        sorted(
            name
            for name, each in history.tags.items()
            if name.startswith(REPAIR_TAG)
            and (left := history.left_at.get(each)) is not None
            and left + ttl <= now
        )
    )


def _referenced(
    history: TableHistory, line: tuple[IcebergSnapshot, ...]
) -> Iterator[tuple[int, str]]:
    for name, at in sorted(history.tags.items()):
        yield at, f"the tag {name}"
    published = {each.id for each in line}
    for name, at in sorted(history.branches.items()):
        for each in history.line(at):
            yield each.id, f"the branch {name}"
            if each.id in published:
                break
    for each in line:  # the head, and what it is a compaction of
        yield each.id, "it is visible to readers"
        if not each.is_compaction:
            break


def _uncut(
    history: TableHistory,
    line: tuple[IcebergSnapshot, ...],
    pins: Pins,
    *,
    since: datetime,
    newest: int,
) -> Iterator[tuple[int, str]]:
    """The newest part of the line, without a gap, and what left it a short while ago."""
    wanted: dict[int, str] = {}
    for number, each in enumerate(line):
        follower = line[number - 1].committed_at if number else None
        if each.id in pins.since:
            wanted[number] = pins.since[each.id]
        elif follower is None or _left(history, each, follower) > since:
            wanted[number] = "it was replaced recently"
        elif number < newest:
            wanted[number] = f"it is among the newest {newest}"
    last = max(wanted, default=-1)
    for number, each in enumerate(line[: last + 1]):
        yield each.id, wanted.get(number, "the table's later history depends on it")
    published = {each.id for each in line}
    for each in history.snapshots.values():
        if each.id not in published and _left(history, each, each.committed_at) > since:
            yield each.id, "it was created or replaced recently"


def _left(history: TableHistory, each: IcebergSnapshot, otherwise: datetime) -> datetime:
    """When an Iceberg snapshot stopped being the current one, or ``otherwise``, if it is later."""
    return max(otherwise, history.left_at.get(each.id, otherwise))
