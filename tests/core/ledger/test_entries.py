from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import (
    DEFAULT_ALGORITHM,
    MURMUR3_128,
    RowSum,
    combined_dsha,
    dsha,
    total,
)
from vde_dagster.core.ledger.entries import (
    LedgerChange,
    LedgerEntry,
    LedgerMismatch,
    LedgerOperation,
    SchemaOutgrown,
    apply_changes,
    loaded_dsha,
    loaded_dshas,
    loaded_intervals,
)
from vde_dagster.core.time.intervals import EPOCH, Interval

COLUMNS = (Column(name="a", type="int"),)


def hour(number: int, length: int = 1) -> Interval:
    start = EPOCH + timedelta(hours=number)
    return Interval(start, start + timedelta(hours=length))


def rows(count: int) -> RowSum:
    return RowSum(rows=count, sum=7 * count)


def change(operation: str, interval: Interval, count: int) -> LedgerChange:
    return LedgerChange(operation=LedgerOperation(operation), interval=interval, rows=rows(count))


def applied(
    entries: tuple[LedgerEntry, ...], *changes: LedgerChange, work: str = "w"
) -> tuple[LedgerEntry, ...]:
    return apply_changes(entries, changes, columns=COLUMNS, work_id=work, iceberg_snapshot_id=1)


def test_a_replaced_interval_forgets_its_rows_and_an_addition_keeps_them() -> None:
    first = applied((), change("replace", hour(0), 2), change("replace", hour(1), 3))
    then = applied(first, change("replace", hour(0), 5), change("add", hour(1), 4), work="x")
    assert [(each.interval, each.rows) for each in then] == [(hour(0), rows(5)), (hour(1), rows(7))]
    assert [each.digest for each in then] == [dsha(rows(5), COLUMNS), dsha(rows(7), COLUMNS)]
    assert {each.work_id for each in then} == {"x"}
    assert [each.work_id for each in first] == ["w", "w"]


def test_only_written_intervals_name_the_work_that_wrote_them() -> None:
    first = applied((), change("replace", hour(0), 2), change("replace", hour(1), 3))
    then = applied(first, change("add", hour(1), 1), work="x")
    assert [each.work_id for each in then] == ["w", "x"]
    assert then[0] == first[0]


def test_replacing_all_leaves_one_entry() -> None:
    first = applied((), change("replace_all", hour(0), 2))
    assert applied(first, change("replace_all", hour(0, 9), 3)) == applied(
        (), change("replace_all", hour(0, 9), 3)
    )


def test_an_empty_result_is_loaded_too() -> None:
    assert loaded_intervals(applied((), change("replace", hour(0), 0))) == (hour(0),)


def test_a_given_digest_stands_as_it_is() -> None:
    given_digest = LedgerChange(
        operation=LedgerOperation.REPLACE, interval=hour(0), rows=RowSum(), digest="d"
    )
    assert applied((), given_digest)[0].digest == "d"


@pytest.mark.parametrize(
    "changes",
    [
        [change("add", hour(3), 1)],
        [change("add", hour(0, 2), 1)],
        [change("replace", hour(0, 2), 1)],
        [change("replace", Interval(hour(0).start, hour(0).start + timedelta(minutes=30)), 1)],
    ],
)
def test_what_would_lose_or_double_rows_is_refused(changes: list[LedgerChange]) -> None:
    with pytest.raises(LedgerMismatch):
        applied(applied((), change("replace", hour(0), 2)), *changes)


@given(
    st.lists(
        st.tuples(st.sampled_from(["replace", "add"]), st.integers(0, 5), st.integers(0, 9)),
        max_size=20,
    )
)
def test_the_ledger_is_a_dictionary_of_hours(steps: list[tuple[str, int, int]]) -> None:
    model: dict[int, int] = {}
    entries: tuple[LedgerEntry, ...] = ()
    for operation, number, count in steps:
        step = change(operation, hour(number), count)
        if operation == "add" and number not in model:
            with pytest.raises(LedgerMismatch):
                applied(entries, step)
            continue
        entries = applied(entries, step)
        model[number] = count + (model.get(number, 0) if operation == "add" else 0)
    assert [each.interval for each in entries] == [hour(number) for number in sorted(model)]
    assert total(each.rows for each in entries) == rows(sum(model.values()))


