"""Dagster's daemon in a history: a tick of an environment's sensor, and the runs it asks for."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import dagster as dg

from tests.app.memory_world import MemoryWorld
from tests.dagster_storage import keep_engines
from tests.orchestration.automated_world import AutomatedWorld
from tests.orchestration.served import instance_at
from tests.simulator.commands import Models
from tests.simulator.typed import write_project


@dataclass
class Daemon:
    """A project's folder and Dagster's instance, which outlive every tick."""

    world: MemoryWorld
    _folder: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)
    _home: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)

    @cached_property
    def instance(self) -> dg.DagsterInstance:
        """Dagster's storage, of this history alone."""
        keep_engines()
        return instance_at(Path(self._home.name))

    def close(self) -> None:
        """End both; SQLite's connections belong to the thread that ends a history."""
        self.instance.dispose()
        self._folder.cleanup()
        self._home.cleanup()

    def tick(self, environment: str, files: Models) -> tuple[str, list[str]]:
        """What a tick of an environment's sensor says, and how each run that was asked for ended.

        The sensor of late data looks before, where there is one.
        """
        automated = AutomatedWorld(Path(self._folder.name), self.instance, self.world)
        write_project(automated.folder, files)
        definitions = automated.definitions(environment)
        late, last = f"vde_late_data_{environment}", f"vde_automation_{environment}"
        names = [each.name for each in definitions.sensors or () if each.name in (late, last)]
        ended: list[str] = []
        said = ""
        for name in sorted(names, key=[late, last].index):
            sensor = definitions.resolve_sensor_def(name)
            with dg.build_sensor_context(
                instance=self.instance, definitions=definitions
            ) as context:
                answer = sensor.evaluate_tick(context)
            said = answer.skip_message or ""
            ended.extend(self._run(definitions, each) for each in answer.run_requests or ())
        return said, ended

    def _run(self, definitions: dg.Definitions, request: dg.RunRequest) -> str:
        """Execute a run; why it failed, empty if it did not."""
        job = definitions.resolve_job_def(request.job_name or "")
        logging.disable(logging.CRITICAL)
        try:
            done = job.execute_in_process(
                run_config=request.run_config,
                tags=dict(request.tags),
                instance=self.instance,
                raise_on_error=False,
            )
        finally:
            logging.disable(logging.NOTSET)
        return "" if done.success else "\n".join(filter(None, map(_why, done.all_events)))


def _why(event: dg.DagsterEvent) -> str:
    """Why a step or a run failed; empty for other events."""
    error = event.step_failure_data.error if event.is_step_failure else None
    said = error.message if error is not None else event.message
    return str(said) if event.is_failure else ""
