"""Dagster's daemon in a history: a tick of an environment's sensor, and the runs it asks for."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import dagster as dg

from tests.app.memory_world import MemoryWorld
from tests.orchestration.automated_world import AutomatedWorld
from tests.simulator.commands import Models
from tests.simulator.typed import write_project


@dataclass
class Daemon:
    """A project's folder and Dagster's instance, which outlive every tick."""

    world: MemoryWorld
    _folder: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)

    @cached_property
    def instance(self) -> dg.DagsterInstance:
        """Dagster's storage, in memory."""
        return dg.DagsterInstance.ephemeral()

    def close(self) -> None:
        """End both; SQLite's connections belong to the thread that ends a history."""
        self.instance.dispose()
        self._folder.cleanup()

    def tick(self, environment: str, files: Models) -> tuple[str, list[str]]:
        """What a tick of an environment's sensor says, and how each run that it asked for ended."""
        automated = AutomatedWorld(Path(self._folder.name), self.instance, self.world)
        write_project(automated.folder, files)
        definitions = automated.definitions(environment)
        sensor = definitions.resolve_sensor_def(f"vde_automation_{environment}")
        with dg.build_sensor_context(instance=self.instance, definitions=definitions) as context:
            answer = sensor.evaluate_tick(context)
        ended = []
        for request in answer.run_requests or ():
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
            failures = [each for each in done.all_events if each.is_failure]
            ended.append("" if done.success else str([each.message for each in failures])[:600])
        return answer.skip_message or "", ended
