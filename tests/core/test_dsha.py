from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.dsha import LANE, Column, RowSum, combined_dsha, dsha, total

LANES = st.integers(0, LANE - 1)
SUMS = st.builds(
    lambda rows, high, low: RowSum(rows=rows, high=high, low=low),
    st.integers(0, 10**9),
    LANES,
    LANES,
)
COLUMNS = (Column(name="a", type="int"), Column(name="b", type="string"))


def row(text: str) -> RowSum:
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return RowSum(
        rows=1, high=int.from_bytes(digest[:8], "big"), low=int.from_bytes(digest[8:], "big")
    )


@given(SUMS, SUMS, SUMS)
def test_sums_form_a_commutative_group(one: RowSum, two: RowSum, three: RowSum) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + RowSum() == one
    assert one + two - two == one


@given(st.lists(st.text(max_size=3)), st.randoms(), st.integers(1, 5))
def test_neither_order_nor_partitioning_of_rows_counts(
    rows: list[str], random: object, parts: int
) -> None:
    shuffled = sorted(rows, key=lambda _: random.random())  # type: ignore[attr-defined]
    partitions = [shuffled[part::parts] for part in range(parts)]
    assert total(map(row, rows)) == total(total(map(row, each)) for each in partitions)


def test_equal_rows_do_not_cancel_each_other_out() -> None:
    # seed 002: "A simple XOR would not work either"; nor bytes summed alone, whose period is 256
    for copies in (1, 2, 256, 65_536):
        doubled = RowSum(
            rows=0, high=row("x").high * copies % LANE, low=row("x").low * copies % LANE
        )
        assert (doubled.high, doubled.low) != (0, 0)
    assert total([row("x"), row("x")]) != total([row("y"), row("y")])
    assert total([row("x"), row("x")]) != RowSum()


def test_sums_wrap_at_two_to_the_64() -> None:
    highest = RowSum(rows=1, high=LANE - 1, low=LANE - 1)
    assert highest + RowSum(rows=1, high=1, low=2) == RowSum(rows=2, high=0, low=1)


@pytest.mark.parametrize("high,low", [(-1, 0), (0, -1), (LANE, 0), (0, LANE)])
def test_a_lane_outside_of_its_bounds_is_refused(high: int, low: int) -> None:
    with pytest.raises(ValueError, match=r"2\*\*64"):
        RowSum(high=high, low=low)


def test_the_digest_has_64_hexadecimal_digits_and_is_stable() -> None:
    digest = dsha(RowSum(rows=1, high=2, low=3), COLUMNS)
    assert len(digest) == 64
    assert int(digest, 16) >= 0
    framed = b"".join(
        len(part).to_bytes(8, "big") + part
        for part in (b"xx2/1", b"1", b"2", b"3", b"a int", b"b string")
    )
    assert digest == hashlib.sha256(framed).hexdigest()


@pytest.mark.parametrize(
    "rows,columns",
    [
        (RowSum(rows=2, high=2, low=3), COLUMNS),  # the count counts
        (RowSum(rows=1, high=3, low=2), COLUMNS),  # lanes are not exchangeable
        (RowSum(rows=1, high=23, low=0), COLUMNS),
        (RowSum(rows=1, high=2, low=3), COLUMNS[:1]),  # the schema counts
        (RowSum(rows=1, high=2, low=3), COLUMNS[::-1]),
        (RowSum(rows=1, high=2, low=3), (COLUMNS[0], Column(name="b", type="binary"))),
        (RowSum(rows=1, high=2, low=3), (COLUMNS[0], Column(name="c", type="string"))),
    ],
)
def test_count_and_schema_are_part_of_the_digest(rows: RowSum, columns: tuple[Column, ...]) -> None:
    assert dsha(rows, columns) != dsha(RowSum(rows=1, high=2, low=3), COLUMNS)


def test_neither_the_case_of_names_nor_comments_count() -> None:
    rows = RowSum(rows=1, high=2, low=3)
    other = (Column(name="A", type="INT", description="first"), COLUMNS[1])
    assert dsha(rows, other) == dsha(rows, COLUMNS)
    assert dsha(rows, COLUMNS, algorithm="xx2/2") != dsha(rows, COLUMNS)


@given(st.lists(st.text(max_size=4), max_size=5), st.lists(st.text(max_size=4), max_size=5))
def test_a_combined_digest_tells_lists_apart(one: list[str], other: list[str]) -> None:
    assert (combined_dsha(one) == combined_dsha(other)) == (one == other)
