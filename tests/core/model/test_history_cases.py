"""Short histories of one key, each rule of `vde_dagster.core.model.history` once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import pytest

from tests.core.model.history_tables import (
    Row,
)
from tests.core.model.kept_history import (
    CLOSING_COLUMN,
    EPOCH,
    OPEN,
    OPEN_COLUMN,
    TIME,
    TIMED_COLUMN,
    Kept,
    day,
    ordered,
)
from vde_dagster.core.model.history import (
    History,
)

# Short histories of one key: what each load brings, and the row's times behind it


@dataclass(frozen=True, kw_only=True)
class Case:
    """Loads on the days 1, 2, 3, ... at 11; each is the key's row without the key, or None.

    ``expected`` are values with from and to; a number is a day at midnight, a pair a day and hour.
    """

    what: str
    history: History
    loads: list[tuple[object, ...] | None]
    expected: list[tuple[object, ...]]


NOTHING: Final[list[tuple[object, ...]]] = []

CASES: Final = [
    Case(
        what="an equal time changes nothing, whatever else differs",
        history=TIME,
        loads=[("a", 1), ("b", 1)],
        expected=[("a", 1, 0, None)],
    ),
    Case(
        what="an older time changes nothing: input may be out of order",
        history=TIME,
        loads=[("a", 1), ("c", 3), ("b", 2)],
        expected=[("a", 1, 0, 3), ("c", 3, 3, None)],
    ),
    Case(
        what="a newer time is a change, also where nothing else differs",
        history=TIME,
        loads=[("a", 1), ("a", 2)],
        expected=[("a", 1, 0, 2), ("a", 2, 2, None)],
    ),
    Case(
        what="no time is never newer",
        history=TIME,
        loads=[("a", 1), ("b", None)],
        expected=[("a", 1, 0, None)],
    ),
    Case(
        what="any time is newer than none",
        history=TIME,
        loads=[("a", None), ("b", 1)],
        expected=[("a", None, 0, 1), ("b", 1, 1, None)],
    ),
    Case(
        what="a key that is new later is valid from its time",
        history=TIME,
        loads=[None, ("a", 1)],
        expected=[("a", 1, 1, None)],
    ),
    Case(
        what="a key that is new later without a time is valid from the execution time",
        history=TIME,
        loads=[None, ("a", None)],
        expected=[("a", None, (2, 11), None)],
    ),
    Case(
        what="updated_at_as_valid_from: the first load is valid from its time",
        history=replace(TIME, from_epoch=False),
        loads=[("a", 1)],
        expected=[("a", 1, 1, None)],
    ),
    Case(
        what="updated_at_as_valid_from: without a time, from the execution time",
        history=replace(TIME, from_epoch=False),
        loads=[("a", None)],
        expected=[("a", None, (1, 11), None)],
    ),
    Case(
        what="a row that is gone stays open",
        history=OPEN,
        loads=[("a", 1), None],
        expected=[("a", 1, 0, None)],
    ),
    Case(
        what="comes it back as it was, it was never gone",
        history=OPEN,
        loads=[("a", 1), None, ("a", 1)],
        expected=[("a", 1, 0, None)],
    ),
    Case(
        what="comes it back changed, it is closed where the new row begins",
        history=OPEN,
        loads=[("a", 1), None, ("b", 3)],
        expected=[("a", 1, 0, 3), ("b", 3, 3, None)],
    ),
    Case(
        what="a row that is gone is closed at the execution time, once",
        history=TIME,
        loads=[("a", 1), None, None],
        expected=[("a", 1, 0, (2, 11))],
    ),
    Case(
        what="a key comes back several times, each time from its time or where it was closed",
        history=TIME,
        loads=[("a", 1), None, ("b", 3), None, ("c", 3), None, ("d", 7)],
        expected=[
            ("a", 1, 0, (2, 11)),
            ("b", 3, 3, (4, 11)),
            ("c", 3, (4, 11), (6, 11)),
            ("d", 7, 7, None),
        ],
    ),
    Case(
        what="comes it back without a time, it is valid from the execution time",
        history=TIME,
        loads=[("a", 1), None, ("a", None)],
        expected=[("a", 1, 0, (2, 11)), ("a", None, (3, 11), None)],
    ),
    Case(
        what="a change before the row that it closes began takes that row's place",
        history=TIME,
        loads=[("a", 1), None, ("b", 1), ("c", 2)],
        expected=[("a", 1, 0, (2, 11)), ("b", 1, (2, 11), (2, 11)), ("c", 2, (2, 11), None)],
    ),
    Case(
        what="a row of the future that is gone ends where it began",
        history=TIME,
        loads=[None, ("a", 9), None],
        expected=[("a", 9, 9, 9)],
    ),
    Case(
        what="by column: a change is valid from the execution time",
        history=OPEN_COLUMN,
        loads=[("a", 1), ("a", 2), ("b", 2)],
        expected=[("a", 1, 0, (3, 11)), ("b", 2, (3, 11), None)],
    ),
    Case(
        what="by column: NULL is a value",
        history=OPEN_COLUMN,
        loads=[(None, 1), (None, 1), ("a", 1), (None, 1)],
        expected=[
            (None, 1, 0, (3, 11)),
            ("a", 1, (3, 11), (4, 11)),
            (None, 1, (4, 11), None),
        ],
    ),
    Case(
        what="by column: a key that is new later is valid from the execution time",
        history=OPEN_COLUMN,
        loads=[None, ("a", 1)],
        expected=[("a", 1, (2, 11), None)],
    ),
    Case(
        what="by column: execution_time_as_valid_from also on the first load",
        history=replace(OPEN_COLUMN, from_epoch=False),
        loads=[("a", 1)],
        expected=[("a", 1, (1, 11), None)],
    ),
    Case(
        what="by column: a row that is gone stays open, and comes back changed or not",
        history=OPEN_COLUMN,
        loads=[("a", 1), None, ("a", 2), None, ("b", 3)],
        expected=[("a", 1, 0, (5, 11)), ("b", 3, (5, 11), None)],
    ),
    Case(
        what="by column: a row that is gone is closed, and comes back at the execution time",
        history=CLOSING_COLUMN,
        loads=[("a", 1), None, None, ("a", 1), None, ("a", 1)],
        expected=[
            ("a", 1, 0, (2, 11)),
            ("a", 1, (4, 11), (5, 11)),
            ("a", 1, (6, 11), None),
        ],
    ),
    Case(
        what="by column: a star compares every column",
        history=replace(OPEN_COLUMN, compared=("*",)),
        loads=[("a", 1), ("a", 2), ("a", 2), ("b", 2)],
        expected=[("a", 1, 0, (2, 11)), ("a", 2, (2, 11), (4, 11)), ("b", 2, (4, 11), None)],
    ),
    Case(
        what="by column with a time: that time stands for the execution time",
        history=TIMED_COLUMN,
        loads=[None, ("a", 1), ("b", 2), ("b", 3)],
        expected=[("a", 1, 1, 2), ("b", 2, 2, None)],
    ),
    Case(
        what="by column with a time: what is older than the open row is out of order",
        history=TIMED_COLUMN,
        loads=[("a", 3), ("b", 2), ("c", 4)],
        expected=[("a", 3, 0, 4), ("c", 4, 4, None)],
    ),
    Case(
        what="by column with a time: of one time the later load counts",
        history=TIMED_COLUMN,
        loads=[None, ("a", 2), ("b", 2)],
        expected=[("a", 2, 2, 2), ("b", 2, 2, None)],
    ),
    Case(
        what="by column with a time: without one, a change is valid from the execution time",
        history=TIMED_COLUMN,
        loads=[("a", 1), ("b", None), ("c", 3)],
        expected=[
            ("a", 1, 0, (2, 11)),
            ("b", None, (2, 11), 3),
            ("c", 3, 3, None),
        ],
    ),
    Case(
        what="by column with a time: comes it back, it is valid from its time or the closing",
        history=replace(TIMED_COLUMN, closes_missing=True),
        loads=[("a", 1), None, ("a", 1), None, ("a", 5)],
        expected=[("a", 1, 0, (2, 11)), ("a", 1, (2, 11), (4, 11)), ("a", 5, 5, None)],
    ),
    Case(
        what="what was never there leaves no row",
        history=TIME,
        loads=[None, None],
        expected=NOTHING,
    ),
]

OTHER: Final = (99, "there from the start", day(1))


def moment(written: object) -> datetime | None:
    match written:
        case None:
            return None
        case 0:
            return EPOCH
        case int():
            return day(written)
        case (int() as number, int() as hour):
            return day(number, hour)
    raise AssertionError(written)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what.replace(" ", "_"))
def test_a_short_history(case: Case) -> None:
    """Another key is there from the start, so that later loads are not the first one."""
    kept = Kept(case.history, ("id", "name", "updated_at"))
    for number, load in enumerate(case.loads, start=1):
        source: list[Row] = [OTHER]
        if load is not None:
            name, updated = load
            source.append((1, name, moment(updated)))
        for _ in range(2):  # the same source a second time changes nothing
            kept.look(source, day(number, 11))
    expected = [
        (1, name, moment(updated), moment(since), moment(until))
        for name, updated, since, until in case.expected
    ]
    assert ordered([row for row in kept.rows if row[0] == 1]) == ordered(expected)
    (other,) = (row for row in kept.rows if row[0] == OTHER[0])
    assert other[-1] is None
