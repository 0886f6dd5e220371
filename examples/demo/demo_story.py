"""How `./run demo` goes on after the build: what environments are for, in six chapters.

Each chapter does what the commands that it prints do, on the project in the user's folder. Its
figures are counted from what was done. The second and the fifth chapter edit a file of the project,
as a developer would; the fifth takes its edit back, so that in the end the files are what prod
shows. Told again, the story finds everything done, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from demo_sources import land

from vde_dagster.cli.looks.built import Built
from vde_dagster.cli.printing import console

if TYPE_CHECKING:
    from vde_dagster.app.evaluate.evaluated import Evaluated
    from vde_dagster.composition import VdeProject
    from vde_dagster.core.planning.plan import Plan

PRODUCTION: Final = "prod"
DEVELOPMENT: Final = "dev"
LATER: Final = timedelta(hours=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of one file of the project: ``before`` is in it once, or ``after`` does."""

    file: str
    before: str
    after: str

    def make(self, folder: Path) -> bool:
        """Edit the file; False if the user has changed it, so that the edit does not fit."""
        return self._replace(folder, self.before, self.after)

    def take_back(self, folder: Path) -> None:
        """Make the edit undone; a file that the user changed meanwhile stays."""
        self._replace(folder, self.after, self.before)

    def _replace(self, folder: Path, old: str, new: str) -> bool:
        path = folder / self.file
        text = path.read_text("utf-8") if path.is_file() else ""
        if text.count(old) == 1 and new not in text:
            path.write_text(text.replace(old, new), "utf-8")
            return True
        return text.count(new) == 1 and old not in text


EARLY_IS_NO_DELAY: Final = Edit(
    file="models/mart/carrier_delays.sql",
    before="CAST(SUM(departure_delay_minutes) AS DOUBLE)",
    after="CAST(SUM(GREATEST(departure_delay_minutes, 0)) AS DOUBLE)",
)
"""It changes one column, which one view reads."""

