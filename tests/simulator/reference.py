"""What each model of a project has to show, from nothing but what has landed in its sources.

It knows no versions, ledgers or traces: rows are computed from scratch, in plain Python.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from tests.app.generated_models import LOOKED_THROUGH, SEQUENTIAL, WHOLE_TABLES, Form, Made
from tests.app.memory_world import SOURCE, START

Row = tuple[Any, ...]
"""Id, time and amount; of a version then from when and up to when it is valid."""
K = TypeVar("K", bound=Hashable)
HOUR: Final = timedelta(hours=1)
_WITHOUT_TIME: Final = {*SEQUENTIAL, Form.ADDED_LATE}
"""Forms whose tables have no time by which they are read: they are read as they are, too."""
FOREVER: Final = datetime(2100, 1, 1, tzinfo=UTC)
Times = tuple[datetime, datetime]
EVER: Final = (datetime(1970, 1, 1, tzinfo=UTC), FOREVER)


@dataclass(frozen=True, slots=True)
class Shown:
    """The rows of a table, and up to when they are complete; ``rows`` is None where it depends on
    when they were computed, and only those of the times ``certain`` do not."""

    rows: tuple[Row, ...] | None
    end: datetime
    certain: Times = EVER

    def has(self, row: Row) -> bool:
        """Whether a row is of the certain times."""
        return bool(self.certain[0] <= row[1] < self.certain[1])


def expected(
    models: Sequence[Made],
    sources: Mapping[str, Shown],
    loose: Collection[str] = (),
    *,
    landed: datetime = FOREVER,
) -> dict[str, Shown]:
    """What each model shows once all is computed, by its name; models come parents first.

    Of those in ``loose`` the rows depend on when they were computed. Signals let pass what ends by
    the time ``landed``.
    """
    tables = dict(sources)
    clock = sources[str(SOURCE)].end if str(SOURCE) in sources else FOREVER
    for model in models:
        shown = _shown(model, [tables[each] for each in model.parents], landed, clock)
        tables[f"gen.{model.name}"] = Shown(None, shown.end) if model.name in loose else shown
    return tables


def _shown(model: Made, parents: Sequence[Shown], landed: datetime, clock: datetime) -> Shown:
    if model.form is Form.SEED:
        rows = ((id_, START + id_ * HOUR, amount) for id_, amount in model.rows)
        return Shown(tuple(rows), FOREVER)
    by_time = parents[:1] if model.form is Form.LOOKUP else parents
    reached = min([each.end for each in by_time] + [landed] * model.waits)
    reached = min(reached, clock) if model.form is Form.RUNNING else reached
    begin, last = bounds(model)
    end = min(floor(model, reached), last)
    given = [None if each.rows is None else [row[:3] for row in each.rows] for each in parents]
    # whoever reads a table reads it as it is, whatever its cadence; nobody waits for what is behind
    # the end of a model by time
    has_ended = end == last and model.form not in LOOKED_THROUGH | WHOLE_TABLES | _WITHOUT_TIME
    shown_to = FOREVER if has_ended else reached
    certain = _certain(model, parents)
    if certain is None or any(each is None for each in given):
        return Shown(None, shown_to)
    made = [*_rows(model, given[0] or (), given[-1] or (), (begin, end))]
    if model.above is not None:
        made = [row for row in made if row[2] > model.above]
    return Shown(
        tuple((id_, at, amount + model.plus, *more) for id_, at, amount, *more in made),
        shown_to,
        certain,
    )


def bounds(model: Made) -> Times:
    """Where a model's first interval begins, and where its last one ends."""
    last = FOREVER if model.ends is None else floor(model, START + model.ends * HOUR)
    return _ceil(model, START + model.begins * HOUR), last


def _certain(model: Made, parents: Sequence[Shown]) -> Times | None:
    """Of which times a model's rows are certain, None if of none: what was computed stays where an
    edit lets it begin later or end earlier."""
    if model.form in LOOKED_THROUGH:
        return parents[0].certain
    if model.form is Form.RUNNING:
        return EVER if all(each.certain == EVER for each in parents) else None
    begins, ends = EVER
    for name, parent in zip(model.parents, parents, strict=True):
        window = model.window(name) if model.is_by_time else None
        if parent.certain != EVER and window is None:
            return None
        if parent.certain != EVER and window is not None:
            begins = max(begins, _ceil(model, parent.certain[0]) + window[0])
            ends = min(ends, floor(model, parent.certain[1]) - window[1])
    first, last = bounds(model)
    if model.is_by_time:
        begins, ends = max(begins, first) if model.begins else begins, min(ends, last)
    return None if ends <= begins or (last < FOREVER and not model.is_by_time) else (begins, ends)


