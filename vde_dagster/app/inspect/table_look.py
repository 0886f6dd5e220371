"""Whether tables still are what was recorded or declared of them, from their metadata alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vde_dagster.app.binding import Binding
from vde_dagster.app.publish.foreign_writes import foreign_write
from vde_dagster.app.services import Services
from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.ledger.schema_changes import (
    ColumnAdded,
    ColumnDropped,
    SchemaChange,
    schema_changes,
)
from vde_dagster.core.names import ModelName, TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """What was found of the table of a model's version, or of a source.

    Attributes:
        node: The model or source.
        table: The table that was looked at.
        foreign_write: Says that somebody else wrote to it or removed it; empty if nobody did. It is
            not asked of sources, which others write.
        schema: How its columns differ from those that were recorded or declared, for people. More
            columns than those are no difference.
    """

    node: Node
    table: TableName
    foreign_write: str = ""
    schema: tuple[str, ...] = ()


def look_at_tables(
    services: Services, binding: Binding, names: Iterable[ModelName]
) -> Iterator[TableLook]:
    """Look at the tables of these models and sources, one after the other; no JVM is started.

    Models without rows of their own, versions without rows yet, and sources whose table is not in
    the project's catalog are left out.
    """
    nodes = [binding.graph[name] for name in names if name in binding.graph]
    keys = [binding.key(node.name) for node in nodes if node.model.kind.stores_rows]
    holdings, heads = services.state.holdings(keys), services.state.heads(keys)
    for node in nodes:
        if node.model.kind.is_source:
            found = services.source(node.name)
            if found is not None:
                yield TableLook(
                    node=node,
                    table=found.name,
                    schema=_differences(found.columns, node.columns, "declared"),
                )
        elif node.model.kind.stores_rows and (key := binding.key(node.name)) in holdings:
            foreign = foreign_write(services, key, heads.get(key))
            table = services.catalog.table(key.table)
            recorded = holdings.get(key, NOTHING).columns
            actual = table.columns if table is not None else recorded
            schema = _differences(actual, recorded, "recorded")
            yield TableLook(node=node, table=key.table, foreign_write=foreign, schema=schema)


def _differences(actual: Sequence[Column], wanted: Sequence[Column], how: str) -> tuple[str, ...]:
    changes = schema_changes(actual, wanted)
    return tuple(_difference(each, how) for each in changes if not isinstance(each, ColumnDropped))


def _difference(change: SchemaChange, how: str) -> str:
    """A difference between a table and the columns that it should have, for people."""
    match change:
        case ColumnAdded(column=column, type=type_):
            return f"it lacks the column {column} ({type_}), which is {how}"
        case ColumnDropped(column=column, type=type_):
            return f"it has the column {column} ({type_}), which is not {how}"
        case _:
            return f"{change.column} is {change.before}, and {change.after} is {how}"
