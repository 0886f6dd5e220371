"""What a stateless session appends to a table whose rows have no time column (seed 003).

Each row of the source is taken once:

- If the query takes the rows of an interval by their time, loaded intervals have exactly those of
  the source as of the high-water mark. A session appends the rows of new files that belong to
  loaded intervals, and those of an interval that became due, whole, as of the new mark.
- If it takes all that there are, the table has the rows of all files up to the mark. A session
  appends those of the new files.

A row that must go cannot be found again, so that the table is then rebuilt whole, in one commit.
"""

from __future__ import annotations

from dataclasses import replace

from vde_dagster.core.ledger.late.decision import (
    RELOAD,
    Decision,
    Load,
    NothingToLoad,
    SourceFound,
    Stop,
)
from vde_dagster.core.ledger.late.history import added_by
from vde_dagster.core.ledger.late.question import StatelessQuestion, WithoutTimes
from vde_dagster.core.ledger.late.stateless import (
    another_table,
    due_now,
    met_by_new_rows,
    why_nothing,
)
from vde_dagster.core.model.late_data import OnSourceRewrite
from vde_dagster.core.time.intervals import Interval, common, merge, subtract


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
    if asked.mark is None:
        return "no session has loaded what it holds, so that all of it is loaded again"
    if asked.history.rewrite:
        return asked.history.rewrite
    if rules.outdated:
        return "somebody asked for all of it again"
    early = () if rules.by_time else _early(asked)
    return f"{early[0]} is due now, and before what it holds" if early else ""


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
