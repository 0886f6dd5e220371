"""What a version's table holds: the ledger of intervals, and how one evaluation changes it.

Kinds without intervals have one entry, over the time that it was made for; every evaluation
replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Final

from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.ledger.dsha import (
    DEFAULT_ALGORITHM,
    RowSum,
    combined_dsha,
    combined_dshas,
    dsha,
    total,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, merge


class EntryStatus(Enum):
    """The status of an entry's rows.

    - ``COMPUTED``: they are the rows of the interval.
    - ``OUTDATED``: they were, and are shown until the interval is evaluated again, which a user
      asked for. It counts as missing, so nothing else is computed from it meanwhile.
    - ``EMPTY``: there are none, since the interval was recorded without evaluating it. Its
      environment does not evaluate it; for everything else it counts as missing.
    """

    COMPUTED = "computed"
    OUTDATED = "outdated"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What an entry's rows were computed from (docs/inside/architecture.md, *Reuse*).

    ``key`` is one hash of all of it, ``inputs`` what identifies the range that was read of each
    input; both are made in `vde_dagster.core.ledger.traces`. ``seconds`` is the entry's share of
    what the unit of work took.
    """

    key: str
    inputs: Mapping[ModelName, str]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One interval: its rows' sum, the schema it was computed under, and who wrote it last.

    ``iceberg_snapshot_id`` is the table state at which ``rows`` is true; None for a VIEW, whose
    ``digest`` follows from what it reads and not from rows of its own. ``reason`` says for people
    why the status is not `EntryStatus.COMPUTED`. ``algorithm`` is what the rows were hashed with.
    ``trace`` is what they were computed from; None where that is not known, or must not be used.
    So the latest trace of an interval is that of what the table holds now (rule R2).
    """

    interval: Interval
    rows: RowSum
    columns: tuple[Column, ...]
    digest: str
    work_id: str
    iceberg_snapshot_id: int | None
    status: EntryStatus = EntryStatus.COMPUTED
    reason: str = ""
    algorithm: str = DEFAULT_ALGORITHM
    trace: Trace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSum:
    """All entries of a ledger together: their number, their rows, and the last one.

    ``dsha`` is the D-SHA of all rows, as `loaded_dsha` has it.
    """

    entries: int
    rows: int
    last: LedgerEntry
    dsha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerDigests:
    """The D-SHAs of all entries of a ledger, in the order of their intervals; the last entry."""

    digests: tuple[str, ...]
    last: LedgerEntry


class LedgerOperation(Enum):
    """How a change meets the entry that is there already."""

    REPLACE = "replace"
    ADD = "add"
    CHANGE = "change"
    REPLACE_ALL = "replace_all"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerChange:
    """What one written interval does to the ledger.

    - ``ADD`` adds rows to an interval that is loaded, and leaves its status. What its rows follow
      from is not known any more, so its trace is missing.
    - ``CHANGE`` is how a kind without rows of its own per interval adds a change of the table's sum
      to an entry. That sum is already the one under the columns that the table has now, so the
      entry may have had others (rule R11). All else is as for ``ADD``, but for a trace that it has:
      that of an entry which is as if it had been computed from all that is read now.
    - ``REPLACE`` and ``REPLACE_ALL`` set the status and the trace, the latter after removing
      every other entry of the version.
    - ``KEEP`` writes nothing: the rows of the entry ``kept``, which are ``rows``, are those that
      computing ``interval`` would give, so the entry counts as computed for that interval.

    ``digest`` is None where it follows from the rows.
    """

    operation: LedgerOperation
    interval: Interval
    rows: RowSum
    digest: str | None = None
    status: EntryStatus = EntryStatus.COMPUTED
    reason: str = ""
    trace: Trace | None = None
    kept: Interval | None = None


def touched(changes: Iterable[LedgerChange]) -> tuple[Interval, ...] | None:
    """The merged times of all entries that changes may meet; None where they meet every entry."""
    every = list(changes)
    if any(each.operation is LedgerOperation.REPLACE_ALL for each in every):
        return None
    return merge(time for each in every for time in (each.interval, each.kept) if time is not None)


class LedgerMismatch(Refused, ValueError):
    """A change does not fit what the ledger holds; applying it would lose or double rows."""


class SchemaOutgrown(LedgerMismatch):
    """Rows are added to intervals whose rows have other columns, so that they have no common sum.

    The ``intervals`` can be computed again instead, under the current columns.
    """

    def __init__(self, intervals: Iterable[Interval]) -> None:
        self.intervals = tuple(intervals)
        message = ", ".join(map(str, self.intervals))
        super().__init__(f"rows of another schema are added to {message}")


def apply_changes(
    entries: Iterable[LedgerEntry],
    changes: Iterable[LedgerChange],
    *,
    columns: tuple[Column, ...],
    work_id: str,
    iceberg_snapshot_id: int | None,
    algorithm: str = DEFAULT_ALGORITHM,
) -> tuple[LedgerEntry, ...]:
    """The ledger after a published write, sorted by interval.

    Raises:
        SchemaOutgrown: Rows are added to intervals that were computed under another schema.
        LedgerMismatch: Rows are added to an interval that is not loaded or was hashed with another
            algorithm; what is kept is not loaded any more; or an interval overlaps a loaded one
            without being equal to it.
    """
    outgrown: list[Interval] = []
    loaded: dict[Interval, LedgerEntry] = {entry.interval: entry for entry in entries}
    for change in changes:
        if change.operation is LedgerOperation.KEEP:
            loaded[change.interval] = _kept(
                loaded.pop(change.kept or change.interval, None), change
            )
            continue
        if change.operation is LedgerOperation.REPLACE_ALL:
            loaded = {}
        written = LedgerEntry(
            interval=change.interval,
            rows=change.rows,
            columns=columns,
            digest="",
            work_id=work_id,
            iceberg_snapshot_id=iceberg_snapshot_id,
            status=change.status,
            reason=change.reason,
            algorithm=algorithm,
            trace=change.trace,
        )
        if change.operation in _ADDING:
            before = loaded.get(change.interval)
            if _is_outgrown(before, written, change):
                outgrown.append(change.interval)
                continue
            written = _added(before, written, change)
        digest = change.digest or dsha(written.rows, columns, algorithm=algorithm)
        loaded[change.interval] = replace(written, digest=digest)
    if outgrown:
        raise SchemaOutgrown(merge(outgrown))
    ordered = tuple(sorted(loaded.values(), key=lambda entry: entry.interval))
    for left, right in pairwise(ordered):
        if right.interval.start < left.interval.end:
            raise LedgerMismatch(f"{left.interval} and {right.interval} overlap")
    return ordered


_ADDING: Final = (LedgerOperation.ADD, LedgerOperation.CHANGE)


def _is_outgrown(before: LedgerEntry | None, added: LedgerEntry, change: LedgerChange) -> bool:
    """Whether the rows that are there were computed under another schema, so that none add up."""
    if before is None or change.operation is not LedgerOperation.ADD:
        return False
    return _types(before.columns) != _types(added.columns)


def _added(before: LedgerEntry | None, added: LedgerEntry, change: LedgerChange) -> LedgerEntry:
    """An entry with what is added to it; see `LedgerChange`.

    Raises:
        LedgerMismatch: There is none, or its rows were hashed with another algorithm.
    """
    if before is None:
        raise LedgerMismatch(f"rows are added to {added.interval}, which is not loaded")
    if before.algorithm != added.algorithm and before.rows != RowSum():
        raise LedgerMismatch(
            f"rows hashed with {added.algorithm} are added to {added.interval}, whose rows were "
            f"hashed with {before.algorithm}",
            advice="restate that interval first",
        )
    return replace(
        added,
        rows=before.rows + added.rows,
        status=before.status,
        reason=before.reason,
        trace=added.trace if change.operation is LedgerOperation.CHANGE else None,
    )


def _kept(before: LedgerEntry | None, change: LedgerChange) -> LedgerEntry:
    """An entry that is kept for an interval without being written again; see `LedgerChange`."""
    if before is None or before.rows != change.rows or before.status is EntryStatus.EMPTY:
        kept = change.kept or change.interval
        raise LedgerMismatch(f"the rows of {kept} changed, although they should be kept")
    return replace(before, interval=change.interval, status=EntryStatus.COMPUTED, reason="")


def entries_of(
    ledger: Sequence[LedgerEntry], changes: Iterable[LedgerChange]
) -> tuple[LedgerEntry, ...]:
    """The entries of the intervals that changes have set."""
    intervals = {change.interval for change in changes}
    return tuple(entry for entry in ledger if entry.interval in intervals)


def loaded_dsha(entries: Sequence[LedgerEntry]) -> str:
    """The D-SHA of all rows of at least one entry, under the last entry's schema.

    Sums of two algorithms do not add up: where there are both, the entries' digests are combined.
    """
    algorithms = {entry.algorithm for entry in entries}
    if len(algorithms) > 1:
        return combined_dsha(entry.digest for entry in entries)
    rows = total(entry.rows for entry in entries)
    return dsha(rows, entries[-1].columns, algorithm=entries[-1].algorithm)


def loaded_dshas(entries: Sequence[LedgerEntry]) -> Iterator[str]:
    """The `loaded_dsha` of the first entry, of the first two, and so on, in one pass."""
    rows, algorithms = RowSum(), set[str]()
    digests = combined_dshas(entry.digest for entry in entries)
    for entry, digest in zip(entries, digests, strict=True):
        rows += entry.rows
        algorithms.add(entry.algorithm)
        is_mixed = len(algorithms) > 1
        yield digest if is_mixed else dsha(rows, entry.columns, algorithm=entry.algorithm)


def _types(columns: Iterable[Column]) -> list[tuple[str, str]]:
    return [(column.name.lower(), column.type.lower()) for column in columns]


def loaded_intervals(entries: Iterable[LedgerEntry], *also: EntryStatus) -> tuple[Interval, ...]:
    """What a version holds, merged: the intervals that are computed, and those of other statuses.

    Nothing but computed intervals may be read by an evaluation or shown by production.
    """
    statuses = (EntryStatus.COMPUTED, *also)
    return merge(entry.interval for entry in entries if entry.status in statuses)


def written_intervals(entries: Iterable[LedgerEntry]) -> tuple[Interval, ...]:
    """The intervals whose rows readers see, merged: also those that are to be evaluated again."""
    return loaded_intervals(entries, EntryStatus.OUTDATED)


def outdate(
    entries: Sequence[LedgerEntry], times: Iterable[Interval], *, reason: str, rebuilt: bool = False
) -> tuple[LedgerEntry, ...]:
    """The ledger in which every entry that overlaps these times is to be evaluated again.

    Args:
        entries: The ledger of a version, sorted by interval.
        times: Any times.
        reason: Why, for people.
        rebuilt: Whether that must compute them, whatever they were computed from (rule R2): their
            traces are missing.
    """
    wanted, first = merge(times), 0
    found: list[LedgerEntry] = []
    for entry in entries:
        while first < len(wanted) and wanted[first].end <= entry.interval.start:
            first += 1
        touched = first < len(wanted) and wanted[first].start < entry.interval.end
        trace = None if rebuilt else entry.trace
        again = replace(entry, status=EntryStatus.OUTDATED, reason=reason, trace=trace)
        found.append(again if touched else entry)
    return tuple(found)
