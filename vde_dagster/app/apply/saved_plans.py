"""Plans in files: written for a review, read again without the project's files, and applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.plan.planned_again import planned_again
from vde_dagster.app.promote.promotion import end_promotions, finish_promotions
from vde_dagster.app.services import Services
from vde_dagster.core.errors import ProjectInvalid, Refused
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_file import PlanFileInvalid, read_plan, write_plan
from vde_dagster.core.planning.remaining_work import nothing_left, refuse_moved, still_to_do
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.settings import with_values, without_values
from vde_dagster.version import __version__

Snapshots = Mapping[ModelName, ModelSnapshot]


def saved_text(configuration: Configuration, plan: Plan) -> str:
    """The text of a file with a plan of a project.

    Values of variables and of Spark's settings that ``vde.yaml`` takes from environment variables
    are left out: they may be secrets. Applying takes them from there again.
    """
    variables, session = configuration.outside_variables, configuration.outside_session
    shared = _with_sources(
        plan.snapshots, lambda source: without_values(source, variables, session)
    )
    return write_plan(
        replace(plan, snapshots=shared), project=configuration.name, release=__version__
    )


def read_saved(configuration: Configuration, text: str, *, name: str) -> Plan:
    """The plan in a file, with the models as they were reviewed, whatever became of their files.

    Args:
        configuration: The project's ``vde.yaml``; no other file of the project is read.
        text: What the file says.
        name: What messages call it.

    Raises:
        PlanFileInvalid: It is no plan of this project, or not as it was saved.
        Refused: A variable or a setting that the plan's models use has no value here.
    """
    saved = read_plan(text, name=name)
    if saved.project != configuration.name:
        raise PlanFileInvalid(
            f"{name} is a plan of the project {saved.project}, and this is {configuration.name}",
            advice="Name the folder of that project with --project.",
        )
    variables, session = configuration.variables, configuration.session
    try:
        snapshots = _with_sources(
            saved.snapshots, lambda source: with_values(source, variables, session)
        )
        graph = stored_graph(snapshots)
    except (ProjectInvalid, LookupError, SyntaxError, TypeError, ValueError) as error:
        raise PlanFileInvalid(
            f"the models in {name}, which release {saved.release} saved, cannot be read here: "
            f"{error}"
        ) from error
    return replace(saved.plan(graph), snapshots=snapshots)


def is_applied(services: Services, plan: Plan) -> bool:
    """Whether an environment already shows what a plan promotes, perhaps after a crash."""
    shown = services.state.environment(plan.environment)
    return shown is not None and shown.plan_id == plan.plan_id


def renewed(services: Services, plan: Plan) -> Plan:
    """What is still to be done of a reviewed plan.

    The models' inputs and loaded intervals are looked at again. The time is that of the reviewed
    plan, so intervals that became due since are left to a later one.

    Raises:
        Conflict: The environment or the stored snapshots changed since; nothing was written.
    """
    refuse_moved(plan, services.state.revision(plan.environment))
    finish_promotions(services, plan.environment)
    return still_to_do(plan, planned_again(services, plan))


def left_of(services: Services, plan: Plan) -> tuple[Plan, bool]:
    """What is left to do of a reviewed plan, and whether it was applied before.

    Promotions that an earlier process left are finished first.

    Raises:
        Conflict: The environment or the stored snapshots changed since; nothing was written.
        Refused: The project's clock had no time when the plan was saved.
    """
    if plan.now is None:
        raise Refused(
            "the project's clock had no time when this plan was saved", advice="plan again."
        )
    if is_applied(services, plan):
        end_promotions(services, plan.environment)
        return nothing_left(plan), True
    return renewed(services, plan), False


def _with_sources(snapshots: Snapshots, change: Callable[[ModelSource], ModelSource]) -> Snapshots:
    return {name: replace(each, source=change(each.source)) for name, each in snapshots.items()}
