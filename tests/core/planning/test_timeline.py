"""A timeline says what each model waited for, and what decided how long all of it took."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app.memory_world import MemoryWorld, graph_of, plan
from tests.core.test_spans import Clock
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.core.planning.stages import stages_of
from vde_dagster.core.planning.timeline import (
    CLOSING,
    LEAST_SEGMENTS,
    MOST_SEGMENTS,
    MOST_WORKS,
    OPENING,
    Timeline,
    TimelineInvalid,
    TimelineRow,
    as_json,
    from_json,
    longest_rows,
    row_name,
    timeline_of,
)
from vde_dagster.core.spans import Kind, Recording, Segment, span

AT: Final = datetime(2026, 11, 26, 8, 10, 2, tzinfo=UTC)
FULL: Final = "MODEL (name mart.{}, kind FULL);\nSELECT SUM(amount) AS amount FROM {}"


def made() -> Plan:
    """Two models that read the source, and one that reads both."""
    both = "MODEL (name mart.both, kind FULL);\nSELECT a.amount FROM mart.a AS a CROSS JOIN mart.b"
    world = MemoryWorld()
    world.land((1, 10), until=24)
    graph = graph_of(
        {"a": FULL.format("a", "raw.events"), "b": FULL.format("b", "raw.events"), "both": both}
    )
    return plan(world.services(), graph)


def spending(clock: Clock, *spent: tuple[Kind, float]) -> Iterator[str]:
    for kind, seconds in spent:
        with span(kind):
            clock.wait(seconds)
    yield "work"


def carried_out() -> Timeline:
    """One model at a time: 1 s before them, 4 s for a, 2 s for b, 3 s for both, 1 s after them."""
    clock = Clock()
    recording = Recording(clock)

    def did(name: str, *spent: tuple[Kind, float]) -> None:
        list(recording.of(name, spending(clock, *spent), lambda work: f"{work} of {name}"))

    did(OPENING, (Kind.STATE, 1))
    did("mart.a", (Kind.SPARK, 3), (Kind.CATALOG, 1))
    did("mart.b", (Kind.SPARK, 2))
    did("mart.both", (Kind.START, 0.5), (Kind.SPARK, 2.5))
    did(CLOSING, (Kind.CATALOG, 1))
    return timeline_of(made(), recording, Concurrency(models=2), started_at=AT, run_id="51b2a7f0-1")


def test_stages_have_the_rows_of_their_models_and_one_before_and_after_them() -> None:
    names = [row_name(stage) for stage in stages_of(made())]
    assert list(dict.fromkeys(names)) == [OPENING, "mart.a", "mart.b", "mart.both", CLOSING]


def test_a_row_waits_from_when_all_that_it_awaits_has_ended() -> None:
    rows = {row.name: row for row in carried_out().rows}
    assert list(rows) == [OPENING, "mart.a", "mart.b", "mart.both", CLOSING]
    a, b, both = rows["mart.a"], rows["mart.b"], rows["mart.both"]
    assert (a.awaits, a.ready, a.began, a.ended) == ((OPENING,), 1, 1, 5)
    assert (b.awaits, b.ready, b.began, b.ended) == ((OPENING,), 1, 5, 7)
    assert b.totals == {Kind.SPARK: 2, Kind.WAITING: 4}
    assert b.segments == (
        Segment(start=1, end=5, kind=Kind.WAITING),
        Segment(start=5, end=7, kind=Kind.SPARK),
    )
    assert (both.awaits, both.ready, both.began) == (("mart.a", "mart.b"), 7, 7)
    assert rows[CLOSING].awaits == ("mart.a", "mart.b", "mart.both")
    assert both.works == ("work of mart.both",)


def test_the_sums_are_those_of_all_rows() -> None:
    assert {kind: seconds for kind, seconds in carried_out().totals.items() if seconds} == {
        Kind.WAITING: 4,
        Kind.START: 0.5,
        Kind.SPARK: 7.5,
        Kind.CATALOG: 2,
        Kind.STATE: 1,
    }
    assert carried_out().seconds == 11


def test_what_decided_how_long_it_took_is_found_from_its_end() -> None:
    assert carried_out().longest == (OPENING, "mart.a", "mart.b", "mart.both", CLOSING)


def test_what_ended_before_it_was_waited_for_decided_nothing() -> None:
    """As if a and b had begun at once, and a had been done first."""
    before, a, b, both, after = carried_out().rows
    a, b = replace(a, ended=4.0), replace(b, began=1.0)
    at_once = replace(carried_out(), rows=(before, a, b, both, after))
    assert at_once.longest == (OPENING, "mart.b", "mart.both", CLOSING)


def test_a_timeline_without_rows_has_no_longest_path() -> None:
    assert replace(carried_out(), rows=()).longest == ()


def test_it_is_found_by_the_beginning_of_the_id_of_plan_run_or_work() -> None:
    found = carried_out()
    for beginning in ("51b2", "work of mart.b", "", found.plan_id[:4]):
        assert found.is_named(beginning)


def test_another_id_is_of_another_timeline() -> None:
    assert not carried_out().is_named("nobody")


def test_models_that_were_left_out_have_no_row() -> None:
    clock = Clock()
    recording = Recording(clock)
    list(recording.of("mart.b", spending(clock, (Kind.SPARK, 2)), str))
    found = timeline_of(made(), recording, Concurrency(), started_at=AT)
    assert [row.name for row in found.rows] == ["mart.b"]
    assert found.rows[0].awaits == ()


def test_of_a_plan_with_many_models_each_row_is_cut_down() -> None:
    clock = Clock()
    recording = Recording(clock)
    kinds = [(kind, 1.0) for _ in range(30) for kind in (Kind.STATE, Kind.SPARK)]
    list(recording.of("mart.b", spending(clock, *kinds), str))
    for number in range(MOST_SEGMENTS // LEAST_SEGMENTS):
        list(recording.of(f"other.m{number}", spending(clock, (Kind.SPARK, 1)), str))
    (row,) = timeline_of(made(), recording, Concurrency(), started_at=AT).rows
    assert len(row.segments) <= LEAST_SEGMENTS
    assert row.totals == {Kind.STATE: 30, Kind.SPARK: 30}, "sums stay exact"


def test_of_a_plan_with_many_models_each_row_has_few_units_of_work_the_last_ones() -> None:
    clock = Clock()
    recording = Recording(clock)
    list(recording.of("mart.b", ["work 0", "work 1", "work 2"], str))
    for number in range(MOST_WORKS // 2):
        list(recording.of(f"other.m{number}", spending(clock, (Kind.SPARK, 1)), str))
    (row,) = timeline_of(made(), recording, Concurrency(), started_at=AT).rows
    assert row.works == ("work 2",)


CARRIED_OUT: Final = carried_out()
ROWS: Final = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 3), st.integers(0, 6), st.sets(st.integers(0, 9))),
    max_size=10,
)


@given(ROWS)
def test_what_decided_how_long_it_took_is_what_a_look_at_every_row_finds(
    written: list[tuple[int, int, int, set[int]]],
) -> None:
    rows = tuple(
        replace(
            CARRIED_OUT.rows[0],
            name=f"m{number}",
            awaits=tuple(f"m{each}" for each in sorted(awaits) if each < len(written)),
            ready=float(ready),
            began=float(ready + waited),
            ended=float(ready + waited + length),
        )
        for number, (ready, waited, length, awaits) in enumerate(written)
    )

    def before(at: TimelineRow) -> TimelineRow | None:
        found = [
            row
            for row in rows
            if row is not at
            and row.ended <= at.began
            and (at.began > at.ready or row.name in at.awaits)
        ]
        return max(found, key=lambda row: row.ended, default=None)

    path: list[str] = []
    at = max(rows, key=lambda row: row.ended, default=None)
    while at is not None and at.name not in path:
        path.insert(0, at.name)
        at = before(at)
    assert list(replace(CARRIED_OUT, rows=rows).longest) == path


def test_a_timeline_is_stored_and_read_as_it_was() -> None:
    stored = json.loads(json.dumps(as_json(carried_out())))
    assert from_json(stored) == carried_out()
    without = replace(carried_out(), run_id="")
    assert from_json(json.loads(json.dumps(as_json(without)))) == without


FIRST: Final[dict[str, object]] = {
    "name": "m.a",
    "awaits": [],
    "ready": 0,
    "began": 0,
    "ended": 1,
    "error": None,
    "totals": {},
    "segments": [],
    "works": [],
}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"format": 2}, "its format is 2, and not 1"),
        ({"rows": 7}, "TypeError"),
        ({"rows": [{}]}, "KeyError"),
        ({"rows": [{**FIRST, "totals": []}]}, "AttributeError"),
        ({"started_at": "soon"}, "ValueError"),
    ],
)
def test_what_is_no_timeline_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TimelineInvalid, match=message):
        from_json(as_json(carried_out()) | change)
    with pytest.raises(TimelineInvalid, match="its format is None"):
        from_json([])


def test_the_rows_that_took_longest_are_kept_in_their_order() -> None:
    rows = carried_out().rows
    assert [row.name for row in longest_rows(rows, 2)] == ["mart.a", "mart.b"]
    assert longest_rows(rows, 9) == rows
