"""Pairs of row sets that differ in one place: the sums differ. In another form: they are equal.

All pairs are in one table with two neighbouring columns of each type; a pair fills those of its
type, so that one Spark job has the sums of all sides of all pairs. Left out are INTERVAL and TIME,
which Iceberg cannot store. NULL inside of values, and equal values under another type, are in
`test_native`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

from tests.depth import is_full
from tests.lakehouse.digest import reference
from tests.lakehouse.digest.arrow_rows import among_nulls, frame
from tests.lakehouse.digest.mutations import other
from tests.lakehouse.digest.rows import (
    LONG,
    TYPES,
    Plain,
    Type,
    field,
    meaning,
    nothing,
    same,
    value,
)
from vde_dagster.core.ledger.dsha import (
    ALGORITHMS,
    MODULUS,
    MURMUR3_128,
    XXHASH64X2,
    RowSum,
)
from vde_dagster.lakehouse.digest import row_sums

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.conftest import SparkLake

Row = tuple[object, object]
"""Values of two neighbouring columns of one type."""
Sides = tuple[list[Row], list[Row]]

LEFT, RIGHT, SAME = range(3)
SHORT, LONG_FORM = 15, 600
"""How many pairs there are of each type and mutation."""
SUMMED: Final = ALGORITHMS if is_full() else [XXHASH64X2]
"""Algorithms whose sums are taken: `test_murmur` has the other one's bytes in the short form, too,
and `test_observed` its sums on Spark."""
MOSTLY_NATIVE: Final = [XXHASH64X2, pytest.param(MURMUR3_128, marks=pytest.mark.full)]
ORACLES: Final = {MURMUR3_128: reference.murmur3_128, XXHASH64X2: reference.xxhash64x2}


def another_value(of: Type, rng: Random) -> Sides:
    one, two = field(of, rng), field(of, rng)
    if rng.random() < 0.5:
        return [(one, two)], [(other(of, one, rng), two)]
    return [(one, two)], [(one, other(of, two, rng))]


def null_or_empty(of: Type, rng: Random) -> Sides:
    there = rng.choice((value(of, rng), nothing(of)))
    beside = rng.choice((value(of, rng), nothing(of), None))
    if rng.random() < 0.5:
        return [(there, beside)], [(None, beside)]
    return [(beside, there)], [(beside, None)]


def columns_swapped(of: Type, rng: Random) -> Sides:
    one = value(of, rng)
    two = rng.choice((None, other(of, one, rng)))
    if (
        isinstance(one, str | bytes | list)
        and one
        and of != Plain("variant")
        and rng.random() < 0.3
    ):
        at = rng.randrange(len(one))  # the end of one is the start of the other
        return [(one, nothing(of))], [(one[:at], one[at:])]
    return [(one, two)], [(two, one)]


def number_of_duplicates(of: Type, rng: Random) -> Sides:
    one, two = (value(of, rng), field(of, rng)), (field(of, rng), value(of, rng))
    if rng.random() < 0.5 or [*map(meaning, (of, of), one)] == [*map(meaning, (of, of), two)]:
        few, many = rng.choice(((1, 2), (1, 3), (2, 3), (2, 4)))
        return [one] * few, [one] * many
    return [one, two, two], [one, one, two]


MUTATIONS: Final[dict[str, Callable[[Type, Random], Sides]]] = {
    each.__name__: each
    for each in (another_value, null_or_empty, columns_swapped, number_of_duplicates)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two sets of rows of one type that are not the same."""

    name: str
    mutation: str
    sides: Sides

    def written(self) -> tuple[int, ...]:
        """The sides that are in the table; values in other forms are those of some mutations."""
        with_forms = self.mutation == number_of_duplicates.__name__
        return (LEFT, RIGHT, SAME) if with_forms else (LEFT, RIGHT)

    def rows(self, side: int) -> list[Row]:
        if side != SAME:
            return self.sides[side]
        of = TYPES[self.name]
        return [(same(of, one), same(of, two)) for one, two in self.sides[LEFT]]


@cache
def pairs(each: int) -> Sequence[Pair]:
    """As many pairs of each type and mutation, always the same ones."""
    return [
        Pair(name=name, mutation=mutation, sides=make(of, rng))
        for name, of in TYPES.items()
        for mutation, make in MUTATIONS.items()
        for rng in [Random(f"{name} {mutation}")]
        for _ in range(each)
    ]


COLUMNS: Final = {f"{name}_{at}": of for name, of in TYPES.items() for at in (0, 1)}
Sums = Mapping[object, RowSum]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """All pairs; and by algorithm the sums of their sides, by `side_of`.

    Args:
        pairs: The pairs.
        plain: The sums of the left and the right sides.
        moved: The sums of the left sides' rows in other forms, partitions and another session zone.
    """

    pairs: Sequence[Pair]
    plain: Mapping[str, Sums]
    moved: Mapping[str, Sums]


