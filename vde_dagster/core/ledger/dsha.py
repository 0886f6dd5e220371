"""The algebra of D-SHAs (seed 002): row hashes are summed, so order and partitioning do not matter.

A row is hashed to 128 bits, which are taken as one big integer, and the integers of all rows are
summed modulo 2**128. The digest that people see is SHA-256 over that sum, the row count, the schema
and the name of the algorithm. It detects change; it is not evidence against a person who tampers
with data on purpose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from vde_dagster.core.columns import Column
from vde_dagster.core.sql.spark.type_spelling import with_lower_words

SUM_BITS: Final = 128
MODULUS: Final = 1 << SUM_BITS
_HALF_BITS: Final = SUM_BITS // 2
_HALF: Final = 1 << _HALF_BITS

XXHASH64X2: Final = "xxhash64x2"
"""Two chains of Spark's own xxHash64 over each row, started from different salts."""
MURMUR3_128: Final = "murmur3_128"
"""MurmurHash3 x64 128 over the canonical bytes of each row; the choice of seed 002."""
ALGORITHMS: Final = (XXHASH64X2, MURMUR3_128)
"""What rows can be hashed with. A change of an encoding gets a new name."""
DEFAULT_ALGORITHM: Final = XXHASH64X2


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSum:
    """What a set of rows adds up to under one algorithm: their number, and the sum of their hashes.

    ``sum`` is in [0, 2**128). Sums of disjoint row sets add up (and subtract) to the sum of their
    union, which is what makes a table's digest follow from its intervals'. A difference may have
    fewer than no rows, and its sum wraps around.
    """

    rows: int = 0
    sum: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.sum < MODULUS:
            raise ValueError("a sum of row hashes is taken modulo 2**128")

    @classmethod
    def of_halves(cls, rows: int, upper: int, lower: int) -> RowSum:
        """The sum whose upper and lower 64 bits are these; see `halves`."""
        return cls(rows=rows, sum=(upper << _HALF_BITS) | lower)

    @property
    def halves(self) -> tuple[int, int]:
        """The sum's upper and lower 64 bits, each in [0, 2**64)."""
        return divmod(self.sum, _HALF)

    def __add__(self, other: RowSum) -> RowSum:
        return RowSum(rows=self.rows + other.rows, sum=(self.sum + other.sum) % MODULUS)

    def __sub__(self, other: RowSum) -> RowSum:
        return RowSum(rows=self.rows - other.rows, sum=(self.sum - other.sum) % MODULUS)


def total(sums: Iterable[RowSum]) -> RowSum:
    """The sum of disjoint row sets; the empty sum for none."""
    result = RowSum()
    for each in sums:
        result += each
    return result


def dsha(rows: RowSum, columns: Iterable[Column], *, algorithm: str = DEFAULT_ALGORITHM) -> str:
    """The D-SHA of rows under a schema: 64 hexadecimal digits.

    The schema counts by the columns' order, their names without case, as Spark compares them, and
    their types with all parameters: the scale of a decimal, the length of a char, the fields of a
    struct. Comments do not count, nor does whether a column may be NULL.
    """
    schema = [f"{column.name.lower()} {_canonical_type(column.type)}" for column in columns]
    return _digest([algorithm, str(rows.rows), str(rows.sum), *schema])


def combined_dsha(parts: Iterable[str]) -> str:
    """One digest that stands for several, in their order: for what has no rows of its own."""
    return _digest(parts, prefix=_COMBINED)


def combined_dshas(parts: Iterable[str]) -> Iterator[str]:
    """The `combined_dsha` of the first part, of the first two, and so on, in one pass."""
    digest = hashlib.sha256(_COMBINED)
    for part in parts:
        digest.update(_marked(part))
        yield digest.hexdigest()


_COMBINED: Final = b"combined/1"


@lru_cache(maxsize=1024)
def _canonical_type(name: str) -> str:
    """A type without blanks that mean nothing: ``decimal(10, 2)`` as without."""
    words = " ".join(with_lower_words(name).split())
    for mark in "<>(),:":
        words = words.replace(f" {mark}", mark).replace(f"{mark} ", mark)
    return words


def _digest(parts: Iterable[str], *, prefix: bytes = b"") -> str:
    """SHA-256 over parts, each after its length, so that no two lists of parts are alike."""
    digest = hashlib.sha256(prefix)
    for part in parts:
        digest.update(_marked(part))
    return digest.hexdigest()


def _marked(part: str) -> bytes:
    encoded = part.encode()
    return len(encoded).to_bytes(8, "big") + encoded
