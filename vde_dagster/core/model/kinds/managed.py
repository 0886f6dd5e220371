"""MANAGED: a FULL table that no cron makes due: it is kept fresh by what it reads (seed 001).

Neither Spark nor Iceberg has tables that keep themselves fresh, so vde_dagster is the platform. A
plan makes the table once; then it is stale as any other, and its ``target_lag`` is its
``freshness``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from vde_dagster.core.columns import Column
from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import ReplaceTable, Write
from vde_dagster.core.time.intervals import ALWAYS, IntervalUnit

TARGET_LAG: Final = "target_lag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Managed(KindFacts):
    """The whole table is rebuilt when its inputs have changed, after its ``target_lag``."""

    keyword: ClassVar[str] = "MANAGED"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.REFRESHED

    def write(self, what: Evaluation) -> Write:
        """Replace all rows."""
        return ReplaceTable(interval=ALWAYS)

    def laid_out(self, storage: Storage, columns: Sequence[Column], unit: IntervalUnit) -> Storage:
        """What the model says to vde_dagster is not a property of its table."""
        kept = tuple(each for each in storage.properties if each[0] != TARGET_LAG)
        return replace(storage, properties=kept)
