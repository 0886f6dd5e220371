"""The time bounds of a model's query that leave out rows of an interval, in silence if not told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import datetime

from sqlglot import exp

from vde_dagster.core.errors import Finding
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.model.kinds.facts import Loading
from vde_dagster.core.model.kinds.incremental_by_partition import IncrementalByPartition
from vde_dagster.core.model.layout import grain_of_partition
from vde_dagster.core.model.writes import TimeAxisSpec
from vde_dagster.core.sql.canonical import canonicalize
from vde_dagster.core.sql.interval_ends import Reader, cut_off
from vde_dagster.core.sql.macros import borders_in
from vde_dagster.core.sql.reads.input_ranges import TimeAxis
from vde_dagster.core.sql.reads.tiling import lost_between, takes_rows
from vde_dagster.core.time.formats import axis_type
from vde_dagster.core.time.grains import Grain
from vde_dagster.core.time.intervals import IntervalUnit


def losses(graph: Graph, node: Node) -> tuple[Finding, ...]:
    """The bounds of a model's query that leave out rows, each with the bound to write instead."""
    return graph.once("losses", node.name, lambda: tuple(_losses(graph, node)))


def _losses(graph: Graph, node: Node) -> Iterator[Finding]:
    if node.canonical is None or node.canonical.refusals:
        return
    model, query = node.model, node.canonical.expression
    upstream = [graph[parent] for parent in model.parents]
    schemas = {each.name: each.columns for each in upstream}
    in_batches = model.kind.is_by_interval and model.batch_size != 1
    spec = node.time_axis
    alone = any(each.name == "batch_size" for each in fields(model.kind))
    appended = model.kind.loading is Loading.APPENDED
    reader = Reader(
        unit=model.unit,
        start=_start(node),
        in_batches=in_batches,
        may_be_alone=alone,
        is_appended=appended,
        repeats=appended and takes_rows(query),
        time_column=None if spec is None else spec.column,
        formats=_formats(upstream),
    )
    found = list(cut_off(query, schemas, reader))
    yield from found
    if found or model.kind.is_whole:
        return  # a FULL table is computed at once, from the start on
    tables = {each.name: list(_axes(each, model.unit)) for each in upstream}
    parts = tuple(_replaced(node))
    yield from lost_between(query, tables, reader, kept=_kept(node), replaced=parts)


def losses_of_audit(node: Node, query: exp.Query, tables: Iterable[Node]) -> Iterator[Finding]:
    """The bounds by which an audit does not look at rows of the interval.

    Args:
        node: The model that is audited.
        query: For the rows that fail, as it was read; the audited rows are named like the model.
        tables: The model, and what it reads.

    Raises:
        QueryInvalid: The query does not fit the columns of the tables.
    """
    if not any(borders_in(query)):
        return
    schemas = {each.name: each.columns for each in tables}
    canonical = canonicalize(query, schemas=schemas, undeclared=True, is_stored=True)
    reader = Reader(unit=node.model.unit, start=_start(node), formats=_formats(tables))
    yield from cut_off(canonical.expression, schemas, reader)


def _start(node: Node) -> datetime | None:
    """Where the intervals start of a model whose table is made whole, if no option bounds it."""
    if not node.model.kind.is_whole:
        return None
    return node.model.unit.ceil(node.own_start or node.model.start)


def _formats(tables: Iterable[Node]) -> dict[str, str]:
    """How columns of text write a time, where a model declares that."""
    return {
        axis.column.lower(): axis.format
        for axis in (each.time_axis for each in tables)
        if axis is not None and axis.type == "string" and axis.format
    }


def _replaced(node: Node) -> Iterator[tuple[str, Grain]]:
    """The columns by whose time partitions are made that are replaced whole, with that time."""
    if not isinstance(node.model.kind, IncrementalByPartition):
        return
    types = {each.name.lower(): axis_type(each.type) for each in node.columns}
    for field in node.model.storage.partitioned_by:
        column = field.column.lower()
        axis = TimeAxisSpec(column=column, type=types.get(column, ""), unit=node.model.unit)
        grain = None if axis.is_formatted else grain_of_partition(field, axis)
        if grain is not None and grain > Grain.MICROSECOND:
            yield column, grain


def _kept(node: Node) -> TimeAxis | None:
    spec = node.time_axis
    if spec is None:
        return None
    types = {each.name.lower(): each.type for each in node.columns}
    kind = types.get(spec.column, "unknown")
    return TimeAxis(column=spec.column, unit=spec.unit, type=kind, format=spec.format)


def _axes(upstream: Node, unit: IntervalUnit) -> Iterator[TimeAxis]:
    """The columns as those that hold a time, if their types can."""
    own = upstream.time_axis
    for column in upstream.columns:
        is_own = own is not None and own.column == column.name.lower()
        form = own.format if own is not None and is_own else ""
        yield TimeAxis(column=column.name, unit=unit, type=column.type.lower(), format=form)
