"""What the steps of a pull request leave for each other: its record, and the plan to be approved.

In CI each step may run on another machine. Then this folder is what goes from one to the next.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from vde_dagster.app.apply.plan_files import load_plan, save_plan
from vde_dagster.core.errors import Refused
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.pull_request import (
    PullRequest,
    planning_again,
    read_request,
    write_request,
)
from vde_dagster.project.configuration import Configuration
from vde_dagster.project.file_writing import read_as_written, replace_text


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

        The plan comes first, and is gone first: whoever finds a record of a request that is built
        finds its plan.

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
                f"there is no file {self.record}",
                advice=f"Run {planning_again(self.environment)} first; its files have to be "
                "carried from one step of CI to the next.",
            )
        try:
            content = json.loads(text)
        except ValueError as error:
            raise Refused(
                f"{self.record} is no JSON: {error}",
                advice=f"Run {planning_again(self.environment)} again.",
            ) from error
        return read_request(content, name=str(self.record), environment=self.environment)

    def promotion(self, configuration: Configuration) -> Plan:
        """The plan that was saved for the approval.

        Raises:
            Refused: There is none, or it cannot be applied.
        """
        return load_plan(configuration, self.plan)

    def remove(self) -> None:
        """Remove both files; it is no error if they are gone.

        Raises:
            Refused: They cannot be removed.
        """
        try:
            self.record.unlink(missing_ok=True)
            self.plan.unlink(missing_ok=True)
        except OSError as error:
            what = f"the files in {self.folder} cannot be removed: {error.strerror}"
            raise Refused(what, advice="Name their folder with --files.") from error
