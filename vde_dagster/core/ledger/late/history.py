"""What happened to a tracked source since a high-water mark, as Iceberg's metadata says it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from vde_dagster.core.ledger.late.marks import HighWaterMark

Partition = tuple[tuple[str, str | int | None], ...]
"""A partition's tuple: the names of its fields, with their values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessingUri:
    """One input partition that a session loads: its tuple, with what its new files hold."""

    partition: Partition
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


class SourceStatus(Enum):
    """How a source's history relates to the mark."""

    INITIAL = "initial"
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    MISSING = "missing"
    ROLLED_BACK = "rolled back"
    EXPIRED = "expired"
    RECREATED = "recreated"
    OTHER_COLUMNS = "other columns"
    """Rows that were there at the mark have other values now: a column became another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHistory:
    """A source's head, and what happened after the mark, oldest first.

    ``head`` is None only for a source that is missing or has no Iceberg snapshot yet.
    """

    status: SourceStatus
    head: HighWaterMark | None
    changes: tuple[SourceChange, ...] = ()

    @property
    def rewrite(self) -> str:
        """Why rows that were there at the mark may have changed, for people; empty if not."""
        if self.status in _REWRITES:
            return _REWRITES[self.status]
        rewriting = (SourceOperation.OVERWRITE, SourceOperation.DELETE)
        for change in self.changes:
            if change.operation in rewriting:
                return (
                    f"Iceberg snapshot {change.iceberg_snapshot_id} of the source "
                    f"{change.operation.value}s rows that may be loaded already"
                )
        return ""

    @property
    def has_moved(self) -> bool:
        """Whether there are Iceberg snapshots after the mark."""
        return self.status is not SourceStatus.UNCHANGED


_REWRITES: Final = {
    SourceStatus.ROLLED_BACK: "the source was rolled back to a time before the loaded rows",
    SourceStatus.EXPIRED: "the source's history since the last load has been expired",
    SourceStatus.OTHER_COLUMNS: (
        "a column of the source was dropped and added again, or swapped with another one"
    ),
}


def added_by(changes: Iterable[SourceChange]) -> tuple[ProcessingUri, ...]:
    """The partitions that appends put files into, each once, in order of first appearance."""
    found: dict[Partition, ProcessingUri] = {}
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
