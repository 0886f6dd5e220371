"""The summary of a version's ledger, and the last look at its inputs, on every adapter."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.state.builders import COLUMNS, KEY, MINUTE, OTHER, SALES, change, day, record
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import (
    EntryStatus,
    LedgerChange,
    LedgerEntry,
    LedgerMismatch,
    LedgerOperation,
    Trace,
    apply_changes,
    outdate,
)
from vde_dagster.core.ledger.holdings import Holding
from vde_dagster.core.ledger.staleness import LastLook, SeenInput
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval
from vde_dagster.ports.state import Lease, State, version_resource


def days(first: int, after: int) -> Interval:
    return Interval(day(first).start, day(after).start)


def test_a_version_that_was_never_written_holds_nothing(state: State) -> None:
    assert state.holdings([KEY, OTHER]) == {}
    assert state.changed_since(KEY, 0) == ()
    assert state.entries_within(KEY, [day(0)]) == ()


def test_the_summary_is_merged_by_status(state: State, environment: Lease) -> None:
    record(state, "w1", *map(change, range(5)))
    state.outdate({KEY: [day(3)]}, reason="r", lease=environment)
    empty = LedgerChange(
        operation=LedgerOperation.REPLACE,
        interval=day(6),
        rows=RowSum(),
        status=EntryStatus.EMPTY,
        reason="r",
    )
    record(state, "w2", empty)
    assert state.holdings([KEY, OTHER]) == {
        KEY: Holding(
            number=3,
            computed=(days(0, 3), day(4)),
            outdated=(day(3),),
            empty=(day(6),),
            columns=COLUMNS,
        )
    }


def test_what_changes_no_entry_is_no_change(state: State, environment: Lease) -> None:
    record(state, "w1", change(0))
    state.outdate({KEY: [day(5)]}, reason="r", lease=environment)
    lease = state.acquire_lease(version_resource(KEY), holder="again", ttl=MINUTE)
    state.finalize("w1", lease=lease)
    assert state.holdings([KEY])[KEY].number == 1


def drawn(
    draw: random.Random, entries: Sequence[LedgerEntry], columns: tuple[Column, ...]
) -> tuple[LedgerChange, ...]:
    """Changes of some of eight days: rows, more rows, none on purpose, the same, or all at once."""
    days_, rows = draw.sample(range(8), draw.randint(1, 3)), RowSum(rows=draw.randint(1, 3))
    trace = draw.choice((None, Trace(key="k", inputs={SALES: "t"}, seconds=1.25)))
    written = [replace(change(each, rows=rows), trace=trace) for each in days_]
    alike = [each for each in entries if each.columns == columns]
    with_rows = [each for each in entries if each.status is not EntryStatus.EMPTY]
    match draw.choice(("rows", "rows", "rows", "more", "same", "empty", "all")):
        case "all":
            return (replace(written[0], operation=LedgerOperation.REPLACE_ALL),)
        case "empty":
            empty = replace(written[0], rows=RowSum(), status=EntryStatus.EMPTY, reason="r")
            return (empty,)
        case "more" if alike:
            into = draw.choice(alike).interval
            return (replace(written[0], operation=LedgerOperation.ADD, interval=into),)
        case "same" if with_rows:
            kept = draw.choice(with_rows)
            keep = change(operation=LedgerOperation.KEEP, rows=kept.rows)
            return (replace(keep, interval=kept.interval, kept=kept.interval),)
        case _:
            return tuple(written)


def of(entries: Sequence[LedgerEntry], status: EntryStatus) -> list[Interval]:
    return [each.interval for each in entries if each.status is status]


def by_day(merged: Sequence[Interval]) -> list[Interval]:
    every = map(day, range(8))
    return [each for each in every if any(m.start <= each.start < m.end for m in merged)]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(each, marks=pytest.mark.full) for each in (1, 2))]
)
def test_after_any_changes_ledger_and_summary_are_as_computed_on_values(
    state: State, environment: Lease, seed: int
) -> None:
    """Of a ledger, the state reads and writes only what changes touch."""
    draw, number, removed, wide = random.Random(seed), 0, 0, False
    before: tuple[LedgerEntry, ...] = ()
    written: dict[Interval, tuple[LedgerEntry, int]] = {}
    for batch in range(40):
        wide = wide or batch > 20
        if draw.random() < 0.3:
            again, rebuilt = day(draw.randrange(8)), draw.choice((set(), {KEY}))
            state.outdate({KEY: [again]}, reason="r", lease=environment, rebuilt=rebuilt)
            entries = outdate(before, [again], reason="r", rebuilt=bool(rebuilt))
        else:
            day_column, *others = (*COLUMNS, Column(name="more", type="bigint"))[: 3 if wide else 2]
            columns = (replace(day_column, description=f"as of {batch // 5}"), *others)
            changes, work = drawn(draw, before, columns), f"w{batch}"
            record(state, work, *changes, columns=columns)
            entries = apply_changes(
                before, changes, columns=columns, work_id=work, iceberg_snapshot_id=2**62
            )
        assert state.ledger([KEY]).get(KEY, ()) == entries, batch
        number += entries != before
        times = {each.interval for each in entries}
        removed = number if {each.interval for each in before} - times else removed
        written = {
            each.interval: known
            if (known := written.get(each.interval)) is not None and known[0] == each
            else (each, number)
            for each in entries
        }
        before = entries
        if not entries:
            continue
        whole = state.holdings([KEY])[KEY]
        assert (whole.number, whole.removed) == (number, removed)
        assert by_day(whole.computed) == of(entries, EntryStatus.COMPUTED)
        assert by_day(whole.outdated) == of(entries, EntryStatus.OUTDATED)
        assert by_day(whole.empty) == of(entries, EntryStatus.EMPTY)
        schemas = [each.columns for each in entries]
        widest = max(map(len, schemas))
        assert whole.columns == [each for each in schemas if len(each) == widest][-1]
        for since in range(number + 1):
            later = [each for each, (_, at) in written.items() if at > since]
            assert [each.interval for each in state.changed_since(KEY, since)] == later
    assert removed
    assert wide


def test_entries_are_found_by_their_times(state: State) -> None:
    record(state, "w1", *map(change, range(6)))
    wanted = [days(1, 2), Interval(day(3).start, day(4).start + (day(4).end - day(4).start) / 2)]
    assert [each.interval for each in state.entries_within(KEY, wanted)] == [day(1), day(3), day(4)]
    assert state.entries_within(OTHER, wanted) == ()


def test_a_change_that_does_not_fit_leaves_the_summary_as_it_was(state: State) -> None:
    record(state, "w1", change(0))
    before = state.holdings([KEY])
    across = LedgerChange(operation=LedgerOperation.REPLACE, interval=days(0, 2), rows=RowSum())
    beside = LedgerChange(operation=LedgerOperation.REPLACE, interval=day(1), rows=RowSum())
    with pytest.raises(LedgerMismatch):
        record(state, "w2", across, beside)
    assert state.holdings([KEY]) == before


def test_the_last_look_at_a_version_is_kept(state: State) -> None:
    seen = LastLook(
        definition="d",
        number=3,
        inputs={
            SALES: SeenInput(table="t", number=2**62),
            ModelName("raw", "none"): SeenInput(table="u", number=None),
        },
        stale=(day(2), days(4, 6)),
    )
    assert state.last_looks([KEY]) == {}
    state.record_looks({KEY: seen})
    assert state.last_looks([KEY, OTHER]) == {KEY: seen}
    later = LastLook(definition="d", number=4)
    state.record_looks({KEY: later, OTHER: seen})
    assert state.last_looks([KEY, OTHER]) == {KEY: later, OTHER: seen}
