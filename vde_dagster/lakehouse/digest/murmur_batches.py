"""What Spark's Python workers do with an Arrow batch of rows for `murmur3_128`.

Executors get this module with the task (see `murmur`): of this package it imports only modules that
are shipped the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from vde_dagster.lakehouse.digest.murmur_rows import Positions, Words, records

_LIMB_BITS: Final = 32
_SUM_BYTES: Final = 16


def halves(*columns: pa.Array) -> pa.Array:
    """The upper and the lower 64 bits of each row's hash, as structs of two signed numbers.

    Args:
        columns: The rows' columns, in order; at least one, and all of one length.
    """
    lower, upper = records(columns).hashes()
    numbers = [pa.array(each.view(np.int64)) for each in (upper, lower)]
    return pa.StructArray.from_arrays(numbers, ["upper", "lower"])


def group_sums(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The sums of the hashes of a task's rows, by group, modulo 2**128.

    Args:
        batches: Rows; the first column is the group's key and counts for no hash.

    Returns:
        One batch of key, number of rows and sum, or none for no rows. A sum has 16 bytes, the
        lowest first.
    """
    rows: dict[object, int] = {}
    sums: dict[object, int] = {}
    of = pa.null()
    for batch in batches:
        of = batch.column(0).type
        coded = batch.column(0).dictionary_encode(null_encoding="encode")
        keys, codes = coded.dictionary.to_pylist(), coded.indices.to_numpy()
        counts = np.bincount(codes, minlength=len(keys)).tolist()
        found = _code_sums(codes, *records(batch.columns[1:]).hashes())
        for key, count, total in zip(keys, counts, found, strict=True):
            rows[key] = rows.get(key, 0) + count
            sums[key] = (sums.get(key, 0) + total) % (1 << 8 * _SUM_BYTES)
    if rows:
        digits = [each.to_bytes(_SUM_BYTES, "little") for each in sums.values()]
        columns = [
            pa.array(list(rows), of),
            pa.array(list(rows.values()), pa.int64()),
            pa.array(digits, pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=["key", "rows", "sum"])


def _code_sums(codes: Positions, lower: Words, upper: Words) -> list[int]:
    """The exact sum of the hashes of each code; every code from 0 up occurs."""
    order = np.argsort(codes, kind="stable")
    borders = np.flatnonzero(np.diff(codes[order], prepend=-1))
    shift = np.uint64(_LIMB_BITS)
    mask = np.uint64((1 << _LIMB_BITS) - 1)
    totals = [0] * len(borders)
    for number, limbs in enumerate((lower & mask, lower >> shift, upper & mask, upper >> shift)):
        for code, limb in enumerate(np.add.reduceat(limbs[order], borders).tolist()):
            totals[code] += limb << (_LIMB_BITS * number)
    return totals
