"""`murmur3_128`: the hash by its published vectors, the canonical bytes, the sums in Spark.

Only the sums need Spark.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Final

import mmh3
import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812

from tests.lakehouse.digest import reference
from tests.lakehouse.digest.arrow_rows import arrow
from tests.lakehouse.digest.rows import (
    BINARY,
    INT,
    LONG,
    STRING,
    TYPES,
    Array,
    Digits,
    Map,
    Plain,
    Struct,
    Type,
    field,
)
from vde_dagster.core.ledger.dsha import MODULUS, RowSum, total
from vde_dagster.lakehouse.digest import murmur_batches
from vde_dagster.lakehouse.digest.murmur import halves, murmur_sums, travelling
from vde_dagster.lakehouse.digest.murmur_rows import Murmur3, records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# ---- the hash ----

PUBLISHED: Final = {
    "": "00000000000000000000000000000000",
    "hello": "029bbd41b3a7d8cb191dae486a901e5b",
    "The quick brown fox jumps over the lazy dog": "6c1b07bc7bbc4be347939ac4a93c437a",
}
"""Digests as the tests of public implementations have them, the first byte first."""


def digest(data: bytes, seed: int = 0) -> bytes:
    """The digest of one string by our own hash."""
    words = np.frombuffer(data + bytes(-len(data) % 16), "<u8").astype(np.uint64)
    whole = len(data) // 16 * 2
    state = Murmur3(1, seed)
    for at in range(0, whole, 2):
        state.absorb(words[at : at + 1], words[at + 1 : at + 2])
    rest = [words[whole : whole + 1], words[whole + 1 :]] if len(words) > whole else []
    halves = state.finished(np.array([len(data)], np.uint64), rest)
    return b"".join(int(each[0]).to_bytes(8, "little") for each in halves)


@pytest.mark.parametrize("text", PUBLISHED)
def test_the_hash_gives_the_published_digests(text: str) -> None:
    assert digest(text.encode()).hex() == PUBLISHED[text]


def test_the_hash_is_that_of_the_library_in_c() -> None:
    rng = Random("hash")
    for length in range(100):
        data, seed = rng.randbytes(length), rng.getrandbits(32)
        assert digest(data, seed) == mmh3.mmh3_x64_128_digest(data, seed)


# ---- the canonical bytes ----

WITHOUT_VARIANTS: Final = [name for name in TYPES if "variant" not in name]


def encoded(columns: Sequence[pa.Array]) -> list[bytes]:
    data, borders = records(columns).joined()
    return [data[begin:end].tobytes() for begin, end in pairwise(borders)]


def hashed(columns: Sequence[pa.Array]) -> list[int]:
    lower, upper = records(columns).hashes()
    return [int(high) << 64 | int(low) for low, high in zip(lower, upper, strict=True)]


def values(of: Type, count: int) -> list[object]:
    rng = Random(f"values {of.ddl}")
    return [field(of, rng) for _ in range(count)]


@pytest.mark.full
@pytest.mark.parametrize("name", WITHOUT_VARIANTS)
def test_bytes_and_hashes_are_those_of_another_implementation(name: str) -> None:
    of = TYPES[name]
    found = values(of, 300)
    pairs = [[(of, one), (of, two)] for one, two in pairwise(found)]
    columns = [pa.array(each, arrow(of)) for each in (found[:-1], found[1:])]
    assert encoded(columns) == [reference.record(each) for each in pairs]
    assert hashed(columns) == [reference.murmur3_128(each) for each in pairs]


@pytest.mark.parametrize("name", WITHOUT_VARIANTS)
def test_what_lies_around_a_batch_does_not_matter(name: str) -> None:
    whole = pa.array(values(TYPES[name], 60), arrow(TYPES[name]))
    assert encoded([whole.slice(7, 40)]) == encoded([whole])[7:47]
    assert encoded([whole.slice(7, 0)]) == []


def word(number: int) -> bytes:
    return number.to_bytes(8, "little", signed=True)


BYTES: Final[list[tuple[str, list[tuple[Type, object]], bytes]]] = [
    ("a number", [(INT, -2)], word(1) + word(-2)),
    ("NULL", [(INT, None)], word(0) + word(0)),
    ("text", [(STRING, "ab")], word(1) + word(2) + b"ab".ljust(16, b"\0")),
    ("one", [(Plain("float"), 1.0)], word(1) + word(0x3FF0 << 48)),
    ("a decimal", [(Digits(9, 2), Decimal("-1.50"))], word(1) + word(-150)),
    (
        "a wide decimal",
        [(Digits(38, 10), Decimal("-0.0000000001"))],
        word(1) + word(-1) + word(-1) + word(0),
    ),
    (
        "a struct",
        [(Struct((INT, STRING)), (5, None)), (INT, 6)],
        word(0b11) + word(0b01) + word(5) + word(0) + word(6) + word(0),
    ),
    (
        "a NULL struct",
        [(Struct((INT, STRING)), None), (INT, 6)],
        word(0b10) + word(0) + word(0) + word(0) + word(6) + word(0),
    ),
    (
        "an array",
        [(Array(INT), [8, None])],
        word(1) + word(32) + word(1) + word(8) + word(0) + word(0),
    ),
    (
        "a map",
        [(Map(INT, INT), [(1, 2)])],
        word(1) + word(32) + word(0b11) + word(1) + word(2) + word(0),
    ),
]


@pytest.mark.parametrize(
    "fields, expected", [each[1:] for each in BYTES], ids=[e[0] for e in BYTES]
)
def test_the_bytes_are_as_described(fields: list[tuple[Type, object]], expected: bytes) -> None:
    assert encoded([pa.array([found], arrow(of)) for of, found in fields]) == [expected]
    assert reference.record(fields) == expected


def test_flags_of_many_columns_take_several_words() -> None:
    fields = [(LONG, number if number % 3 else None) for number in range(130)]
    columns = [pa.array([found], pa.int64()) for _, found in fields]
    assert encoded(columns) == [reference.record(fields)]
    assert hashed(columns) == [reference.murmur3_128(fields)]


def test_long_rows_are_hashed_like_short_ones() -> None:
    rng = Random("long")
    texts = [rng.randbytes(length) for length in (0, 5, 4000, 4096, 4097, 70_000, 16, 200_001)]
    column = pa.array(texts, pa.binary())
    assert hashed([column]) == [reference.murmur3_128([(BINARY, each)]) for each in texts]
    together, alone = records([column]).hashes_together(), records([column]).hashes_one_by_one()
    assert np.array_equal(together, alone)


def test_what_a_null_array_hides_does_not_count() -> None:
    hiding = pa.ListArray.from_arrays(
        pa.array([0, 2, 4, 5], pa.int32()),
        pa.array([1, 2, 3, 4, 5], pa.int32()),
        mask=pa.array([False, True, False]),
    )
    assert encoded([hiding]) == encoded([pa.array([[1, 2], None, [5]], pa.list_(pa.int32()))])


EMPTY: Final = pa.py_buffer(b"")


@pytest.mark.parametrize("inner", [pa.list_(pa.int32()), pa.map_(pa.int32(), pa.int32())])
def test_arrays_of_nothing_may_come_without_borders(inner: pa.DataType) -> None:
    # Where there are no values Java sends no offsets either, not even the one that Arrow asks for.
    parts = [pa.array([], inner.field(at).type) for at in range(inner.num_fields)]
    without = pa.Array.from_buffers(inner, 0, [None, EMPTY], children=parts)
    outer = pa.array([0, 0, 0], pa.int32()).buffers()[1]
    column = pa.Array.from_buffers(pa.list_(inner), 2, [None, outer], children=[without])
    assert encoded([column]) == [word(1) + word(0)] * 2


# ---- Spark ----


def rows_of(spark: SparkSession) -> DataFrame:
    return spark.range(0, 1000, 1, 3).select(
        "id",
        (F.col("id") % 7).alias("day"),
        F.when(F.col("id") % 5 > 0, F.concat(F.lit("text "), F.col("id"))).alias("text"),
        F.create_map(F.lit("a"), F.col("id"), F.lit("b"), F.lit(None)).alias("entries"),
    )


def fields_of(number: int) -> list[tuple[Type, object]]:
    text = f"text {number}" if number % 5 else None
    entries = [("a", number), ("b", None)]
    return [(LONG, number), (LONG, number % 7), (STRING, text), (Map(STRING, LONG), entries)]


def expected(numbers: Sequence[int]) -> RowSum:
    hashes = [reference.murmur3_128(fields_of(number)) for number in numbers]
    return RowSum(rows=len(hashes), sum=sum(hashes) % MODULUS)


@pytest.mark.full
@pytest.mark.spark
def test_sums_of_groups_and_of_all_rows(spark: SparkSession) -> None:
    rows = rows_of(spark)
    days = {day: expected(range(day, 1000, 7)) for day in range(7)}
    assert murmur_sums(rows, F.col("day")) == days
    assert murmur_sums(rows.repartition(3)) == {None: total(days.values())}
    first = expected(range(10))
    without = F.when(F.col("id") < 10, F.lit(0))  # rows without a group are one, too
    assert murmur_sums(rows, without) == {0: first, None: total(days.values()) - first}
    none = rows.where("id < 0").coalesce(1)
    assert murmur_sums(none) == {None: RowSum()}
    assert murmur_sums(none, F.col("day")) == {}


@pytest.mark.full
@pytest.mark.spark
def test_halves_are_columns_of_their_row(spark: SparkSession) -> None:
    rows = rows_of(spark)
    upper, lower = halves(rows)
    found = rows.select("id", upper.alias("upper"), lower.alias("lower")).collect()
    assert {row["id"]: (row["upper"] % 2**64) << 64 | row["lower"] % 2**64 for row in found} == {
        number: reference.murmur3_128(fields_of(number)) for number in range(1000)
    }


BARE_WORKER: Final = """
import pickle, sys
class Absent:
    def find_spec(self, name, *_):
        if name.partition('.')[0] in ('vde_dagster', 'mmh3'):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import pyarrow as pa
function = pickle.loads(sys.stdin.buffer.read())
column = pa.array(['a', None, 'long ' * 1000])
print(function(column).field('lower').to_pylist())
"""


@pytest.mark.full
def test_workers_need_neither_this_package_nor_mmh3() -> None:
    shipped = cloudpickle.dumps(  # type: ignore[no-untyped-call] # it has no types
        travelling(murmur_batches.halves)
    )
    reported = subprocess.run(
        [sys.executable, "-c", BARE_WORKER], input=shipped, capture_output=True, check=True
    ).stdout
    texts = ("a", None, "long " * 1000)
    hashes = [reference.murmur3_128([(STRING, each)]) for each in texts]
    signed = [(each % 2**64 + 2**63) % 2**64 - 2**63 for each in hashes]
    assert reported.decode().strip() == str(signed)
