"""The algebra of D-SHAs (seed 002): row hashes are summed, so order and partitioning do not matter.

A row is hashed to 128 bits as two 64-bit lanes; each lane is summed as an integer modulo 2**64, and
the two sums stand side by side as one number. The digest that people see is SHA-256 over that
number, the row count, the schema and the name of the algorithm. It detects change; it is no
evidence against somebody who tampers with data on purpose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

LANE_BITS: Final = 64
LANE: Final = 1 << LANE_BITS
ALGORITHM: Final = "xx2/1"
"""Two salted xxHash64 lanes, first form. A change of the encoding gets a new name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as the catalog knows it. ``type`` is Spark's simple name, for example ``bigint``."""

    name: str
    type: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSum:
    """What a set of rows adds up to: their number and the sums of both hash lanes.

    ``high`` and ``low`` are in [0, 2**64). Sums of disjoint row sets add up (and subtract) to the
    sum of their union, which is what makes a table's digest follow from its intervals'.
    """

    rows: int = 0
    high: int = 0
    low: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.high < LANE and 0 <= self.low < LANE):
            raise ValueError("a lane's sum is taken modulo 2**64")

    def __add__(self, other: RowSum) -> RowSum:
        return RowSum(
            rows=self.rows + other.rows,
            high=(self.high + other.high) % LANE,
            low=(self.low + other.low) % LANE,
        )

    def __sub__(self, other: RowSum) -> RowSum:
        return RowSum(
            rows=self.rows - other.rows,
            high=(self.high - other.high) % LANE,
            low=(self.low - other.low) % LANE,
        )


def total(sums: Iterable[RowSum]) -> RowSum:
    """The sum of disjoint row sets; the empty sum for none."""
    result = RowSum()
    for each in sums:
        result += each
    return result


def dsha(rows: RowSum, columns: Iterable[Column], *, algorithm: str = ALGORITHM) -> str:
    """The D-SHA of rows under a schema: 64 hexadecimal digits.

    Names are compared without case, as Spark does; comments do not count.
    """
    digest = hashlib.sha256()
    schema = [f"{column.name.lower()} {column.type.lower()}" for column in columns]
    for part in (algorithm, str(rows.rows), str(rows.high), str(rows.low), *schema):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def combined_dsha(parts: Iterable[str]) -> str:
    """One digest that stands for several, in their order: for what has no rows of its own."""
    digest = hashlib.sha256(b"combined/1")
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()
