"""Decisions of stateless sessions, and the invariant that they keep (rules R7 and R8)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import examples
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import EntryStatus, LedgerChange, LedgerOperation
from vde_dagster.core.ledger.late.decision import Decision, Load, NothingToLoad, SourceFound, Stop
from vde_dagster.core.ledger.late.history import (
    ProcessingUri,
    SourceChange,
    SourceHistory,
    SourceOperation,
    SourceStatus,
)
from vde_dagster.core.ledger.late.marks import HighWaterMark, marks_after
from vde_dagster.core.ledger.late.pending import Pending, PendingReason
from vde_dagster.core.ledger.late.question import StatelessQuestion
from vde_dagster.core.ledger.late.stateless import added_ranges, decide_stateless
from vde_dagster.core.model.late_data import (
    LateDataMode,
    LateDataPolicy,
    OnSourceRewrite,
    TrackedSource,
)
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import EPOCH, Interval, IntervalUnit, merge

SOURCE = ModelName("raw", "t")
HOUR = timedelta(hours=1)


def at(hours: float) -> datetime:
    return EPOCH + timedelta(hours=hours)


def mark(number: int, complete_to: float | None = None) -> HighWaterMark:
    return HighWaterMark(
        source=SOURCE,
        table_uuid="u",
        iceberg_snapshot_id=1000 + number,
        sequence_number=number,
        committed_at=at(number),
        complete_to=None if complete_to is None else at(complete_to),
    )


def uri(hour: int, rows: int = 1) -> ProcessingUri:
    return ProcessingUri(
        partition=(("landing_date", "1970-01-01"), ("landing_hour", hour), ("batch_id", "b")),
        files=1,
        rows=rows,
    )


def change(operation: SourceOperation, *added: ProcessingUri, snapshot: int = 1002) -> SourceChange:
    return SourceChange(iceberg_snapshot_id=snapshot, operation=operation, added=added)


def decide(
    status: SourceStatus,
    *changes: SourceChange,
    before: HighWaterMark | None = None,
    head: HighWaterMark | None = None,
    loaded: tuple[Interval, ...] = (),
    now: float = 3,
    policy: OnSourceRewrite = OnSourceRewrite.STOP,
    outgrown: tuple[Interval, ...] = (),
    touched: tuple[Interval, ...] | None = None,
    threshold: float | None = None,
    pending: tuple[Pending, ...] = (),
) -> Decision:
    far = None if threshold is None else threshold * HOUR
    return decide_stateless(
        StatelessQuestion(
            policy=replace(policy_of(policy), catchup_threshold=far),
            touched=touched,
            pending=pending,
            mark=before,
            history=SourceHistory(status=status, head=head, changes=changes),
            loaded=loaded,
            start=at(0),
            now=at(now),
            unit=IntervalUnit.HOUR,
            outgrown=outgrown,
        )
    )


def policy_of(on_rewrite: OnSourceRewrite) -> LateDataPolicy:
    return LateDataPolicy(
        mode=LateDataMode.STATELESS,
        tracked=(TrackedSource(name=SOURCE),),
        on_source_rewrite=on_rewrite,
    )


def load(
    *,
    before: HighWaterMark | None,
    after: HighWaterMark,
    fill: tuple[Interval, ...],
    loaded: tuple[Interval, ...],
    evidence: tuple[ProcessingUri, ...],
) -> Load:
    """A session of one source."""
    found = SourceFound(before=before, after=after, evidence=evidence)
    return Load(sources=(found,), fill=fill, loaded=loaded)


def loads(decision: Decision) -> Load:
    assert isinstance(decision, Load)
    return decision


APPEND = SourceOperation.APPEND
HELD = (Interval(at(0), at(3)),)


def test_the_first_session_fills_what_is_due_and_appends_nothing() -> None:
    assert decide(SourceStatus.INITIAL, head=mark(1, 2.5)) == load(
        before=None, after=mark(1, 2.5), fill=(Interval(at(0), at(2)),), loaded=(), evidence=()
    )


def test_a_late_row_is_appended_to_what_is_loaded() -> None:
    found = decide(
        SourceStatus.CHANGED, change(APPEND, uri(3)), before=mark(1), head=mark(2), loaded=HELD
    )
    assert found == load(before=mark(1), after=mark(2), fill=(), loaded=HELD, evidence=(uri(3),))


def test_a_partition_that_received_two_commits_is_evidence_once() -> None:
    found = loads(
        decide(
            SourceStatus.CHANGED,
            change(APPEND, uri(3, 2), uri(4)),
            change(SourceOperation.REPLACE, uri(3, 2)),
            change(APPEND, uri(3, 5)),
            before=mark(1),
            head=mark(4),
            loaded=HELD,
        )
    )
    assert found.evidence == (ProcessingUri(partition=uri(3).partition, files=2, rows=7), uri(4))


def test_compaction_alone_is_nothing_to_load() -> None:
    found = decide(
        SourceStatus.CHANGED,
        change(SourceOperation.REPLACE, uri(1)),
        before=mark(1),
        head=mark(2),
        loaded=HELD,
    )
    assert isinstance(found, NothingToLoad)


def test_an_hour_that_became_due_is_filled_though_the_source_did_not_change() -> None:
    found = loads(decide(SourceStatus.UNCHANGED, before=mark(1), head=mark(1), loaded=HELD, now=5))
    assert found.fill == (Interval(at(3), at(5)),)
    assert found.only.after == mark(1)


def test_nothing_is_filled_beyond_what_the_source_calls_complete() -> None:
    found = loads(decide(SourceStatus.INITIAL, head=mark(1, 1.99), now=9))
    assert found.fill == (Interval(at(0), at(1)),)


def test_without_a_mark_all_that_is_loaded_is_overwritten_with_all_that_is_due() -> None:
    late = mark(2, 2.0)  # the source calls less complete than is loaded
    found = decide(SourceStatus.INITIAL, head=late, loaded=(Interval(at(1), at(3)),))
    assert found == load(
        before=None, after=late, fill=(Interval(at(0), at(3)),), loaded=(), evidence=()
    )


def test_a_session_overwrites_what_it_cannot_add_rows_to() -> None:
    found = loads(
        decide(
            SourceStatus.CHANGED,
            change(APPEND, uri(1)),
            before=mark(1),
            head=mark(2),
            loaded=HELD,
            now=4,
            outgrown=(Interval(at(1), at(2)),),
        )
    )
    assert found.fill == (Interval(at(1), at(2)), Interval(at(3), at(4)))
    assert found.loaded == (Interval(at(0), at(1)), Interval(at(2), at(3)))
    assert found.evidence == (uri(1),)


def left(first: float, end: float) -> Pending:
    return Pending(
        interval=Interval(at(first), at(end)),
        sources=(SOURCE,),
        reason=PendingReason.BEYOND_THRESHOLD,
    )


def one_file(**more: Any) -> Decision:
    """What is decided if a file has come since the mark, and three hours are loaded."""
    news = change(APPEND, uri(3))
    return decide(SourceStatus.CHANGED, news, before=mark(1), head=mark(2), loaded=HELD, **more)


def test_rows_are_added_only_where_new_files_have_some() -> None:
    found = loads(one_file(touched=(Interval(at(1), at(2)), Interval(at(7), at(8)))))
    assert (found.loaded, found.fill) == ((Interval(at(1), at(2)),), ())
    assert added_ranges(found) == (Interval(at(1), at(2)),)


def test_files_with_rows_of_other_hours_move_the_mark_alone() -> None:
    found = one_file(touched=(Interval(at(3), at(4)),))
    assert isinstance(found, NothingToLoad)
    assert [each.after for each in found.sources] == [mark(2)]


def test_rows_are_read_in_one_go_for_hours_between_which_all_is_loaded() -> None:
    found = loads(one_file(touched=(Interval(at(0), at(1)), Interval(at(2), at(3)))))
    assert found.loaded == (Interval(at(0), at(1)), Interval(at(2), at(3)))
    assert added_ranges(found) == HELD


def test_rows_are_never_added_to_an_hour_that_is_overwritten_or_not_loaded() -> None:
    gap = (Interval(at(0), at(1)), Interval(at(2), at(3)))
    news = change(APPEND, uri(3))
    found = loads(decide(SourceStatus.CHANGED, news, before=mark(1), head=mark(2), loaded=gap))
    assert (added_ranges(found), found.fill) == (gap, (Interval(at(1), at(2)),))
    outgrown = loads(one_file(outgrown=(Interval(at(1), at(2)),)))
    assert added_ranges(outgrown) == gap


def test_rows_beyond_the_threshold_are_pending() -> None:
    found = loads(one_file(touched=HELD, threshold=1))
    assert found.loaded == (Interval(at(2), at(3)),)
    assert found.pending == (left(0, 2),)
    assert added_ranges(found) == (Interval(at(2), at(3)),)


def test_the_threshold_is_counted_in_whole_hours() -> None:
    found = loads(one_file(touched=HELD, threshold=1.5))
    assert (found.loaded, found.pending) == ((Interval(at(1), at(3)),), (left(0, 1),))


def test_what_was_pending_stays_so_if_nothing_comes() -> None:
    found = decide(
        SourceStatus.UNCHANGED,
        before=mark(1),
        head=mark(1),
        loaded=HELD,
        threshold=1,
        pending=(left(0, 1),),
    )
    assert isinstance(found, NothingToLoad)
    assert found.pending == (left(0, 1),)
    assert not found.has_moved


def test_a_threshold_holds_nothing_back_that_is_not_loaded() -> None:
    found = loads(decide(SourceStatus.INITIAL, head=mark(1), threshold=1))
    assert (found.fill, found.pending) == (HELD, ())


def test_what_has_no_mark_is_pending_beyond_the_threshold() -> None:
    found = loads(decide(SourceStatus.INITIAL, head=mark(1), loaded=HELD, threshold=1))
    assert (found.fill, found.pending) == ((Interval(at(2), at(3)),), (left(0, 2),))


def recorded(
    operation: LedgerOperation, status: EntryStatus = EntryStatus.COMPUTED
) -> tuple[LedgerChange, ...]:
    interval = Interval(at(0), at(1))
    return (LedgerChange(operation=operation, interval=interval, rows=RowSum(), status=status),)


OTHER = replace(mark(1), source=ModelName("raw", "u"))


@pytest.mark.parametrize(
    "changes,moved,read,after",
    [
        (recorded(LedgerOperation.REPLACE), (), 1002, [OTHER]),
        (recorded(LedgerOperation.REPLACE_ALL), (), None, [OTHER]),
        (recorded(LedgerOperation.ADD), (), 1002, [OTHER]),
        (recorded(LedgerOperation.REPLACE), (), 1001, [mark(1), OTHER]),
        (recorded(LedgerOperation.KEEP), (), 1002, [mark(1), OTHER]),
        (recorded(LedgerOperation.REPLACE, EntryStatus.EMPTY), (), None, [mark(1), OTHER]),
        (recorded(LedgerOperation.REPLACE), (mark(2),), 1002, [mark(2), OTHER]),
    ],
)
def test_r8_a_mark_outlives_only_what_a_session_or_work_as_of_it_books(
    changes: tuple[LedgerChange, ...],
    moved: tuple[HighWaterMark, ...],
    read: int | None,
    after: list[HighWaterMark],
) -> None:
    before = {each.source: each for each in (mark(1), OTHER)}
    inputs = {SOURCE: read, OTHER.source: OTHER.iceberg_snapshot_id}
    found = marks_after(before, changes, moved=moved, inputs=inputs)
    assert found == {each.source: each for each in after}


@pytest.mark.parametrize(
    "status,head",
    [
        (SourceStatus.INITIAL, None),
        (SourceStatus.INITIAL, mark(1, 0.5)),
        (SourceStatus.UNCHANGED, mark(1)),
        (SourceStatus.CHANGED, mark(2)),
    ],
)
def test_where_nothing_is_due_and_nothing_was_added_there_is_nothing_to_load(
    status: SourceStatus, head: HighWaterMark | None
) -> None:
    known = None if status is SourceStatus.INITIAL else mark(1)
    loaded = () if known is None else HELD
    found = decide(status, before=known, head=head, loaded=loaded)
    assert isinstance(found, NothingToLoad)
    assert found.reason


@pytest.mark.parametrize(
    "status,word",
    [
        (SourceStatus.MISSING, "does not exist"),
        (SourceStatus.ROLLED_BACK, "rolled back"),
        (SourceStatus.EXPIRED, "expired"),
        (SourceStatus.RECREATED, "created again"),
    ],
)
def test_a_broken_history_stops_with_advice(status: SourceStatus, word: str) -> None:
    found = decide(status, before=mark(1), head=mark(2), loaded=HELD)
    assert isinstance(found, Stop)
    assert word in found.reason
    assert found.advice


@pytest.mark.parametrize("operation", [SourceOperation.OVERWRITE, SourceOperation.DELETE])
def test_a_rewrite_of_loaded_rows_stops_and_names_its_iceberg_snapshot(
    operation: SourceOperation,
) -> None:
    found = decide(
        SourceStatus.CHANGED,
        change(APPEND, uri(1)),
        change(operation, uri(1), snapshot=4711),
        before=mark(1),
        head=mark(3),
        loaded=HELD,
    )
    assert isinstance(found, Stop)
    assert "4711" in found.reason


REWRITES = [SourceOperation.OVERWRITE, SourceOperation.DELETE]
"""By these operations rows may change that are loaded already."""


@pytest.mark.parametrize("operation", REWRITES)
def test_r7_a_rewrite_of_loaded_rows_overwrites_what_is_loaded_from_the_new_head(
    operation: SourceOperation,
) -> None:
    found = loads(
        decide(
            SourceStatus.CHANGED,
            change(APPEND, uri(1)),
            change(operation, uri(1), snapshot=4711),
            before=mark(1),
            head=mark(3),
            loaded=HELD,
            now=5,
            policy=OnSourceRewrite.OVERWRITE,
        )
    )
    assert "4711" in found.rewrite
    assert replace(found, rewrite="") == load(
        before=mark(1), after=mark(3), fill=(Interval(at(0), at(5)),), loaded=(), evidence=()
    )


@pytest.mark.parametrize(
    "status,word", [(SourceStatus.ROLLED_BACK, "rolled back"), (SourceStatus.EXPIRED, "expired")]
)
def test_r7_where_the_new_rows_cannot_be_named_what_is_loaded_is_overwritten(
    status: SourceStatus, word: str
) -> None:
    policy = OnSourceRewrite.OVERWRITE
    found = loads(decide(status, before=mark(5), head=mark(2), loaded=HELD, policy=policy))
    assert (found.only.before, found.only.after, found.fill) == (mark(5), mark(2), HELD)
    assert word in found.rewrite


@pytest.mark.parametrize("status", [SourceStatus.MISSING, SourceStatus.RECREATED])
def test_another_table_is_never_loaded_unasked(status: SourceStatus) -> None:
    policy = OnSourceRewrite.OVERWRITE
    found = decide(status, before=mark(1), head=mark(2), loaded=HELD, policy=policy)
    assert isinstance(found, Stop)


def test_a_source_that_was_rolled_back_to_nothing_stops() -> None:
    policy = OnSourceRewrite.OVERWRITE
    found = decide(SourceStatus.ROLLED_BACK, before=mark(1), loaded=HELD, policy=policy)
    assert isinstance(found, Stop)


# The invariant, on random histories -----------------------------------------------------------

Row = tuple[int, int]
"""Event hour and identity."""


@dataclass
class World:
    """An append-only source, and a version's table that sessions and others write."""

    commits: list[tuple[SourceOperation, list[Row]]] = field(default_factory=list)
    table: Counter[Row] = field(default_factory=Counter)
    loaded: tuple[Interval, ...] = ()
    mark: HighWaterMark | None = None
    now: int = 0
    complete_to: int | None = None
    rows: int = 0

    def land(self, hours: list[int]) -> None:
        rows = [(hour, self.rows + index) for index, hour in enumerate(hours)]
        self.rows += len(rows)
        self.commits.append((APPEND, rows))

    def compact(self) -> None:
        """The files are written again, with the rows that they had."""
        every = [row for operation, rows in self.commits if operation is APPEND for row in rows]
        self.commits.append((SourceOperation.REPLACE, every[-3:]))

    def remove(self, hour: int) -> None:
        """The rows of an hour are deleted."""
        gone = [row for row in self.as_of(mark(len(self.commits))) if row[0] == hour]
        self.commits.append((SourceOperation.DELETE, gone))

    def as_of(self, found: HighWaterMark | None) -> list[Row]:
        rows: list[Row] = []
        for operation, changed in self.commits[: found.sequence_number if found else 0]:
            if operation is APPEND:
                rows += changed
            elif operation is SourceOperation.DELETE:
                rows = [row for row in rows if row not in changed]
        return rows

    def history(self) -> SourceHistory:
        if not self.commits:
            return SourceHistory(status=SourceStatus.INITIAL, head=None)
        head = mark(len(self.commits), self.complete_to)
        if self.mark is None:
            return SourceHistory(status=SourceStatus.INITIAL, head=head)
        after = self.mark.sequence_number
        changes = tuple(
            change(op, *(uri(hour) for hour, _ in rows), snapshot=1001 + after + index)
            for index, (op, rows) in enumerate(self.commits[after:])
        )
        status = SourceStatus.CHANGED if changes else SourceStatus.UNCHANGED
        return SourceHistory(status=status, head=head, changes=changes)

    def session(self) -> None:
        decision = decide_stateless(
            StatelessQuestion(
                policy=policy_of(OnSourceRewrite.OVERWRITE),
                mark=self.mark,
                history=self.history(),
                loaded=self.loaded,
                start=at(2),
                now=at(self.now),
                unit=IntervalUnit.HOUR,
            )
        )
        if not isinstance(decision, Load):
            return
        old = Counter(self.as_of(decision.only.before))
        new = Counter(self.as_of(decision.only.after))
        if decision.evidence:
            self.table += Counter(
                {row: n for row, n in (new - old).items() if _in(row, decision.loaded)}
            )
        self.overwrite(decision.fill, decision.only.after)
        self.mark = decision.only.after

    def overwrite(self, intervals: tuple[Interval, ...], found: HighWaterMark) -> None:
        self.table = Counter(
            {row: n for row, n in self.table.items() if not _in(row, intervals)}
        ) + Counter(row for row in self.as_of(found) if _in(row, intervals))
        self.loaded = merge([*self.loaded, *intervals])

    def evaluate(self, hour: int) -> None:
        """Somebody who knows of no mark evaluates an hour from the source as it is now."""
        head = mark(len(self.commits))
        self.overwrite((Interval(at(hour), at(hour + 1)),), head)
        known = {} if self.mark is None else {SOURCE: self.mark}
        inputs = {SOURCE: head.iceberg_snapshot_id if self.commits else None}
        after = marks_after(known, recorded(LedgerOperation.REPLACE), moved=(), inputs=inputs)
        self.mark = after.get(SOURCE)


