"""What due intervals of a model wait for that a plan would not evaluate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import assert_never

from vde_dagster.app.inputs.completeness import tracked_times
from vde_dagster.app.plan.fillers import Filler
from vde_dagster.app.services import Services, valid_to_of
from vde_dagster.core.graph.embedded import stored_parents
from vde_dagster.core.graph.graph import Graph, Node
from vde_dagster.core.graph.render_model import reads_of
from vde_dagster.core.ledger.late.question import unknown_times
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import NO_TRACKED, Plan
from vde_dagster.core.planning.readiness import blocked_by_parents
from vde_dagster.core.planning.setting_aside import lost_inputs
from vde_dagster.core.sql.reads.input_ranges import InputRange, WholeTable
from vde_dagster.core.time.intervals import (
    END_OF_TIME,
    Interval,
    IntervalUnit,
    common,
    format_instant,
    subtract,
)
from vde_dagster.core.time.schedule import lacking


class Reason(Enum):
    """The sort of thing that intervals wait for."""

    CLOCK = "clock"
    ENVIRONMENT = "environment"
    SOURCE = "source"
    UNKNOWN = "unknown"
    MODEL = "model"
    SIGNAL = "signal"
    LOST = "lost"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One thing that due intervals wait for.

    - ``CLOCK``: a source that is the project's clock and has no valid-to time yet.
    - ``ENVIRONMENT``: the one that fills this version, as ``filler`` says.
    - ``SOURCE``: a table that is complete only up to ``start``, or empty if that is None. It is a
      model if another environment fills its version.
    - ``UNKNOWN``: a tracked source that does not say up to when it is complete.
    - ``MODEL``: an upstream model that has not loaded what is read; ``start`` to ``end`` is the
      first such interval. They are None for a model without intervals.
    - ``SIGNAL``: one of the model's own, with the first interval that is held back. It is not
      ``certain`` if the model has several, since a plan does not know which one answered no.
    - ``LOST``: a model's table or view was dropped or changed.
    - ``PAUSED``: the model itself, which a person has paused, since ``start``.
    """

    reason: Reason
    name: str
    start: datetime | None = None
    end: datetime | None = None
    certain: bool = True
    filler: Filler | None = None

    @classmethod
    def of(
        cls, reason: Reason, name: object, first: Interval | None, *, certain: bool = True
    ) -> Wait:
        """What is waited for, with the first interval that waits for it, if there are some."""
        start, end = (None, None) if first is None else (first.start, first.end)
        return cls(reason=reason, name=str(name), start=start, end=end, certain=certain)

    @property
    def text(self) -> str:
        """What is waited for, for people."""
        return str(self)

    def __str__(self) -> str:
        start = format_instant(self.start) if self.start else ""
        first = f"{start} to {format_instant(self.end)}" if self.end else ""
        match self.reason:
            case Reason.CLOCK:
                said = f"the project's clock is not set yet: {self.name} gives no time"
            case Reason.ENVIRONMENT:
                said = _elsewhere(self.filler or Filler(environment=self.name))
            case Reason.SOURCE:
                until = f"is complete only up to {start}" if start else "has no data"
                said = f"{self.name} {until}"
            case Reason.UNKNOWN:
                said = unknown_times([ModelName.parse(self.name)])
            case Reason.MODEL:
                said = f"{self.name} lacks {first}" if first else f"{self.name} is not built yet"
            case Reason.SIGNAL:
                holds = "holds" if self.certain else "may hold"
                said = f"the signal {self.name} {holds} back {first}"
            case Reason.LOST:
                said = f"the table or view of {self.name} is missing or not as recorded"
            case Reason.PAUSED:
                said = f"{self.name} has been paused since {start}"
            case unreachable:
                assert_never(unreachable)
        return said


