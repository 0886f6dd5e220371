"""Which intervals of a model are due, missing, waiting for a parent, and cut into batches.

Intervals are half-open, in UTC and made of whole units; a cron's zone only moves the moment at
which they become due (seed 001, *INCREMENTAL_BY_TIME_RANGE*). Everything here is pure: ``loaded``
is what the ledger has, ``now`` the project's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol

from vde_dagster.core.time.cron import Cron
from vde_dagster.core.time.intervals import (
    END_OF_TIME,
    Interval,
    IntervalUnit,
    common,
    due,
    merge,
    subtract,
)

_MICROSECOND: Final = timedelta(microseconds=1)


class Scheduled(Protocol):
    """What becomes due interval by interval: a model."""

    @property
    def start(self) -> datetime:
        """The first instant that intervals may cover."""
        ...

    @property
    def end(self) -> datetime | None:
        """The first instant that they may not cover any more; None where there is none."""
        ...

    @property
    def cron(self) -> str:
        """When intervals become due."""
        ...

    @property
    def cron_tz(self) -> str:
        """The zone of the cron expression."""
        ...

    @property
    def unit(self) -> IntervalUnit:
        """The interval unit."""
        ...

    @property
    def lookback(self) -> int:
        """How many units before each new range are evaluated again."""
        ...

    @property
    def batch_size(self) -> int | None:
        """At most how many units one evaluation has; None for any number."""
        ...


def last_tick(model: Scheduled, now: datetime) -> datetime:
    """The latest moment at or before ``now`` at which the model became due.

    Raises:
        CronInvalid: The model's cron is none.
        ZoneUnknown: Its zone is none.
    """
    return Cron.parse(model.cron).previous(min(now, END_OF_TIME), model.cron_tz)


def due_interval(model: Scheduled, now: datetime) -> Interval | None:
    """All whole units from the model's start that had ended at its last tick, up until it finishes.

    None where there are none. A start within a unit leaves that unit out, and so does an end.
    """
    until = last_tick(model, now)
    return due(model.start, until if model.end is None else min(until, model.end), model.unit)


def due_at_once(
    model: Scheduled, now: datetime, blocked: Sequence[Interval] = ()
) -> Interval | None:
    """What is due of a model that is made as a whole: up to the first time that is blocked."""
    until = min([last_tick(model, now), *(each.start for each in blocked)])
    return due(model.start, until if model.end is None else min(until, model.end), model.unit)


def missing(
    model: Scheduled, loaded: Sequence[Interval], now: datetime, blocked: Sequence[Interval] = ()
) -> tuple[Interval, ...]:
    """The contiguous ranges of units that have to be evaluated at ``now``.

    - New is what is due, not loaded, and not ``blocked``.
    - With a ``lookback`` of N, the N units before each new range count as missing, too, as far back
      as the model's start. Where nothing is new, as after the model's end, nothing is looked at
      again.

    Args:
        model: The model, of a kind that is evaluated interval by interval.
        loaded: What its version's table holds.
        now: The project's clock.
        blocked: Times for which what the model reads is not whole.
    """
    wanted = due_interval(model, now)
    if wanted is None:
        return ()
    unready = [model.unit.widen(each) for each in blocked]
    new = subtract([wanted], [*loaded, *unready])
    before = _units_before(model, [each.start for each in new], first=wanted.start)
    return merge([*new, *subtract(common(before, [wanted]), unready)])


def missing_sequential(
    model: Scheduled, loaded: Sequence[Interval], now: datetime, blocked: Sequence[Interval] = ()
) -> tuple[Interval, ...]:
    """What of `missing` can be evaluated by a model that builds each interval on those before it.

    What comes after a unit that is due, blocked and not loaded has to wait for it: built without
    it, it would have to be evaluated again.
    """
    found = missing(model, loaded, now, blocked)
    wanted = due_interval(model, now)
    if wanted is None:
        return found
    unready = common([model.unit.widen(each) for each in blocked], [wanted])
    waiting = subtract(unready, loaded)
    if not waiting:
        return found
    until = waiting[0].start
    return common(found, [Interval(wanted.start, until)]) if wanted.start < until else ()


def looked_back(model: Scheduled, loaded: Sequence[Interval]) -> tuple[Interval, ...]:
    """The loaded units that the next new range looks at again, wherever that begins."""
    if not loaded:
        return ()
    borders = [each.end for each in loaded]
    return common(_units_before(model, borders, first=loaded[0].start), loaded)


def _units_before(
    model: Scheduled, borders: Iterable[datetime], *, first: datetime
) -> list[Interval]:
    """The units that are looked at again before each of these borders."""
    count = model.lookback
    found: list[Interval] = []
    for border in borders:
        start = _shifted(model.unit, border, -count)
        start = first if start is None else max(first, start)
        if start < border:
            found.append(Interval(start, border))
    return found


def _shifted(unit: IntervalUnit, instant: datetime, count: int) -> datetime | None:
    """The border ``count`` units away from the unit of an instant; None outside all time."""
    try:
        return unit.shifted(unit.floor(instant), count)
    except OverflowError:
        return None


def batches(model: Scheduled, ranges: Iterable[Interval]) -> tuple[Interval, ...]:
    """Ranges cut into pieces of at most ``batch_size`` units each, in order.

    A gap ends a batch. Without a batch size, each contiguous range is one.
    """
    size = model.batch_size
    if size is None:
        return merge(ranges)
    return tuple(batch for each in merge(ranges) for batch in _cut(each, model.unit, size))


def _cut(interval: Interval, unit: IntervalUnit, size: int) -> list[Interval]:
    pieces: list[Interval] = []
    start = interval.start
    while start < interval.end:
        end = min(_shifted(unit, start, size) or interval.end, interval.end)
        pieces.append(Interval(start, end))
        start = end
    return pieces


def lacking(
    model: Scheduled, holds: Sequence[Interval], *, since: datetime | None = None
) -> tuple[Interval, ...]:
    """The times that a model has not loaded yet and will load one day: all before its end.

    Nothing is lacking before its start and after its end, nor of units that begin before ``since``.
    """
    first = model.start if since is None else max(model.start, since)
    if first >= END_OF_TIME:
        return ()
    start = model.unit.ceil(first)
    end = END_OF_TIME if model.end is None else model.unit.floor(min(model.end, END_OF_TIME))
    return subtract([Interval(start, end)], holds) if start < end else ()


def blocked_for_whole(
    model: Scheduled, parent: Scheduled, lacks: Sequence[Interval]
) -> tuple[Interval, ...]:
    """The times for which a parent is not whole enough for who reads all of it.

    Evaluating a time up to ``t`` needs all of the parent's units that have ended by ``t``, so that
    nothing is loaded that was made without them. What is blocked is so for good: one range, or
    none.

    Args:
        model: The model that reads.
        parent: A model whose rows belong to intervals.
        lacks: What it lacks, see `lacking`.
    """
    if not lacks:
        return ()
    ended = parent.unit.following(parent.unit.floor(lacks[0].start))
    return (Interval(model.unit.floor(ended - _MICROSECOND), END_OF_TIME),)
