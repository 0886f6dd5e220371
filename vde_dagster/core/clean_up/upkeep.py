"""When tables are maintained, as ``vde.yaml`` says it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What `vde maintain` keeps, and what it takes to be worth it.

    - ``snapshots``: how long an Iceberg snapshot stays after another one took its place.
    - ``orphans``: how old a file is at least that nothing names and that is removed. A process that
      writes needs less from its first file to its commit.
    - ``small_files``: from how many small files of one partition on they are rewritten.
    - ``file_size``: how large files should be, in bytes.
    """

    snapshots: timedelta = timedelta(days=7)
    orphans: timedelta = timedelta(days=3)
    small_files: int = 5
    file_size: int = 128_000_000


DEFAULT_UPKEEP: Final = Upkeep()
"""What holds where ``vde.yaml`` says nothing."""
