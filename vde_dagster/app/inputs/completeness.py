"""Up to when what models read is complete, and what their versions hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vde_dagster.app.binding import Binding
from vde_dagster.app.inputs.accepted import without_accepted
from vde_dagster.app.inputs.seen import Seen
from vde_dagster.app.services import Services, valid_to_of
from vde_dagster.core.graph.graph import Graph, Node, sources
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.graph.session_reads import tracked_column
from vde_dagster.core.ledger.holdings import NOTHING, Holding
from vde_dagster.core.model.late_data import TrackedSource
from vde_dagster.core.model.model import Model
from vde_dagster.core.model.ownership import may_write
from vde_dagster.core.model.snapshot import ModelSnapshot, VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.options import DEFAULT_OPTIONS, PlanOptions
from vde_dagster.core.planning.plan import NO_TRACKED, TrackedTimes, Workload, complete_times
from vde_dagster.core.planning.readiness import Ready
from vde_dagster.core.planning.workload import Holdings, workloads
from vde_dagster.core.sql.reads.input_ranges import WholeTable
from vde_dagster.core.time.intervals import EVER, Interval, common, meets, merge, subtract
from vde_dagster.ports.catalog import TableState
from vde_dagster.project.signals import ready_intervals


def holdings_of(
    services: Services,
    environment: str,
    snapshots: Mapping[ModelName, ModelSnapshot],
    loaded: Mapping[VersionKey, Holding] | None = None,
    owners: Mapping[VersionKey, str] | None = None,
) -> Holdings:
    """The loaded intervals of these snapshots' versions, as already read, or from the state.

    What is paused is not written, so that it counts as loaded up to where it is.
    """
    if loaded is None:
        loaded = services.state.holdings(each.key for each in snapshots.values())
    if owners is None:
        owners = services.state.owners(each.key for each in snapshots.values())
    owned = {name: owners[each.key] for name, each in snapshots.items() if each.key in owners}
    paused = frozenset(services.state.pauses(environment)) & snapshots.keys()
    return Holdings.of(
        environment,
        {name: loaded.get(each.key, NOTHING) for name, each in snapshots.items()},
        owners=owned,
        writes=frozenset(
            name for name in snapshots.keys() - paused if may_write(environment, owned.get(name))
        ),
        paused=paused,
    )


def _lagging(
    graph: Graph,
    holdings: Holdings,
    complete_to: Mapping[ModelName, datetime | None],
    read_from: Mapping[ModelName, datetime],
) -> dict[ModelName, datetime | None]:
    """Up to where what only others fill is loaded, of all that lacks something which is due.

    A model that reads it for a later time would miss the rows of that time. What lacks nothing
    blocks no model: the hours of today read a daily table as it is. Nor does what lacks before
    the time that it is ``read_from``.
    """
    found: dict[ModelName, datetime | None] = {}
    for node in graph:
        model, until = node.model, complete_to[node.name]
        timed = model.kind.is_by_interval or model.kind.is_whole
        if node.name in holdings.writes or not timed or until is None:
            continue
        loaded = holdings.computed[node.name]
        since = read_from.get(node.name, EVER.start)
        if since > EVER.start:
            loaded = merge([*loaded, Interval(EVER.start, since)])
        if model.kind.missing(model, loaded, until):
            found[node.name] = _reached(model, loaded)
    return found


def _reached(model: Model, loaded: Sequence[Interval]) -> datetime | None:
    """Up to where a model is loaded without a gap; None if it is not."""
    if model.kind.is_whole:
        return loaded[-1].end if loaded else None
    first = model.unit.ceil(model.start)
    return next((each.end for each in loaded if each.start <= first < each.end), None)


def _read_from(graph: Graph, name: ModelName, asked: Interval) -> dict[ModelName, datetime]:
    """From when on evaluating an interval reads what is upstream; without what is read whole.

    What is upstream was evaluated unit by unit, and what reads itself follows from all before it.
    """
    times, whole = {name: asked.start}, set[ModelName]()
    for node in reversed(list(graph)):
        if node.model.kind.is_inlined:
            continue  # who reads it reads its tables
        reads = reads_of(graph, node.name)
        since = times.get(node.name) if node.name not in whole else None
        follows = node.name != name and node.model.reads_itself
        if since is None or since >= asked.end or follows:
            whole.update(reads.demands)
            continue
        first = node.model.unit.floor(since)
        for interval in (
            Interval(since, asked.end),
            Interval(first, node.model.unit.following(first)),
        ):
            for parent, found in reads.at(interval).items():
                if isinstance(found, WholeTable):
                    whole.add(parent)
                elif found:
                    times[parent] = min(found[0].start, times.get(parent, found[0].start))
    return {each: since for each, since in times.items() if each not in whole}


def complete_times_of(
    services: Services,
    graph: Graph,
    now: datetime | None,
    holdings: Holdings,
    tables: Mapping[ModelName, TableState | None],
    *,
    sessions: Mapping[ModelName, TrackedTimes] | None = None,
    read_from: Mapping[ModelName, datetime] | None = None,
) -> dict[ModelName, datetime | None]:
    """Up to when all that each model reads is complete, and loaded if others write it.

    Args:
        services: The catalog is asked about the sources that stateful models track.
        graph: The models.
        now: The project's clock.
        holdings: What their versions hold, and which of them may be written.
        tables: The sources.
        sessions: The outcome of `tracked_times`, if it is known already.
        read_from: From when on models are read, where that is later than their start.
    """
    valid_to = {name: valid_to_of(table) for name, table in tables.items()}
    declared = {name: time for name, time in valid_to.items() if time is not None}
    unborn = {
        name for name, table in tables.items() if table is None or table.iceberg_snapshot_id is None
    }
    if sessions is None:
        sessions = tracked_times(services, graph, tables)

    def complete(capped: Mapping[ModelName, datetime | None]) -> dict[ModelName, datetime | None]:
        return complete_times(
            graph, now, valid_to=declared, unborn=unborn, capped=capped, sessions=sessions
        )

    complete_to = complete({})
    capped = _lagging(graph, holdings, complete_to, read_from or {})
    return complete(capped) if capped else complete_to


def tracked_times(
    services: Services, graph: Graph, tables: Mapping[ModelName, TableState | None]
) -> dict[ModelName, TrackedTimes]:
    """How far the sources go that stateful models track, by model."""
    return {
        node.name: _tracked_times(services, graph, node, tables)
        for node in graph
        if node.model.stateful is not None
    }


def _tracked_times(
    services: Services,
    graph: Graph,
    node: Node,
    tables: Mapping[ModelName, TableState | None],
) -> TrackedTimes:
    """How far the sources go that a stateful model tracks and that declare no valid-to time.

    A source goes to its highest tracked time less its ``offset``. One without a new Iceberg
    snapshot for as long as its ``idle_after`` holds nothing back.
    """
    policy = node.model.stateful
    tracked = policy.tracked if policy is not None else ()
    times: dict[ModelName, datetime | None] = {}
    idle: set[ModelName] = set()
    for each in tracked:
        if not graph[each.name].model.kind.is_source:
            continue
        table = tables.get(each.name)
        if _is_idle(services, each, table):
            idle.add(each.name)
        elif valid_to_of(table) is None:
            times[each.name] = _highest(services, graph, each)
    return TrackedTimes(times=times, idle=frozenset(idle))


def _is_idle(services: Services, tracked: TrackedSource, table: TableState | None) -> bool:
    if tracked.idle_after is None or table is None or table.iceberg_snapshot_id is None:
        return False
    head = services.catalog.history(tracked.name, None).head
    return head is not None and head.committed_at + tracked.idle_after <= services.clock.now()


def _highest(services: Services, graph: Graph, tracked: TrackedSource) -> datetime | None:
    """The highest tracked time of a source less its offset; None if there is none."""
    column = tracked_column(graph, tracked)
    name = tracked.name
    table = TableName(name.schema, name.name, name.catalog)
    found = services.catalog.latest(table, column) if column is not None else None
    return None if found is None else found - tracked.offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What a plan of the environment would say of a model.

    ``missing`` is what it would evaluate, since it is not loaded. ``complete_to`` is when all that
    the model reads is complete up to, None where nothing of it is there yet. ``inputs`` says the
    same of each model and source upstream.
    """

    missing: tuple[Interval, ...]
    complete_to: datetime | None
    inputs: Mapping[ModelName, datetime | None]


