"""Since when versions are stale: the first change of an input after it was read.

Looked up only for what is found to be stale: units of work together, and for a source the changes
after the oldest Iceberg snapshot that was read. A time that is not certain is not reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

from vde_dagster.app.inputs.input_look import InputLook
from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.inputs.staying import StaleLook
from vde_dagster.core.ledger.entries import LedgerEntry
from vde_dagster.core.ledger.late.marks import HighWaterMark
from vde_dagster.core.ledger.unit_of_work import UnitOfWork
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import InputRange, WholeTable
from vde_dagster.core.time.intervals import Interval, meets


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of one input.

    ``newer`` is how many Iceberg snapshots of the input came since; None if that is not known.
    """

    times: InputRange
    newer: int | None

    def has(self, touched: Sequence[Interval] | None) -> bool:
        """Whether a change at some times, or at any time, may concern what was read."""
        if touched is None or isinstance(self.times, WholeTable):
            return touched is None or bool(touched)
        return any(meets(self.times, each) for each in touched)


def stale_since(look: StaleLook) -> datetime | None:
    """When the first change came that made entries stale.

    That is the commit of a source's Iceberg snapshot, or the end of a unit of work that wrote a
    model's rows. Of rows that were written again since, only the last time is known.

    Returns:
        The time; None where that of the first change of any input is not known.
    """
    states = look.inputs.states
    works = states.works(each.entry for each in look.stale)
    by_input: dict[ModelName, list[_Read]] = {}
    for each in look.stale:
        entry, work = each.entry, works.get(each.entry.work_id)
        if work is None:
            return None
        ranges = look.inputs.reads.at(entry.interval)
        for name in each.inputs:
            read = _Read(times=ranges[name], newer=_newer(states, entry, name, work))
            by_input.setdefault(name, []).append(read)
    found = [
        _first_change(look.inputs, name, reads)
        if states.is_source(name)
        else _first_write(states, name, reads)
        for name, reads in by_input.items()
    ]
    known = [each for each in found if each is not None]
    return min(known) if known and len(known) == len(found) else None


def late_since(look: InputLook, mark: HighWaterMark, times: Sequence[Interval]) -> datetime | None:
    """When the first late row of some times of a version was committed to its source.

    Args:
        look: The version's entries, with the times by which the model reads its source.
        mark: The version's high-water mark, up to which sessions have loaded it.
        times: Merged.

    Returns:
        The time; None where it is not known.
    """
    source = mark.source
    newer = look.states.line(source).newer.get(mark.iceberg_snapshot_id)
    reads = [
        _Read(times=ranges[source], newer=newer)
        for each in look.entries
        if meets(times, each.interval) and source in (ranges := look.reads.at(each.interval))
    ]
    return _first_change(look, source, reads)


def _newer(
    states: InputStates, entry: LedgerEntry, name: ModelName, work: UnitOfWork
) -> int | None:
    """How many Iceberg snapshots of an input came since an entry read it; None if unknown."""
    known = entry.trace.inputs.get(name) if entry.trace is not None else None
    if known is not None and states.is_source(name):
        pin = states.pinned(name).get(known)
    else:
        pin = work.intent.inputs.get(name)
    # If the table had no Iceberg snapshot, its first one may have expired.
    return None if pin is None else states.line(name).newer.get(pin)


def _first_change(look: InputLook, name: ModelName, reads: Sequence[_Read]) -> datetime | None:
    """When the first change of a source was committed that any of these reads had not seen."""
    most = max((each.newer for each in reads if each.newer is not None), default=0)
    if any(each.newer is None for each in reads):
        return None
    column = look.bounds[name].column if name in look.bounds else ""
    changes = look.states.newest_changes(name, column, most)
    for number in reversed(range(most)):
        change = changes[number]
        if change is None:
            return None
        if any((each.newer or 0) > number and each.has(change.times) for each in reads):
            return change.committed_at
    return None


def _first_write(states: InputStates, name: ModelName, reads: Sequence[_Read]) -> datetime | None:
    """When the first unit of work ended that wrote rows which one of these reads had not seen.

    The ledger knows: the changes of a model's table cost a look at each of its Iceberg snapshots.
    """
    most = max((each.newer for each in reads if each.newer is not None), default=0)
    if any(each.newer is None for each in reads):
        return None
    places = states.line(name).newer
    written: list[tuple[int, LedgerEntry]] = []
    for entry in states.entries(name, [each.times for each in reads]):
        place = places.get(entry.iceberg_snapshot_id or 0, most)
        if place < most:
            written.append((place, entry))
    works = states.works(entry for _, entry in written)
    for place, entry in sorted(written, key=itemgetter(0), reverse=True):
        if any((each.newer or 0) > place and each.has((entry.interval,)) for each in reads):
            work = works.get(entry.work_id)
            return work.finished_at if work is not None else None
    return None
