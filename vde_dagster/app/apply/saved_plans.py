"""Plans in files: written for a review, read again without the project's files, and applied."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vde_dagster.app.binding import stored_graph
from vde_dagster.app.plan.planned_again import planned_again
from vde_dagster.app.promote.promotion import end_promotions, finish_promotions
from vde_dagster.app.services import Services
from vde_dagster.core.errors import ProjectInvalid, Refused
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import ModelSnapshot
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_file import (
    PlanFileInvalid,
    is_plan_file,
    nothing_left,
    read_plan,
    refuse_moved,
    still_to_do,
    write_plan,
)
from vde_dagster.core.planning.pull_request import (
    PullRequest,
    planning_again,
    read_request,
    write_request,
)
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.file_writing import read_as_written, replace_text
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
        PlanFileInvalid: It is not a plan of this project, or not as it was saved.
        Refused: A variable or a setting that the plan's models use has no value here.
    """
    saved = read_plan(text, name=name)
    if saved.project != configuration.name:
        raise PlanFileInvalid(
            f"{name} is a plan of the project {saved.project}, but this is {configuration.name}",
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


def left_of(services: Services, plan: Plan) -> tuple[Plan, bool]:
    """What is left to do of a reviewed plan, and whether it was applied before.

    The models' inputs and loaded intervals are looked at again. The time is that of the reviewed
    plan, so intervals that became due since are left to a later one. Promotions that an earlier
    process left are finished first.

    Raises:
        Conflict: The environment or the stored snapshots changed since; nothing was written.
        Refused: The project's clock had no time when the plan was saved.
    """
    if plan.now is None:
        raise Refused(
            "the project's clock was not set when this plan was saved", advice="plan again."
        )
    if is_applied(services, plan):
        end_promotions(services, plan.environment)
        return nothing_left(plan), True
    refuse_moved(plan, services.state.revision(plan.environment))
    finish_promotions(services, plan.environment)
    return still_to_do(plan, planned_again(services, plan)), False


def _with_sources(snapshots: Snapshots, change: Callable[[ModelSource], ModelSource]) -> Snapshots:
    return {name: replace(each, source=change(each.source)) for name, each in snapshots.items()}


def save_plan(configuration: Configuration, plan: Plan, path: Path) -> None:
    """Write a plan to a file, whole or not at all. Only a saved plan is overwritten.

    Raises:
        Refused: Something else is there, or the file cannot be written.
    """
    before = read_as_written(path)
    if before and not is_plan_file(before):
        raise Refused(
            f"{path} exists and is not a saved plan; it was not changed",
            advice="Name another file.",
        )
    replace_text(path, before, saved_text(configuration, plan))


def load_plan(configuration: Configuration, path: Path) -> Plan:
    """The plan in a file.

    Raises:
        Refused: There is no such file, or it is not a plan that can be applied.
    """
    text = read_as_written(path)
    if text is None:
        raise Refused(f"file not found: {path}", advice=f"`vde plan ENV --save {path}` writes one.")
    return read_saved(configuration, text, name=str(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestFiles:
    """The files of the request whose environment has a name, in a folder."""

    folder: Path
    environment: str

    @property
    def plan(self) -> Path:
        """The plan that promotes the request's environment."""
        return self.folder / f"{self.environment}.plan.json"

    @property
    def record(self) -> Path:
        """What became of the request."""
        return self.folder / f"{self.environment}.json"

    def save(
        self, configuration: Configuration, request: PullRequest, promotion: Plan | None
    ) -> None:
        """Write what became of a request. Without a plan that of an earlier time is removed.

        The plan comes first, and is missing first: a process that finds a record of a request that
        is built finds its plan.

        Raises:
            Refused: Something else is there, or the files cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        before = read_as_written(self.record)
        if promotion is None:
            self.remove()
            before = None
        else:
            save_plan(configuration, promotion, self.plan)
        text = json.dumps(write_request(request), indent=2)
        replace_text(self.record, before, f"{text}\n")

    def read(self) -> PullRequest:
        """What became of the request.

        Raises:
            Refused: There is no record, or it is something else.
        """
        text = read_as_written(self.record)
        if text is None:
            raise Refused(
                f"file not found: {self.record}",
                advice=f"Run {planning_again(self.environment)} first, and pass its files from "
                "one CI step to the next.",
            )
        try:
            content = json.loads(text)
        except ValueError as error:
            raise Refused(
                f"{self.record} is not valid JSON: {error}",
                advice=f"Run {planning_again(self.environment)} again.",
            ) from error
        return read_request(content, name=str(self.record), environment=self.environment)

    def remove(self) -> None:
        """Remove both files; it is not an error if they are missing.

        Raises:
            Refused: They cannot be removed.
        """
        try:
            self.record.unlink(missing_ok=True)
            self.plan.unlink(missing_ok=True)
        except OSError as error:
            what = f"the files in {self.folder} cannot be removed: {error.strerror}"
            raise Refused(what, advice="Name their folder with --files.") from error
