"""A timeline as lines of text: a bar for each model, with a letter for what its time went to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vde_dagster.core.planning.timeline import Timeline, TimelineRow, longest_rows
from vde_dagster.core.spans import Kind, parts

LETTERS: Final = {
    Kind.WAITING: ".",
    Kind.START: "J",
    Kind.SPARK: "S",
    Kind.CATALOG: "c",
    Kind.STATE: "s",
    Kind.USER: "U",
    Kind.OTHER: "p",
}
WORDS: Final = {
    Kind.WAITING: "waiting for room",
    Kind.START: "starting Java and Spark",
    Kind.SPARK: "Spark",
    Kind.CATALOG: "the catalog",
    Kind.STATE: "the state",
    Kind.USER: "users' code",
    Kind.OTHER: "Python",
}
_LONGEST_NAME: Final = 40
_LEAST_WIDTH: Final = 20
_SECONDS: Final = 9
"""The width of the last column."""


def timeline_lines(timeline: Timeline, *, width: int, most: int) -> Iterator[str]:
    """A timeline for people.

    Args:
        timeline: The timeline.
        width: How many letters a line may have; a bar has some in any case.
        most: How many rows are shown: those that took longest.
    """
    shown = longest_rows(timeline.rows, most)
    names = min(max((len(row.name) for row in shown), default=0), _LONGEST_NAME)
    count = max(width - names - _SECONDS - 5, _LEAST_WIDTH)
    longest = set(timeline.longest)
    yield heading(timeline)
    yield f"{' ' * (names + 3)}0 s{f'{timeline.seconds:,.1f} s':>{count - 3}}"
    for row in shown:
        mark = "*" if row.name in longest else " "
        name = _cut(row.name, names)
        took = f"{row.ended - row.began:,.1f} s"
        failed = f"  {row.error}" if row.error else ""
        yield f"{mark} {name:<{names}} |{_bar(timeline, row, count)}|{took:>{_SECONDS}}{failed}"
    left = len(timeline.rows) - len(shown)
    if left:
        yield f"{left:,} more took less time."
    yield "; ".join(legend(timeline))
    if longest:
        yield f"* decided how long it took: {', then '.join(timeline.longest)}"


def heading(timeline: Timeline) -> str:
    """Which plan it is of, when that began, and how long it took."""
    at_once = "one model after the other"
    if timeline.models > 1:
        at_once = f"up to {timeline.models} models at once"
    run = f", Dagster run {timeline.run_id[:8]}" if timeline.run_id else ""
    return (
        f"Plan {timeline.plan_id[:8]} of {timeline.environment}{run}: "
        f"{timeline.started_at:%Y-%m-%d %H:%M:%S} UTC, {timeline.seconds:,.1f} s, {at_once}"
    )


def legend(timeline: Timeline) -> Iterator[str]:
    """What the letters stand for, each with the seconds of all rows together."""
    totals = timeline.totals
    for kind, letter in LETTERS.items():
        if totals[kind]:
            yield f"{letter} {WORDS[kind]} {totals[kind]:,.1f} s"


def _bar(timeline: Timeline, row: TimelineRow, count: int) -> str:
    found = parts(row.segments, 0.0, timeline.seconds, count)
    return "".join(" " if kind is None else LETTERS[kind] for kind in found)


def _cut(name: str, most: int) -> str:
    """A name that is too long, without its beginning."""
    return name if len(name) <= most else f"…{name[len(name) - most + 1 :]}"
