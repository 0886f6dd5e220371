"""What a stateful session overwrites: the hours that changed, as far as all sources go (seed 003).

Each loaded interval of a stateful version has a trace of what it was computed from, so that it is
known which of them have other inputs now. A session overwrites those together with what is due, in
one commit, each as of the sources' new marks. Whatever it leaves out of that is pending, and is an
input of the next decision; it stays known from the traces alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vde_dagster.core.ledger.late.decision import (
    RELOAD,
    Decision,
    Load,
    NothingToLoad,
    SourceFound,
    Stop,
)
from vde_dagster.core.ledger.late.history import SourceStatus, added_by
from vde_dagster.core.ledger.late.pending import Pending, PendingReason, pending_text
from vde_dagster.core.ledger.late.question import (
    LateRows,
    StatefulQuestion,
    TrackedHistory,
    unknown_times,
)
from vde_dagster.core.model.late_data import LateDataMode, LoadType, OnSourceRewrite
from vde_dagster.core.time.intervals import (
    EVER,
    Interval,
    common,
    due,
    merge,
    subtract,
)


def decide_stateful(asked: StatefulQuestion) -> Decision:
    """What the next stateful session of a version does."""
    stop = next(_stops(asked), None)
    if stop is not None:
        return stop
    found = tuple(_found(asked.sources))
    pending = (*_pending(asked), *_ahead(asked))
    late = subtract(
        merge(each.interval for each in asked.late), [each.interval for each in pending]
    )
    fill = _filled(asked, late, pending)
    if not fill:
        return NothingToLoad(reason=_why_nothing(asked, pending), sources=found, pending=pending)
    return Load(
        mode=LateDataMode.STATEFUL,
        sources=found,
        fill=fill,
        rewrite=_rewrite(asked),
        late=common(fill, asked.loaded),
        limit=asked.limit,
        pending=pending,
        question=asked,
    )


def _stops(asked: StatefulQuestion) -> Iterator[Stop]:
    for each in asked.sources:
        if each.history.status is SourceStatus.MISSING:
            yield Stop(
                reason=f"the source {each.name} does not exist in the catalog",
                advice="Create the table, or correct the name under late_data.",
            )
    if asked.late and asked.policy.on_source_rewrite is OnSourceRewrite.STOP:
        for each in asked.sources:
            why = _rewritten(each)
            if why:
                yield Stop(reason=f"{each.name}: {why}", advice=RELOAD)


def _rewritten(source: TrackedHistory) -> str:
    if source.history.status is SourceStatus.RECREATED:
        return "the source was dropped and created again"
    return source.history.rewrite


def _rewrite(asked: StatefulQuestion) -> str:
    """What was done to rows that are loaded, for people; empty if rows were only added."""
    if not asked.late:
        return ""
    return next((f"{each.name}: {why}" for each in asked.sources if (why := _rewritten(each))), "")


def _found(sources: Sequence[TrackedHistory]) -> Iterator[SourceFound]:
    """The sources that have an Iceberg snapshot, with what was added since their marks."""
    for each in sources:
        if each.history.head is not None:
            new = added_by(each.history.changes) if each.mark is not None else ()
            yield SourceFound(before=each.mark, after=each.history.head, evidence=new)


def _pending(asked: StatefulQuestion) -> Iterator[Pending]:
    """Late parts that are not loaded, each with one reason."""
    for each in asked.late:
        rest = [each.interval]
        for reason, times in _not_loaded(asked, each):
            for part in common(rest, times):
                yield Pending(interval=part, sources=each.sources, reason=reason)
            rest = list(subtract(rest, times))


def _ahead(asked: StatefulQuestion) -> Iterator[Pending]:
    """What sources have of the time after the limit, which another source has not reached."""
    first = asked.start if asked.limit is None else asked.limit
    for each in asked.sources:
        until = min(asked.now, each.complete_to) if each.complete_to is not None else None
        span = None if until is None else due(first, until, asked.unit)
        for part in subtract([span] if span else [], asked.loaded):
            yield Pending(interval=part, sources=(each.name,), reason=PendingReason.INCOMPLETE)


def _not_loaded(
    asked: StatefulQuestion, late: LateRows
) -> Iterator[tuple[PendingReason, tuple[Interval, ...]]]:
    """The times at which late rows are not loaded, and why."""
    if not late.tracked:
        yield PendingReason.UNTRACKED, (EVER,)
    if late.removed:
        yield PendingReason.REMOVED, (EVER,)
    threshold = asked.policy.catchup_threshold
    if threshold is not None:
        oldest = asked.unit.floor(asked.now - threshold)
        yield PendingReason.BEYOND_THRESHOLD, (Interval(EVER.start, oldest),)
    if asked.limit is None:
        yield PendingReason.INCOMPLETE, (EVER,)
    elif asked.limit < EVER.end:
        yield PendingReason.INCOMPLETE, (Interval(asked.unit.floor(asked.limit), EVER.end),)


def _filled(
    asked: StatefulQuestion, late: Sequence[Interval], pending: Sequence[Pending]
) -> tuple[Interval, ...]:
    """What is overwritten: late and due intervals, or the whole range around both."""
    changed = merge([*late, *asked.missing])
    if not changed or asked.policy.load_type is LoadType.CHANGED:
        return changed
    span = Interval(changed[0].start, changed[-1].end)
    known = common([span], merge([*asked.loaded, *asked.missing]))
    return subtract(known, [each.interval for each in pending])


def _why_nothing(asked: StatefulQuestion, pending: Sequence[Pending]) -> str:
    """Why there is nothing to load, for people."""
    moved = any(each.history.has_moved for each in asked.sources)
    unknown = [each.name for each in asked.sources if each.is_unknown]
    if unknown:
        known_late = f"; the changes are pending: {pending_text(pending)}" if pending else ""
        return f"{unknown_times(unknown)}{known_late}"
    if pending:
        return f"the changes are pending: {pending_text(pending)}"
    if moved:
        return "the sources' new snapshots do not change loaded rows"
    return "the sources have no new snapshot, and no other interval can be loaded yet"
