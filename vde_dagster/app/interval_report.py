"""Which intervals each model holds and lacks, as a plan sees it. No Spark is needed for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vde_dagster import kinds
from vde_dagster.app.binding import bind_environment
from vde_dagster.app.planning import may_write, plan_environment
from vde_dagster.app.services import Services
from vde_dagster.app.world import VdeProject
from vde_dagster.core import schedule
from vde_dagster.core.cron import Cron
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import END_OF_TIME, Interval, format_instant, subtract
from vde_dagster.core.kind import Embedded, External, Managed, Seed, View
from vde_dagster.core.ledger import held_intervals
from vde_dagster.core.model import Model
from vde_dagster.core.names import PRODUCTION
from vde_dagster.core.plan import ModelChange, Plan
from vde_dagster.kinds.rules import ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIntervals:
    """One model's version: the ranges that it holds, and those that a plan would evaluate.

    A kind that does not depend on time has the one interval ``ALWAYS``. ``complete_to`` is up to
    when everything that the model reads is whole; None where there is no data yet. ``next_due`` is
    when the first interval that is not due yet becomes due, on the project's clock; None where
    none will. ``waits`` says what intervals wait for that are due and not missing; empty where
    there are none.
    """

    node: Node
    version: str
    held: tuple[Interval, ...]
    missing: tuple[Interval, ...]
    complete_to: datetime | None
    next_due: datetime | None
    waits: str


def plan_models(project: VdeProject, environment: str | None) -> Plan:
    """The plan for the models that somebody asks about; it is only looked at.

    Args:
        project: The project.
        environment: An environment whose own models are meant; the project's files where it is
            None (then production is what they are planned for) or has no models yet.

    Raises:
        ProjectInvalid: The files are needed and something is wrong in them.
    """
    services = project.services
    binding = bind_environment(services, environment) if environment is not None else None
    graph = binding.graph if binding is not None else project.files.graph
    return plan_environment(services, graph, environment or PRODUCTION)


def report_intervals(services: Services, plan: Plan) -> tuple[ModelIntervals, ...]:
    """Every model of a plan that has intervals, parents first."""
    nodes = [node for node in plan.graph if not isinstance(node.model.kind, External | Embedded)]
    keys = {node.name: plan.snapshots[node.name].key for node in nodes}
    ledger = services.state.ledger(keys.values())
    owners = services.state.owners(keys.values())
    changes = {change.name: change for change in plan.changes}
    return tuple(
        _report(
            plan,
            node,
            changes[node.name],
            held=held_intervals(ledger.get(keys[node.name], ())),
            owner=owners.get(keys[node.name]),
        )
        for node in nodes
    )


def _report(
    plan: Plan, node: Node, change: ModelChange, *, held: tuple[Interval, ...], owner: str | None
) -> ModelIntervals:
    report = ModelIntervals(
        node=node,
        version=plan.snapshots[node.name].version,
        held=held,
        missing=change.missing,
        complete_to=change.complete_to,
        next_due=next_due(node.model, plan.now) if plan.now is not None else None,
        waits="",
    )
    return replace(report, waits=_waits(plan, report, owner))


def next_due(model: Model, now: datetime) -> datetime | None:
    """When the first unit that is not due at ``now`` becomes due; None where none ever will."""
    timeless = isinstance(model.kind, External | Embedded | Managed | Seed | View)
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


def _waits(  # noqa: PLR0911 - one line for each reason
    plan: Plan, report: ModelIntervals, owner: str | None
) -> str:
    model = report.node.model
    if plan.now is None:
        timeless = isinstance(model.kind, Managed | Seed | View)
        return "" if timeless else "the project's clock has no time yet"
    due = kinds.of(model).missing(model, report.held, plan.now)
    if not subtract(due, report.missing):
        return ""
    if not may_write(plan.environment, owner):
        return f"the environment {owner} fills this version"
    if report.complete_to is None:
        return "what it reads has no data yet"
    if report.complete_to < plan.now:
        return f"what it reads is complete only to {format_instant(report.complete_to)}"
    if model.signals:
        names = ", ".join(dict.fromkeys(call.name for call in model.signals))
        return f"a signal ({names}) holds it back, or what it reads does not hold all of it yet"
    return "what it reads does not hold all of it yet"


def clipped(report: ModelIntervals, shown: Interval) -> ModelIntervals:
    """The whole units of a report that ``shown`` touches; what is timeless stays as it is."""

    def inside(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
        parts = [each if each == ALWAYS else each.intersection(shown) for each in intervals]
        unit = report.node.model.unit
        return tuple(
            each if each == ALWAYS else unit.widen(each) for each in parts if each is not None
        )

    return replace(report, held=inside(report.held), missing=inside(report.missing))
