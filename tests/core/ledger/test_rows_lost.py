"""Which loaded intervals lose their rows, by the changes of a unit of work alone."""

from __future__ import annotations

from dataclasses import replace

from tests.state.builders import COLUMNS, ROWS, change, day
from vde_dagster.core.errors import EvaluationFailed, Refused
from vde_dagster.core.ledger.dsha import RowSum
from vde_dagster.core.ledger.entries import (
    LedgerChange,
    LedgerEntry,
    LedgerOperation,
    apply_changes,
)
from vde_dagster.core.ledger.rows_lost import RowsWouldGo, emptied, made_smaller
from vde_dagster.core.ledger.unit_of_work import Ending, ending_of, why_given_up
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

NONE = RowSum()


def entries(*changes: LedgerChange) -> tuple[LedgerEntry, ...]:
    return apply_changes((), changes, columns=COLUMNS, work_id="w", iceberg_snapshot_id=1)


LOADED = entries(change(0), change(1), change(2, rows=NONE), change(3))


def test_an_interval_with_rows_that_is_replaced_by_none_is_emptied() -> None:
    written = [change(0, rows=NONE), change(1, rows=NONE), change(2, rows=NONE), change(3)]
    assert emptied(written, LOADED) == (Interval(day(0).start, day(1).end),)


def test_nothing_is_emptied_by_adding_or_keeping_no_rows() -> None:
    operations = (LedgerOperation.ADD, LedgerOperation.CHANGE, LedgerOperation.KEEP)
    assert emptied([change(0, rows=NONE, operation=each) for each in operations], LOADED) == ()


def test_a_whole_table_is_emptied_by_a_longer_interval_without_rows() -> None:
    whole = replace(change(rows=NONE), interval=Interval(day(0).start, day(4).end))
    whole = replace(whole, operation=LedgerOperation.REPLACE_ALL)
    assert emptied([whole], entries(change(0))) == (day(0),)


def test_a_table_that_is_rebuilt_is_smaller_only_once_all_of_it_is_written() -> None:
    part = [change(0, operation=LedgerOperation.REPLACE_ALL), change(1)]
    assert made_smaller(part, LOADED) == ()
    written = [*part, change(2, rows=NONE), change(3, rows=NONE)]
    assert made_smaller(written, LOADED) == (Interval(day(0).start, day(3).end),)
    assert made_smaller([*part, change(2, rows=ROWS), change(3, rows=NONE)], LOADED) == ()


def test_how_work_ended_is_known_from_its_recorded_reason() -> None:
    waits = RowsWouldGo(
        ModelName("mart", "m"),
        [day(0)],
        why="its query gave no rows",
        command="plan prod",
        work_id="w",
    )
    errors = {
        Ending.FAILED: EvaluationFailed("the query failed"),
        Ending.REFUSED: Refused("a source is gone", advice="load it."),
        Ending.WAITS: waits,
    }
    for ending, error in errors.items():
        assert ending_of(why_given_up(error)) == (ending, str(error))
    assert ending_of(f"{Ending.DAMAGED.value}it lacks files") == (Ending.DAMAGED, "it lacks files")
