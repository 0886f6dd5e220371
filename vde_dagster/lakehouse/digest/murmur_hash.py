"""MurmurHash3 x64 128 of many byte strings at once, with numpy.

Written from the public-domain description of the algorithm by Austin Appleby (MurmurHash3.cpp of
SMHasher, function ``MurmurHash3_x64_128``). Position ``i`` of every array belongs to string ``i``.

Executors get this module with the task (see `murmur`), so it imports nothing of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]
"""One 64-bit word of each string; bytes are read in little-endian order."""
Positions: TypeAlias = npt.NDArray[np.int64]
"""Which strings of a batch are meant, or where something begins or how long it is."""

_FIRST: Final = np.uint64(0x87C37B91114253D5)
_SECOND: Final = np.uint64(0x4CF5AD432745937F)
_FIRST_STEP: Final = np.uint64(0x52DCE729)
_SECOND_STEP: Final = np.uint64(0x38495AB5)
_FIVE: Final = np.uint64(5)
_FINAL: Final = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_FINAL_SHIFT: Final = np.uint64(33)


class Murmur3:
    """The state of the hashes of a number of strings, while their blocks of 16 bytes come in.

    Args:
        strings: How many strings there are.
        seed: The unsigned 32-bit number that the hashes start from.
    """

    def __init__(self, strings: int, seed: int = 0) -> None:
        self._high = np.full(strings, seed, np.uint64)
        self._low = self._high.copy()

    def absorb(self, first: Words, second: Words, at: Positions | None = None) -> None:
        """Take the next block of all strings, or of those ``at`` some positions.

        Args:
            first: The first word of each block.
            second: The second one.
            at: Which strings the blocks belong to, each at most once.
        """
        low, high = (self._low, self._high) if at is None else (self._low[at], self._high[at])
        low = _rotated(low ^ _first_mixed(first), 27)
        low += high
        low *= _FIVE
        low += _FIRST_STEP
        high = _rotated(high ^ _second_mixed(second), 31)
        high += low
        high *= _FIVE
        high += _SECOND_STEP
        if at is None:
            self._low, self._high = low, high
        else:
            self._low[at], self._high[at] = low, high

    def finished(self, lengths: Words, rest: Sequence[Words] = ()) -> tuple[Words, Words]:
        """The hashes: their first and their last 64 bits.

        The hash of a string, read as a little-endian number of 128 bits, is ``last << 64 | first``.

        Args:
            lengths: How many bytes each string has.
            rest: Two words with the bytes after the last whole block, filled with zeros. Not needed
                if all strings are whole blocks.
        """
        low, high = self._low, self._high
        if rest:
            low, high = low ^ _first_mixed(rest[0]), high ^ _second_mixed(rest[1])
        low, high = low ^ lengths, high ^ lengths
        low += high
        high += low
        low, high = _avalanche(low), _avalanche(high)
        low += high
        high += low
        return low, high


def _first_mixed(word: Words) -> Words:
    return _rotated(word * _FIRST, 31) * _SECOND


def _second_mixed(word: Words) -> Words:
    return _rotated(word * _SECOND, 33) * _FIRST


def _rotated(word: Words, bits: int) -> Words:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


def _avalanche(word: Words) -> Words:
    for factor in _FINAL:
        word = (word ^ (word >> _FINAL_SHIFT)) * factor
    return word ^ (word >> _FINAL_SHIFT)
