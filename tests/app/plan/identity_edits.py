"""An edit of each property that says which rows are the same, for each kind that has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from tests.app.memory_world import graph_of
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.kinds import (
    Full,
    IncrementalByPartition,
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalUnmanaged,
    Managed,
    ScdType2ByColumn,
    ScdType2ByTime,
    Seed,
)
from vde_dagster.core.model.kinds.facts import KindFacts
from vde_dagster.core.model.row_identity import Property, fate
from vde_dagster.core.names import ModelName

NAME: Final = ModelName("mart", "h")
STORED: Final[tuple[type[KindFacts], ...]] = (
    IncrementalByTimeRange,
    IncrementalByUniqueKey,
    IncrementalByPartition,
    IncrementalUnmanaged,
    Full,
    ScdType2ByTime,
    ScdType2ByColumn,
)
"""The kinds with rows that time makes due."""
TIMELESS: Final[tuple[type[KindFacts], ...]] = (Managed, Seed)
_OPTIONS: Final = {
    IncrementalByTimeRange: "time_column at",
    IncrementalByUniqueKey: "unique_key id",
    ScdType2ByTime: "unique_key id, updated_at_name at",
    ScdType2ByColumn: "unique_key id, columns [amount]",
}
_IN_INTERVAL: Final = "WHERE at BETWEEN @start_dt AND @end_dt"
_IN_DAYS: Final = "WHERE at BETWEEN CAST(@start_date AS TIMESTAMP) AND @end_dt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A model as its file says it; ``timed`` where its query has time macros."""

    kind: type[KindFacts]
    timed: bool
    options: str = ""
    cron: str = "@daily"
    start: str = "2024-01-01"
    properties: str = ""
    partitioned_by: str = "day"
    id: str = "id"
    at: str = "at"
    amount: str = "amount"
    forward_only: bool | None = None

    @property
    def graph(self) -> Graph:
        """The project of this model alone."""
        options = [self.options or _OPTIONS.get(self.kind, "")]
        if self.forward_only is not None and self.kind is not Full:
            options.append(f"forward_only {str(self.forward_only).lower()}")
        given = ", ".join(filter(None, options))
        kind = f"{self.kind.keyword} ({given})" if given else self.kind.keyword
        by_partition = self.kind is IncrementalByPartition
        layout = f", partitioned_by ({self.partitioned_by})" if by_partition else ""
        where = (_IN_DAYS if by_partition else _IN_INTERVAL) if self.timed else ""
        text = (
            f"MODEL (name mart.h, kind {kind}, cron '{self.cron}', start '{self.start}'"
            f"{layout}{self.properties});\n"
            f"SELECT {self.id} AS id, {self.at} AS at, CAST({self.at} AS DATE) AS day, "
            f"{self.amount} AS amount\n"
            f"FROM raw.events {where}"
        )
        return graph_of({"h": text})

    @property
    def node(self) -> Node:
        """The model in its graph."""
        return self.graph[NAME]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A property of a kind, edited; ``timed`` where the model's query has time macros."""

    changed: Property
    kind: type[KindFacts]
    timed: bool

    def __str__(self) -> str:
        return f"{self.changed.name}-{self.kind.keyword}-{'timed' if self.timed else 'untimed'}"

    def sides(self, *, forward_only: bool) -> tuple[Written, Written]:
        """The model before and after."""
        was, now = _CHANGED[self.changed]
        if self.changed in (Property.UNIQUE_KEY, Property.VALIDITY):
            kept = _OPTIONS[self.kind]
            now = {
                "options": kept.replace("key id", "key amount")
                if self.changed is Property.UNIQUE_KEY
                else f"{kept}, valid_to_name bis"
            }
        if self.changed is Property.UPDATED_AT:
            kept = _OPTIONS[self.kind].replace(", updated_at_name at", "")
            now = {"options": f"{kept}, updated_at_name day"}
        if self.changed is Property.SEQUENCE:
            kept = _OPTIONS[self.kind].replace(", updated_at_name at", "")
            was = {"options": f"{kept}, sequence_by at"}
            now = {"options": f"{kept}, sequence_by (at, id)"}
        if self.changed is Property.COMPUTED:
            keyed = "key id" in _OPTIONS.get(self.kind, "")
            now = {"id": "id + 1000"} if keyed else {"at": "at + INTERVAL '0' HOUR"}
        before = Written(kind=self.kind, timed=self.timed, forward_only=forward_only, **was)
        after = Written(kind=self.kind, timed=self.timed, forward_only=forward_only, **now)
        if self.changed is Property.KIND:
            other = IncrementalUnmanaged if self.kind is not IncrementalUnmanaged else Full
            after = Written(kind=other, timed=self.timed)
        return before, after


_CHANGED: Final[dict[Property, tuple[dict[str, str], dict[str, str]]]] = {
    Property.KIND: ({}, {}),
    Property.COARSER: ({"cron": "@hourly"}, {"cron": "@daily"}),
    Property.FINER: ({"cron": "@daily"}, {"cron": "@hourly"}),
    Property.CRON: ({}, {"cron": "0 3 * * *"}),
    Property.START: ({"start": "2024-01-02"}, {"start": "2023-12-20"}),
    Property.LATER_START: ({}, {"start": "2024-01-02"}),
    Property.END: ({}, {"properties": ", end '2024-01-02'"}),
    Property.TIME_COLUMN: ({}, {"options": "time_column day"}),
    Property.UNIQUE_KEY: ({}, {}),
    Property.PARTITIONED_BY: ({}, {"partitioned_by": "day, amount"}),
    Property.UPDATED_AT: ({}, {}),
    Property.SEQUENCE: ({}, {}),
    Property.COMPUTED: ({}, {}),
    Property.VALIDITY: ({}, {}),
}


def every_edit() -> Iterator[Edit]:
    """Every cell of the table; a time range always has time macros."""
    for changed, kind, timed in product(Property, STORED, (True, False)):
        if fate(changed, kind) is not None and (timed or kind is not IncrementalByTimeRange):
            yield Edit(changed=changed, kind=kind, timed=timed)