def _in(row: Row, intervals: tuple[Interval, ...]) -> bool:
    return any(each.start <= at(row[0]) < each.end for each in intervals)


STEPS = st.one_of(
    st.tuples(st.just("land"), st.lists(st.integers(0, 12), max_size=4)),
    st.tuples(st.just("now"), st.integers(0, 12)),
    st.tuples(st.just("complete"), st.none() | st.integers(0, 12)),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.just("remove"), st.integers(0, 12)),
    st.tuples(st.just("session"), st.none()),
    st.tuples(st.just("evaluate"), st.integers(2, 12)),
)


@settings(max_examples=examples(400))
@given(st.lists(STEPS, max_size=40))
def test_r7_the_table_always_equals_the_source_as_of_the_mark_in_the_loaded_intervals(
    steps: list[tuple[str, object]],
) -> None:
    world = World()
    for name, value in steps:
        match name, value:
            case "land", list():
                world.land(value)
            case "now", int():
                world.now = max(world.now, value)
            case "complete", None | int():
                world.complete_to = value
            case "compact", _:
                world.compact()
            case "remove", int():
                world.remove(value)
            case "evaluate", int():
                world.evaluate(value)
            case _:
                world.session()
        expected = [row for row in world.as_of(world.mark) if _in(row, world.loaded)]
        # Nothing lost, nothing doubled
        assert world.mark is None or world.table == Counter(expected)
    world.now, world.complete_to = 13, None
    world.session()
    assert world.table == Counter(
        row for row in world.as_of(mark(len(world.commits))) if row[0] >= 2
    )
