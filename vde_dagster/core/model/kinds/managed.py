"""MANAGED: a plan makes the table once; afterwards it is kept fresh by what it reads (seed 001).

Neither Spark nor Iceberg has tables that keep themselves fresh, so vde_dagster is the platform: see
`vde_dagster.app.catch_up.managed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Final

from vde_dagster.core.columns import Column
from vde_dagster.core.model.kinds.facts import Evaluation, KindFacts, Loading, Role
from vde_dagster.core.model.storage import Storage
from vde_dagster.core.model.writes import ReplaceTable, Write
from vde_dagster.core.time.intervals import ALWAYS, IntervalUnit, parse_duration

TARGET_LAG: Final = "target_lag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Managed(KindFacts):
    """A table that the platform keeps fresh by itself, as ``physical_properties`` say."""

    keyword: ClassVar[str] = "MANAGED"
    role: ClassVar[Role] = Role.TABLE
    loading: ClassVar[Loading] = Loading.REFRESHED

    def write(self, what: Evaluation) -> Write:
        """Replace all rows."""
        return ReplaceTable(interval=ALWAYS)

    def laid_out(self, storage: Storage, columns: Sequence[Column], unit: IntervalUnit) -> Storage:
        """What the model says to vde_dagster is no property of its table."""
        kept = tuple(each for each in storage.properties if each[0] != TARGET_LAG)
        return replace(storage, properties=kept)


def target_lag(storage: Storage) -> timedelta:
    """How old a table's last result has to be before it is rebuilt; zero by default.

    The property was checked when the model was read.
    """
    written = dict(storage.properties).get(TARGET_LAG)
    return parse_duration(written) if written is not None else timedelta(0)
