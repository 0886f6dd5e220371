"""What each version lacks and can be evaluated now: it is due, and its inputs will be there.

A plan evaluates parents first, so a parent's missing intervals count as there for its children.
What a child would have to wait for is not part of a plan; evaluating it would be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import reads_of, tables_read
from vde_dagster.core.ledger.staleness import read_by_a_unit
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import ModelName
from vde_dagster.core.sql.reads.input_ranges import WholeTable, affected
from vde_dagster.core.time.intervals import ALWAYS, END_OF_TIME, EVER, Interval, common, subtract
from vde_dagster.core.time.schedule import blocked_for_whole, lacking

Ready = Callable[[Model, Sequence[Interval]], tuple[Interval, ...]]


def missing_intervals(
    graph: Graph,
    writes: Collection[ModelName],
    loaded: Mapping[ModelName, tuple[Interval, ...]],
    readable: Mapping[ModelName, tuple[Interval, ...]] | None = None,
    recorded: Mapping[ModelName, tuple[Interval, ...]] | None = None,
    *,
    now: datetime | None,
    complete_to: Mapping[ModelName, datetime | None],
    ready: Ready,
    within: Interval | None = None,
) -> dict[ModelName, tuple[Interval, ...]]:
    """What each version lacks that may be written, and that can be made now.

    A model waits while something that it reads holds nothing and will hold nothing: there is no
    table to read yet. An EMBEDDED model has no table, so who reads it waits for what it reads.

    Args:
        graph: The models.
        writes: The models whose versions may be written.
        loaded: What each version holds.
        readable: What of each version others may read; what it holds where this is None.
        recorded: What there is an entry of; what may be read where this is None.
        now: The project's clock; None where it has no time yet.
        complete_to: Up to when all that each model reads is complete.
        ready: What a model's signals let pass of some consecutive units.
        within: The time to which evaluations are bounded, see `_outside`.
    """
    readable = loaded if readable is None else readable
    recorded = readable if recorded is None else recorded
    missing: dict[ModelName, tuple[Interval, ...]] = {}
    there: dict[ModelName, tuple[Interval, ...]] = {}
    void: set[ModelName] = set()
    doubtful: set[ModelName] = set()
    for node in graph:
        name, waits = node.name, any(parent in void for parent in node.model.parents)
        missing[name] = ()
        if name in writes and not waits and not _waits_for_all(graph, node, doubtful):
            missing[name] = _missing(
                graph,
                node,
                loaded[name],
                there,
                recorded,
                now=now,
                complete_to=complete_to[name],
                ready=ready,
                outside=_outside(node.model, within),
            )
        there[name] = readable_after(node.model, readable[name], missing[name], recorded[name])
        if subtract(recorded.get(name, ()), there[name]):
            doubtful.add(name)
        has_table = node.model.kind.is_physical
        if not (loaded[name] or missing[name]) if has_table else waits:
            void.add(name)
    return missing


def _outside(model: Model, within: Interval | None) -> tuple[Interval, ...]:
    """The times at which a model is not evaluated where evaluations are bounded.

    The start bounds models that are loaded interval by interval. What is made as a whole is made
    from where the model begins, which is later where its version is bounded
    (`vde_dagster.core.planning.bounds`).
    """
    if within is None:
        return ()
    after = Interval(within.end, END_OF_TIME) if within.end < END_OF_TIME else None
    before = Interval(EVER.start, within.start) if within.start > EVER.start else None
    bounds = [before if model.kind.is_by_interval else None, after]
    return tuple(each for each in bounds if each is not None)


def _missing(
    graph: Graph,
    node: Node,
    loaded: tuple[Interval, ...],
    there: Mapping[ModelName, tuple[Interval, ...]],
    recorded: Mapping[ModelName, tuple[Interval, ...]],
    *,
    now: datetime | None,
    complete_to: datetime | None,
    ready: Ready,
    outside: tuple[Interval, ...],
) -> tuple[Interval, ...]:
    model, rules = node.model, node.model.kind
    if now is None or complete_to is None:
        return rules.missing(model, loaded, model.start)  # only what does not depend on time
    blocked = [Interval(complete_to, END_OF_TIME)] if complete_to < END_OF_TIME else []
    blocked += outside
    found = rules.missing(model, loaded, now, blocked)
    if found in ((), (ALWAYS,)):
        return found
    kinds = [graph[parent].model.kind for parent in model.parents]
    if any(each.is_by_interval or each.is_inlined for each in kinds):
        by_parent = blocked_by_parents(graph, node, found, there, recorded)
        blocked += [each for times in by_parent.values() for each in times]
        found = rules.missing(model, loaded, now, blocked)
    if not (found and model.signals):
        return found
    blocked += held_back(model, subtract(found, loaded), ready)
    return rules.missing(model, loaded, now, blocked)


def held_back(model: Model, lacking: Iterable[Interval], ready: Ready) -> tuple[Interval, ...]:
    """What of some new intervals the signals of a model hold back.

    Units that a lookback adds are not asked about: their signals let them pass when they were new.
    A unit of which finer intervals are loaded, by a table that is kept, is asked about as a whole.
    """
    return tuple(
        waiting
        for interval in lacking
        for units in [tuple(model.unit.cells(model.unit.widen(interval)))]
        for waiting in subtract([interval], ready(model, units))
    )


def readable_after(
    model: Model,
    readable: Sequence[Interval],
    missing: Sequence[Interval],
    recorded: Sequence[Interval],
) -> tuple[Interval, ...]:
    """What others may read of a version once its missing intervals are evaluated.

    Where intervals are not independent, all that was to be evaluated again is evaluated with them.
    """
    again = recorded if missing and not model.kind.is_partitioned else ()
    return (*readable, *missing, *again)


def _waits_for_all(graph: Graph, node: Node, doubtful: Collection[ModelName]) -> bool:
    """Whether each interval of a model reads all of a table that has rows which do not count.

    ``doubtful`` are the upstream models that have such rows. The model's query is looked at only
    if it reads one of them.
    """
    if not (doubtful and node.model.kind.stores_rows):
        return False
    if not any(name in doubtful for name in tables_read(graph, node)):
        return False
    read = read_by_a_unit(graph, node)
    return any(name in doubtful and isinstance(found, WholeTable) for name, found in read.items())


def blocked_by_parents(
    graph: Graph,
    node: Node,
    missing: Sequence[Interval],
    there: Mapping[ModelName, Sequence[Interval]],
    recorded: Mapping[ModelName, Sequence[Interval]],
) -> dict[ModelName, tuple[Interval, ...]]:
    """The times for which each parent will lack what a model reads of it.

    Args:
        graph: The models.
        node: The one that reads.
        missing: What of it is to be made, in order; at least one interval.
        there: What each version will hold.
        recorded: What each version has an entry of now. Who reads a whole table waits until all of
            that counts.
    """
    reads = reads_of(graph, node.name)
    read = reads.at(missing[-1])
    within = Interval(missing[0].start, missing[-1].end)
    blocked: dict[ModelName, tuple[Interval, ...]] = {}
    for name, found in read.items():
        parent = graph[name].model
        by_interval = parent.kind.is_by_interval
        lacks = lacking(parent, there[name], since=node.bounded_from) if by_interval else ()
        if isinstance(found, WholeTable) and subtract(recorded.get(name, ()), there.get(name, ())):
            blocked[name] = (EVER,)
        elif node.model.kind.is_timeless:  # it takes what there is, but for times that it names
            is_there = isinstance(found, WholeTable) or not common(found, lacks)
            blocked[name] = () if is_there else (EVER,)
        elif isinstance(found, WholeTable) or node.model.kind.is_whole:
            blocked[name] = blocked_for_whole(node.model, parent, lacks)
        else:
            blocked[name] = affected(reads, name, lacks, unit=node.model.unit, within=within)
    return blocked
