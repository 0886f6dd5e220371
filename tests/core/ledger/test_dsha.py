from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.dsha import (
    ALGORITHMS,
    MODULUS,
    RowSum,
    combined_dsha,
    combined_dshas,
    dsha,
    total,
)

SUMS = st.builds(
    lambda rows, sum_: RowSum(rows=rows, sum=sum_),
    st.integers(-(10**9), 10**9),
    st.integers(0, MODULUS - 1),
)
COLUMNS = (Column(name="a", type="int"), Column(name="b", type="string"))


def row(text: str) -> RowSum:
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return RowSum(rows=1, sum=int.from_bytes(digest, "big"))


@given(SUMS, SUMS, SUMS)
def test_sums_form_a_commutative_group(one: RowSum, two: RowSum, three: RowSum) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + RowSum() == one
    assert one + two - two == one
    assert RowSum() - one + one == RowSum()


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
        assert row("x").sum * copies % MODULUS != 0
    assert total([row("x"), row("x")]) != total([row("y"), row("y")])
    assert total([row("x"), row("x")]) != RowSum()


def test_sums_are_those_of_one_big_integer_that_wraps_at_two_to_the_128() -> None:
    # seed 002: "treat the bytes of the respective row fingerprints as a big integer"
    lower = RowSum(rows=1, sum=2**64 - 1)
    assert lower + RowSum(rows=1, sum=1) == RowSum(rows=2, sum=2**64)
    assert RowSum(rows=1, sum=MODULUS - 1) + RowSum(rows=1, sum=3) == RowSum(rows=2, sum=2)
    assert RowSum() - RowSum(rows=1, sum=1) == RowSum(rows=-1, sum=MODULUS - 1)


@given(SUMS)
def test_a_sum_is_its_halves(found: RowSum) -> None:
    upper, lower = found.halves
    assert 0 <= upper < 2**64
    assert 0 <= lower < 2**64
    assert upper * 2**64 + lower == found.sum
    assert RowSum.of_halves(found.rows, upper, lower) == found


@pytest.mark.parametrize("outside", [-1, MODULUS])
def test_a_sum_outside_of_its_bounds_is_refused(outside: int) -> None:
    with pytest.raises(ValueError, match=r"2\*\*128"):
        RowSum(sum=outside)


def test_the_digest_has_64_hexadecimal_digits_and_is_stable() -> None:
    digest = dsha(RowSum(rows=1, sum=23), COLUMNS, algorithm="xxhash64x2")
    assert len(digest) == 64
    assert int(digest, 16) >= 0
    framed = b"".join(
        len(part).to_bytes(8, "big") + part
        for part in (b"xxhash64x2", b"1", b"23", b"a int", b"b string")
    )
    assert digest == hashlib.sha256(framed).hexdigest()


@pytest.mark.parametrize(
    "rows,columns",
    [
        (RowSum(rows=2, sum=3), COLUMNS),  # the count counts
        (RowSum(rows=1, sum=13), COLUMNS),
        (RowSum(rows=11, sum=3), COLUMNS),
        (RowSum(rows=1, sum=3), COLUMNS[:1]),  # the schema counts
        (RowSum(rows=1, sum=3), COLUMNS[::-1]),
        (RowSum(rows=1, sum=3), (COLUMNS[0], Column(name="b", type="binary"))),
        (RowSum(rows=1, sum=3), (COLUMNS[0], Column(name="c", type="string"))),
    ],
)
def test_count_and_schema_are_part_of_the_digest(rows: RowSum, columns: tuple[Column, ...]) -> None:
    assert dsha(rows, columns) != dsha(RowSum(rows=1, sum=3), COLUMNS)


TYPES = [
    "int",
    "bigint",
    "decimal(10,2)",
    "decimal(10,3)",
    "decimal(11,2)",
    "char(3)",
    "varchar(3)",
    "varchar(4)",
    "string",
    "timestamp",
    "timestamp_ntz",
    "array<int>",
    "array<bigint>",
    "map<string,int>",
    "map<int,string>",
    "struct<a:int>",
    "struct<b:int>",
    "struct<B:int>",
    "struct<a:int,b:int>",
    "array<struct<a:decimal(10,2)>>",
    "array<struct<a:decimal(10,3)>>",
    "interval year",
    "interval year to month",
]


def test_every_part_of_a_type_counts() -> None:
    digests = {dsha(RowSum(), [Column(name="a", type=each)]) for each in TYPES}
    assert len(digests) == len(TYPES)


def test_the_algorithm_is_part_of_the_digest() -> None:
    names = ("another/1", *ALGORITHMS)
    assert len({dsha(RowSum(rows=1, sum=3), COLUMNS, algorithm=each) for each in names}) == 3


@pytest.mark.parametrize(
    "one,other",
    [
        (Column(name="A", type="INT", description="first"), Column(name="a", type="int")),
        (Column(name="a", type="Decimal(10, 2)"), Column(name="a", type="decimal(10,2)")),
        (
            Column(name="a", type="STRUCT<X: INT, y: MAP<STRING, INT> >"),
            Column(name="a", type="struct<X:int,y:map<string,int>>"),
        ),
    ],
    ids=["case and comment", "blanks", "nested"],
)
def test_case_blanks_and_comments_do_not_count(one: Column, other: Column) -> None:
    assert dsha(RowSum(rows=1, sum=3), [one]) == dsha(RowSum(rows=1, sum=3), [other])


@given(st.lists(st.text(max_size=4), max_size=5), st.lists(st.text(max_size=4), max_size=5))
def test_a_combined_digest_distinguishes_lists(one: list[str], other: list[str]) -> None:
    assert (combined_dsha(one) == combined_dsha(other)) == (one == other)


@given(st.lists(st.text(max_size=3), max_size=6))
def test_digests_of_more_and_more_parts_are_made_in_one_pass(parts: list[str]) -> None:
    grown = [combined_dsha(parts[: count + 1]) for count in range(len(parts))]
    assert list(combined_dshas(iter(parts))) == grown
