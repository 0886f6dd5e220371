"""What threads spend their time on: exactly in sums, and as much of it as a picture shows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.spans import (
    MOST_SEGMENTS,
    MOST_WORKS,
    Kind,
    Recording,
    Segment,
    bounded,
    parts,
    span,
    spent_on,
)
from vde_dagster.core.users_code import running_users_code


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recording(clock: Clock) -> Recording:
    return Recording(clock)


def segment(start: float, end: float, kind: Kind) -> Segment:
    return Segment(start=start, end=end, kind=kind)


def test_an_inner_span_stops_the_outer_one(recording: Recording, clock: Clock) -> None:
    def steps() -> Iterator[str]:
        clock.wait(1)
        with span(Kind.SPARK):
            clock.wait(2)
            with span(Kind.CATALOG):
                clock.wait(4)
            clock.wait(8)
        clock.wait(16)
        yield "w1"

    clock.wait(0.5)
    assert list(recording.of("m.a", steps(), str)) == ["w1"]
    row = recording.rows["m.a"]
    assert row.totals == {Kind.OTHER: 17, Kind.SPARK: 10, Kind.CATALOG: 4}
    assert row.segments == (
        segment(0.5, 1.5, Kind.OTHER),
        segment(1.5, 3.5, Kind.SPARK),
        segment(3.5, 7.5, Kind.CATALOG),
        segment(7.5, 15.5, Kind.SPARK),
        segment(15.5, 31.5, Kind.OTHER),
    )
    assert (row.began, row.ended, recording.seconds) == (0.5, 31.5, 31.5)


def test_what_is_done_with_a_step_is_not_recorded(recording: Recording, clock: Clock) -> None:
    def steps() -> Iterator[str]:
        for number in range(2):
            clock.wait(1)
            yield f"w{number}"

    for _ in recording.of("m.a", steps(), str):
        clock.wait(10)
        with span(Kind.STATE):
            clock.wait(10)
    row = recording.rows["m.a"]
    assert row.totals == {Kind.OTHER: 2}
    assert row.segments == (segment(0, 1, Kind.OTHER), segment(21, 22, Kind.OTHER))
    assert list(row.works) == ["w0", "w1"]


def test_an_error_is_raised_and_its_kind_is_known(recording: Recording, clock: Clock) -> None:
    def fails() -> list[str]:
        raise LookupError("not shown")

    def steps() -> Iterator[str]:
        clock.wait(1)
        yield from fails()

    with pytest.raises(LookupError, match="not shown"):
        list(recording.of("m.a", steps(), str))
    assert recording.rows["m.a"].error == "LookupError"
    assert recording.rows["m.a"].totals == {Kind.OTHER: 1}


def test_each_thread_records_in_its_own_row(recording: Recording) -> None:
    both = threading.Barrier(2)

    def steps(kind: Kind) -> Iterator[str]:
        with span(kind):
            both.wait(60)
            both.wait(60)
        yield kind.value

    def record(name: str, kind: Kind) -> None:
        list(recording.of(name, steps(kind), str))

    kinds = {"m.a": Kind.SPARK, "m.b": Kind.CATALOG}
    threads = [threading.Thread(target=record, args=each) for each in kinds.items()]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    for name, kind in kinds.items():
        assert set(recording.rows[name].totals) <= {kind, Kind.OTHER}
        assert list(recording.rows[name].works) == [kind.value]


def test_users_code_and_methods_of_a_class_say_what_they_are(
    recording: Recording, clock: Clock
) -> None:
    @spent_on(Kind.CATALOG)
    class Catalog:
        """One with public methods."""

        def look(self, seconds: float) -> float:
            clock.wait(seconds)
            return self._inside(seconds)

        def _inside(self, seconds: float) -> float:
            clock.wait(seconds)
            return seconds

    def steps() -> Iterator[str]:
        with running_users_code():
            clock.wait(2)
        assert Catalog().look(seconds=3) == 3
        yield "w"

    list(recording.of("m.a", steps(), str))
    assert recording.rows["m.a"].totals == {Kind.USER: 2, Kind.CATALOG: 6}
    assert Catalog().look(1) == 1, "and is the same where nobody records"
    assert Catalog.look.__name__ == "look"


def test_a_row_keeps_no_more_than_a_picture_shows(recording: Recording, clock: Clock) -> None:
    def steps() -> Iterator[str]:
        for number in range(5000):
            with span(Kind.STATE):
                clock.wait(1)
            with span(Kind.SPARK):
                clock.wait(3)
            yield f"w{number}"

    list(recording.of("m.a", steps(), str))
    row = recording.rows["m.a"]
    assert row.totals == {Kind.STATE: 5000, Kind.SPARK: 15000}
    assert len(row.segments) <= MOST_SEGMENTS
    longest = max(row.segments, key=lambda each: each.end - each.start)
    assert longest.kind is Kind.SPARK, "most of each part"
    assert len(row.works) == MOST_WORKS
    assert row.works[-1] == "w4999"


def test_parts_show_what_most_of_their_time_went_to() -> None:
    found = parts(
        [
            segment(0, 4, Kind.SPARK),
            segment(4, 5.2, Kind.CATALOG),
            segment(5.2, 6, Kind.STATE),
            segment(8.4, 8.5, Kind.USER),
        ],
        0,
        10,
        5,
    )
    assert found == (Kind.SPARK, Kind.SPARK, Kind.CATALOG, None, Kind.USER)


def test_parts_of_no_time_are_empty() -> None:
    assert parts([], 0, 0, 3) == (None, None, None)
    assert parts([], 0, 9, 3) == (None, None, None)


SEGMENTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 5), st.sampled_from(Kind)), max_size=40
)


@given(SEGMENTS, st.integers(1, 30))
def test_what_is_cut_down_stays_in_order_and_within_its_time(
    written: list[tuple[int, int, Kind]], most: int
) -> None:
    segments, at = list[Segment](), 0.0
    for pause, length, kind in written:
        segments.append(segment(at + pause, at + pause + length, kind))
        at += pause + length
    found = bounded(segments, most)
    assert len(found) <= most
    assert all(one.end <= two.start + 1e-9 for one, two in pairwise(found))
    assert {each.kind for each in found} <= {each.kind for each in segments}
    if segments:
        assert found
        assert found[0].start >= segments[0].start - 1e-9
        assert found[-1].end <= segments[-1].end + 1e-9
    if len(segments) <= most:
        assert found == tuple(segments)