def test_rows_of_another_schema_are_not_added_to_an_interval() -> None:
    first = applied((), change("replace", hour(0), 2))
    wider = (*COLUMNS, Column(name="b", type="int"))
    with pytest.raises(LedgerMismatch, match="another schema"):
        apply_changes(
            first, [change("add", hour(0), 1)], columns=wider, work_id="x", iceberg_snapshot_id=2
        )


def hashed_with(algorithm: str, rows: RowSum) -> tuple[LedgerEntry, ...]:
    first = LedgerChange(operation=LedgerOperation.REPLACE, interval=hour(0), rows=rows)
    return apply_changes(
        (), [first], columns=COLUMNS, work_id="v", iceberg_snapshot_id=1, algorithm=algorithm
    )


def test_rows_hashed_in_another_way_are_not_added_but_may_replace() -> None:
    first = hashed_with(MURMUR3_128, rows(2))
    with pytest.raises(LedgerMismatch, match="murmur3_128; restate"):
        applied(first, change("add", hour(0), 1))
    (again,) = applied(first, change("replace", hour(0), 2))
    assert (again.algorithm, again.rows) == (DEFAULT_ALGORITHM, first[0].rows)
    assert again.digest != first[0].digest


def test_no_rows_are_the_same_whatever_they_were_hashed_with() -> None:
    (entry,) = applied(hashed_with(MURMUR3_128, RowSum()), change("add", hour(0), 3))
    assert (entry.rows, entry.algorithm) == (rows(3), DEFAULT_ALGORITHM)


def test_the_digest_of_a_table_follows_from_its_entries() -> None:
    loaded = applied((), change("replace", hour(0), 2), change("replace", hour(1), 3))
    assert loaded_dsha(loaded) == dsha(rows(5), COLUMNS)
    mixed = applied(hashed_with(MURMUR3_128, rows(2)), change("replace", hour(1), 3))
    assert loaded_dsha(mixed) == combined_dsha(each.digest for each in mixed)


def test_the_digests_of_a_growing_table_are_made_in_one_pass() -> None:
    before = applied((), change("replace", hour(0), 2), change("replace", hour(1), 3))
    mixed = applied(
        tuple(replace(each, algorithm=MURMUR3_128) for each in before),
        change("replace", hour(2), 5),
        change("replace", hour(3), 7),
    )
    assert len({each.algorithm for each in mixed}) == 2
    for loaded in (before, mixed):
        grown = [loaded_dsha(loaded[: count + 1]) for count in range(len(loaded))]
        assert list(loaded_dshas(loaded)) == grown
    assert list(loaded_dshas(())) == []


WIDER = (*COLUMNS, Column(name="b", type="int"))


def applied_wider(
    entries: tuple[LedgerEntry, ...], *changes: LedgerChange, algorithm: str = DEFAULT_ALGORITHM
) -> tuple[LedgerEntry, ...]:
    return apply_changes(
        entries, changes, columns=WIDER, work_id="x", iceberg_snapshot_id=2, algorithm=algorithm
    )


def test_every_interval_is_named_whose_rows_have_other_columns_than_those_added() -> None:
    first = applied((), *(change("replace", hour(number), 2) for number in range(4)))
    added = (change("add", hour(number), 1) for number in (0, 1, 3))
    with pytest.raises(SchemaOutgrown, match="another schema") as raised:
        applied_wider(first, *added)
    assert raised.value.intervals == (hour(0, 2), hour(3))


def test_a_change_of_a_tables_sum_takes_its_entry_to_the_columns_of_now() -> None:
    first = applied((), change("replace", hour(0), 2), change("replace", hour(1), 3))
    then = applied_wider(first, change("change", hour(1), 4))
    assert then[0] == first[0]
    assert (then[1].rows, then[1].columns) == (rows(7), WIDER)
    assert then[1].digest == dsha(rows(7), WIDER)


def test_a_change_of_a_tables_sum_fits_only_what_is_loaded_and_hashed_alike() -> None:
    first = applied((), change("replace", hour(0), 2))
    with pytest.raises(LedgerMismatch, match="not loaded"):
        applied_wider(first, change("change", hour(1), 1))
    with pytest.raises(LedgerMismatch, match="hashed with"):
        applied_wider(first, change("change", hour(0), 1), algorithm=MURMUR3_128)