def _elsewhere(filler: Filler) -> str:
    """Which environment fills a version, with which command, and why it has not done so."""
    fills = f"the environment {filler.environment} fills this version"
    if filler.shows:
        return f"{fills}, with {filler.command}"
    why = f" ({filler.why})" if filler.why else ""
    return f"{fills} but does not show it{why}: {filler.command} computes it"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteTimes:
    """Up to when each model of a plan is complete, and which tables hold it back.

    It is made once for a plan: what upstream models wait for is found once for all.
    """

    plan: Plan
    by_model: Mapping[ModelName, datetime | None]
    _sources: dict[ModelName, tuple[ModelName, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan) -> CompleteTimes:
        """Those that a plan was made with."""
        return cls(plan=plan, by_model={each.name: each.complete_to for each in plan.changes})

    def sources(self, name: ModelName) -> tuple[ModelName, ...]:
        """The upstream tables that are complete no further than a model is; else the model."""
        if not self._sources:
            for node in self.plan.graph:
                self._sources[node.name] = self._found(node)
        return self._sources[name]

    def _found(self, node: Node) -> tuple[ModelName, ...]:
        until = self.by_model.get(node.name)
        upstream = [each for each in node.model.parents if self.by_model.get(each) == until]
        found = dict.fromkeys(end for each in reversed(upstream) for end in self._sources[each])
        return tuple(found) or (node.name,)


def waits_of(
    services: Services,
    complete: CompleteTimes,
    node: Node,
    there: Mapping[ModelName, Sequence[Interval]],
    *,
    recorded: Mapping[ModelName, Sequence[Interval]],
    loaded: Sequence[Interval],
    filler: Filler | None,
) -> tuple[Wait, ...]:
    """What due intervals of a model wait for; nothing if none of them waits.

    Args:
        services: The adapters; sources are looked up if one is the cause.
        complete: The plan that does not evaluate the intervals, with its times.
        node: The model.
        there: The loaded intervals of each version after the plan; of this model, those of now.
        recorded: The intervals of each version that have an entry now.
        loaded: The loaded intervals of the model's version now.
        filler: Who fills the version; None if the plan's environment may.
    """
    plan = complete.plan
    timeless = node.model.kind.is_timeless and node.model.kind.is_physical
    if plan.now is None and not timeless:
        return tuple(
            Wait(reason=Reason.CLOCK, name=str(name))
            for name in services.clock_sources
            if valid_to_of(services.source(name)) is None
        )
    due = node.model.kind.missing(node.model, loaded, plan.now or node.model.start)
    waiting = subtract(due, [*loaded, *there[node.name]])
    if not waiting:
        return ()
    if filler is not None:
        return (Wait(reason=Reason.ENVIRONMENT, name=filler.environment, filler=filler),)
    stopped = _stopped_by_people(plan, node)
    if stopped:
        return stopped
    if timeless:
        return tuple(_unmade_parents(plan, node, there))
    return _waits_by_time(services, complete, node, there, recorded, loaded=loaded, waiting=waiting)


def _stopped_by_people(plan: Plan, node: Node) -> tuple[Wait, ...]:
    """The pause of a model, or its dropped tables."""
    for each in plan.pauses:
        if each.pause.model == node.name:
            since = each.pause.paused_at.replace(second=0, microsecond=0)
            return (Wait(reason=Reason.PAUSED, name=str(node.name), start=since),)
    return tuple(Wait(reason=Reason.LOST, name=str(name)) for name in lost_inputs(plan, node))


def _waits_by_time(
    services: Services,
    complete: CompleteTimes,
    node: Node,
    there: Mapping[ModelName, Sequence[Interval]],
    recorded: Mapping[ModelName, Sequence[Interval]],
    *,
    loaded: Sequence[Interval],
    waiting: Sequence[Interval],
) -> tuple[Wait, ...]:
    """First what is not complete, then models that lack something, then signals."""
    plan, model = complete.plan, node.model
    complete_to, now = complete.by_model[node.name], plan.now
    if complete_to is None or now is None:
        return tuple(_late_sources(services, complete, node))
    beyond = (
        [Interval(model.unit.floor(complete_to), END_OF_TIME)] if complete_to < END_OF_TIME else []
    )
    found = [*_late_sources(services, complete, node)] if common(waiting, beyond) else []
    ready = subtract(waiting, beyond)
    unmade = [*_unmade_parents(plan, node, there)] if ready else []
    if unmade or not ready:
        return (*found, *unmade)
    wanted = model.kind.missing(model, loaded, now, beyond)
    by_parent = {
        name: common(ready, map(model.unit.widen, times))
        for name, times in blocked_by_parents(plan.graph, node, wanted, there, recorded).items()
    }
    found += [
        _lacks(plan, node, name, there, first=times[0])
        for name, times in by_parent.items()
        if times
    ]
    left = subtract(ready, [each for times in by_parent.values() for each in times])
    if left:
        first = _cell(model.unit, left[0].start)
        names = dict.fromkeys(call.name for call in model.signals)
        certain = len(names) == 1
        found += [Wait.of(Reason.SIGNAL, name, first, certain=certain) for name in names]
    return tuple(found)


def _late_sources(services: Services, complete: CompleteTimes, node: Node) -> Iterator[Wait]:
    """The upstream tables that are complete no further than the model is."""
    graph = complete.plan.graph
    for name in complete.sources(node.name):
        until = complete.by_model[name]
        if until is None and graph[name].model.late_data is not None:
            yield from _without_data(services, graph, graph[name])
        else:
            yield Wait(reason=Reason.SOURCE, name=str(name), start=until)


def _without_data(services: Services, graph: Graph, node: Node) -> Iterator[Wait]:
    """The sources of a model's late data that have never had a row, or do not say of which time."""
    policy = node.model.late_data
    tables = {name: services.source(name) for name in (policy.sources if policy else ())}
    times = tracked_times(services, graph.above([node.name]), tables).get(node.name, NO_TRACKED)
    for name, table in tables.items():
        if table is None or table.iceberg_snapshot_id is None:
            yield Wait(reason=Reason.SOURCE, name=str(name))
        elif name in times.times and times.times[name] is None:
            yield Wait(reason=Reason.UNKNOWN, name=str(name))


def _unmade_parents(
    plan: Plan, node: Node, there: Mapping[ModelName, Sequence[Interval]]
) -> Iterator[Wait]:
    """The tables and views that a model reads and that are not loaded, not even by the plan."""
    for name in stored_parents(plan.graph, node.name):
        model = plan.graph[name].model
        if model.kind.is_source or there[name]:
            continue
        since = node.bounded_from
        lacks = () if model.kind.is_timeless else lacking(model, (), since=since)
        first = _cell(model.unit, lacks[0].start) if lacks else None
        yield Wait.of(Reason.MODEL, name, first)


def _lacks(
    plan: Plan,
    node: Node,
    name: ModelName,
    there: Mapping[ModelName, Sequence[Interval]],
    *,
    first: Interval,
) -> Wait:
    """The first interval of a parent that is missing to compute the first unit of some time."""
    parent = plan.graph[name].model
    lacks = lacking(parent, there[name], since=node.bounded_from)
    if not lacks:
        return Wait.of(Reason.MODEL, name, None)
    cell = _cell(node.model.unit, first.start)
    read: InputRange = reads_of(plan.graph, node.name).at(cell)[name]
    if not isinstance(read, WholeTable) and not node.model.kind.is_whole:
        lacks = common(lacks, read) or lacks
    return Wait.of(Reason.MODEL, name, _cell(parent.unit, lacks[0].start))


def _cell(unit: IntervalUnit, instant: datetime) -> Interval:
    """The unit that an instant is in."""
    return Interval(unit.floor(instant), unit.following(unit.floor(instant)))
