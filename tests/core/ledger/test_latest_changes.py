"""The latest change at each time is that which a look at every change finds."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.ledger.staleness import LatestChanges, Times
from vde_dagster.core.sql.reads.input_ranges import WHOLE, InputRange, WholeTable
from vde_dagster.core.time.intervals import EPOCH, Interval, merge


def hours(start: int, end: int) -> Interval:
    return Interval(EPOCH + timedelta(hours=start), EPOCH + timedelta(hours=end))


some_times = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 6)).map(lambda each: hours(each[0], sum(each))),
    max_size=3,
).map(merge)
some_changes = st.lists(st.one_of(some_times, some_times, st.none()), max_size=8)


def touches(times: Times, read: InputRange) -> bool:
    if times is None:
        return True
    if isinstance(read, WholeTable):
        return bool(times)
    return any(one.intersection(other) is not None for one in times for other in read)


@given(some_changes, st.one_of(st.just(WHOLE), some_times))
def test_the_latest_change_of_a_range_is_the_first_that_touches_it(
    changes: list[Times], read: InputRange
) -> None:
    expected = next((at for at, each in enumerate(changes) if touches(each, read)), len(changes))
    assert LatestChanges.of(changes).within(read) == expected


def test_without_changes_nothing_has_changed() -> None:
    for read in (WHOLE, (hours(0, 1),), ()):
        assert LatestChanges.of([]).within(read) == 0
        assert LatestChanges.of([()]).within(read) == 1
