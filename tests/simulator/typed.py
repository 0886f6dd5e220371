"""Commands as people type them: through the entry of `vde`, over a project's files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from unittest.mock import patch

from tests.app.generated_models import OTHERS
from tests.app.memory_world import RAW_COLUMNS, SOURCE, file_of
from tests.cli.calling import call
from tests.cli.changing import apply_here, catch_up_here
from tests.simulator.commands import Models, Words
from vde_dagster.app.services import Services
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import VdeError
from vde_dagster.orchestration.jobs import runs as jobs

_CONFIGURATION: Final = (
    "name: sim\ndefaults: {start: 2024-01-01}\nclock: {valid_to: [raw.events]}\n"
)
_BUG: Final = "This is a bug"


class CommandFailed(VdeError):
    """A command ended with another exit code than 0, and said why."""


@dataclass
class Terminal:
    """A project's folder, which outlives every command."""

    _folder: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)

    def close(self) -> None:
        """Remove it."""
        self._folder.cleanup()

    def type(self, services: Services, models: Models, words: Words) -> None:
        """Carry out a command over these files.

        Raises:
            CommandFailed: Its exit code is not 0.
            AssertionError: It ended in what it calls a bug.
        """
        folder = Path(self._folder.name)
        write_project(folder, models)

        def served(project: VdeProject) -> Services:
            return replace(services, models=project.models)

        with (
            patch.object(VdeProject, "services", property(served)),
            patch.object(jobs, "run_plan", apply_here),
            patch.object(jobs, "run_catch_up", catch_up_here),
        ):
            done = call(*words, "--project", folder)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        if _BUG in done.output:
            raise AssertionError(f"`vde {' '.join(words)}` ends in a bug: {done.output}")
        if done.exit_code:
            raise CommandFailed(f"exit code {done.exit_code}: {done.stderr.strip()}")


def write_project(folder: Path, models: Models) -> None:
    """Write a project's files, and remove those of an earlier one."""
    for path in [*folder.glob("models/*"), *folder.glob("signals/*")]:
        path.unlink()
    sources = [{"name": str(name), "columns": RAW_COLUMNS} for name in (SOURCE, OTHERS)]
    texts = {"vde.yaml": _CONFIGURATION, "external_models.yaml": json.dumps(sources)}
    for made in models:
        texts[str(file_of(made.path))] = made.text
        for name, text in made.files.items():
            texts[name if "/" in name else f"models/{name}"] = text
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
