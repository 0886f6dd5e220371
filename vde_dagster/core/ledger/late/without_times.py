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
from vde_dagster.core.time.intervals import Interval, subtract


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
        return _rebuilt(asked, found, why=why)
    return _appended(asked, found, rules)


def is_rebuilt(load: Load) -> bool:
    """Whether a session builds the whole table, as the first one does, and appends nothing."""
    asked = load.question
    assert isinstance(asked, StatelessQuestion), "stateless sessions alone append rows"
    first = asked.loaded[0].start if asked.loaded else None
    return first is None or any(each.start <= first for each in load.fill)


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
    early = [each for each in _next(asked) if each.start < asked.loaded[0].start]
    return f"{early[0]} is due now, and before what it holds" if early else ""


def _may_rebuild(asked: StatelessQuestion, rules: WithoutTimes) -> bool:
    stops = asked.policy.on_source_rewrite is OnSourceRewrite.STOP
    return rules.may_rebuild and not (stops and asked.history.rewrite)


def _rebuilt(asked: StatelessQuestion, found: SourceFound, *, why: str) -> Decision:
    """All that is loaded and due, in one range, from the source as it is now."""
    every = [*asked.loaded, *_next(asked)]
    if not every:
        return NothingToLoad(reason=why_nothing((), ()))
    fill = Interval(min(each.start for each in every), max(each.end for each in every))
    return Load(sources=(found,), fill=(fill,), rewrite=why, question=asked)


def _appended(asked: StatelessQuestion, found: SourceFound, rules: WithoutTimes) -> Decision:
    """The rows of new files, and those of an interval that is due.

    The mark may move beyond rows of intervals that are not due yet, if these are read by their time
    when they are. Rows that are not read by time are always taken.
    """
    new = added_by(asked.history.changes)
    met = met_by_new_rows(asked) if rules.by_time else asked.loaded
    late = met if new else ()
    fill = _next(asked)
    if fill or late:
        moved = replace(found, evidence=new if late else ())
        return Load(sources=(moved,), fill=fill, loaded=late, question=asked)
    sources = (found,) if found.has_moved else ()
    return NothingToLoad(reason=why_nothing(sources, ()), sources=sources)


def _next(asked: StatelessQuestion) -> tuple[Interval, ...]:
    """What is due and borders on what is loaded: between them lies nothing that is held back."""
    left = subtract(due_now(asked), asked.loaded)
    if not asked.loaded:
        return left[:1]
    first, last = asked.loaded[0].start, asked.loaded[-1].end
    return tuple(each for each in left if each.end == first or each.start == last)
