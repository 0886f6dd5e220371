"""INCREMENTAL_BY_PARTITION: the partitions of the new rows are replaced, the others stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.writes import ReplacePartitions, Write


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalByPartition(KindFacts):
    """The partitions of the new rows are replaced; other partitions stay."""

    keyword: ClassVar[str] = "INCREMENTAL_BY_PARTITION"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.SEQUENTIAL
    forward_only: bool = True
    disable_restatement: bool = False

    def write(self, what: Evaluation) -> Write:
        """Replace the partitions of the new rows."""
        return ReplacePartitions(interval=what.interval)
