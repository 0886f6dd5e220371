"""High-water marks: up to which change of each source a version has been looked at (seed 003)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core.ledger.entries import EntryStatus, LedgerChange, LedgerOperation
from vde_dagster.core.names import ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class HighWaterMark:
    """Up to which change of a source the changes are known to a version.

    ``table_uuid`` identifies the table, with its columns if these have become others since the
    Iceberg snapshot (`EarlierSchemas.identity`). Of a model of the project it is its version, and
    ``sequence_number`` counts the changes of its ledger. ``complete_to`` is up to when the source
    was complete when the mark was taken, None where that is not known. ``committed_at`` is for
    people only: order is by sequence number.
    """

    source: ModelName
    table_uuid: str
    iceberg_snapshot_id: int
    sequence_number: int
    committed_at: datetime
    complete_to: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkMove:
    """The last move of a mark: from where to where, when, and by which session.

    ``session_id`` is empty if a look that found nothing to load has moved it. What is not known of
    a mark of an earlier release is None.
    """

    latest: HighWaterMark
    previous: HighWaterMark | None
    session_id: str | None
    moved_at: datetime | None


def marks_after(
    marks: Mapping[ModelName, HighWaterMark],
    changes: Iterable[LedgerChange],
    *,
    moved: Sequence[HighWaterMark],
    inputs: Mapping[ModelName, int | None],
    is_appended: bool = True,
) -> dict[ModelName, HighWaterMark]:
    """The marks that are true of a version's rows after a unit of work is recorded.

    A session moves them. Where rows are appended, any other work that records rows has read some
    other state of the source, so that the next session would load rows twice or never: it removes
    the mark, unless it read the source as of the mark (rule R8). Where intervals are overwritten,
    each has a trace of what it was computed from, and other work moves no mark.

    Args:
        marks: Those before, by source.
        changes: What is recorded.
        moved: The marks of a session; empty for all other work.
        inputs: At which Iceberg snapshot the work read each of its inputs.
        is_appended: Whether sessions append rows to intervals of the version.
    """
    if moved:
        return {**marks, **{each.source: each for each in moved}}
    if not is_appended or not any(_brings_rows(each) for each in changes):
        return dict(marks)
    return {
        source: mark
        for source, mark in marks.items()
        if inputs.get(source) == mark.iceberg_snapshot_id
    }


def _brings_rows(change: LedgerChange) -> bool:
    """Whether a change says what an interval holds; one that is not evaluated is not loaded."""
    return change.operation is not LedgerOperation.KEEP and change.status is not EntryStatus.EMPTY
