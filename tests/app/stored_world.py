"""A project as an earlier release left it: its state's database, its tables and views, its models.

``stored/SCHEME.*`` is what the last release with this fingerprint scheme wrote, for two days of
events and all kinds of models; it is never written again.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.app.memory_world import MemoryWorld
from tests.worlds.catalog import MemoryCatalog
from tests.worlds.tables import Row, Snapshot, Table
from vde_dagster.core.columns import Column
from vde_dagster.core.ledger.late.history import SourceOperation
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.names import TableName
from vde_dagster.core.time.intervals import IntervalUnit
from vde_dagster.ports.catalog import ViewDefinition
from vde_dagster.project.machine import RandomIds
from vde_dagster.state.sql_state import SqlState

STORED = Path(__file__).with_name("stored")


def stored_models(scheme: str) -> dict[str, str]:
    """The texts of the models, by the names of their files."""
    found = json.loads((STORED / f"{scheme}.models.json").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


@contextmanager
def stored_world(scheme: str, database: Path) -> Iterator[MemoryWorld]:
    """The state in a database of its own, and the catalog in memory."""
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript((STORED / f"{scheme}.state.sql").read_text("utf-8"))
    world = MemoryWorld()
    _fill(world.catalog, json.loads((STORED / f"{scheme}.catalog.json").read_text("utf-8")))
    world.ids = RandomIds()
    world.state = state = SqlState.open(f"sqlite:///{database}")
    yield world
    state.close()


def _fill(catalog: MemoryCatalog, stored: Mapping[str, Any]) -> None:
    catalog.tables = {TableName(*each["name"]): _table(each) for each in stored["tables"]}
    catalog.queries = {TableName(*key.split(".")): sql for key, sql in stored["queries"].items()}
    catalog.swap_views([_view(each) for each in stored["views"]], ())
    catalog._ids = itertools.count(1 + sum(len(each.snapshots) for each in catalog.tables.values()))


def _table(stored: Mapping[str, Any]) -> Table:
    columns = _columns(stored)
    axis = stored["partition_by"]
    if axis is not None:
        unit = IntervalUnit[axis["unit"].removeprefix("IntervalUnit.")]
        axis = TimeAxisSpec(**{**axis, "unit": unit})
    snapshots = [
        Snapshot(
            id=each["id"],
            parent=each["parent"],
            sequence=each["sequence"],
            operation=SourceOperation(each["operation"]),
            rows=tuple(_row(row, columns) for row in each["rows"]),
            added=tuple(_row(row, columns) for row in each["added"]),
        )
        for each in stored["snapshots"]
    ]
    return Table(
        columns=columns,
        properties=stored["properties"],
        partition_by=axis,
        uuid=stored["uuid"],
        snapshots={each.id: each for each in snapshots},
        head=stored["head"],
        sequence=stored["sequence"],
    )


def _columns(stored: Mapping[str, Any]) -> tuple[Column, ...]:
    return tuple(Column(name=name, type=kind) for name, kind in stored["columns"])


def _row(stored: list[Any], columns: tuple[Column, ...]) -> Row:
    pairs = zip(stored, columns, strict=True)
    return tuple(None if value is None else _READ[each.type](value) for value, each in pairs)


_READ: dict[str, Callable[[Any], object]] = {
    "bigint": int,
    "string": str,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "decimal(38,0)": Decimal,
}


def _view(stored: Mapping[str, Any]) -> ViewDefinition:
    return ViewDefinition(
        name=TableName(*stored["name"]),
        target=TableName(*stored["target"]),
        columns=_columns(stored),
    )
