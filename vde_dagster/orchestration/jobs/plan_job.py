"""The jobs `vde_plan` and `vde_apply`: what these commands do, from the launchpad.

Each is one op that makes its plan when it runs, so a run that is executed again does what is left.
"""

# No `from __future__ import annotations`: pydantic reads the annotations of a config as objects.
from collections.abc import Iterator
from functools import partial
from typing import Final

import dagster as dg
from pydantic import Field

from vde_dagster.app.apply.saved_plans import left_of, load_plan, save_plan
from vde_dagster.app.inspect.interval_report import left_by_plan, waiting_lines
from vde_dagster.app.plan.plan_checks import lost_problems, no_time_text, sources_without_time
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.unit_tests.before_plan import (
    not_passed,
    require_passed,
    run_project_tests,
)
from vde_dagster.app.unit_tests.running import Engines, summary
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.planning.decisions import open_questions, undecided_text
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_markdown import plan_markdown
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.orchestration.assets.metadata import Metadata
from vde_dagster.orchestration.jobs.one_step import one_step_job
from vde_dagster.orchestration.jobs.plan_config import AtOnceConfig, PlanConfig
from vde_dagster.orchestration.jobs.plan_events import done_metadata, plan_events
from vde_dagster.orchestration.keys import EventKey, RunTag
from vde_dagster.orchestration.location import Location
from vde_dagster.orchestration.reporting.shown import report_views
from vde_dagster.project.loading import load_files

PLAN_JOB: Final = "vde_plan"
PLAN_OP: Final = "plan"
APPLY_JOB: Final = "vde_apply"
_APPLY_OP: Final = "apply"


class ApplyConfig(AtOnceConfig):
    """What `vde apply` takes."""

    file: str = Field(
        description="A plan that `vde plan --save FILE`, or vde_plan with `save`, wrote. Relative "
        "paths start at the project's folder."
    )


def build_plan_job(location: Location) -> dg.JobDefinition:
    """The job that compares the files with an environment, and applies the difference if asked."""
    environment = location.environment
    return one_step_job(
        PLAN_JOB,
        partial(_planned, location),
        PlanConfig,
        step=PLAN_OP,
        description=f"Show what would change in {environment}, and apply it with `apply: true`.",
        tags=location.run_tags,
    )


def build_apply_job(location: Location) -> dg.JobDefinition:
    """The job that applies a plan which was saved and reviewed."""
    return one_step_job(
        APPLY_JOB,
        partial(_saved, location),
        ApplyConfig,
        step=_APPLY_OP,
        description=f"Apply a plan of {location.environment} that was saved and reviewed.",
        tags=location.run_tags,
    )


def _planned(
    location: Location, context: dg.OpExecutionContext, config: PlanConfig, shown: Metadata
) -> Iterator[object]:
    """Plan, and do with the plan what was asked for. ``shown`` grows, also if that fails."""
    project, environment = location.project, location.environment
    configuration, services = project.configuration, project.services
    options = config.options(configuration, environment)
    if finish_promotions(services, environment):
        context.log.info(f"finished an interrupted promotion of {environment}.")
    graph = load_files(configuration, project.models).graph
    plan = plan_environment(services, graph, environment, options)
    _show(context, location, plan, shown)
    _refuse_hopeless(context, location, plan, config)
    if not (plan.is_empty or config.skip_tests):
        _run_unit_tests(context, location, graph, shown, refuses=config.acts)
    if config.save is not None:
        save_plan(configuration, plan, configuration.folder / config.save)
        shown[EventKey.SAVED] = config.save
    applies = config.apply and not plan.is_empty
    applied = config.at_once(configuration) if applies else None
    yield from _done(context, location, plan, shown, applied=applied)


def _refuse_hopeless(
    context: dg.OpExecutionContext, location: Location, plan: Plan, config: PlanConfig
) -> None:
    """Refuse to do with a plan what cannot be done now; of one that is only shown, say so.

    Raises:
        Refused: A person has to decide something, the clock has no time, or there is nothing to do
            but to restore a table.
    """
    configuration, services = location.project.configuration, location.project.services
    questions = open_questions(plan, config.mode(configuration, location.environment))
    if questions and config.acts:
        raise Refused(f"{undecided_text(questions)}\nNothing was written.")
    if questions:
        context.log.warning(undecided_text(questions))
    waits_for = sources_without_time(services, plan)
    if waits_for and config.acts and not plan.is_empty:
        raise Refused(f"nothing was written: {no_time_text(waits_for)}")
    if waits_for:
        context.log.warning(no_time_text(waits_for))
    if config.apply and plan.lost_tables and plan.is_empty:
        raise Refused("\n".join(lost_problems(plan, plan.lost_tables)))


def _run_unit_tests(
    context: dg.OpExecutionContext,
    location: Location,
    graph: Graph,
    shown: Metadata,
    *,
    refuses: bool,
) -> None:
    """Run the project's unit tests, and show how they ended.

    Of a plan that is only shown those that need Spark are not run.

    Raises:
        Refused: A test did not pass, and something was to be done with the plan.
    """
    project = location.project

    def engines() -> Engines:
        return Engines(
            engine=project.services.engine if refuses else None, quick=project.quick_answers
        )

    results = run_project_tests(project.configuration, lambda: graph, engines, again=False)
    if not results:
        return
    shown[EventKey.UNIT_TESTS] = summary(results)
    if refuses:
        require_passed(results, nothing="Nothing was written.")
    lines = not_passed(results)
    say = context.log.warning if lines else context.log.info
    say("\n".join([summary(results), *lines]))


def _saved(
    location: Location, context: dg.OpExecutionContext, config: ApplyConfig, shown: Metadata
) -> Iterator[object]:
    """Apply what is left of a saved plan. ``shown`` grows, also if that fails."""
    configuration, services = location.project.configuration, location.project.services
    concurrency, file = config.at_once(configuration), config.file
    plan = load_plan(configuration, configuration.folder / file)
    if plan.environment != location.environment:
        raise Refused(
            f"{file} is a plan for {plan.environment}, and this code location serves "
            f"{location.environment}",
            advice=f"Launch {APPLY_JOB} in the code location of {plan.environment}.",
        )
    left, before = left_of(services, plan)
    _show(context, location, left, shown)
    if before:
        shown[EventKey.REASON] = (
            f"this plan is already applied: {plan.environment} shows its versions"
        )
    applied = None if left.is_empty else concurrency
    yield from _done(context, location, left, shown, applied=applied)


def _show(context: dg.OpExecutionContext, location: Location, plan: Plan, shown: Metadata) -> None:
    """Put a plan on its run: its id as a tag, and the whole as Markdown."""
    context.instance.add_run_tags(context.run_id, {RunTag.PLAN: plan.plan_id})
    text = plan_markdown(plan, waiting_lines(left_by_plan(location.project.services, plan)))
    shown[RunTag.PLAN] = dg.MetadataValue.md(text)
    context.log.info(text)


def _done(
    context: dg.OpExecutionContext,
    location: Location,
    plan: Plan,
    shown: Metadata,
    *,
    applied: Concurrency | None,
) -> Iterator[object]:
    """Apply a plan in the way that is ``applied``, if it is to be."""
    events = plan_events(location, plan)
    if applied is not None:
        yield from events.carried_out(context, plan, applied)
        report_views(context.instance, location.project.services, plan, events.keys)
        if plan.promotes:
            context.log.info(
                f"{plan.environment} shows this plan. Reload this code location to update "
                "its assets."
            )
    shown |= {EventKey.APPLIED: applied is not None, **done_metadata(events.done)}
