"""The hash that `xxhash64x2` and its reference use is XXH64 as its author published it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
import xxhash
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PRIME32: Final = 2654435761
PRIME64: Final = 11400714785074694797
PUBLISHED: Final = {
    (0, 0): 0xEF46DB3751D8E999,
    (0, PRIME32): 0xAC75FDA2929B17EF,
    (1, 0): 0xE934A84ADB052768,
    (1, PRIME32): 0x5014607643A9B4C3,
    (4, 0): 0x9136A0DCA57457EE,
    (14, 0): 0x8282DCC4994E35C8,
    (14, PRIME32): 0xC3BD6BF63DEB6DF0,
    (222, 0): 0xB641AE8CB691C174,
    (222, PRIME32): 0x20CB8AB7AE10C14A,
}
"""XXH64 by length and seed, from the sanity check of its author (xsum_sanity_check.c of xxHash)."""


def sanity_bytes(length: int) -> bytes:
    """The bytes of that sanity check: the highest ones of a product that grows modulo 2**64."""
    return bytes(PRIME32 * pow(PRIME64, n, 2**64) % 2**64 >> 56 for n in range(length))


@pytest.mark.parametrize("length, seed", PUBLISHED)
def test_the_hash_of_the_reference_has_its_authors_digests(length: int, seed: int) -> None:
    assert xxhash.xxh64_intdigest(sanity_bytes(length), seed) == PUBLISHED[length, seed]


@pytest.mark.full
@pytest.mark.spark
def test_sparks_hash_is_that_of_the_reference(spark: SparkSession) -> None:
    # Spark starts from the seed 42, and goes on from a value's hash to the next value.
    texts = [sanity_bytes(length) for length in range(100)]
    frame = spark.createDataFrame([(n, text) for n, text in enumerate(texts)], "n INT, b BINARY")
    both = frame.select(F.xxhash64("b"), F.xxhash64("n", "b")).collect()
    expected = []
    for number, text in enumerate(texts):
        before = xxhash.xxh64_intdigest(number.to_bytes(4, "little"), 42)
        expected.append(tuple(xxhash.xxh64_intdigest(text, seed) for seed in (42, before)))
    assert [(one % 2**64, two % 2**64) for one, two in both] == expected
