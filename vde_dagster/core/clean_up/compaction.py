"""Whether it is worth it to rewrite the small files of a table (rule R4: no row changes by it)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

SMALL: Final = 0.75
"""A file is small below this part of the wanted size, as for Iceberg's `rewrite_data_files`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A data file of a table: the partition that it is in, as a text, and its bytes.

    ``is_anothers`` where it is the file of another table, of which this one is a shallow copy.
    """

    partition: str
    size: int
    is_anothers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What rewriting would do: so many small files of some partitions become about so many.

    ``file_size`` is the size that new files should have, and ``least`` how many small files there
    are in each partition that is rewritten.
    """

    files: int
    files_after: int
    size: int
    partitions: int
    file_size: int
    least: int


def compaction(files: Iterable[DataFile], *, least: int, file_size: int) -> Compaction | None:
    """What there is to rewrite; None if metadata says that there is nothing to gain.

    Args:
        files: The data files of the current Iceberg snapshot.
        least: In how many small files of one partition it is worth it; at least two.
        file_size: The size that files should have, in bytes.
    """
    small: dict[str, list[int]] = defaultdict(list)
    for each in files:
        if each.size < SMALL * file_size:
            small[each.partition].append(each.size)
    chosen = [
        sizes
        for sizes in small.values()
        if len(sizes) >= max(least, 2) and _after(sizes, file_size) < len(sizes)
    ]
    if not chosen:
        return None
    return Compaction(
        files=sum(map(len, chosen)),
        files_after=sum(_after(sizes, file_size) for sizes in chosen),
        size=sum(map(sum, chosen)),
        partitions=len(chosen),
        file_size=file_size,
        least=max(least, 2),
    )


def _after(sizes: list[int], file_size: int) -> int:
    return max(1, -(-sum(sizes) // file_size))
