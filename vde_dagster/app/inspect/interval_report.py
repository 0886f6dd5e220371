"""Which intervals of each model are loaded or missing, as a plan sees it. No Spark is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from vde_dagster.app.binding import bind_environment, shown_binding
from vde_dagster.app.inputs.accepted import AcceptedRows, accepted_rows
from vde_dagster.app.plan.fillers import fillers
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.plan.resolving import bounds_of
from vde_dagster.app.plan.waiting import CompleteTimes, Reason, Wait, waits_of
from vde_dagster.app.services import Project, Services
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.ledger.holdings import NOTHING
from vde_dagster.core.model.model import Model
from vde_dagster.core.names import PRODUCTION, ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.readiness import readable_after
from vde_dagster.core.time import schedule
from vde_dagster.core.time.cron import Cron
from vde_dagster.core.time.intervals import ALWAYS, END_OF_TIME, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIntervals:
    """One model's version: the loaded ranges, and those that a plan would evaluate.

    A kind that does not depend on time has the one interval ``ALWAYS``. ``complete_to`` is up to
    when everything that the model reads is complete; None if there is no data yet. ``next_due`` is
    when the first interval that is not due yet becomes due, on the project's clock; None if none
    will. ``waits`` are what due intervals wait for that a plan would not evaluate. ``empty``
    intervals are recorded without rows, and neither loaded nor missing. ``accepted`` are loaded
    ones whose rows a person accepted against an audit.
    """

    node: Node
    version: str
    loaded: tuple[Interval, ...]
    missing: tuple[Interval, ...]
    complete_to: datetime | None
    next_due: datetime | None
    waits: tuple[Wait, ...]
    empty: tuple[Interval, ...] = ()
    accepted: tuple[AcceptedRows, ...] = ()


def plan_models(project: Project, environment: str | None) -> Plan:
    """The plan for the models that a command asks about; it is not applied.

    Args:
        project: The project.
        environment: The environment whose models are meant. For None (planned for production) or
            one without models, those of the project's files.

    Raises:
        ProjectInvalid: The files are needed and something is wrong in them.
    """
    services = project.services
    binding = bind_environment(services, environment) if environment is not None else None
    graph = binding.graph if binding is not None else project.files.graph
    stays = bounds_of(binding.snapshots) if binding is not None else {}
    name = environment or PRODUCTION
    return plan_environment(services, graph, name, stays=stays, sets_aside=False)


def report_intervals(services: Services, plan: Plan) -> tuple[ModelIntervals, ...]:
    """Every model of a plan that has intervals, parents first."""
    nodes = [node for node in plan.graph if node.model.kind.is_physical]
    keys = {node.name: plan.snapshots[node.name].key for node in nodes}
    holdings = services.state.holdings(keys.values())
    theirs = fillers(services, plan.environment, keys.values())
    accepted = accepted_rows(services, keys.values())
    changes = {change.name: change for change in plan.changes}
    complete = CompleteTimes.of(plan)
    found = {name: holdings.get(key, NOTHING) for name, key in keys.items()}
    loaded = {name: each.computed for name, each in found.items()}
    recorded = {name: each.recorded for name, each in found.items()}
    there = {
        node.name: readable_after(
            node.model, loaded[node.name], changes[node.name].missing, recorded[node.name]
        )
        for node in nodes
    }
    return tuple(
        ModelIntervals(
            node=node,
            version=plan.snapshots[node.name].version,
            loaded=loaded[node.name],
            missing=changes[node.name].missing,
            complete_to=changes[node.name].complete_to,
            next_due=next_due(node.model, plan.now) if plan.now is not None else None,
            waits=waits_of(
                services,
                complete,
                node,
                there,
                recorded=recorded,
                loaded=(*loaded[node.name], *found[node.name].empty),
                filler=theirs.get(keys[node.name]),
            ),
            empty=found[node.name].empty,
            accepted=accepted.get(keys[node.name], ()),
        )
        for node in nodes
    )


Waiting = tuple[ModelName, tuple[Wait, ...]]


def waiting_models(services: Services, plan: Plan) -> tuple[Waiting, ...]:
    """The models with due intervals that a plan would not evaluate, and what these wait for."""
    reports = report_intervals(services, plan)
    return tuple((each.node.name, each.waits) for each in reports if each.waits)


def left_by_plan(services: Services, plan: Plan) -> tuple[Waiting, ...]:
    """The same for people who plan: without what the plan says anyway, or was asked to leave out.

    Of a plan that does something only what another environment has to fill is named.
    """
    if not plan.is_empty and plan.environment == PRODUCTION:
        return ()  # it may write any version
    sorts = _NAMED if plan.is_empty else frozenset({Reason.ENVIRONMENT})
    found = (
        (name, tuple(each for each in waits if each.reason in sorts))
        for name, waits in waiting_models(services, plan)
    )
    return tuple((name, waits) for name, waits in found if waits)


_NAMED: Final = frozenset({Reason.ENVIRONMENT, Reason.SOURCE, Reason.UNKNOWN, Reason.MODEL})
"""Of pauses, of tables that are missing and of the project's clock a plan has lines of its own."""


