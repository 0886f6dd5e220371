"""The declared types of a model's columns: no others are taken for certain.

sqlglot's rules, by which `Graph` derives columns, guess where Spark's differ. Rows of a unit test
that are read in a wrong type make a wrong test pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from vde_dagster.core.columns import Column
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.model.model import Query
from vde_dagster.core.sql.canonical import UNKNOWN_TYPE


def declared_columns(node: Node) -> tuple[Column, ...]:
    """A model's columns; ``unknown`` is the type of one that its query alone decides.

    No view casts what its query returns to a declared type, as the write of a table does.
    """
    if not isinstance(node.model.body, Query) or node.canonical is None:
        return node.columns
    returned = {each.name.lower() for each in node.canonical.columns}
    if node.model.kind.stores_rows:
        returned -= {each.name.lower() for each in node.model.columns}
    return tuple(
        replace(each, type=UNKNOWN_TYPE) if each.name.lower() in returned else each
        for each in node.columns
    )


def with_types(columns: Sequence[Column], known: Iterable[Column]) -> tuple[Column, ...]:
    """Columns with the types of others of their names, where their own are not known."""
    types = {each.name.lower(): each.type for each in known}
    return tuple(
        replace(each, type=types.get(each.name.lower(), UNKNOWN_TYPE))
        if each.type == UNKNOWN_TYPE
        else each
        for each in columns
    )


def is_open(columns: Iterable[Column]) -> bool:
    """Whether the type of a column is not known."""
    return any(each.type == UNKNOWN_TYPE for each in columns)
