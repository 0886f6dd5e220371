"""Which intervals each model holds and lacks, as a plan sees it. No Spark is needed for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from vde_dagster.app.binding import bind_environment
from vde_dagster.app.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.app.world import VdeProject
from vde_dagster.core.graph import Node
from vde_dagster.core.intervals import Interval
from vde_dagster.core.kind import Embedded, External
from vde_dagster.core.ledger import held_intervals
from vde_dagster.core.names import PRODUCTION
from vde_dagster.core.plan import Plan
from vde_dagster.kinds.rules import ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIntervals:
    """One model's version: the ranges that it holds, and those that a plan would evaluate.

    A kind that does not depend on time has the one interval ``ALWAYS``. ``complete_to`` is up to
    when everything that the model reads is whole; None where there is no data yet.
    """

    node: Node
    version: str
    held: tuple[Interval, ...]
    missing: tuple[Interval, ...]
    complete_to: datetime | None


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
    changes = {change.name: change for change in plan.changes}
    return tuple(
        ModelIntervals(
            node=node,
            version=keys[node.name].version,
            held=held_intervals(ledger.get(keys[node.name], ())),
            missing=changes[node.name].missing,
            complete_to=changes[node.name].complete_to,
        )
        for node in nodes
    )


def clipped(report: ModelIntervals, shown: Interval) -> ModelIntervals:
    """The whole units of a report that ``shown`` touches; what is timeless stays as it is."""

    def inside(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
        parts = [each if each == ALWAYS else each.intersection(shown) for each in intervals]
        unit = report.node.model.unit
        return tuple(
            each if each == ALWAYS else unit.widen(each) for each in parts if each is not None
        )

    return replace(report, held=inside(report.held), missing=inside(report.missing))
