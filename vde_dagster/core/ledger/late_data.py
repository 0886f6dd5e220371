"""Late data: what a session loads, decided from what happened to the sources (seed 003).

A stateless version obeys one invariant: for every loaded interval its table has exactly the query's
rows over the source as of the high-water mark (HWM). A session moves the mark from one Iceberg
snapshot to a later one and keeps the invariant in one commit: intervals that are loaded already get
the rows of the data files added in between, intervals that become due are loaded whole as of the
new mark. A row with an event time after all loaded intervals therefore needs no bookkeeping: its
interval is not loaded yet and will read it when it is first loaded.

Without a mark nothing is known of the rows that are loaded, so that appending to them could lose or
double some: all of it is overwritten as of the new mark (rule R7).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Final, assert_never

from vde_dagster.core.ledger.entries import EntryStatus, LedgerChange, LedgerOperation
from vde_dagster.core.model.late_data import OnSourceRewrite
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, IntervalUnit, due, merge, subtract


@dataclass(frozen=True, slots=True, kw_only=True)
class HighWaterMark:
    """Up to which source change a version is loaded.

    ``complete_to`` is the source's valid-to time when the mark was taken, None where the source
    does not declare one. ``committed_at`` is for people only: order is by sequence number.
    """

    source: ModelName
    table_uuid: str
    iceberg_snapshot_id: int
    sequence_number: int
    committed_at: datetime
    complete_to: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessingUri:
    """One input partition that a session loads: its tuple, with what its new files hold."""

    partition: tuple[tuple[str, str | int | None], ...]
    files: int
    rows: int

    def as_json(self) -> str:
        """The seed's form: a JSON object of the partition's columns."""
        return json.dumps(dict(self.partition), sort_keys=True)


class SourceOperation(Enum):
    """What one Iceberg snapshot did to a source's rows."""

    APPEND = "append"
    REPLACE = "replace"
    OVERWRITE = "overwrite"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChange:
    """One Iceberg snapshot of a source after the mark: its operation and the files it added."""

    iceberg_snapshot_id: int
    operation: SourceOperation
    added: tuple[ProcessingUri, ...] = ()
    event_range: Interval | None = None
    """Bounds of the tracked event column over the added files; None where unknown or empty."""


