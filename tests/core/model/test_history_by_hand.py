"""Many random histories, each compared with one that is kept by hand."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from tests.core.model.history_reference import Record, Rules, look
from tests.core.model.history_tables import Row
from tests.core.model.kept_history import TIME, Kept, day, ordered
from tests.depth import is_full

# Many histories, each compared with one that is kept by hand

HISTORIES: Final = 100 if is_full() else 30
LOADS: Final = 5
LOOKS: Final = ["by time", "by column", "with a time"]
WAYS: Final = [
    *itertools.product(LOOKS, [True, False], [True, False]),
    *((each, True, None) for each in LOOKS),
]
"""How changes are found, whether it begins at the epoch, and whether deletes close; None: both."""


@pytest.mark.parametrize("way,from_epoch,closes_missing", WAYS)
def test_any_history_is_the_one_that_is_kept_by_hand(
    way: str, from_epoch: bool, closes_missing: bool | None
) -> None:
    """Loads come at any time, also before the one before. `some_value` distinguishes histories.

    Whether deletes close rows may be switched on and off between loads.
    """
    columns = ("some_value", "id", "name", "updated_at")
    rules = Rules(
        key=("some_value", "id"),
        updated_at=None if way == "by column" else "updated_at",
        compared=None if way == "by time" else ("name",),
        from_epoch=from_epoch,
        closes_missing=bool(closes_missing),
    )
    history = replace(
        TIME,
        key=("some_value", "id"),
        updated_at=rules.updated_at,
        compared=tuple(rules.compared or ()),
        from_epoch=from_epoch,
        closes_missing=bool(closes_missing),
        once_closed_missing=closes_missing is None,
    )
    chance = random.Random(f"{way} {from_epoch} {closes_missing}")
    kept = Kept(history, columns)
    records: list[Record] = []
    at = day(3)
    for load in range(LOADS):
        at += timedelta(hours=chance.randint(-10, 30))
        if closes_missing is None:
            rules = replace(rules, closes_missing=load % 2 == 0)
            kept.history = replace(history, closes_missing=load % 2 == 0)
        source = [row for number in range(HISTORIES) for row in some_rows(chance, number)]
        before = kept.rows
        values = [dict(zip(columns, row, strict=True)) for row in source]
        records = look(records, values, at, rules, is_first=load == 0)
        expected: list[Row] = [
            (*(each.values[name] for name in columns), each.valid_from, each.valid_to)
            for each in records
        ]
        for _ in range(2):  # the same source a second time changes nothing
            kept.look(source, at)
            assert ordered(kept.rows) == ordered(expected)
        check_history(kept.rows)
        assert {row for row in before if row[-1] is not None} <= set(kept.rows)


def some_rows(chance: random.Random, number: int) -> list[Row]:
    """Rows of some of four keys, one of them NULL."""
    keys = chance.sample([None, 1, 2, 3], chance.randint(0, 4))
    times = [None, *map(day, range(1, 6))]
    names = [None, "a", "b"]
    return [(number, key, chance.choice(names), chance.choice(times)) for key in keys]


def check_history(rows: Sequence[Row]) -> None:
    """A key has one open row at most, and its rows follow each other; none ends before it began."""
    of_key: dict[object, list[tuple[datetime, datetime | None]]] = {}
    for number, key, *_, start, end in rows:
        assert isinstance(start, datetime)
        assert isinstance(end, datetime | None)
        of_key.setdefault((number, key), []).append((start, end))
    for spans in of_key.values():
        assert [end for _, end in spans].count(None) <= 1
        ended = [(start, end or datetime.max.replace(tzinfo=UTC)) for start, end in spans]
        ended.sort()
        assert all(start <= end for start, end in ended)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ended))