SCHEDULED_HOUR: Final = Edit(
    file="models/core/flights.sql",
    before="w.observed_at = DATE_TRUNC('HOUR', d.scheduled_departure)",
    after="w.observed_at = d.scheduled_hour",
)
"""A refactoring: the upstream model has the hour already. Only the rows can tell that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """What one chapter did: a row in ``computed`` for each model that was computed."""

    title: str
    commands: tuple[str, ...]
    seconds: float
    computed: tuple[Built, ...]
    skipped: bool = False


def tell(folder: Path, until: datetime, output: str) -> tuple[Chapter, ...]:
    """Do all chapters in order; with text output each is printed as it happens."""
    story = _Story(folder, until, is_text=output == "text")
    return (
        story.chapter("A dev environment, without a copy", ("vde plan dev",), story.dev),
        story.chapter("An edit, built next to production", ("vde plan dev",), story.edit),
        story.chapter("Promotion", ("vde promote dev",), story.promotion),
        story.chapter("Late flights", ("vde run prod",), story.late_flights),
        story.chapter(
            "A refactoring that changes no row",
            ("vde plan dev", "vde promote dev"),
            story.refactoring,
        ),
        story.chapter("Rollback", ("vde rollback prod",), story.rollback),
    )


class _Story:
    """The project in a folder, and the voice that tells what is done with it."""

    def __init__(self, folder: Path, until: datetime, *, is_text: bool) -> None:
        self._folder = folder
        self._until = until
        self._is_text = is_text
        self._told = 0

    def chapter(
        self, title: str, commands: tuple[str, ...], act: Callable[[], Sequence[Built] | None]
    ) -> Chapter:
        """Do one chapter, and measure it. None from ``act`` says that it was left out."""
        from rich.text import Text

        self._told += 1
        if self._is_text:
            heading = (f"\n{self._told}. {title}", "bold")
            console().print(Text.assemble(heading, f"   {'; '.join(commands)}\n"))
        started = time.monotonic()
        computed = act()
        seconds = time.monotonic() - started
        return Chapter(
            title=title,
            commands=commands,
            seconds=seconds,
            computed=tuple(computed or ()),
            skipped=computed is None,
        )

    def dev(self) -> Sequence[Built]:
        self._say("A second environment shows the same tables through views of its own.")
        started = time.monotonic()
        computed = self._plan_dev()
        views = self._environment(DEVELOPMENT)
        same = sum(version == views.get(name) for name, version in self._prod().items())
        self._say(
            f"dev has {len(views)} models, {same} of them on the tables of prod. "
            f"{_computed(computed)} It took {time.monotonic() - started:.1f} s."
        )
        return computed

    def edit(self) -> Sequence[Built] | None:
        self._say(
            f"In {EARLY_IS_NO_DELAY.file} a flight that leaves early is no longer a negative "
            "delay. The plan knows which columns change and which models read them. All other "
            "models keep their tables."
        )
        if not EARLY_IS_NO_DELAY.make(self._folder):
            self._leave_out(EARLY_IS_NO_DELAY)
            return None
        prod = self._prod()
        computed = self._plan_dev()
        unmoved = (
            "prod shows the same tables as before" if self._prod() == prod else "prod has changed"
        )
        self._say(f"{_computed(computed)} Only dev changed: {unmoved}.")
        return computed

    def promotion(self) -> Sequence[Built]:
        from vde_dagster.app.promote.taking import plan_promotion

        self._say("prod now shows the tables computed in dev: all views move in one transaction.")
        project = self._project()
        computed = self._apply(project, plan_promotion(project.services, DEVELOPMENT, PRODUCTION))
        self._say(_computed(computed))
        return computed

    def late_flights(self) -> Sequence[Built]:
        from vde_dagster.app.apply.running import plan_run
        from vde_dagster.cli.plans.plan import show
        from vde_dagster.cli.runs.run import print_computed

        self._say(
            "Three more hours of data arrive, with late flights of the day before. Late rows are "
            "found in Iceberg's metadata. Only the affected hours and days of downstream models "
            "are recomputed."
        )
        project = self._project()
        land(project, self._folder, self._until + LATER)
        plan = plan_run(project.services, PRODUCTION)
        if self._is_text:
            show(plan, of_run=True)
        if plan.is_empty:
            return ()
        done = self._done(project, plan)
        if self._is_text:
            print_computed(project, plan, done)
        return _built(project, plan, done)

    def refactoring(self) -> Sequence[Built] | None:
        self._say(
            f"{SCHEDULED_HOUR.file} now joins on a column that already has the hour. The query "
            "text alone cannot prove that the result is the same, so the model is computed. Its "
            "rows have the same digest, so everything downstream keeps its table."
        )
        if not SCHEDULED_HOUR.make(self._folder):
            self._leave_out(SCHEDULED_HOUR)
            return None
        try:
            computed = self._plan_dev()
        finally:
            SCHEDULED_HOUR.take_back(self._folder)
        prod, dev = self._prod(), self._environment(DEVELOPMENT)
        other = sorted(name for name, version in dev.items() if prod.get(name) != version)
        self._say(
            f"{_computed(computed)} Models whose table in dev differs from prod: "
            f"{', '.join(other) or 'none'}."
        )
        return [*computed, *self.promotion()]

    def rollback(self) -> Sequence[Built]:
        from vde_dagster.app.promote.taking import plan_rollback
        from vde_dagster.core.errors import Refused

        self._say("The refactoring was not wanted: prod goes back to the versions before it.")
        project = self._project()
        try:
            plan = plan_rollback(project.services, PRODUCTION)
        except Refused as refused:
            self._say(str(refused))
            return ()
        computed = self._apply(project, plan)
        self._say(f"{_computed(computed)} Roll back again to undo it.")
        return computed

    def _project(self) -> VdeProject:
        """The project as its files are now."""
        from vde_dagster.composition import VdeProject

        return VdeProject.load(self._folder)

    def _plan_dev(self) -> Sequence[Built]:
        from vde_dagster.cli.plans.plan import make_plan

        project = self._project()
        return self._apply(project, make_plan(project, DEVELOPMENT))

    def _apply(self, project: VdeProject, plan: Plan) -> Sequence[Built]:
        from vde_dagster.cli.plans.plan import print_built, show

        if self._is_text:
            show(plan)
        if plan.is_empty:
            return ()
        done = self._done(project, plan)
        if self._is_text and done:
            print_built(project, plan, done)
        return _built(project, plan, done)

    @staticmethod
    def _done(project: VdeProject, plan: Plan) -> tuple[Evaluated, ...]:
        from vde_dagster.cli.plans.plan import apply

        return apply(project, plan)

    def _prod(self) -> dict[str, str]:
        return self._environment(PRODUCTION)

    def _environment(self, name: str) -> dict[str, str]:
        """The version of each model that an environment shows, without sources."""
        project = self._project()
        models = {node.name for node in project.files.graph if not node.model.kind.is_source}
        shown = project.services.state.environment(name)
        snapshots = {} if shown is None else shown.snapshots
        return {str(key): each.version for key, each in snapshots.items() if key in models}

    def _leave_out(self, edit: Edit) -> None:
        self._say(f"You have changed {edit.file}, so this edit is skipped.")

    def _say(self, text: str) -> None:
        if self._is_text:
            click.echo(text)


def _built(project: VdeProject, plan: Plan, done: Sequence[Evaluated]) -> Sequence[Built]:
    from vde_dagster.app.binding import bind_plan
    from vde_dagster.cli.looks.built import built_by

    return built_by(project.services, bind_plan(plan), done)


def _computed(built: Sequence[Built]) -> str:
    rows = sum(each.rows or 0 for each in built)
    names = ", ".join(each.model for each in built if each.rows != 0)
    return f"Computed: {rows:,} rows{f' ({names})' if names else ''}."
