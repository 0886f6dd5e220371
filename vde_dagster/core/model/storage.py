"""How a table is laid out: partitions, order, format, properties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final


class Transform(Enum):
    """How Iceberg makes a partition of a column's value (Iceberg's specification)."""

    IDENTITY = "identity"
    YEARS = "years"
    MONTHS = "months"
    DAYS = "days"
    HOURS = "hours"
    BUCKET = "bucket"
    TRUNCATE = "truncate"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionField:
    """One field of a partitioning; ``argument`` is the number of buckets or the width."""

    column: str
    transform: Transform = Transform.IDENTITY
    argument: int | None = None

    def __str__(self) -> str:
        if self.transform is Transform.IDENTITY:
            return self.column
        inner = self.column if self.argument is None else f"{self.argument}, {self.column}"
        return f"{self.transform.value}({inner})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """How a model's table is laid out. Empty values are the catalog's own defaults."""

    partitioned_by: tuple[PartitionField, ...] = ()
    clustered_by: tuple[str, ...] = ()
    storage_format: str = ""
    properties: tuple[tuple[str, str], ...] = ()

    @property
    def merged_by_position(self) -> Storage:
        """The same, and rows that a MERGE replaces are deleted by position unless it says how.

        So a merge writes what has changed, and not each file that has one of its keys.
        """
        if any(name == _MERGE_MODE for name, _ in self.properties):
            return self
        return replace(self, properties=(*self.properties, (_MERGE_MODE, "merge-on-read")))


_MERGE_MODE: Final = "write.merge.mode"
