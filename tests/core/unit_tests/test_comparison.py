"""Rows that came against rows that were expected: what is equal, and what a difference says."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import examples
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Place
from vde_dagster.core.unit_tests.cells import Raw
from vde_dagster.core.unit_tests.comparison import Answer, Difference, difference, equal
from vde_dagster.core.unit_tests.definition import Expected, ExpectedRow
from vde_dagster.core.unit_tests.matching import matched

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def at(line: int) -> Place:
    return Place(path=Path("tests/t.yaml"), line=line)


def expected(*rows: Mapping[str, Raw], partial: bool = False) -> Expected:
    """Rows whose first one stands in line 10."""
    written = [ExpectedRow(values=row, place=at(10 + n)) for n, row in enumerate(rows)]
    return Expected(rows=tuple(written), place=at(9), partial=partial)


def answer(types: str, *rows: tuple[object, ...]) -> Answer:
    """Rows of columns that are written like ``a int, b string``."""
    columns = [each.split(maxsplit=1) for each in types.split("; ")]
    return Answer(columns=tuple(Column(name=n, type=t) for n, t in columns), rows=rows)


def compared(wanted: Expected, found: Answer, *, ordered: bool = False) -> Difference | None:
    return difference(wanted, found, ordered=ordered)


@pytest.mark.parametrize(
    "left, right",
    [
        (None, None),
        (1, Decimal("1.00")),
        (0.1 + 0.2, 0.3),
        (Decimal("0.3"), 0.1 + 0.2),
        (float("nan"), float("nan")),
        (float("inf"), float("inf")),
        (NOON, NOON.astimezone(timezone(timedelta(hours=5)))),
        (NOON, NOON.replace(tzinfo=None)),
        ([1, None], [1, None]),
        ({"a": 1, "b": [0.3]}, {"b": [0.1 + 0.2], "a": 1}),
    ],
)
def test_values_that_are_equal(left: object, right: object) -> None:
    assert equal(left, right)
    assert equal(right, left)


@pytest.mark.parametrize(
    "left, right",
    [
        (None, 0),
        (None, ""),
        (1, True),
        (1, "1"),
        (1, 2),
        (Decimal("1.1"), Decimal("1.10000000001")),
        (1.0, 1.00000001),
        (0.0, float("nan")),
        (date(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)),
        (NOON, NOON + timedelta(microseconds=1)),
        ([1], [1, 2]),
        ({"a": 1}, {"a": 1, "b": None}),
        ("a", ["a"]),
    ],
)
def test_values_that_differ(left: object, right: object) -> None:
    assert not equal(left, right)
    assert not equal(right, left)


def test_a_float_of_32_bits_has_a_tolerance_of_its_own() -> None:
    nearly = 0.10000000149011612  # what 0.1 is in 32 bits
    assert equal(0.1, nearly, kind="float")
    assert not equal(0.1, nearly, kind="double")


def test_the_order_of_rows_counts_only_where_the_query_orders_them() -> None:
    wanted, found = expected({"a": "1"}, {"a": "2"}), answer("a int", (2,), (1,))
    assert compared(wanted, found) is None
    assert compared(wanted, found, ordered=True) == Difference(expected=2, actual=2, reordered=True)
    assert compared(wanted, answer("a int", (1,), (2,)), ordered=True) is None


def test_rows_are_a_multiset() -> None:
    found = compared(expected({"a": "1"}, {"a": "2"}), answer("a int", (1,), (1,)))
    assert found is not None
    assert [each.values for each in found.missing] == [{"a": 2}]
    assert list(found.unexpected) == [{"a": 1}]


def test_written_values_are_read_in_the_types_that_came() -> None:
    wanted = expected({"D": "2024-01-01", "n": "1.5", "t": "2024-01-01 13:00+01:00", "s": "007"})
    found = answer(
        "d date; n decimal(9,2); t timestamp; s string",
        (date(2024, 1, 1), Decimal("1.50"), NOON, "007"),
    )
    assert compared(wanted, found) is None


def test_a_row_that_is_nearly_right_is_told_column_by_column() -> None:
    found = compared(
        expected({"k": "a", "n": "1", "m": "2"}, {"k": "b", "n": "5", "m": "6"}),
        answer("k string; n int; m int", ("b", 5, 7), ("a", 1, 2), ("c", 8, 9)),
    )
    assert found is not None
    (changed,) = found.changed
    assert changed.place.line == 11
    assert [(each.column, each.expected, each.actual) for each in changed.cells] == [("m", 6, 7)]
    assert changed.same == {"k": "b", "n": 5}
    assert found.missing == ()
    assert list(found.unexpected) == [{"k": "c", "n": 8, "m": 9}]


def test_a_value_that_is_none_of_its_column_is_shown_as_it_is_written() -> None:
    found = compared(expected({"k": "a", "d": "never"}), answer("k string; d date", ("a", None)))
    assert found is not None
    assert found.changed[0].cells[0].expected == "never"


def test_a_column_that_no_row_names_is_null_unless_the_test_is_partial() -> None:
    found = answer("a int; b int", (1, None), (2, 3))
    assert compared(expected({"a": "1"}, {"a": "2", "b": "3"}), found) is None
    assert compared(expected({"a": "1"}, {"a": "2"}), found) is not None
    assert compared(expected({"a": "1"}, {"a": "2"}, partial=True), found) is None


def test_a_partly_expected_row_leaves_the_fitting_row_to_the_one_that_needs_it() -> None:
    wanted = expected({"a": "1"}, {"a": "1", "b": "2"}, partial=True)
    assert compared(wanted, answer("a int; b int", (1, 2), (1, 3))) is None


def test_a_partial_test_without_rows_expects_none() -> None:
    assert compared(expected(partial=True), answer("a int")) is None
    found = compared(expected(partial=True), answer("a int", (1,)))
    assert found is not None
    assert list(found.unexpected) == [{"a": 1}]


def test_a_column_that_did_not_come_is_named() -> None:
    found = compared(expected({"a": "1", "z": "1"}), answer("a int", (1,)))
    assert found == Difference(expected=1, actual=1, absent=("z",))


PAIRS = st.lists(st.lists(st.integers(0, 5), unique=True, max_size=6), max_size=6)


@settings(max_examples=examples(200))
@given(PAIRS)
def test_no_other_pairing_has_more_pairs(fitting: list[list[int]]) -> None:
    found = matched(fitting)
    assert all(to in fitting[at] for at, to in found.items())
    assert len(set(found.values())) == len(found)
    best = max(
        sum(to in fitting[at] for at, to in enumerate(order[: len(fitting)]))
        for order in itertools.permutations(range(6))
    )
    assert len(found) == best
