"""Sessions and marks as rows of the tables that people query."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.state.builders import KEY, RAW, START, change, day, intent, mark, publication, session
from vde_dagster.core.ledger.late.listed import (
    ListedPending,
    ListedSource,
    ListedUri,
    listed_marks,
    listed_session,
)
from vde_dagster.core.ledger.late.marks import MarkMove
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.ledger.unit_of_work import UnitOfWork, UnitOfWorkState

DONE = UnitOfWork(
    intent=intent(late=session()),
    state=UnitOfWorkState.DONE,
    publication=publication(change(0), change(1)),
    started_at=START,
    finished_at=START + timedelta(minutes=5),
)


def test_event_time_is_from_the_first_hour_to_the_last_one_that_was_written() -> None:
    row = listed_session(DONE)
    assert (row.from_event_date, row.from_event_hour) == (day(0).start.date(), 0)
    assert (row.to_event_date, row.to_event_hour) == (day(1).start.date(), 23)
    assert row.rows_written == 6  # three rows in each interval


def test_processing_time_is_that_of_the_commits_to_the_sources() -> None:
    late = session()
    found = replace(
        late.only,
        before=replace(mark(1), committed_at=START.replace(hour=3)),
        after=replace(mark(2), committed_at=START.replace(hour=9, minute=59)),
    )
    work = replace(DONE, intent=intent(late=replace(late, sources=(found,))))
    row = listed_session(work)
    assert (row.from_processing_date, row.from_processing_hour) == (START.date(), 3)
    assert (row.to_processing_date, row.to_processing_hour) == (START.date(), 9)


def test_a_first_session_has_no_beginning_of_the_processing_time() -> None:
    late = session()
    first = replace(late, sources=(replace(late.only, before=None),))
    row = listed_session(replace(DONE, intent=intent(late=first)))
    assert (row.from_processing_date, row.from_processing_hour) == (None, None)
    assert row.sources[0].previous_snapshot_id is None
    assert row.to_processing_date == START.date()


def test_a_session_that_was_given_up_has_written_nothing() -> None:
    refused = replace(DONE, state=UnitOfWorkState.ABANDONED, reason="an audit refused its rows")
    row = listed_session(refused)
    assert (row.outcome, row.reason) == ("abandoned", "an audit refused its rows")
    assert (row.rows_written, row.from_event_date, row.to_event_hour) == (0, None, None)


def test_processing_uris_are_partitions_as_json_with_their_source() -> None:
    row = listed_session(DONE)
    assert row.processing_uris == (
        ListedUri(source="raw.sales", partition='{"day": 19723, "shop": null}', files=2, rows=9),
    )
    assert row.sources == (
        ListedSource(
            source="raw.sales",
            table_uuid="5f0c",
            previous_snapshot_id=2**62 + 1,
            latest_snapshot_id=2**62 + 2,
            files=2,
            rows=9,
        ),
    )


def test_what_a_session_left_is_listed_with_the_reason() -> None:
    left = Pending(interval=day(2), sources=(RAW,), reason=PendingReason.INCOMPLETE)
    late = replace(session(), pending=(left,), limit=day(1).end)
    row = listed_session(replace(DONE, intent=intent(late=late)))
    assert row.complete_to == day(1).end
    assert row.pending == (
        ListedPending(
            start=day(2).start, end=day(2).end, reason="incomplete", sources=("raw.sales",)
        ),
    )


def test_a_mark_is_listed_with_the_one_before() -> None:
    move = MarkMove(latest=mark(2), previous=mark(1), session_id="w1", moved_at=START)
    other = MarkMove(latest=mark(3), previous=None, session_id="", moved_at=None)
    first, second = listed_marks(KEY, [move, other])
    assert (first.process_name, first.version, first.source) == (
        "shop.sales",
        KEY.version,
        "raw.sales",
    )
    assert (first.latest_sequence_number, first.previous_sequence_number) == (2, 1)
    assert (first.session_id, first.moved_at) == ("w1", START)
    assert (second.session_id, second.previous_snapshot_id) == (None, None)
