"""A table in memory: a list of snapshots, each with all of its rows."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import compress

from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.damage import Original, RetainedSnapshot, TableHead
from vde_dagster.core.ledger.earlier_schemas import (
    SAME,
    EarlierSchema,
    EarlierSchemas,
    PresentColumn,
)
from vde_dagster.core.ledger.late.history import SourceOperation
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.time.intervals import EPOCH

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One snapshot of a table: all of its rows, those that it added, and when it was committed."""

    id: int
    parent: int | None
    sequence: int
    operation: SourceOperation
    rows: tuple[Row, ...]
    added: tuple[Row, ...]
    committed_at: datetime = EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """A table before others renamed or dropped columns, and what they did, as ids of columns.

    ``now`` are the names of the columns that are left, by their place before.
    """

    columns: tuple[Column, ...]
    snapshots: Mapping[int, Snapshot]
    schemas: EarlierSchemas
    now: Mapping[int, str]


@dataclass(slots=True, kw_only=True)
class Table:
    """A table: its schema, its snapshots by id, and the snapshots of `main`, branches and tags.

    ``left_at`` is when `main` left a snapshot. An expiry is ``announced`` by a token, with the
    snapshots that are about to expire; ``expired`` are those whose file is still there. ``strays``
    are files that nothing names, by when they were written.
    """

    columns: tuple[Column, ...]
    properties: dict[str, str]
    partition_by: TimeAxisSpec | None
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    branches: dict[str, int] = field(default_factory=dict)
    head: int | None = None
    sequence: int = 0
    tags: dict[str, int] = field(default_factory=dict)
    left_at: dict[int, datetime] = field(default_factory=dict)
    announced: tuple[str, frozenset[int]] | None = None
    expired: frozenset[int] = frozenset()
    strays: dict[str, datetime] = field(default_factory=dict)
    schemas: EarlierSchemas = SAME
    changed_at: datetime = EPOCH
    before_change: Former | None = None

    def copied(self) -> Table:
        """A table with the same Iceberg snapshots, which can go another way."""
        return replace(
            self,
            properties=dict(self.properties),
            snapshots=dict(self.snapshots),
            branches=dict(self.branches),
            tags=dict(self.tags),
            left_at=dict(self.left_at),
            strays=dict(self.strays),
        )

    def rows_at(self, snapshot_id: int | None) -> tuple[Row, ...]:
        """All rows at a snapshot; none for None."""
        return () if snapshot_id is None else self.snapshots[snapshot_id].rows

    def move(self, head: int, at: datetime) -> None:
        """Let `main` be at another snapshot."""
        if self.head is not None and self.head != head:
            self.left_at[self.head] = at
        self.head = head

    def widen(self, columns: tuple[Column, ...]) -> None:
        """Add columns after the existing ones, NULL in every row so far."""
        new = (None,) * (len(columns) - len(self.columns))
        self.columns = columns
        if new:
            self.snapshots = {
                key: replace(
                    each,
                    rows=tuple((*row, *new) for row in each.rows),
                    added=tuple((*row, *new) for row in each.added),
                )
                for key, each in self.snapshots.items()
            }

    def head_state(self) -> TableHead:
        """What is compared with records: columns have their places as ids."""
        former = self.before_change
        then = dict(enumerate(each.name for each in self.columns))
        now, old = then, then
        if former is not None:
            old = dict(enumerate(each.name for each in former.columns))
            known = set(former.now.values())
            added = (each.name for each in self.columns if each.name not in known)
            now = {**former.now, **dict(enumerate(added, start=len(old)))}
        before = former.snapshots if former is not None else {}
        return TableHead(
            iceberg_snapshot_id=self.head,
            fields=now,
            columns=frozenset(each.name.lower() for each in self.columns),
            snapshots={
                key: RetainedSnapshot(
                    parent=each.parent,
                    is_compaction=each.operation is SourceOperation.REPLACE,
                    fields=old if key in before else now,
                )
                for key, each in self.snapshots.items()
            },
            original=Original.read(self.properties),
            version=self.properties.get("vde.version", ""),
        )

    def change_columns(self, now: Mapping[str, str | None], at: datetime) -> None:
        """Rename columns, and drop those that get no name, without a snapshot."""
        columns, kept = self.columns, [now.get(e.name, e.name) is not None for e in self.columns]
        names = {at: now.get(each.name, each.name) for at, each in enumerate(columns)}
        self.before_change = Former(
            columns=columns,
            snapshots=dict(self.snapshots),
            schemas=self.schemas,
            now={at: name for at, name in names.items() if name is not None},
        )
        self.columns = tuple(
            replace(each, name=now.get(each.name) or each.name)
            for each, stays in zip(columns, kept, strict=True)
            if stays
        )
        self.snapshots = {
            key: replace(
                each,
                rows=tuple(tuple(compress(row, kept)) for row in each.rows),
                added=tuple(tuple(compress(row, kept)) for row in each.added),
            )
            for key, each in self.snapshots.items()
        }
        self.changed_at = at

    def put_columns_back(self) -> None:
        """Undo the last change of columns; later snapshots lose what they have in others."""
        former, self.before_change = self.before_change, None
        if former is None:
            return
        places = {name: at for at, name in former.now.items()}
        order = [places.get(each.name) for each in self.columns]

        def back(row: Row) -> Row:
            there = dict(zip(order, row, strict=True))
            return tuple(there.get(at) for at in range(len(former.columns)))

        self.snapshots = {
            key: former.snapshots.get(key)
            or replace(each, rows=tuple(map(back, each.rows)), added=tuple(map(back, each.added)))
            for key, each in self.snapshots.items()
        }
        self.columns, self.schemas = former.columns, former.schemas

    def replace_column(self, name: str, at: datetime) -> None:
        """Drop a column and add another one of its name and type: NULL in every row so far."""
        place = [each.name for each in self.columns].index(name)
        self.before_change = Former(
            columns=self.columns,
            snapshots=dict(self.snapshots),
            schemas=self.schemas,
            now={at: each.name for at, each in enumerate(self.columns) if at != place},
        )
        self.snapshots = {
            key: replace(
                each,
                rows=tuple((*row[:place], None, *row[place + 1 :]) for row in each.rows),
                added=tuple((*row[:place], None, *row[place + 1 :]) for row in each.added),
            )
            for key, each in self.snapshots.items()
        }
        new = EarlierSchema(
            columns=tuple(
                PresentColumn(
                    name=each.name, type=each.type, former=None if each.name == name else each.name
                )
                for each in self.columns
            ),
            replaced=(name,),
        )
        self.schemas = EarlierSchemas(at={**self.schemas.at, **dict.fromkeys(self.snapshots, new)})
        self.changed_at = at

    def line(self, snapshot_id: int | None) -> list[Snapshot]:
        """A snapshot and its retained ancestors, newest first."""
        found = []
        while snapshot_id is not None and snapshot_id in self.snapshots:
            found.append(self.snapshots[snapshot_id])
            snapshot_id = found[-1].parent
        return found


def instant_of(value: object) -> datetime | None:
    """The instant that a value of a time column stands for; None for NULL."""
    match value:
        case datetime():
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        case date():
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        case None:
            return None
        case _:
            raise TypeError(f"{value!r} is no value of a time column")
