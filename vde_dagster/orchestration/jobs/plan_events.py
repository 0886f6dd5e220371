"""The one walk over a plan in Dagster: it is applied, and every interval and check is reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import dagster as dg

from vde_dagster.app.apply.applying import walking
from vde_dagster.app.apply.visitor import Applying
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import Services
from vde_dagster.core.errors import VdeError
from vde_dagster.core.graph.graph import Node
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.core.planning.stages import Stage, WorkStage
from vde_dagster.orchestration.assets.metadata import Keys, Metadata
from vde_dagster.orchestration.assets.step_log import log_units, logged_progress
from vde_dagster.orchestration.keys import EventKey, RunTag
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.reporting.checks import AuditWatch, CheckNames, check_events
from vde_dagster.orchestration.reporting.known_events import Event, events_of, input_provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEvents:
    """What Dagster gets to know of a plan while it is applied.

    Args:
        services: The ports.
        keys: The asset keys of the plan's models and sources.
        names: What the checks of models are called where a translator changes that.
        timed: The models whose assets have a freshness policy of a translator.
        done: The units of work that are done; it grows.
        started: The models that were started; it grows.
    """

    services: Services
    keys: Keys
    names: CheckNames = field(default_factory=dict)
    timed: frozenset[ModelName] = frozenset()
    done: list[Evaluated] = field(default_factory=list)
    begun: set[ModelName] = field(default_factory=set)
    _inputs: dict[ModelName, dict[str, str]] = field(default_factory=dict)
    _began: dict[ModelName, float] = field(default_factory=dict)
    _reported: dict[ModelName, float] = field(default_factory=dict)

    def carried_out(
        self, context: dg.OpExecutionContext, plan: Plan, concurrency: Concurrency
    ) -> Iterator[object]:
        """Apply a plan: an event for each interval as it is written, and for each check.

        See `vde_dagster.app.apply.applying.walking` for what is raised, after all else is done.
        """
        models = [each.name for each in plan.backfills]
        with (
            walking(self.services, plan, self.visit, concurrency=concurrency) as walk,
            closing(walk.rest()) as steps,
        ):
            audits = self.watched(walk.binding, models)
            yield from self.of(context, lambda: walk.binding, steps, audits)

    def watched(self, binding: Binding, models: Iterable[ModelName]) -> list[AuditWatch]:
        """What audits find in some models from now on; asked for before they are evaluated."""
        return [AuditWatch.begin(self.services, binding, each) for each in models]

    def visit(self, work: Applying, stage: Stage) -> Iterator[Evaluated]:
        """Run a stage of the walk, and note when its model began.

        In the thread that runs it: if several models are evaluated at once, the thread that reports
        them may come to a unit of work long after that is done.
        """
        if isinstance(stage, WorkStage):
            self.begun.add(stage.model)
        for evaluated in work.visit(stage):
            self._began.setdefault(evaluated.key.model, time.time() - evaluated.seconds)
            yield evaluated

    def of(
        self,
        context: dg.OpExecutionContext,
        binding: Callable[[], Binding],
        steps: Iterable[Evaluated],
        audits: Sequence[AuditWatch],
    ) -> Iterator[object]:
        """The events of units of work, and of what audits of some models found.

        ``binding`` says what the environment runs by now: a walk may adopt versions on its way.
        """
        already = len(self.done)
        try:
            with logged_progress(context.log, self.services.engine.progress):
                for evaluated in steps:
                    self.done.append(evaluated)
                    log_units(context.log, self.services, binding(), [evaluated])
                    if evaluated.session is not None:
                        tag = f"{RunTag.SESSION}{evaluated.key.model}"
                        context.instance.add_run_tags(context.run_id, {tag: evaluated.work_id})
                    yield from self._written(context, binding(), evaluated)
                    self._reported[evaluated.key.model] = time.time()
        except VdeError:
            yield from check_events(audits, self.keys, names=self.names)
            raise
        yield from check_events(audits, self.keys, self.done[already:], self.names)

    def _written(
        self, context: dg.OpExecutionContext, binding: Binding, evaluated: Evaluated
    ) -> Iterable[Event]:
        node = binding.node(evaluated.key.model)
        if node.name not in self._inputs:  # of several batches, what the first one read
            self._inputs[node.name] = self._provenance(context, node, evaluated)
        provenance = self._inputs[node.name]
        return events_of(
            context.instance,
            binding,
            node,
            self.keys,
            evaluated,
            provenance=provenance,
            timed=self.timed,
        )

    def _provenance(
        self, context: dg.OpExecutionContext, node: Node, evaluated: Evaluated
    ) -> dict[str, str]:
        """What a model was computed from: what was there of each parent when the model began.

        If several models are evaluated at once, a parent of this plan may be reported only after
        that, though it was done before: then what was there is what this plan reported of it.
        """
        began = self._began.get(node.name, time.time() - evaluated.seconds)
        tags: dict[str, str] = {}
        for parent in node.model.parents:
            before = max(began, self._reported.get(parent, began))
            tags |= input_provenance(context.instance, [self.keys[parent]], before=before)
        return tags


def plan_events(location: Location, plan: Plan) -> PlanEvents:
    """The events of a plan that a code location applies."""
    names = location.names(bind_plan(plan))
    return PlanEvents(
        services=location.project.services,
        keys=names.keys,
        names=names.checks,
        timed=location.timed,
    )


def done_metadata(done: Iterable[Evaluated]) -> Metadata:
    """What units of work did, summed up for the step that did them."""
    units = [*done]
    return {
        EventKey.ROWS_WRITTEN: sum(each.rows for each in units),
        EventKey.INTERVALS: sum(len(each.entries) for each in units),
    }