def side_of(number: int, side: int) -> int:
    """A key that distinguishes the side of a pair from all others."""
    return 3 * number + side


@pytest.fixture(scope="module", params=[SHORT, pytest.param(LONG_FORM, marks=pytest.mark.full)])
def summed(
    request: pytest.FixtureRequest, spark: SparkSession, spark_lake: SparkLake
) -> Iterator[Summed]:
    table = f"{spark_lake.catalog}.mutated_pairs.rows_{request.param}"
    made = pairs(request.param)
    write(spark, table, made)
    rows = spark.table(table)
    yield Summed(
        pairs=made,
        plain={each: sums(rows.where(F.col("side") % 3 != SAME), each) for each in SUMMED},
        moved={each: moved_sums(spark, rows, each) for each in SUMMED},
    )
    spark.sql(f"DROP TABLE {table} PURGE")


def write(spark: SparkSession, table: str, made: Sequence[Pair]) -> None:
    declared = ", ".join(f"{name} {of.ddl}" for name, of in COLUMNS.items())
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
    spark.sql(
        f"CREATE TABLE {table} (side BIGINT, {declared}) USING iceberg "
        "TBLPROPERTIES ('format-version' = '3')"  # the first with variants
    )
    rows = frame(spark, arrow_table(made), {"side": LONG, **COLUMNS})
    rows.coalesce(2).writeTo(table).append()


def arrow_table(made: Sequence[Pair]) -> pa.Table:
    """All rows of all sides, in no order: NULL in the columns of all types but their own."""
    rows = [
        (side_of(number, side), pair.name, row)
        for number, pair in enumerate(made)
        for side in pair.written()
        for row in pair.rows(side)
    ]
    columns = {"side": pa.chunked_array([[side for side, _, _ in rows]])}
    before = 0
    for name, of in TYPES.items():
        own = [row for _, found, row in rows if found == name]
        after = len(rows) - before - len(own)
        for at in (0, 1):
            found = [row[at] for row in own]
            columns[f"{name}_{at}"] = among_nulls(of, found, before, after)
        before += len(own)
    order = Random("rows").sample(range(len(rows)), len(rows))
    return pa.table(columns).combine_chunks().take(order)


def spread(name: str, row: Row) -> reference.Fields:
    """A row of the table: NULL in the columns of all other types."""
    own = {f"{name}_{at}": found for at, found in enumerate(row)}
    return [(of, own.get(column)) for column, of in COLUMNS.items()]


def sums(rows: DataFrame, algorithm: str) -> Sums:
    return row_sums(rows, algorithm, F.col("side"), apart=["side"])


def moved_sums(spark: SparkSession, rows: DataFrame, algorithm: str) -> Sums:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        return sums(rows.where(F.col("side") % 3 == SAME).repartition(3), algorithm)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.full
def test_pairs_are_many_and_no_two_sides_mean_the_same() -> None:
    made = pairs(SHORT)
    assert len(made) == SHORT * len(MUTATIONS) * len(TYPES)
    for pair in made:
        of = TYPES[pair.name]
        left, right, same_again = (
            Counter((meaning(of, one), meaning(of, two)) for one, two in pair.rows(side))
            for side in (LEFT, RIGHT, SAME)
        )
        assert left != right, pair
        assert left == same_again, pair


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize("algorithm", MOSTLY_NATIVE)
def test_rows_that_differ_in_one_place_have_other_sums(summed: Summed, algorithm: str) -> None:
    found = summed.plain[algorithm]
    alike = [
        pair
        for number, pair in enumerate(summed.pairs)
        if found[side_of(number, LEFT)].sum == found[side_of(number, RIGHT)].sum
    ]
    assert alike == []


@pytest.mark.spark
@pytest.mark.parametrize("algorithm", MOSTLY_NATIVE)
def test_other_forms_orders_partitions_and_zones_change_nothing(
    summed: Summed, algorithm: str
) -> None:
    found, moved = summed.plain[algorithm], summed.moved[algorithm]
    changed = [
        pair
        for number, pair in enumerate(summed.pairs)
        if SAME in pair.written() and found[side_of(number, LEFT)] != moved[side_of(number, SAME)]
    ]
    assert changed == []


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize("algorithm", MOSTLY_NATIVE)
def test_sums_are_those_of_another_implementation(summed: Summed, algorithm: str) -> None:
    found = summed.plain[algorithm]
    wrong = [
        pair
        for number, pair in list(enumerate(summed.pairs))[::5]
        if found[side_of(number, LEFT)] != expected(algorithm, pair)
    ]
    assert wrong == []


def expected(algorithm: str, pair: Pair) -> RowSum:
    hashes = [ORACLES[algorithm](spread(pair.name, row)) for row in pair.rows(LEFT)]
    return RowSum(rows=len(hashes), sum=sum(hashes) % MODULUS)