def due_work(
    services: Services,
    graph: Graph,
    snapshots: Mapping[ModelName, ModelSnapshot],
    holdings: Holdings,
    options: PlanOptions,
    *,
    now: datetime | None,
    complete_to: Mapping[ModelName, datetime | None],
    ready: Ready,
) -> dict[ModelName, Workload]:
    """`workloads`, but for rows that a person accepted, and that a lookback leaves as they are."""
    work = workloads(graph, holdings, options, now=now, complete_to=complete_to, ready=ready)
    again = {
        name: times
        for name, each in work.items()
        if graph[name].model.lookback and (times := common(each.missing, holdings.settled[name]))
    }
    for name, stays in without_accepted(services, graph, snapshots, again):
        work[name] = replace(work[name], missing=subtract(work[name].missing, stays))
    return work


def due_of(
    services: Services,
    binding: Binding,
    name: ModelName,
    *,
    alone: bool = False,
    asked: Interval | None = None,
    seen: Seen | None = None,
) -> Due:
    """The due intervals of a model in the environment that runs these versions. Starts no Spark.

    Args:
        services: The ports.
        binding: The versions.
        name: The model.
        alone: Whether what upstream models lack is not evaluated before.
        asked: What a person asks for of it, whatever its signals hold back.
        seen: What was read already of it and of what is upstream.
    """
    seen = seen or Seen.above(services, binding, [name])
    graph = binding.graph.above([name])
    snapshots = {each: binding.snapshots[each] for each in graph.nodes}
    now, tables = seen.now, {each: seen.source(each) for each in sources(graph)}
    holdings = holdings_of(services, binding.environment, snapshots, seen.holdings, seen.owners)
    if alone:
        holdings = replace(holdings, writes=holdings.writes & {name})

    def ready(model: Model, units: Sequence[Interval]) -> tuple[Interval, ...]:
        passing = [each for each in units if model.name == name and asked and meets([asked], each)]
        held = [each for each in units if each not in passing]
        now = services.execution_time
        return merge([*passing, *ready_intervals(model, held, execution_time=now)])

    sessions = tracked_times(services, graph, tables)
    read_from = _read_from(graph, name, asked) if asked is not None else None
    complete_to = complete_times_of(
        services, graph, now, holdings, tables, sessions=sessions, read_from=read_from
    )
    work = due_work(
        services,
        graph,
        snapshots,
        holdings,
        DEFAULT_OPTIONS,
        now=now,
        complete_to=complete_to,
        ready=ready,
    )
    own = sessions.get(name, NO_TRACKED)
    missing = work[name].missing if name in work else ()
    return Due(missing=missing, complete_to=complete_to[name], inputs={**complete_to, **own.times})
