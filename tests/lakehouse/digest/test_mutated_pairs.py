"""Pairs of row sets that differ in one place: the sums differ. In another form: they are equal.

All pairs lie in one table with two neighbouring columns of each type; a pair fills those of its
type, and its number is the same on both sides. So one Spark job per side and algorithm has the sums
of all pairs. Left out, because there is no such thing: a NULL inside a type without parts; and
INTERVAL and TIME, which no Iceberg table can hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import VariantVal

from tests.lakehouse.digest import reference
from tests.lakehouse.digest.mutations import null_elsewhere, other
from tests.lakehouse.digest.rows import (
    INT,
    LONG,
    TYPES,
    Array,
    Digits,
    Map,
    Plain,
    Struct,
    Type,
    field,
    meaning,
    nothing,
    same,
    value,
)
from vde_dagster.core.dsha import (
    ALGORITHMS,
    MODULUS,
    MURMUR3_128,
    XXHASH64X2,
    Column,
    RowSum,
    dsha,
)
from vde_dagster.lakehouse.digest import row_sums

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.conftest import SparkLake

Row = tuple[object, object]
"""Values of two neighbouring columns of one type."""
Sides = tuple[list[Row], list[Row]]

LEFT, RIGHT, SAME = range(3)
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
        at = rng.randrange(
            len(one)
        )  # what stood at the end of one stands at the start of the other
        return [(one, nothing(of))], [(one[:at], one[at:])]
    return [(one, two)], [(two, one)]


def null_inside(of: Type, rng: Random) -> Sides:
    one, two = value(of, rng), field(of, rng)
    return [(one, two)], [(null_elsewhere(of, one, rng), two)]


def number_of_duplicates(of: Type, rng: Random) -> Sides:
    one, two = (value(of, rng), field(of, rng)), (field(of, rng), value(of, rng))
    few, many = rng.choice(((1, 2), (1, 3), (2, 3), (2, 4)))
    if rng.random() < 0.5 or [*map(meaning, (of, of), one)] == [*map(meaning, (of, of), two)]:
        return [one] * few, [one] * many
    return [one] * few + [two] * many, [one] * many + [two] * few


MUTATIONS: Final[dict[str, Callable[[Type, Random], Sides]]] = {
    each.__name__: each
    for each in (another_value, null_or_empty, columns_swapped, null_inside, number_of_duplicates)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two sets of rows of one type that are not the same."""

    name: str
    mutation: str
    sides: Sides

    def rows(self, side: int) -> list[Row]:
        if side != SAME:
            return self.sides[side]
        of = TYPES[self.name]
        return [(same(of, one), same(of, two)) for one, two in self.sides[LEFT]]


def has_parts(of: Type) -> bool:
    return isinstance(of, Array | Map | Struct)


def pairs(each: int) -> list[Pair]:
    """As many pairs of each type and mutation, always the same ones."""
    return [
        Pair(name=name, mutation=mutation, sides=make(of, rng))
        for name, of in TYPES.items()
        for mutation, make in MUTATIONS.items()
        if mutation != null_inside.__name__ or has_parts(of)
        for rng in [Random(f"{name} {mutation}")]
        for _ in range(each)
    ]


COLUMNS: Final = {f"{name}_{place}": of for name, of in TYPES.items() for place in ("one", "two")}
Sums = Mapping[object, RowSum]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """All pairs, and by algorithm and side the sums of their rows, by the pair's number."""

    pairs: list[Pair]
    sums: Mapping[tuple[str, int], Sums]

    def where(self, found: Callable[[int, Pair], bool]) -> list[Pair]:
        return [pair for number, pair in enumerate(self.pairs) if found(number, pair)]


@pytest.fixture(scope="module", params=[200, pytest.param(2000, marks=pytest.mark.full)])
def summed(
    request: pytest.FixtureRequest, spark: SparkSession, spark_lake: SparkLake
) -> Iterator[Summed]:
    table = f"{spark_lake.catalog}.mutated_pairs.rows_{request.param}"
    made = pairs(request.param)
    write(spark, table, made)
    sides = {
        (algorithm, side): sums_of_side(spark, table, algorithm, side)
        for algorithm in ALGORITHMS
        for side in (LEFT, RIGHT, SAME)
    }
    yield Summed(pairs=made, sums=sides)
    spark.sql(f"DROP TABLE {table} PURGE")


