"""A plan that was carried out, as a picture of time: what each model waited for and worked at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.core.planning.stages import (
    Closing,
    Stage,
    WorkStage,
    awaited,
    filled_by,
    stages_of,
)
from vde_dagster.core.spans import Kind, Recording, Row, Segment, bounded
from vde_dagster.core.time.intervals import parse_instant

OPENING: Final = "before models"
CLOSING: Final = "after models"
"""The rows of what a plan does before and after it evaluates models."""
_FORMAT: Final = 1
_DIGITS: Final = 3
"""Times are kept to the millisecond."""
_HANDOVER: Final = 0.05
"""Seconds in which one model may begin after another has ended, without having waited for room."""
MOST_SEGMENTS: Final = 20_000
"""How many segments all rows of a timeline have together, about: half a megabyte in a file."""
LEAST_SEGMENTS: Final = 8
"""How many a row may have in any case."""
MOST_WORKS: Final = 5_000
"""How many units of work all rows of a timeline have together, about: each row has one at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """One model of a plan, or what comes before or after all of them. Times are in seconds.

    Args:
        name: The model's name, or `OPENING` or `CLOSING`.
        awaits: The names of the rows that had to end before.
        ready: When the last of them had ended. From then on it waited for room.
        began: When it began.
        ended: When it ended.
        error: The kind of error that ended it; empty for none.
        totals: The seconds that were spent on each thing, waiting among them.
        segments: What was spent when, in order; rounded where there was too much of it.
        works: The units of work that it did, the last ones; fewer of a plan with many rows.
    """

    name: str
    awaits: tuple[str, ...]
    ready: float
    began: float
    ended: float
    error: str
    totals: Mapping[Kind, float]
    segments: tuple[Segment, ...]
    works: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What carrying out a plan has taken.

    Args:
        plan_id: The plan.
        environment: Its environment.
        run_id: The Dagster run that carried it out; empty for none.
        started_at: When it began.
        seconds: How long it took.
        models: How many models could be evaluated at once.
        rows: What was done, in the order of the plan.
    """

    plan_id: str
    environment: str
    run_id: str
    started_at: datetime
    seconds: float
    models: int
    rows: tuple[TimelineRow, ...]

    @property
    def totals(self) -> dict[Kind, float]:
        """The seconds that all rows together have spent on each thing."""
        found = dict.fromkeys(Kind, 0.0)
        for row in self.rows:
            for kind, seconds in row.totals.items():
                found[kind] += seconds
        return found

    @property
    def longest(self) -> tuple[str, ...]:
        """The rows that decided how long it took: each could not begin before the one before it.

        From the row that ended last it goes back to the one that this had waited for: the last one
        to end of those that it awaits, or if it then waited for room, the one that made room.
        """
        before = _Before(self.rows)
        at = before.last
        path: dict[str, None] = {}
        while at is not None and at.name not in path:
            path[at.name] = None
            at = before.of(at)
        return tuple(reversed(path))

    def is_named(self, beginning: str) -> bool:
        """Whether something of it has an id that begins so: plan, run or unit of work."""
        works = (work for row in self.rows for work in row.works)
        return any(each.startswith(beginning) for each in (self.plan_id, self.run_id, *works))


class _Before:
    """Finds which row let another one begin, in about the time that a look at what it awaits takes.

    A plan of thousands of models that are evaluated one by one has a path of as many rows.
    """

    def __init__(self, rows: Sequence[TimelineRow]) -> None:
        self._rows = {row.name: row for row in rows}
        # of several that ended at once, the first one of the plan comes last
        order = sorted(range(len(rows)), key=lambda at: (rows[at].ended, -at))
        self._by_end = [rows[at] for at in order]
        self._ends = [row.ended for row in self._by_end]

    @property
    def last(self) -> TimelineRow | None:
        """The row that ended last; None if there is none."""
        return self._by_end[-1] if self._by_end else None

    def of(self, at: TimelineRow) -> TimelineRow | None:
        """The row whose end let another one begin; None for the first."""
        until = at.began + _HANDOVER
        if at.began - at.ready > _HANDOVER:  # it waited for room
            ended = range(bisect_right(self._ends, until) - 1, -1, -1)
            found = (self._by_end[number] for number in ended)
            return next((row for row in found if row is not at), None)
        awaited_rows = (self._rows[name] for name in at.awaits if name in self._rows)
        before = (row for row in awaited_rows if row is not at and row.ended <= until)
        return max(before, key=lambda row: row.ended, default=None)


def timeline_of(
    plan: Plan,
    recording: Recording,
    concurrency: Concurrency,
    *,
    started_at: datetime,
    run_id: str = "",
) -> Timeline:
    """The timeline of a plan whose stages were recorded under the names of `row_name`."""
    recorded = recording.rows
    most = _Most.of_each(len(recorded))
    opening = recorded.get(OPENING)
    begin = opening.ended if opening is not None else 0.0
    rows: list[TimelineRow] = []
    if opening is not None:
        rows.append(_row(OPENING, opening, (), ready=opening.began, most=most))
    work: list[str] = []
    filled = filled_by(plan)
    for stage in stages_of(plan):
        name = row_name(stage)
        found = recorded.get(name)
        if found is None or name == OPENING:
            continue
        stage_awaits = map(str, awaited(plan, stage, filled))
        awaits = tuple(sorted(stage_awaits)) if name != CLOSING else tuple(work)
        ends = [recorded[each].ended for each in awaits if each in recorded]
        awaited_rows = awaits or _only(OPENING, recorded)
        rows.append(_row(name, found, awaited_rows, ready=max([begin, *ends]), most=most))
        work.append(name)
    return Timeline(
        plan_id=plan.plan_id,
        environment=plan.environment,
        run_id=run_id,
        started_at=started_at,
        seconds=round(recording.seconds, _DIGITS),
        models=concurrency.models,
        rows=tuple(rows),
    )


def row_name(stage: Stage) -> str:
    """The name of the row that a stage belongs to."""
    if isinstance(stage, WorkStage):
        return str(stage.model)
    return CLOSING if isinstance(stage, Closing) else OPENING


def _only(name: str, recorded: Mapping[str, Row]) -> tuple[str, ...]:
    return (name,) if name in recorded else ()


@dataclass(frozen=True, slots=True)
class _Most:
    """How much of a row is kept."""

    segments: int
    works: int

    @classmethod
    def of_each(cls, rows: int) -> _Most:
        """How much is kept of each of so many rows."""
        count = max(rows, 1)
        return cls(max(MOST_SEGMENTS // count, LEAST_SEGMENTS), max(MOST_WORKS // count, 1))


def _row(name: str, row: Row, awaits: tuple[str, ...], *, ready: float, most: _Most) -> TimelineRow:
    """A row with the time that it waited for room."""
    waited = max(row.began - ready, 0.0)
    waiting = Segment(start=round(ready, _DIGITS), end=round(row.began, _DIGITS), kind=Kind.WAITING)
    spent = {**row.totals}
    if waited:
        spent[Kind.WAITING] = spent.get(Kind.WAITING, 0.0) + waited
    segments = [
        Segment(start=round(each.start, _DIGITS), end=round(each.end, _DIGITS), kind=each.kind)
        for each in bounded(row.segments, most.segments)
    ]
    return TimelineRow(
        name=name,
        awaits=awaits,
        ready=round(min(ready, row.began), _DIGITS),
        began=round(row.began, _DIGITS),
        ended=round(row.ended, _DIGITS),
        error=row.error,
        totals={kind: round(seconds, _DIGITS) for kind, seconds in spent.items()},
        segments=tuple(
            each for each in ([waiting, *segments] if waited else segments) if each.end > each.start
        ),
        works=tuple(row.works)[-most.works :],
    )


def as_json(timeline: Timeline) -> dict[str, object]:
    """A timeline as JSON has it, in a file and for programs."""
    return {
        "format": _FORMAT,
        "plan_id": timeline.plan_id,
        "environment": timeline.environment,
        "run_id": timeline.run_id or None,
        "started_at": timeline.started_at.isoformat(),
        "seconds": timeline.seconds,
        "models_at_once": timeline.models,
        "totals": _by_kind(timeline.totals),
        "longest": list(timeline.longest),
        "rows": [
            {
                "name": row.name,
                "awaits": list(row.awaits),
                "ready": row.ready,
                "began": row.began,
                "ended": row.ended,
                "error": row.error or None,
                "totals": _by_kind(row.totals),
                "segments": [[each.start, each.end, each.kind.value] for each in row.segments],
                "works": list(row.works),
            }
            for row in timeline.rows
        ],
    }


class TimelineInvalid(ValueError):
    """A text is no timeline of this format."""


def from_json(found: Any) -> Timeline:  # noqa: ANN401 - whatever a file has
    """A timeline as it was stored.

    Raises:
        TimelineInvalid: It is none, or of another release.
    """
    known = found.get("format") if isinstance(found, dict) else None
    if known != _FORMAT:
        raise TimelineInvalid(f"its format is {known!r}, and not {_FORMAT}")
    try:
        return Timeline(
            plan_id=found["plan_id"],
            environment=found["environment"],
            run_id=found["run_id"] or "",
            started_at=parse_instant(found["started_at"]),
            seconds=float(found["seconds"]),
            models=int(found["models_at_once"]),
            rows=tuple(map(_row_from, found["rows"])),
        )
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise TimelineInvalid(f"{type(error).__name__}: {error}") from error


def _row_from(found: Any) -> TimelineRow:  # noqa: ANN401 - whatever a file has
    return TimelineRow(
        name=found["name"],
        awaits=tuple(found["awaits"]),
        ready=float(found["ready"]),
        began=float(found["began"]),
        ended=float(found["ended"]),
        error=found["error"] or "",
        totals={Kind(kind): float(seconds) for kind, seconds in found["totals"].items()},
        segments=tuple(
            Segment(start=float(start), end=float(end), kind=Kind(kind))
            for start, end, kind in found["segments"]
        ),
        works=tuple(found["works"]),
    )


def _by_kind(totals: Mapping[Kind, float]) -> dict[str, float]:
    return {kind.value: round(totals[kind], _DIGITS) for kind in Kind if totals.get(kind)}


def longest_rows(rows: Iterable[TimelineRow], most: int) -> tuple[TimelineRow, ...]:
    """The rows that took longest, waiting included, in the order in which they are."""
    every = list(rows)
    kept = sorted(every, key=lambda row: row.ended - row.ready, reverse=True)[:most]
    names = {row.name for row in kept}
    return tuple(row for row in every if row.name in names)
