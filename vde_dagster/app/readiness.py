"""What each version lacks and can be made now: it is due, and all that it reads will be there.

A plan evaluates parents first, so a parent's missing intervals count as there for its children.
What a child would have to wait for is no part of a plan; evaluating it would be refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from vde_dagster import kinds
from vde_dagster.app.binding import Binding
from vde_dagster.app.reading import rendered
from vde_dagster.core import schedule
from vde_dagster.core.graph import Graph, Node
from vde_dagster.core.input_ranges import InputRange, TimeAxis, WholeTable, input_ranges
from vde_dagster.core.intervals import END_OF_TIME, Interval, IntervalUnit
from vde_dagster.core.kind import Embedded, External, Full
from vde_dagster.core.model import Window
from vde_dagster.core.names import ModelName
from vde_dagster.core.restatement import declared_reads
from vde_dagster.kinds.rules import ALWAYS


def missing_intervals(
    graph: Graph,
    *,
    now: datetime | None,
    writes: Collection[ModelName],
    held: Mapping[ModelName, tuple[Interval, ...]],
    horizons: Mapping[ModelName, datetime | None],
) -> dict[ModelName, tuple[Interval, ...]]:
    """What each version lacks that may be written, and that can be made now.

    A model waits while something that it reads holds nothing and will hold nothing: there is no
    table to read yet. An EMBEDDED model has no table, so who reads it waits for what it reads.

    Args:
        graph: The models.
        now: The project's clock; None where it has no time yet.
        writes: The models whose versions may be written.
        held: What each version holds.
        horizons: Up to when all that each model reads is complete.
    """
    axes = _fine_axes(graph)
    missing: dict[ModelName, tuple[Interval, ...]] = {}
    there: dict[ModelName, tuple[Interval, ...]] = {}
    void: set[ModelName] = set()
    for node in graph:
        name, waits = node.name, any(parent in void for parent in node.model.parents)
        missing[name] = ()
        if name in writes and not waits:
            missing[name] = _missing(
                graph, node, held[name], there, axes=axes, now=now, horizon=horizons[name]
            )
        there[name] = (*held[name], *missing[name])
        has_table = not isinstance(node.model.kind, Embedded | External)
        if not there[name] if has_table else waits:
            void.add(name)
    return missing


def _missing(
    graph: Graph,
    node: Node,
    held: tuple[Interval, ...],
    there: Mapping[ModelName, tuple[Interval, ...]],
    *,
    axes: Mapping[ModelName, TimeAxis | None],
    now: datetime | None,
    horizon: datetime | None,
) -> tuple[Interval, ...]:
    model, rules = node.model, kinds.of(node.model)
    if now is None or horizon is None:
        return rules.missing(model, held, model.start)  # only what does not depend on time
    blocked = [Interval(horizon, END_OF_TIME)] if horizon < END_OF_TIME else []
    found = rules.missing(model, held, now, blocked)
    if found in ((), (ALWAYS,)):
        return found
    for name, window in _reads(graph, node, found[-1].end, axes).items():
        parent = graph[name].model
        if parent.time_column is not None:
            blocked += schedule.blocked_by(model, parent, there[name], window)
    return rules.missing(model, held, now, blocked)


def _reads(
    graph: Graph, node: Node, until: datetime, axes: Mapping[ModelName, TimeAxis | None]
) -> Mapping[ModelName, Window | None]:
    """What the last unit before ``until`` reads of each table; None for all of it."""
    if node.canonical is None:
        return declared_reads(node)
    cell = Interval(node.model.unit.floor(until - timedelta(microseconds=1)), until)
    binding = Binding(environment="", revision=0, graph=graph, snapshots={})
    found = input_ranges(rendered(binding, node, cell, cell.end), axes=axes)
    if isinstance(node.model.kind, Full):
        return dict.fromkeys(found, None)
    return {name: _window(cell, read) for name, read in found.items()}


def _fine_axes(graph: Graph) -> dict[ModelName, TimeAxis | None]:
    """Time axes of the finest unit, so that no window is widened to the units of a parent."""
    columns = {node.name: node.model.time_column for node in graph}
    return {
        name: TimeAxis(column=column, unit=IntervalUnit.FIVE_MINUTE) if column is not None else None
        for name, column in columns.items()
    }


def _window(cell: Interval, read: InputRange) -> Window | None:
    if isinstance(read, WholeTable) or not read:
        return None
    return Window(before=cell.start - read[0].start, after=read[-1].end - cell.end)
