"""The canonical bytes of a row, for `murmur3_128`.

The bytes are an injective encoding of the values under a known schema, which is in the digest of a
D-SHA itself: two rows of one schema have the same bytes only if all their values are the same.

A *record* is the fields of a row, of a struct, the one element of an array or the key and the value
of a map's entry. All numbers are little-endian words of 8 bytes. A record is:

1. Flags: one bit per field, the first field in the lowest bit of the first word, 64 to a word. A
   bit is set where the field is not NULL.
2. The fixed part of each field, in order; zeros where it is NULL:

   - boolean, integers: the number. Dates: days since 1970-01-01. Timestamps with and without zone:
     microseconds since 1970-01-01 00:00 (UTC), whatever the session's zone;
   - float, double: the bits of the double. -0.0 is 0.0, and all NaN are one;
   - decimal: the unscaled integer at the column's scale, in two's complement: one word up to 18
     digits, else two;
   - string, binary: how many bytes it has. Text is UTF-8 as stored, padding included;
   - array, map: how many bytes its encoding has;
   - struct: flags and fixed parts of its fields. The fields of a NULL struct are NULL.
3. A word of zeros where the number of words so far is odd.
4. The bytes of each string, binary, array and map, in order, those inside structs at the struct's
   place, each filled with zeros to a multiple of 16. An array is its elements, each a record of one
   field. A map is its entries, each a record of two fields, in ascending order of their own
   MurmurHash3, read as little-endian numbers: the entries of a map have no order.

A variant counts as a struct of two strings: its JSON text with instants in UTC, and its schema,
which distinguishes a date from its text. A change of this encoding gets a new name in
`vde_dagster.core.ledger.dsha.ALGORITHMS`.

MurmurHash3 x64 128 is taken of many byte strings at once, with numpy. It is written from the
public-domain description of the algorithm by Austin Appleby (MurmurHash3.cpp of SMHasher, function
``MurmurHash3_x64_128``). Position ``i`` of every array belongs to string ``i``.

Executors get this module with the task (see `murmur`), so it imports nothing of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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


_BLOCK: Final = 16
_BEHIND: Final = 2 * _BLOCK
_WORD: Final = 8
_FLAGS: Final = 64
_SHORT_DECIMAL: Final = 18
# Records of at least so many bytes are hashed alone: few others have as many blocks.
_LONG: Final = 1 << 12
# The lowest n bytes of a word, for n from 0 to 8.
_LOWEST_BYTES: Final = np.array([(1 << (8 * n)) - 1 for n in range(_WORD + 1)], np.uint64)


class Strings:
    """Byte strings at any places of one buffer.

    Args:
        data: The buffer, with at least two blocks behind the last string.
        starts: At which byte each string begins.
        lengths: How many bytes each one has.
    """

    def __init__(self, data: npt.NDArray[np.uint8], starts: Positions, lengths: Positions) -> None:
        # The word that begins at each byte.
        self._words: Words = np.ndarray((len(data) - _WORD,), "<u8", buffer=data, strides=(1,))
        self._data = data
        self._starts = starts
        self.lengths = lengths
        self.blocks = -(-lengths // _BLOCK)

    def block(self, number: int | Positions, at: Positions) -> tuple[Words, Words]:
        """The two words of one block of each string at some positions, with zeros behind its end.

        Args:
            number: Which block, the same for all or one for each; no string at these positions
                ends before it begins.
            at: The positions.
        """
        begin = self._starts[at] + _BLOCK * number
        left = self.lengths[at] - _BLOCK * number
        first = self._words[begin] & _LOWEST_BYTES[np.minimum(left, _WORD)]
        second = self._words[begin + _WORD] & _LOWEST_BYTES[np.clip(left - _WORD, 0, _WORD)]
        return first, second

    def padded(self, at: int) -> bytes:
        """One string with zeros up to a multiple of 16 bytes."""
        start, length = self._starts[at], self.lengths[at]
        return self._data[start : start + length].tobytes() + bytes(-length % _BLOCK)

    def taken(self, at: Positions) -> Strings:
        """The strings at some positions, in their order."""
        return Strings(self._data, self._starts[at], self.lengths[at])


class Records:
    """The encoding of a number of records of one schema, part by part.

    Args:
        records: How many there are.
        words: Flags and fixed parts: each array has one word of each record.
        strings: What follows them.
    """

    def __init__(self, records: int, words: Sequence[Words], strings: Sequence[Strings]) -> None:
        filling = [np.zeros(records, np.uint64)] * (len(words) % 2)
        self._words = [*words, *filling]
        self._strings = strings
        self._sizes: Positions = np.full(records, _WORD * len(self._words), np.int64)
        for each in strings:
            self._sizes += _BLOCK * each.blocks

    def hashes(self) -> tuple[Words, Words]:
        """First and last 64 bits of each record's hash."""
        long = np.flatnonzero(self._sizes > _LONG)
        if not len(long):
            return self.hashes_together()
        short = np.flatnonzero(self._sizes <= _LONG)
        halves = np.zeros((2, len(self._sizes)), np.uint64)
        halves[:, short] = self.taken(short).hashes_together()
        halves[:, long] = self.taken(long).hashes_one_by_one()
        return halves[0], halves[1]

    def hashes_together(self) -> tuple[Words, Words]:
        """The hashes, block by block of all records at once; for many records."""
        state = Murmur3(len(self._sizes))
        for first, second in zip(self._words[::2], self._words[1::2], strict=True):
            state.absorb(first, second)
        for each in self._strings:
            for number in range(int(each.blocks.max(initial=0))):
                at = np.flatnonzero(each.blocks > number)
                state.absorb(*each.block(number, at), at)
        return state.finished(self._sizes.astype(np.uint64))

    def hashes_one_by_one(self) -> tuple[Words, Words]:
        """The hashes, record by record; for long ones. Slower where ``mmh3`` is missing."""
        try:
            from mmh3 import mmh3_x64_128_digest
        except ImportError:  # an executor has what its owner installed
            return self.hashes_together()
        heads = np.stack(self._words, axis=1).astype("<u8")
        digests = [
            mmh3_x64_128_digest(b"".join([head.tobytes(), *(s.padded(at) for s in self._strings)]))
            for at, head in enumerate(heads)
        ]
        halves = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
        return halves[::2], halves[1::2]

    def taken(self, at: Positions) -> Records:
        """The records at some positions, in their order."""
        words = [each[at] for each in self._words]
        return Records(len(at), words, [each.taken(at) for each in self._strings])

    def joined(self) -> tuple[npt.NDArray[np.uint8], Positions]:
        """The records' bytes one after the other with two blocks behind, and their borders.

        Borders are one more than records: where the first begins, and where each one ends.
        """
        borders = np.zeros(len(self._sizes) + 1, np.int64)
        np.cumsum(self._sizes, out=borders[1:])
        data = np.zeros((borders[-1] + _BEHIND) // _WORD, "<u8")
        place = borders[:-1] // _WORD
        for number, words in enumerate(self._words):
            data[place + number] = words
        place = place + len(self._words)
        for each in self._strings:
            at = np.repeat(np.arange(len(place)), each.blocks)
            begin = np.cumsum(each.blocks) - each.blocks
            block = np.arange(len(at)) - begin[at]
            target = place[at] + 2 * block
            data[target], data[target + 1] = each.block(block, at)
            place += 2 * each.blocks
        return data.view(np.uint8), borders


def records(columns: Sequence[pa.Array]) -> Records:
    """The records whose fields are these columns, all of one length of at least one."""
    return Records(len(columns[0]), *_fields(columns))


def _fields(columns: Sequence[pa.Array]) -> tuple[list[Words], list[Strings]]:
    flags = [np.zeros(len(columns[0]), np.uint64) for _ in range(-(-len(columns) // _FLAGS))]
    words, strings = [], []
    for position, column in enumerate(columns):
        number, bit = divmod(position, _FLAGS)
        flags[number] |= _valid(column).astype(np.uint64) << np.uint64(bit)
        fixed, behind = _parts(column)
        words += fixed
        strings += behind
    return [*flags, *words], strings


def _parts(column: pa.Array) -> tuple[list[Words], list[Strings]]:
    """The fixed part of a field in each record, and the bytes that follow the fixed parts."""
    of = column.type
    if pa.types.is_struct(of):  # a field of a NULL struct comes out as NULL
        return _fields(column.flatten()) if of.num_fields else ([], [])
    if pa.types.is_map(of):
        return _counted(_entries(column))
    if pa.types.is_list(of):
        return _counted(_elements(column))
    if pa.types.is_string(of) or pa.types.is_binary(of):
        return _counted(_texts(column, np.int32))
    if pa.types.is_large_string(of) or pa.types.is_large_binary(of):
        return _counted(_texts(column, np.int64))
    return _numbers(column), []


def _counted(strings: Strings) -> tuple[list[Words], list[Strings]]:
    return [strings.lengths.view(np.uint64)], [strings]


def _texts(column: pa.Array, offset: type[np.int32 | np.int64]) -> Strings:
    borders = _buffer(column, 1, offset, extra=1).astype(np.int64)
    _, _, data = column.buffers()
    found = np.frombuffer(data or b"", np.uint8)
    padded = np.zeros(len(found) + _BEHIND, np.uint8)
    padded[: len(found)] = found
    return Strings(padded, borders[:-1], np.diff(borders) * _valid(column))


def _elements(column: pa.Array) -> Strings:
    borders, (values,) = _within(column, (column.values,))
    data, places = records([values]).joined()
    return Strings(data, places[borders[:-1]], np.diff(places[borders]))


def _entries(column: pa.Array) -> Strings:
    borders, entries = _within(column, (column.keys, column.items))
    found = records(entries)
    low, high = found.hashes()
    owner = np.repeat(np.arange(len(column)), np.diff(borders))
    data, places = found.taken(np.lexsort((low, high, owner))).joined()
    return Strings(data, places[borders[:-1]], np.diff(places[borders]))


def _within(column: pa.Array, values: Sequence[pa.Array]) -> tuple[Positions, list[pa.Array]]:
    """The elements of a column's arrays or maps, and the borders between them: one more.

    A NULL array may have values; they are ignored.
    """
    borders = _buffer(column, 1, np.int32, extra=1).astype(np.int64)
    valid, counts = _valid(column), np.diff(borders)
    loaded = [each.slice(borders[0], borders[-1] - borders[0]) for each in values]
    if np.any(counts[~valid]):
        loaded = [each.filter(pa.array(np.repeat(valid, counts))) for each in loaded]
    return np.concatenate(([0], np.cumsum(counts * valid))), loaded


def _numbers(column: pa.Array) -> list[Words]:
    of = column.type
    if pa.types.is_null(of):
        return []
    if pa.types.is_decimal128(of):
        words = _buffer(column, 1, np.dtype(("<u8", 2)))
        return [
            _zeroed(words[:, each], column) for each in range(1 + (of.precision > _SHORT_DECIMAL))
        ]
    if pa.types.is_floating(of):
        values = _buffer(column, 1, of.to_pandas_dtype()).astype(np.float64) + 0.0
        values[np.isnan(values)] = np.nan
    elif pa.types.is_boolean(of):
        values = _buffer(column.cast(pa.int8()), 1, np.int8).astype(np.int64)
    else:  # numbers of days or microseconds are signed integers, too
        values = _buffer(column, 1, np.dtype(f"<i{of.bit_width // 8}")).astype(np.int64)
    return [_zeroed(values.view(np.uint64), column)]


def _valid(column: pa.Array) -> npt.NDArray[np.bool_]:
    valid: npt.NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _zeroed(words: Words, column: pa.Array) -> Words:
    return np.where(_valid(column), words, np.uint64(0)) if column.null_count else words


def _buffer(
    column: pa.Array, number: int, of: npt.DTypeLike, *, extra: int = 0
) -> npt.NDArray[Any]:
    """A buffer of an Arrow array as values of a type, as many as the array has and some more."""
    size = len(column) + extra
    buffer = column.buffers()[number]
    if buffer is None or not buffer.size:  # Java's way to say that there are no values, nor borders
        return np.zeros(size, of)
    return np.frombuffer(buffer, of)[column.offset : column.offset + size]
