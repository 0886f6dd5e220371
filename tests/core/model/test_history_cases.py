"""Short histories of one key, each rule of `vde_dagster.core.model.history` once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

import pytest

from tests.core.model.history_tables import Row
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
from tests.core.tables import rows
from vde_dagster.core.model.history import History

# What a case is about, the loads, and what they leave. Loads are on the days 1, 2, 3, ... at 11:
# `a2` is the key's row with the name a, changed on day 2; _ stands for NULL, - for no row. What is
# left has a time from and to: 2 is the midnight of a day, load2 the instant of a load, - is open.
CASES: Final[list[tuple[History, str]]] = [
    (
        TIME,
        """
an equal time changes nothing, whatever else differs | a1 b1 | a1 epoch -
an older time changes nothing: input may be out of order | a1 c3 b2 | a1 epoch 3, c3 3 -
a newer time is a change, also where nothing else differs | a1 a2 | a1 epoch 2, a2 2 -
no time is never newer | a1 b_ | a1 epoch -
any time is newer than none | a_ b1 | a_ epoch 1, b1 1 -
a key that is new later is valid from its time | - a1 | a1 1 -
a key that is new later without a time is valid from the execution time | - a_ | a_ load2 -
a row that is gone is closed at the execution time, once | a1 - - | a1 epoch load2
a key comes back several times, each time from its time or where it was closed
  | a1 - b3 - c3 - d7 | a1 epoch load2, b3 3 load4, c3 load4 load6, d7 7 -
comes it back without a time, it is valid from the execution time
  | a1 - a_ | a1 epoch load2, a_ load3 -
a change before the row that it closes began takes that row's place
  | a1 - b1 c2 | a1 epoch load2, b1 load2 load2, c2 load2 -
a row of the future that is gone ends where it began | - a9 - | a9 9 9
what was never there leaves no row | - - |
""",
    ),
    (
        replace(TIME, from_epoch=False),
        """
updated_at_as_valid_from: the first load is valid from its time | a1 | a1 1 -
updated_at_as_valid_from: without a time, from the execution time | a_ | a_ load1 -
""",
    ),
    (
        OPEN,
        """
a row that is gone stays open | a1 - | a1 epoch -
comes it back as it was, it was never gone | a1 - a1 | a1 epoch -
comes it back changed, it is closed where the new row begins | a1 - b3 | a1 epoch 3, b3 3 -
""",
    ),
    (
        OPEN_COLUMN,
        """
by column: a change is valid from the execution time | a1 a2 b2 | a1 epoch load3, b2 load3 -
by column: NULL is a value | _1 _1 a1 _1 | _1 epoch load3, a1 load3 load4, _1 load4 -
by column: a key that is new later is valid from the execution time | - a1 | a1 load2 -
by column: a row that is gone stays open, and comes back changed or not
  | a1 - a2 - b3 | a1 epoch load5, b3 load5 -
""",
    ),
    (
        replace(OPEN_COLUMN, from_epoch=False),
        """
by column: execution_time_as_valid_from also on the first load | a1 | a1 load1 -
""",
    ),
    (
        CLOSING_COLUMN,
        """
by column: a row that is gone is closed, and comes back at the execution time
  | a1 - - a1 - a1 | a1 epoch load2, a1 load4 load5, a1 load6 -
""",
    ),
    (
        replace(OPEN_COLUMN, compared=("*",)),
        """
by column: a star compares every column | a1 a2 a2 b2 | a1 epoch load2, a2 load2 load4, b2 load4 -
""",
    ),
    (
        TIMED_COLUMN,
        """
by column with a time: that time stands for the execution time | - a1 b2 b3 | a1 1 2, b2 2 -
by column with a time: what is older than the open row is out of order
  | a3 b2 c4 | a3 epoch 4, c4 4 -
by column with a time: of one time the later load counts | - a2 b2 | a2 2 2, b2 2 -
by column with a time: without one, a change is valid from the execution time
  | a1 b_ c3 | a1 epoch load2, b_ load2 3, c3 3 -
""",
    ),
    (
        replace(TIMED_COLUMN, closes_missing=True),
        """
by column with a time: comes it back, it is valid from its time or the closing
  | a1 - a1 - a5 | a1 epoch load2, a1 load2 load4, a5 5 -
""",
    ),
]
OTHER: Final = (99, "there from the start", day(1))


def moment(written: str) -> datetime | None:
    if written.startswith("load"):
        return day(int(written.removeprefix("load")), 11)
    if written == "epoch":
        return EPOCH
    return None if written in ("-", "_") else day(int(written))


def row_of(written: str) -> Row:
    name, updated = written[0], written[1:]
    return (1, None if name == "_" else name, moment(updated))


@pytest.mark.parametrize(
    "history,loads,expected",
    [
        pytest.param(history, loads, expected, id=what.replace(" ", "_"))
        for history, table in CASES
        for what, loads, expected in rows(table)
    ],
)
def test_a_short_history(history: History, loads: str, expected: str) -> None:
    """Another key is there from the start, so that later loads are not the first one."""
    kept = Kept(history, ("id", "name", "updated_at"))
    for number, load in enumerate(loads.split(), start=1):
        source = [OTHER] if load == "-" else [OTHER, row_of(load)]
        for _ in range(2):  # the same source a second time changes nothing
            kept.look(source, day(number, 11))
    left = (each.split() for each in expected.split(", ") if each)
    wanted = [(*row_of(row), moment(since), moment(until)) for row, since, until in left]
    assert ordered([row for row in kept.rows if row[0] == 1]) == ordered(wanted)
    (other,) = (row for row in kept.rows if row[0] == OTHER[0])
    assert other[-1] is None
