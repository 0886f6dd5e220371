"""The same values under another type have another D-SHA.

One row holds a pair of neighbouring values of each type, and the first of them under other types,
too, so that one Spark job for each algorithm has the hashes of all rows of all types. The short
form has one algorithm: what the schema adds to a digest is the same for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from tests.depth import is_full
from tests.lakehouse.digest.arrow_rows import arrow, frame
from tests.lakehouse.digest.retyping import Other, other_types
from tests.lakehouse.digest.rows import TYPES, Type, field, value
from vde_dagster.core.ledger.dsha import (
    ALGORITHMS,
    MURMUR3_128,
    XXHASH64X2,
    RowSum,
    dsha,
)
from vde_dagster.lakehouse.digest import murmur, native
from vde_dagster.lakehouse.tables import columns_of

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

ROWS: Final = 200 if is_full() else 50
HASHED: Final = ALGORITHMS if is_full() else [XXHASH64X2]
"""The other algorithm needs a function of Python for each pair of columns."""
MOSTLY_NATIVE: Final = [XXHASH64X2, pytest.param(MURMUR3_128, marks=pytest.mark.full)]
MOST_OTHERS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Retyped:
    """One of the types, and another that represents its values."""

    name: str
    number: int
    other: Other

    @property
    def columns(self) -> tuple[str, str]:
        return f"{self.name}_as_{self.number}", f"{self.name}_two"

    @property
    def reported(self) -> str:
        return f"{TYPES[self.name].ddl} as {self.other.type.ddl}"


HASHED_ALIKE: Final = [
    "date as int",
    "timestamp as timestamp_ntz",
    "timestamp_ntz as timestamp",
    "timestamp as bigint",
    "string as string collate UTF8_LCASE",
    "struct<f0:int,f1:string,f2:double> as struct<g0:int,g1:string,g2:double>",
]
"""Types with the same rows for either algorithm: the schema alone distinguishes them."""
RETYPED: Final = [
    each
    for name, of in TYPES.items()
    for number, other in enumerate(islice(other_types(of), MOST_OTHERS))
    for each in [Retyped(name=name, number=number, other=other)]
    if is_full() or not number or each.reported in HASHED_ALIKE
]
"""The short form has one other type of each, and those that are hashed alike."""


def as_they_are(name: str) -> tuple[str, str]:
    return f"{name}_one", f"{name}_two"


def columns() -> Iterator[tuple[str, Type, Sequence[object]]]:
    """Name, type and values of each column. The first value of a pair is never NULL."""
    firsts: dict[str, list[object]] = {}
    for name, of in TYPES.items():
        rng = Random(f"types {name}")
        firsts[name] = [value(of, rng) for _ in range(ROWS)]
        yield f"{name}_one", of, firsts[name]
        yield f"{name}_two", of, [field(of, rng) for _ in range(ROWS)]
    for each in RETYPED:
        said = [each.other.convert(found) for found in firsts[each.name]]
        yield each.columns[0], each.other.type, said


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of two columns: what it hashes to, and its D-SHA under Spark's names of their types."""

    sum: int
    dsha: str


Rows = Mapping[tuple[str, str], Sequence[Row]]
"""By the names of the two columns."""


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Mapping[str, Rows]:
    """All rows, by algorithm."""
    made = {name: (of, pa.array(values, arrow(of))) for name, of, values in columns()}
    types = {name: of for name, (of, _) in made.items()}
    rows = frame(spark, pa.table({name: array for name, (_, array) in made.items()}), types)
    return {algorithm: hashed(rows, algorithm) for algorithm in HASHED}


def hashed(rows: DataFrame, algorithm: str) -> Rows:
    wanted = [*map(as_they_are, TYPES), *(each.columns for each in RETYPED)]
    hashes = [
        F.array(*halves(rows, names, algorithm)).alias(f"hash{number}")
        for number, names in enumerate(wanted)
    ]
    found = zip(*rows.select(*hashes).collect(), strict=True)
    return {
        names: [digested(rows.schema, names, each, algorithm) for each in column]
        for names, column in zip(wanted, found, strict=True)
    }


def halves(rows: DataFrame, names: tuple[str, str], algorithm: str) -> tuple[SparkColumn, ...]:
    """The upper and the lower half of the hash of a row that has these two columns only."""
    own = rows.select(*names)
    return murmur.halves(own) if algorithm == MURMUR3_128 else native.halves(own)


def digested(
    schema: StructType, names: tuple[str, str], halves: tuple[int, int], algorithm: str
) -> Row:
    upper, lower = halves
    row = RowSum.of_halves(1, upper % 2**64, lower % 2**64)
    types = columns_of(StructType([schema[name] for name in names]))
    named = [replace(of, name=name) for of, name in zip(types, ("one", "two"), strict=True)]
    return Row(sum=row.sum, dsha=dsha(row, named, algorithm=algorithm))


def test_each_type_has_another_that_says_the_same() -> None:
    assert {each.name for each in RETYPED} == set(TYPES)
    assert all(each.other.type != TYPES[each.name] for each in RETYPED)


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize("algorithm", MOSTLY_NATIVE)
def test_the_same_values_under_another_type_have_another_digest(
    found: Mapping[str, Rows], algorithm: str
) -> None:
    rows = found[algorithm]
    alike = [
        f"{each.reported}, row {number}"
        for each in RETYPED
        for number, (one, two) in enumerate(
            zip(rows[as_they_are(each.name)], rows[each.columns], strict=True)
        )
        if one.dsha == two.dsha
    ]
    assert alike == []


@pytest.mark.spark
@pytest.mark.parametrize("algorithm", MOSTLY_NATIVE)
@pytest.mark.parametrize("reported", HASHED_ALIKE)
def test_rows_that_are_hashed_alike_are_distinguished_by_the_schema(
    found: Mapping[str, Rows], algorithm: str, reported: str
) -> None:
    (each,) = [each for each in RETYPED if each.reported == reported]
    pairs = zip(
        found[algorithm][as_they_are(each.name)], found[algorithm][each.columns], strict=True
    )
    assert all(one.sum == two.sum and one.dsha != two.dsha for one, two in pairs)