def write(spark: SparkSession, table: str, made: Iterable[Pair]) -> None:
    columns = ", ".join(f"{name} {of.ddl}" for name, of in COLUMNS.items())
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
    spark.sql(
        f"CREATE TABLE {table} (side INT, pair BIGINT, {columns}) USING iceberg "
        "TBLPROPERTIES ('format-version' = '3')"  # the first with variants
    )
    rows = [
        (side, number, *(as_spark(*each) for each in spread(pair.name, row)))
        for number, pair in enumerate(made)
        for side in (LEFT, RIGHT, SAME)
        for row in pair.rows(side)
    ]
    Random("rows").shuffle(rows)
    schema = spark.table(table).schema
    spark.createDataFrame(rows, schema, verifySchema=False).coalesce(2).writeTo(table).append()


def spread(name: str, row: Row) -> list[tuple[Type, object]]:
    """A row of the table: NULL in the columns of all other types."""
    own = dict(zip((f"{name}_one", f"{name}_two"), row, strict=True))
    return [(of, own.get(column)) for column, of in COLUMNS.items()]


def as_spark(of: Type, found: object) -> object:
    match of, found:
        case Plain("variant"), str():
            return VariantVal.parseJson(found)
        case Array(), list():
            return [as_spark(of.element, each) for each in found]
        case Struct(), tuple():
            return tuple(map(as_spark, of.fields, found))
        case Map(), list():
            return {key: as_spark(of.item, item) for key, item in found}
        case _:
            return found


def sums_of_side(spark: SparkSession, table: str, algorithm: str, side: int) -> Sums:
    rows = spark.table(table).where(F.col("side") == side).drop("side")
    if side != SAME:
        return row_sums(rows, algorithm, F.col("pair"))
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        return row_sums(rows.repartition(3), algorithm, F.col("pair"))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_pairs_are_many_and_no_two_sides_mean_the_same() -> None:
    made = pairs(200)
    assert len(made) == 200 * (4 * len(TYPES) + len([of for of in TYPES.values() if has_parts(of)]))
    for pair in made:
        of = TYPES[pair.name]
        left, right, same_again = (
            Counter((meaning(of, one), meaning(of, two)) for one, two in pair.rows(side))
            for side in (LEFT, RIGHT, SAME)
        )
        assert left != right, pair
        assert left == same_again, pair


@pytest.mark.spark
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rows_that_differ_in_one_place_have_other_sums(summed: Summed, algorithm: str) -> None:
    left, right = summed.sums[algorithm, LEFT], summed.sums[algorithm, RIGHT]
    assert summed.where(lambda number, _: left[number].sum == right[number].sum) == []


@pytest.mark.spark
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_other_forms_orders_partitions_and_zones_change_nothing(
    summed: Summed, algorithm: str
) -> None:
    left, again = summed.sums[algorithm, LEFT], summed.sums[algorithm, SAME]
    assert summed.where(lambda number, _: left[number] != again[number]) == []


@pytest.mark.spark
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sums_are_those_of_another_implementation(summed: Summed, algorithm: str) -> None:
    left = summed.sums[algorithm, LEFT]
    compared = summed.where(
        lambda number, pair: number % 5 == 0 and expected(algorithm, number, pair) != left[number]
    )
    assert compared == []


def expected(algorithm: str, number: int, pair: Pair) -> RowSum:
    rows = [[(LONG, number), *spread(pair.name, row)] for row in pair.rows(LEFT)]
    return RowSum(rows=len(rows), sum=sum(map(ORACLES[algorithm], rows)) % MODULUS)


@pytest.mark.spark
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_sum_under_another_type_is_another_digest(summed: Summed, algorithm: str) -> None:
    """Whatever the rows hash to: types that Spark hashes alike differ by the schema."""
    rng = Random("types")
    for number, pair in enumerate(summed.pairs):
        rows, of = summed.sums[algorithm, LEFT][number], TYPES[pair.name]
        schema = [Column(name="one", type=of.ddl), Column(name="two", type=of.ddl)]
        another = Column(name="one", type=rng.choice(near_types(of)).ddl)
        before = dsha(rows, schema, algorithm=algorithm)
        assert before != dsha(rows, [another, schema[1]], algorithm=algorithm)
        assert before != dsha(rows, [schema[0], another], algorithm=algorithm)


def near_types(of: Type) -> list[Type]:
    """Other types, among them those that differ from this one in one place only."""
    plain = [each for each in TYPES.values() if each != of]
    match of:
        case Digits(precision, scale):
            return [Digits(precision - 1, scale), Digits(precision, scale + 1), *plain[:3]]
        case Array(element):
            return [element, *map(Array, near_types(element))]
        case Map(key, item):
            return [Map(item, key), *(Map(key, each) for each in near_types(item))]
        case Struct(fields):
            longer, shorter = Struct((*fields, INT)), Struct(fields[:-1])
            return [
                longer,
                shorter,
                *(Struct((each, *fields[1:])) for each in near_types(fields[0])),
            ]
        case _:
            return plain
