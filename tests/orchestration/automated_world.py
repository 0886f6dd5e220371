"""A project whose state, catalog and engine are in memory, served to Dagster; no Spark is started.

The adapters in memory pass the contract suites of the real ones.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import dagster as dg

from tests.app.memory_world import MemoryWorld, file_of
from tests.app.read_models import read_before
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import ProjectInvalid
from vde_dagster.orchestration.definitions import project_definitions
from vde_dagster.project.loading import load_files

CONFIGURATION = """\
name: automated
defaults:
  start: 2024-01-01
clock:
  valid_to: [raw.events]
"""
SOURCES = """\
- name: raw.events
  columns: {id: bigint, at: timestamp, amount: bigint}
"""


@dataclass
class AutomatedWorld:
    """The project, and what its sensors and jobs do on an instance."""

    folder: Path
    instance: dg.DagsterInstance
    world: MemoryWorld
    _locations: dict[str, dg.Definitions] = field(default_factory=dict)

    def write(self, models: dict[str, str]) -> None:
        """Write the project's files."""
        self._locations.clear()
        (self.folder / "models").mkdir(parents=True, exist_ok=True)
        (self.folder / "vde.yaml").write_text(CONFIGURATION, encoding="utf-8")
        (self.folder / "external_models.yaml").write_text(SOURCES, encoding="utf-8")
        for name, text in models.items():
            (self.folder / file_of(name)).write_text(text, encoding="utf-8")

    def project(self) -> VdeProject:
        """The project as a new process opens it, with its adapters in memory."""
        return opened(self.folder, self.world)

    def apply(self, environment: str = "prod") -> None:
        """Plan and apply, as a person does."""
        self._locations.clear()
        project = self.project()
        plan = plan_environment(project.services, project.files.graph, environment)
        apply_plan(project.services, plan, lambda _: None)

    def definitions(self, environment: str = "prod") -> dg.Definitions:
        """What is served of an environment; it stays loaded until files or views change."""
        if environment not in self._locations:
            self._locations[environment] = project_definitions(self.project(), environment)
        return self._locations[environment]

    def models(self) -> list[dg.AssetsDefinition]:
        """The assets of production's models."""
        return [e for e in self.definitions().assets or () if isinstance(e, dg.AssetsDefinition)]

    def tick(self, sensor: str = "vde_automation_prod") -> list[dg.RunRequest] | str:
        """What one tick answers: runs to launch, or why none."""
        return tick(self.definitions(), self.instance, sensor)

    def request(self, sensor: str = "vde_automation_prod") -> dg.RunRequest:
        """The one run that a tick requests."""
        answer = self.tick(sensor)
        assert isinstance(answer, list), answer
        (request,) = answer
        return request

    def skipped(self, sensor: str = "vde_automation_prod") -> str:
        """Why a tick requests nothing."""
        answer = self.tick(sensor)
        assert isinstance(answer, str), answer
        return answer

    def launch(self, request: dg.RunRequest, *, fails: bool = False) -> dg.ExecuteInProcessResult:
        """Execute a run that was requested."""
        return launch(self.definitions(), self.instance, request, fails=fails)


def tick(
    definitions: dg.Definitions, instance: dg.DagsterInstance, sensor: str
) -> list[dg.RunRequest] | str:
    """What one tick of a sensor answers: runs to launch, or why none."""
    found = definitions.resolve_sensor_def(sensor)
    with dg.build_sensor_context(instance=instance, definitions=definitions) as context:
        answer = found.evaluate_tick(context)
    return answer.skip_message or list(answer.run_requests or [])


def launch(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    request: dg.RunRequest,
    *,
    fails: bool = False,
) -> dg.ExecuteInProcessResult:
    """Execute a run that was requested."""
    result = definitions.resolve_job_def(request.job_name or "").execute_in_process(
        run_config=request.run_config,
        tags=dict(request.tags),
        instance=instance,
        raise_on_error=False,
    )
    assert result.success is not fails
    return result


def opened(folder: Path, world: MemoryWorld) -> VdeProject:
    """The project of a folder as a new process opens it, with its adapters in memory."""
    found = VdeProject.load(folder)
    vars(found)["services"] = world.services()
    known = read_before()
    if known is not None:
        with suppress(ProjectInvalid):  # whoever asks for the files is told
            vars(found)["files"] = load_files(found.configuration, known)
    return found


def in_production(
    folder: Path, instance: dg.DagsterInstance, models: dict[str, str]
) -> AutomatedWorld:
    """A project in production, complete for two days: 10 in the first, 1 in the second.

    It is applied once per process for equal models; each test gets a copy of the world.
    """
    made = AutomatedWorld(folder, instance, MemoryWorld())
    made.write(models)
    key = repr(sorted(models.items()))
    if key not in _APPLIED:
        made.world.land((5.5, 10), (30.5, 1), until=48)
        made.apply()
        _APPLIED[key] = made.world
    made.world = _APPLIED[key].copied()
    return made


_APPLIED: Final[dict[str, MemoryWorld]] = {}