class SourceStatus(Enum):
    """How a source's history relates to the mark."""

    INITIAL = "initial"
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    MISSING = "missing"
    ROLLED_BACK = "rolled back"
    EXPIRED = "expired"
    RECREATED = "recreated"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHistory:
    """A source's head, and what happened after the mark, oldest first.

    ``head`` is None only for a source that is missing or has no Iceberg snapshot yet.
    """

    status: SourceStatus
    head: HighWaterMark | None
    changes: tuple[SourceChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToLoad:
    """The session would change nothing; ``reason`` says why, for a person."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """What happened to the source cannot be loaded by appending; a person has to decide."""

    reason: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a stateless session does in one commit.

    ``fill`` intervals are loaded whole from the source as of ``after``; rows of the files added in
    (``before``, ``after``] are appended where they fall into ``loaded``. ``evidence`` names the
    partitions those files lie in; it is empty where none of their rows can be late. ``rewrite`` is
    what was done to rows that are loaded already, for a person: then all that is loaded is in
    ``fill`` (rule R7). It is empty where nothing was.
    """

    before: HighWaterMark | None
    after: HighWaterMark
    fill: tuple[Interval, ...]
    loaded: tuple[Interval, ...]
    evidence: tuple[ProcessingUri, ...]
    rewrite: str = ""

    @property
    def why_again(self) -> str:
        """Why rows of what is loaded may change, for people; empty where they stay as they are."""
        if self.rewrite:
            return self.rewrite
        if self.before is None:
            return "no session has loaded what it holds, so that all of it is loaded again"
        if self.evidence:
            return f"late rows of {self.after.source} have come since its mark"
        return ""


Decision = NothingToLoad | Stop | Load


def decide_stateless(
    *,
    mark: HighWaterMark | None,
    history: SourceHistory,
    loaded: Sequence[Interval],
    start: datetime,
    now: datetime,
    unit: IntervalUnit,
    on_rewrite: OnSourceRewrite,
    held_back: Sequence[Interval] = (),
) -> Decision:
    """What the next stateless session of a version does.

    Args:
        mark: The version's high-water mark; None where none is true of what is loaded, as before
            the first load. Then everything that is loaded is overwritten, too.
        history: The source since ``mark``.
        loaded: Intervals that the version's table holds, merged.
        start: The model's start.
        now: The project's clock.
        unit: The model's interval unit.
        on_rewrite: What to do where rows that are loaded may have changed.
        held_back: What the model's signals hold back of what is not loaded.
    """
    another = _another_table(history)
    if another is not None:
        return another
    rewrite, head = _rewrite(history) if loaded else "", history.head
    if rewrite and (head is None or on_rewrite is OnSourceRewrite.STOP):
        return Stop(reason=rewrite, advice=_RELOAD)
    if head is None:
        return NothingToLoad(reason="the source has no rows yet")
    complete = due(start, min(now, head.complete_to or now), unit)
    whole = subtract([complete] if complete else [], held_back)
    if mark is None or rewrite:
        fill = merge([*whole, *loaded])
        everything = Load(
            before=mark, after=head, fill=fill, loaded=(), evidence=(), rewrite=rewrite
        )
        return everything if fill else _NOT_DUE
    fill = subtract(whole, loaded)
    added = _added(history.changes) if loaded else ()
    if not fill and not added:
        moved = head.sequence_number != mark.sequence_number
        return NothingToLoad(reason=_NOTHING_ADDED) if moved else _NOT_DUE
    return Load(before=mark, after=head, fill=fill, loaded=tuple(loaded), evidence=added)


def overwriting(load: Load, intervals: Sequence[Interval]) -> Load:
    """A session that overwrites these of the intervals that it would add rows to (rule R7)."""
    fill = merge([*load.fill, *intervals])
    return replace(load, fill=fill, loaded=subtract(load.loaded, intervals))


_NOTHING_ADDED: Final = "the source's new snapshots add no rows to what is loaded"
_NOT_DUE: Final = NothingToLoad(
    reason="no new snapshot of the source, and no interval has become due"
)


def marks_after(
    marks: Mapping[ModelName, HighWaterMark],
    changes: Iterable[LedgerChange],
    *,
    moved: HighWaterMark | None,
    inputs: Mapping[ModelName, int | None],
) -> dict[ModelName, HighWaterMark]:
    """The marks that are true of a version's rows after a unit of work is recorded.

    A session moves one. Any other work that records rows has read some other state of the source,
    so that the next session would load rows twice or never: it removes the mark, unless it read the
    source as of the mark (rule R8).

    Args:
        marks: Those before, by source.
        changes: What is recorded.
        moved: The mark of a session; None for all other work.
        inputs: At which Iceberg snapshot the work read each of its inputs.
    """
    if moved is not None:
        return {**marks, moved.source: moved}
    if not any(_brings_rows(each) for each in changes):
        return dict(marks)
    return {
        source: mark
        for source, mark in marks.items()
        if inputs.get(source) == mark.iceberg_snapshot_id
    }


def _brings_rows(change: LedgerChange) -> bool:
    """Whether a change says what an interval holds; one that is not evaluated is not loaded."""
    return change.operation is not LedgerOperation.KEEP and change.status is not EntryStatus.EMPTY


def _another_table(history: SourceHistory) -> Stop | None:
    """The named cases in which the source is not the table that was loaded."""
    match history.status:
        case SourceStatus.MISSING:
            return Stop(
                reason="the source does not exist in the catalog",
                advice="Create the source table, or correct the name under late_data.",
            )
        case SourceStatus.RECREATED:
            return Stop(reason="the source was dropped and created again", advice=_RELOAD)
        case (
            SourceStatus.INITIAL
            | SourceStatus.UNCHANGED
            | SourceStatus.CHANGED
            | SourceStatus.ROLLED_BACK
            | SourceStatus.EXPIRED
        ):
            return None
        case unreachable:
            assert_never(unreachable)


def _rewrite(history: SourceHistory) -> str:
    """Why rows that are loaded may be others now, so that no exact new rows can be named."""
    if history.status is SourceStatus.ROLLED_BACK:
        return "the source was rolled back to before what is loaded"
    if history.status is SourceStatus.EXPIRED:
        return "the source's history since the last load has been expired"
    rewriting = (SourceOperation.OVERWRITE, SourceOperation.DELETE)
    for change in history.changes:
        if change.operation in rewriting:
            return (
                f"Iceberg snapshot {change.iceberg_snapshot_id} of the source "
                f"{change.operation.value}s rows that may be loaded already"
            )
    return ""


_RELOAD: Final = (
    "`vde catch-up MODEL --reload` loads it again, whole, from the source as it is now."
)


def _added(changes: Sequence[SourceChange]) -> tuple[ProcessingUri, ...]:
    """The partitions that appends put files into, each once, in order of first appearance."""
    found: dict[tuple[tuple[str, str | int | None], ...], ProcessingUri] = {}
    for change in changes:
        if change.operation is not SourceOperation.APPEND:
            continue
        for uri in change.added:
            before = found.get(uri.partition)
            found[uri.partition] = (
                uri
                if before is None
                else ProcessingUri(
                    partition=uri.partition,
                    files=before.files + uri.files,
                    rows=before.rows + uri.rows,
                )
            )
    return tuple(found.values())
