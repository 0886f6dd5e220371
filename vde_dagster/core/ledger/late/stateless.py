"""What a stateless session loads: the rows of new files, each exactly once (seed 003).

A stateless version obeys one invariant: for every loaded interval its table has exactly the query's
rows over the source as of the high-water mark (HWM). A session moves the mark from one Iceberg
snapshot to a later one and keeps the invariant in one commit: intervals that are loaded already get
the rows of the data files added in between, intervals that become due are loaded whole as of the
new mark. A row with an event time after all loaded intervals therefore needs no bookkeeping: its
interval is not loaded yet and will read it when it is first loaded.

Late rows that are further back than ``catchup_threshold`` are not added: their intervals are
pending, so that mark and pending together lose nothing. They are overwritten as of the mark when a
person asks for them (rule R8).

Without a mark nothing is known of the rows that are loaded, so that appending to them could lose or
double some: all of it is overwritten as of the new mark (rule R7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, assert_never

from vde_dagster.core.ledger.late.decision import (
    MISSING,
    RELOAD,
    Decision,
    Load,
    NothingToLoad,
    SourceFound,
    Stop,
)
from vde_dagster.core.ledger.late.history import SourceHistory, SourceStatus, added_by
from vde_dagster.core.ledger.late.pending import Pending, PendingReason, pending_text
from vde_dagster.core.ledger.late.question import StatelessQuestion, WithoutTimes
from vde_dagster.core.model.late_data import OnSourceRewrite
from vde_dagster.core.time.intervals import EVER, Interval, common, due, merge, subtract


def decide_stateless(asked: StatelessQuestion) -> Decision:
    """What the next stateless session of a version does."""
    stop, head = _stop(asked), asked.history.head
    if stop is not None:
        return stop
    if head is None:
        return NothingToLoad(reason="the source has no rows yet", pending=asked.pending)
    found = SourceFound(before=asked.mark, after=head)
    if asked.mark is None or _rewrite(asked):
        return _overwritten(asked, found)
    return _added(asked, found)


def added_ranges(load: Load) -> tuple[Interval, ...]:
    """The ranges to which a session adds rows of new files, as few as possible.

    What lies between late intervals is loaded and may get rows, too, but the new files have none.
    """
    asked = load.question
    if not load.evidence or not isinstance(asked, StatelessQuestion):
        return ()
    closed = (*_beyond_threshold(asked), *asked.outgrown)
    parts = (common(load.loaded, [each]) for each in subtract(asked.loaded, closed))
    return tuple(Interval(part[0].start, part[-1].end) for part in parts if part)


def _stop(asked: StatelessQuestion) -> Stop | None:
    another, rewrite = another_table(asked.history), _rewrite(asked)
    is_stopped = asked.policy.on_source_rewrite is OnSourceRewrite.STOP
    if another is None and rewrite and (asked.history.head is None or is_stopped):
        return Stop(reason=rewrite, advice=RELOAD)
    return another


def _rewrite(asked: StatelessQuestion) -> str:
    """What was done to rows that are loaded, for people; empty if rows were only added."""
    return asked.history.rewrite if asked.loaded else ""


def _overwritten(asked: StatelessQuestion, found: SourceFound) -> Decision:
    """What is due is loaded, and all that is loaded is overwritten, as far back as is allowed."""
    old = common(asked.loaded, _beyond_threshold(asked))
    fill = subtract([*due_now(asked), *asked.loaded], old)
    pending = _left(asked, old, fill)
    if not fill:
        moved = (found,) if old else ()
        return NothingToLoad(reason=why_nothing(moved, pending), sources=moved, pending=pending)
    return Load(
        sources=(found,), fill=fill, rewrite=_rewrite(asked), pending=pending, question=asked
    )


def _added(asked: StatelessQuestion, found: SourceFound) -> Decision:
    """Late rows are added, as far back as is allowed, and what is due is loaded."""
    new = added_by(asked.history.changes) if asked.loaded else ()
    met = met_by_new_rows(asked) if new else ()
    old = common(met, _beyond_threshold(asked))
    late = subtract(met, old)
    fill = subtract(due_now(asked), asked.loaded)
    pending = _left(asked, old, fill)
    if not fill and not late:
        moved = (found,) if found.has_moved else ()
        return NothingToLoad(reason=why_nothing(moved, pending), sources=moved, pending=pending)
    return Load(
        sources=(replace(found, evidence=new if late else ()),),
        fill=merge([*fill, *asked.outgrown]),
        loaded=subtract(late, asked.outgrown),
        pending=pending,
        question=asked,
    )


def due_now(asked: StatelessQuestion) -> tuple[Interval, ...]:
    """What has ended, is complete in the source, and is not held back."""
    complete_to = asked.history.head.complete_to if asked.history.head is not None else None
    complete = due(asked.start, min(asked.now, complete_to or asked.now), asked.unit)
    return subtract([complete] if complete else [], asked.held_back)


def met_by_new_rows(asked: StatelessQuestion) -> tuple[Interval, ...]:
    """The loaded time that rows of new files can belong to."""
    return asked.loaded if asked.touched is None else common(asked.loaded, asked.touched)


def _beyond_threshold(asked: StatelessQuestion) -> tuple[Interval, ...]:
    """The time that is further back than late rows are loaded without being asked for."""
    threshold = asked.policy.catchup_threshold
    if threshold is None:
        return ()
    return (Interval(EVER.start, asked.unit.floor(asked.now - threshold)),)


def _left(
    asked: StatelessQuestion, old: Sequence[Interval], fill: Sequence[Interval]
) -> tuple[Pending, ...]:
    """What is pending after a session that overwrites ``fill`` and leaves ``old``."""
    before = (each.interval for each in asked.pending)
    return tuple(
        Pending(interval=each, sources=asked.policy.sources, reason=PendingReason.BEYOND_THRESHOLD)
        for each in subtract(merge([*before, *old]), fill)
    )


def why_nothing(moved: Sequence[SourceFound], pending: Sequence[Pending]) -> str:
    """Why there is nothing to load, for people."""
    if pending:
        return f"the changes are pending: {pending_text(pending)}"
    return _NOTHING_ADDED if moved else _NOT_DUE


_NOTHING_ADDED: Final = "the source's new snapshots add no rows to loaded intervals"
_NOT_DUE: Final = "the source has no new snapshot, and no interval has become due"


def another_table(history: SourceHistory) -> Stop | None:
    """The named cases in which the source is not the table that was loaded."""
    match history.status:
        case SourceStatus.MISSING:
            return MISSING
        case SourceStatus.RECREATED:
            return Stop(reason="the source was dropped and created again", advice=RELOAD)
        case (
            SourceStatus.INITIAL
            | SourceStatus.UNCHANGED
            | SourceStatus.CHANGED
            | SourceStatus.ROLLED_BACK
            | SourceStatus.EXPIRED
            | SourceStatus.OTHER_COLUMNS
        ):
            return None
        case unreachable:
            assert_never(unreachable)


def decide_without_times(asked: StatelessQuestion, rules: WithoutTimes) -> Decision:
    """What the next session of such a version does."""
    stop, head = another_table(asked.history), asked.history.head
    if stop is not None:
        return stop
    why = _why_rebuilt(asked, rules)
    if why and (head is None or not _may_rebuild(asked, rules)):
        return Stop(reason=why, advice=RELOAD)
    if head is None:
        return NothingToLoad(reason="the source has no rows yet")
    found = SourceFound(before=asked.mark, after=head)
    if why or not asked.loaded:
        return _rebuilt(asked, found, rules, why=why)
    return _appended(asked, found, rules)


def is_rebuilt(load: Load) -> bool:
    """Whether a session builds the whole table, as the first one does, and appends nothing."""
    asked = load.question
    assert isinstance(asked, StatelessQuestion), "stateless sessions alone append rows"
    first = asked.loaded[0].start if asked.loaded else None
    return first is None or any(each.start <= first < each.end for each in load.fill)


def _why_rebuilt(asked: StatelessQuestion, rules: WithoutTimes) -> str:
    """Why appending would not give the rows that the table must have, for people; empty if not."""
    if not asked.loaded:
        return ""
    if asked.mark is None and not rules.outdated:
        return "no session loaded its rows"
    if asked.history.rewrite:
        return asked.history.rewrite
    if rules.outdated:
        return "a reload was requested"
    early = () if rules.by_time else _early(asked)
    return f"{early[0]} is due now, and is earlier than its loaded rows" if early else ""


def _early(asked: StatelessQuestion) -> tuple[Interval, ...]:
    """What is due and not loaded, before the end of what is."""
    left = subtract(due_now(asked), asked.loaded)
    return tuple(each for each in left if asked.loaded and each.start < asked.loaded[-1].end)


def _may_rebuild(asked: StatelessQuestion, rules: WithoutTimes) -> bool:
    stops = asked.policy.on_source_rewrite is OnSourceRewrite.STOP
    return rules.may_rebuild and not (stops and asked.history.rewrite)


def _rebuilt(
    asked: StatelessQuestion, found: SourceFound, rules: WithoutTimes, *, why: str
) -> Decision:
    """All that is loaded and due, from the source as it is now."""
    fill = merge([*asked.loaded, *_early(asked), *_due(asked, rules)])
    if not fill:
        return NothingToLoad(reason=why_nothing((), ()))
    if not rules.by_time:
        fill = (Interval(fill[0].start, fill[-1].end),)
    return Load(sources=(found,), fill=fill, rewrite=why, question=asked)


def _appended(asked: StatelessQuestion, found: SourceFound, rules: WithoutTimes) -> Decision:
    """The rows of new files, and those of an interval that is due.

    The mark may move beyond rows of intervals that are not due yet, if these are read by their time
    when they are. Rows that are not read by time are always taken.
    """
    new = added_by(asked.history.changes)
    met = met_by_new_rows(asked) if rules.by_time else asked.loaded
    late = met if new else ()
    fill = _due(asked, rules)
    if fill or late:
        moved = replace(found, evidence=new if late else ())
        return Load(sources=(moved,), fill=fill, loaded=late, question=asked)
    sources = (found,) if found.has_moved else ()
    return NothingToLoad(reason=why_nothing(sources, ()), sources=sources)


def _due(asked: StatelessQuestion, rules: WithoutTimes) -> tuple[Interval, ...]:
    """What is due and not loaded.

    If rows are not read by time, it is one range, and between it and what is loaded lies nothing
    that is held back: that could not be told from the others later.
    """
    left = subtract(due_now(asked), asked.loaded)
    if rules.by_time or not left:
        return left
    last = asked.loaded[-1].end if asked.loaded else left[0].start
    after = [each for each in left if each.start >= last][:1]
    gap = [Interval(last, after[0].start)] if after and after[0].start > last else []
    return () if common(asked.held_back, gap) else tuple(after)
