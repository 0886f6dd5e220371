"""A process of its own that works on projects: ``python -m tests.app.faults.driver``.

Each line that it reads is a job as JSON, and each line that it prints an answer. ``do`` is the name
of a function here, and the rest are its arguments. What one job has begun waits at its point until
another job releases it. It works on one project after the other, since starting Spark takes long.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from tests.app.faults.gates import Evaluations
from tests.app.faults.lake import DAYS
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.binding import bind_environment
from vde_dagster.app.inspect.verify import verify
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.composition import VdeProject
from vde_dagster.core.planning.options import PlanOptions

SHORT: Final = timedelta(seconds=2)
"""How long a lease outlives its process, in tests where others take over."""

_begun: dict[str, Evaluations] = {}


def converge(folder: str, restate: Sequence[str] = ()) -> Iterator[object]:
    """Plan, apply, and report each model's outcome and what is left to do."""
    project = VdeProject.load(folder)
    options = PlanOptions(restate=tuple(restate))
    plan = plan_environment(project.services, project.files.graph, "prod", options)
    apply_plan(project.services, plan, lambda _: None)
    project = VdeProject.load(folder)
    binding = bind_environment(project.services, "prod")
    assert binding is not None
    verified = {each.key.model.name: each.holds for each in verify(project.services, binding)}
    again = plan_environment(project.services, project.files.graph, "prod")
    yield {"verified": verified, "left": [str(each.name) for each in again.backfills]}


def begin(folder: str, points: Mapping[str, str], day: int = 1) -> Iterator[object]:
    """Bring each of these models to a point of a day."""
    if folder not in _begun:
        _begun[folder] = Evaluations.of(folder)
    _begun[folder].come_to(points, DAYS[day])
    yield "there"


def go_on(folder: str) -> Iterator[object]:
    """Release what was begun, and say how each ended."""
    yield _begun.pop(folder).go_on()


def hold(folder: str, models: Sequence[str], day: int = 0) -> Iterator[object]:
    """Evaluate a day of models, whether it is loaded or not."""
    evaluations = Evaluations.of(folder)
    for name in models:
        evaluations.hold(name, DAYS[day], force=True)
    yield "held"


def fail(folder: str, then: str, points: Mapping[str, str], writing: str) -> Iterator[object]:
    """Come to points of the second day and into a write, and ``kill`` or ``stop`` the process.

    A process that was stopped goes on with all of them when it is woken.
    """
    evaluations = Evaluations.of(folder, SHORT)
    for name in (*points, writing):
        evaluations.hold(name, DAYS[0])
    evaluations.come_to(points, DAYS[1])
    gate = evaluations.come_into_write(writing, DAYS[1])
    if then == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    with evaluations.calls:
        caught = not gate.reached.is_set()
        os.killpg(os.getpgid(0), signal.SIGSTOP)
    yield {"ended": evaluations.go_on(), "caught": caught}


JOBS: Final = {each.__name__: each for each in (converge, begin, go_on, hold, fail)}


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        for answer in JOBS[job.pop("do")](**job):
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
