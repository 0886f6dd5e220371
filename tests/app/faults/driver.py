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
import threading
import time
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
from vde_dagster.core.planning.scheduling import Concurrency

SHORT: Final = timedelta(seconds=2)
"""How long a lease outlives its process, in tests where others take over."""

_begun: dict[str, Evaluations] = {}


def start(folder: str) -> Iterator[object]:
    """Start Spark."""
    VdeProject.load(folder).open_spark()
    yield "ready"


def apply(folder: str, restate: Sequence[str] = ()) -> Iterator[object]:
    """Plan and apply, and say which models had something to do."""
    project = VdeProject.load(folder)
    options = PlanOptions(restate=tuple(restate))
    plan = plan_environment(project.services, project.files.graph, "prod", options)
    yield sorted({each.key.model.name for each in apply_plan(project.services, plan, _nobody)})


def at_once(folder: str, models: int, sleep: int) -> Iterator[object]:
    """Plan and apply with so many models at once; how many rows each has."""
    yield _applied_at_once(VdeProject.load(folder), models, sleep)


def interrupted(folder: str, models: int, sleep: int) -> Iterator[object]:
    """The same, and Ctrl-C once Spark is at 16 tasks; how it ended, and which threads are left."""
    project = VdeProject.load(folder)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in what a script starts beside it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_interrupt, args=(project,), daemon=True).start()
    ended = "done"
    try:
        _applied_at_once(project, models, sleep)
    except KeyboardInterrupt as error:
        ended = type(error).__name__
    threads = (each.name for each in threading.enumerate())
    yield {"ended": ended, "threads": [each for each in threads if each.startswith("models ")]}


def _applied_at_once(project: VdeProject, models: int, sleep: int) -> dict[str, int]:
    os.environ["VDE_TEST_SLEEP"] = str(sleep)
    plan = plan_environment(project.services, project.files.graph, "prod")
    done = apply_plan(project.services, plan, _nobody, concurrency=Concurrency(models=models))
    return {each.key.model.name: each.rows for each in done}


def _interrupt(project: VdeProject) -> None:
    engine = project.services.engine
    while (found := engine.progress()) is None or not any(e.tasks == 16 for e in found.stages):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def converge(folder: str, restate: Sequence[str] = ()) -> Iterator[object]:
    """Plan, apply, and report each model's outcome and what is left to do."""
    list(apply(folder, restate))
    project = VdeProject.load(folder)
    binding = bind_environment(project.services, "prod")
    assert binding is not None
    verified = {each.key.model.name: each.holds for each in verify(project.services, binding)}
    again = plan_environment(project.services, project.files.graph, "prod")
    yield {"verified": verified, "left": [str(each.name) for each in again.backfills]}


def read(folder: str) -> Iterator[object]:
    """The number of rows and the sum of the amounts that production's views show."""
    project = VdeProject.load(folder)
    session, catalog = project.open_spark(), project.configuration.catalog.name
    names = [node.name for node in project.files.graph if node.name.schema == "kept"]
    found = {}
    for name in names:
        shown = session.table(f"{catalog}.{name.schema}.{name.name}")
        found[name.name] = list(shown.selectExpr("COUNT(*)", "SUM(amount)").collect()[0])
    yield found


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


JOBS: Final = {
    each.__name__: each
    for each in (start, apply, converge, read, begin, go_on, hold, fail, at_once, interrupted)
}


def _nobody(_: object) -> None:
    """Report no unit of work."""


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        for answer in JOBS[job.pop("do")](**job):
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
