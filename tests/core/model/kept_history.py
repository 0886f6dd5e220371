"""Histories in DuckDB, for the tests of the one statement that keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import Final

import duckdb
import pyarrow as pa

from tests.core.model.history_tables import Row
from vde_dagster.core.columns import Column
from vde_dagster.core.model.history import History, Sides, written_rows

INSTANT: Final = pa.timestamp("us", "UTC")
TYPES: Final = {
    "id": pa.int32(),
    "name": pa.string(),
    "price": pa.decimal128(10, 2),
    "some_value": pa.int32(),
    "ds": INSTANT,
    "updated_at": INSTANT,
    "changed_on": pa.date32(),
    "written_at": pa.string(),
    "tags": pa.list_(pa.string()),
}
VALIDITY: Final = {"timestamp": INSTANT, "timestamp_ntz": pa.timestamp("us"), "date": pa.date32()}
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

TIME: Final = History(
    key=("id",),
    updated_at="updated_at",
    compared=(),
    from_epoch=True,
    closes_missing=True,
    valid_from=Column(name="valid_from", type="timestamp"),
    valid_to=Column(name="valid_to", type="timestamp"),
)
COLUMN: Final = replace(TIME, updated_at=None, compared=("name", "price"))


OPEN: Final = replace(TIME, closes_missing=False)
OPEN_COLUMN: Final = replace(COLUMN, compared=("name",), closes_missing=False)
CLOSING_COLUMN: Final = replace(OPEN_COLUMN, closes_missing=True)
TIMED_COLUMN: Final = replace(OPEN_COLUMN, updated_at="updated_at")


@cache
def database() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect(":memory:", config={"threads": 1})
    found.execute("SET TimeZone = 'UTC'")
    return found


@cache
def _statement(history: History, columns: tuple[str, ...], at: datetime, *, is_first: bool) -> str:
    """The statement of one look; to write it takes longer than to run it on a few rows."""
    sides = Sides(source="source", open="open", closed="closed")
    written = written_rows(
        history, columns, sides, execution_time=at, is_first=is_first, fail="error"
    )
    return written.sql("duckdb")


@dataclass
class Kept:
    """A history in DuckDB: rows are put in place of the open ones, as the writes do it."""

    history: History
    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    looks: int = 0

    def look(self, source: Sequence[Row], at: datetime) -> Kept:
        """Look at a source, and replace the open rows."""
        is_open = [row[-1] is None for row in self.rows]
        loaded = [row for row, still in zip(self.rows, is_open, strict=True) if still]
        closed = [row for row, still in zip(self.rows, is_open, strict=True) if not still]
        self.register("source", source, validity=False)
        self.register("open", loaded, validity=True)
        self.register("closed", closed, validity=True)
        statement = _statement(self.history, self.columns, at, is_first=not self.looks)
        found = database().sql(statement).to_arrow_table()
        added = (self.history.valid_from.name, self.history.valid_to.name)
        assert tuple(found.column_names) == (*self.columns, *added)
        written = [tuple(each.values()) for each in found.to_pylist()]
        self.rows = [*closed, *written]
        self.looks += 1
        return self

    def register(self, name: str, rows: Sequence[Row], *, validity: bool) -> None:
        types = [(each, TYPES[each]) for each in self.columns]
        added = (self.history.valid_from, self.history.valid_to) if validity else ()
        types += [(each.name, VALIDITY[each.type]) for each in added]
        arrays = [
            pa.array([row[position] for row in rows], type=of)
            for position, (_, of) in enumerate(types)
        ]
        database().register(name, pa.table(arrays, names=[each for each, _ in types]))


def ordered(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: tuple((each is not None, str(each)) for each in row))


def day(number: int, hour: int = 0) -> datetime:
    return datetime(2020, 1, number, hour, tzinfo=UTC)