def wait_texts(waiting: Sequence[Waiting]) -> dict[str, list[str]]:
    """What models wait for, as texts by model's name."""
    return {str(name): [str(each) for each in waits] for name, waits in waiting}


def waiting_lines(waiting: Sequence[Waiting]) -> list[str]:
    """What models wait for, for people."""
    return [f"Waits: {name}: {'; '.join(map(str, waits))}" for name, waits in waiting]


def next_due(model: Model, now: datetime) -> datetime | None:
    """When the first unit that is not due at ``now`` becomes due; None if none ever will."""
    timeless = model.kind.is_timeless
    if timeless or model.start >= END_OF_TIME:
        return None
    wanted = schedule.due_interval(model, now)
    border = wanted.end if wanted is not None else model.unit.ceil(model.start)
    if border >= END_OF_TIME:
        return None
    end = model.unit.following(border)
    if model.end is not None and end > model.end:
        return None
    cron = Cron.parse(model.cron)
    if cron.previous(end, model.cron_tz) == end:
        return end
    return cron.following(end, model.cron_tz)


def clipped(report: ModelIntervals, shown: Interval) -> ModelIntervals:
    """The intervals of a report that overlap ``shown``, whole.

    A table that is replaced whole has one interval, however long; a timeless one is always shown.
    """
    unit, by_interval = report.node.model.unit, report.node.model.kind.is_by_interval

    def inside(intervals: Sequence[Interval]) -> Iterator[Interval]:
        for each in intervals:
            part = each.intersection(shown)
            if each == ALWAYS or (part is not None and not by_interval):
                yield each
            elif part is not None:
                yield unit.widen(part)

    return replace(
        report,
        loaded=tuple(inside(report.loaded)),
        missing=tuple(inside(report.missing)),
        empty=tuple(inside(report.empty)),
        accepted=tuple(
            replace(each, intervals=within)
            for each in report.accepted
            if (within := tuple(inside(each.intervals)))
        ),
    )


def complete_to(services: Services, environment: str, name: ModelName) -> datetime | None:
    """The end of the intervals that a model has loaded from its start on, without a gap.

    Rows that came late for one of them may be known and not loaded yet (`vde late status`). No
    Spark is started.

    Args:
        services: The ports.
        environment: Whose version is meant.
        name: The model.

    Returns:
        That instant (UTC); None if the first interval is not loaded.

    Raises:
        Refused: There is no such environment or model, or the model has no intervals.
    """
    binding = shown_binding(services, environment)
    node = binding.node(name)
    if not node.model.kind.is_by_interval:
        raise Refused(f"{name} is {node.model.kind.keyword}, which has no intervals.")
    key, first = binding.key(name), node.model.unit.ceil(node.model.start)
    loaded = services.state.holdings([key]).get(key, NOTHING).computed
    return next((each.end for each in loaded if each.start <= first < each.end), None)
