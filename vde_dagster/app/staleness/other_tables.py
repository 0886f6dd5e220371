"""Which tables a model reads in another graph, or of another version, and what these have more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vde_dagster.app.inputs.input_moves import InputStates
from vde_dagster.app.staleness.version_behind import Planned
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import tables_read
from vde_dagster.core.ledger.staleness import read_by_a_unit, source_times
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.restatement import units_reading
from vde_dagster.core.sql.reads.input_ranges import WholeTable
from vde_dagster.core.time.intervals import END_OF_TIME, EVER, Interval, merge, subtract

Times = Mapping[ModelName, tuple[Interval, ...]]
_Table = tuple[ModelName, str]
"""A model and its version; that of a source is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherTables:
    """Of which models a model read tables that it reads no more, and of which it reads others now.

    A model is in both if it has another table.
    """

    before: frozenset[ModelName]
    now: frozenset[ModelName]


def other_tables(
    name: ModelName,
    before: tuple[Graph, Mapping[ModelName, ModelSnapshot]],
    now: tuple[Graph, Mapping[ModelName, ModelSnapshot]],
) -> OtherTables:
    """Which other tables a model reads now than before, through each of its parents.

    So a table counts that one view leads to no more, also where another one does.

    Args:
        name: The model, which is in both graphs.
        before: A graph, and the versions of its models.
        now: Another one.
    """
    then, by_now = (_by_parent(graph, graph[name], snapshots) for graph, snapshots in (before, now))
    gone = {each for parent in then.keys() - by_now.keys() for each in then[parent]}
    new = {each for parent in by_now.keys() - then.keys() for each in by_now[parent]}
    was, reads = gone - new, new - gone
    for parent in then.keys() & by_now.keys():
        was |= then[parent] - by_now[parent]
        reads |= by_now[parent] - then[parent]
    return OtherTables(
        before=frozenset(model for model, _ in was), now=frozenset(model for model, _ in reads)
    )


def _by_parent(
    graph: Graph, node: Node, snapshots: Mapping[ModelName, ModelSnapshot]
) -> dict[ModelName, frozenset[_Table]]:
    """The tables that each parent of a model leads to: its own, or those behind a view."""
    found: dict[ModelName, frozenset[_Table]] = {}
    for parent in node.model.parents:
        is_view = graph[parent].model.kind.is_inlined
        names = tables_read(graph, graph[parent]) if is_view else (parent,)
        found[parent] = frozenset(
            (each, snapshots[each].version if each in snapshots else "") for each in names
        )
    return found


def units_lacking(
    graph: Graph,
    recorded: Times,
    node: Node,
    other: OtherTables,
    now: tuple[Planned, InputStates],
) -> tuple[Interval, ...]:
    """The units of a model in which it lacks rows that only the tables have that it reads now.

    These are times that the tables do not hold which it reads no more. Of a table without a time
    column it is not known which times its rows have: it is taken to hold all that others hold.

    Args:
        graph: The models as they are where the latter are read.
        recorded: What their versions hold, and that of the model.
        node: The model in that graph; its version holds rows.
        other: Which tables it reads no more, and which now.
        now: Where the former are, and their states.
    """
    planned, states = now
    own = recorded[node.name]
    tables = [each for each in other.before if graph[each].time_axis is not None]
    held = merge(time for each in other.now for time in _held(planned, each))
    # most queries are not looked at: what each table holds is recorded
    unknown = [each for each in other.now if _has_unknown_times(planned, each)] if tables else []
    read = read_by_a_unit(graph, node) if unknown else {}
    lacking: dict[ModelName, tuple[Interval, ...]] = {}
    for each in tables:
        more = held
        if each in read:
            # of all that there may be, its reader's own times count where it is read as a whole
            is_whole = isinstance(read[each], WholeTable)
            span = Interval(own[0].start, own[-1].end) if is_whole else EVER
            times = [_since(states, node.name, table, span) for table in unknown]
            more = merge((*held, *(time for time in times if time is not None)))
        lacking[each] = subtract(more, recorded.get(each, ()))
    return units_reading(graph, node, lacking, own)


def _since(
    states: InputStates, reader: ModelName, name: ModelName, span: Interval
) -> Interval | None:
    """The part of a span in which a table may have rows; of a source from its first one on."""
    bounds = source_times(states.graph, states.graph[reader]) if states.is_source(name) else {}
    first = states.earliest(name, bounds[name].column) if name in bounds else None
    return span if first is None else span.intersection(Interval(first, END_OF_TIME))


def _has_unknown_times(planned: Planned, name: ModelName) -> bool:
    """Whether nothing is recorded of the times of a table's rows."""
    node = planned.graph[name]
    return node.time_axis is None and not node.model.kind.is_seed


def _held(planned: Planned, name: ModelName) -> tuple[Interval, ...]:
    """What a table holds, or is about to; nothing where that is not known."""
    if _has_unknown_times(planned, name):
        return ()
    model = planned.graph[name].model
    held, complete_to = planned.holdings.recorded[name], planned.complete_to.get(name)
    if complete_to is None or not model.kind.follows_upstream:
        return held
    due = model.kind.missing(model, planned.holdings.computed[name], complete_to)
    return merge((*held, *due))