def _rows(  # noqa: PLR0912 - a case for each form
    model: Made, p: Sequence[Row], q: Sequence[Row], times: Times
) -> Iterator[Row]:
    begin, end = times
    mine = [row for row in p if begin <= row[1] < end]
    match model.form:
        case Form.FULL:
            yield from p
        case Form.VIEW | Form.EMBEDDED:
            yield from ((id_, at, amount * 2) for id_, at, amount in p)
        case Form.UNION:
            yield from (*mine, *(row for row in q if begin <= row[1] < end))
        case Form.RECENT:
            yield from _joined(mine, p, -model.hours * HOUR, timedelta())
        case Form.AHEAD:
            yield from _joined(mine, p, timedelta(), HOUR)
        case Form.SUMS:
            groups = _grouped((floor(model, row[1]), row) for row in mine)
            for at, rows in groups.items():
                yield len(rows), at, sum(row[2] for row in rows)
        case Form.RUNNING:
            sums, so_far = _grouped((floor(model, row[1]), row) for row in mine), 0
            while begin < end:
                so_far += sum(row[2] for row in sums.get(begin, ()))
                yield 1, begin, so_far
                so_far += model.plus
                begin += HOUR * (24 if model.daily else 1)
        case Form.JOIN:
            hours = _grouped((row[1].replace(minute=0, second=0), row) for row in q)
            for id_, at, amount in mine:
                joined = hours.get(at.replace(minute=0, second=0), ())
                yield id_, at, amount + sum(row[2] for row in joined)
        case Form.LOOKUP:
            thirds = _grouped((_key(row), row) for row in q)
            for row in mine:
                same = () if row[0] is None else thirds.get(_key(row), ())
                yield row[0], row[1], row[2] + sum(other[2] % 7 for other in same)
        case Form.HISTORY | Form.HISTORY_BY_TIME:  # the rows that are valid now
            for key, rows in _grouped((_key(row), row) for row in p).items():
                yield key, max(row[1] for row in rows), sum(row[2] for row in rows)
        case Form.BY_KEY:
            last: dict[int | None, Row] = {}
            for _, rows in sorted(_grouped((floor(model, row[1]), row) for row in mine).items()):
                for key, found in _grouped((_key(row) or None, row) for row in rows).items():
                    last[key] = key, max(row[1] for row in found), sum(row[2] for row in found)
            yield from last.values()
        case Form.CHANGES:
            for key, changes in _changes(p if model.any_time else mine).items():
                yield from ((key, *row[1:]) for row in changes[-1:] if not _deletes(row))
        case Form.VERSIONS | Form.VERSIONS_BY_TIME:
            by_column = model.form is Form.VERSIONS
            for key, changes in _changes(p if model.any_time else mine).items():
                yield from _versions(key, changes, by_column=by_column)
        case _:
            yield from mine


def _key(row: Row) -> int | None:
    return None if row[0] is None else row[0] % 3


def _changes(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Different changes by key, in their order: that of their times, then that of their ids."""
    return {
        key or 0: sorted(found, key=lambda row: (row[1], row[0]))
        for key, found in _grouped((_key(row), row) for row in {*rows}).items()
    }


def _deletes(change: Row) -> bool:
    return bool(change[2] % 4 == 0)


def _versions(key: int, changes: Sequence[Row], *, by_column: bool) -> Iterator[Row]:
    """What a key was, by its changes: each that says something else than the one before it begins
    a version, or none if it deletes the key."""
    said = [(_deletes(row), row[2] % 3) for row in changes]
    new = [at for at in range(len(said)) if not by_column or at == 0 or said[at] != said[at - 1]]
    ends = [*(changes[at][1] for at in new[1:]), FOREVER]
    for at, end in zip(new, ends, strict=True):
        _, begin, amount = changes[at]
        if begin < end and not _deletes(changes[at]):
            yield key, begin, amount, begin, end


def _joined(
    rows: Sequence[Row], others: Sequence[Row], after: timedelta, before: timedelta
) -> Iterator[Row]:
    """Each row with the sum of all others around it: those of (at + after, at], or [at, before)."""
    for (id_, at), same in _grouped(((row[0], row[1]), row) for row in rows).items():
        if before:
            found = [row[2] for row in others if at <= row[1] < at + before]
        else:
            found = [row[2] for row in others if at + after < row[1] <= at]
        yield id_, at, sum(found) * len(same)


def floor(model: Made, at: datetime) -> datetime:
    """Up to when a model's whole intervals reach that have ended by a time."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    return hour.replace(hour=0) if model.daily else hour


def _ceil(model: Made, at: datetime) -> datetime:
    found = floor(model, at)
    return found if found == at else found + HOUR * (24 if model.daily else 1)


def _grouped(pairs: Iterable[tuple[K, Row]]) -> dict[K, list[Row]]:
    found: dict[K, list[Row]] = defaultdict(list)
    for key, row in pairs:
        found[key].append(row)
    return found
