"""A process that moves an environment's views: a fork that calls `act`.

It gets a job and what the job needs. It computes nothing, so it starts no Spark. It says ``ready``
before what others compete with, and goes on when it gets an answer.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any, Final

from tests.app.faults.endings import ending
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.app.services import Services
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import environment_view
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.core.planning.plan import Plan

POINTS: Final = {
    "before the lease": ("state", "acquire_lease", False),
    "after the lease": ("state", "acquire_lease", True),
    "before it is begun": ("state", "begin_promotion", False),
    "after it is begun": ("state", "begin_promotion", True),
    "before the views": ("catalog", "swap_views", False),
    "after the views": ("catalog", "swap_views", True),
    "before it is finished": ("state", "finish_promotion", False),
    "after it is finished": ("state", "finish_promotion", True),
    "before the lease is given back": ("state", "release_lease", False),
    "after the lease is given back": ("state", "release_lease", True),
}
"""Each point of a promotion: a port, its method, and whether it lies after the call."""


@dataclass(frozen=True)
class Deadly:
    """A port at one of whose calls the process is killed."""

    port: object
    method: str
    after: bool

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.port, name)
        if name != self.method:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.after:
                found(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)

        return call


def compete(folder: str, environment: str) -> None:
    """Plan, wait for the others, and apply: say how it ended, and by which plan."""
    project = VdeProject.load(folder)
    options = PlanOptions(skip_backfill=True)
    plan = plan_environment(project.services, project.files.graph, environment, options)
    _wait("ready")
    _say({"plan": plan.plan_id, "ended": _ended(project.services, plan)})


def die(folder: str, what: str, point: str) -> None:
    """Promote dev to prod, or roll prod back, and be killed at a point of it."""
    services = VdeProject.load(folder).services
    port, method, after = POINTS[point]
    deadly: dict[str, Any] = {port: Deadly(getattr(services, port), method, after)}
    _ended(replace(services, **deadly), _move(services, what))
    _say("it went on")


def move(folder: str, first: str, count: str) -> None:
    """Promote dev to prod and roll prod back in turn, beginning with one of both."""
    services = VdeProject.load(folder).services
    begun = ("promote", "rollback").index(first)
    moves = [("promote", "rollback")[(begun + number) % 2] for number in range(int(count))]
    _wait("ready")
    _say([_ended(services, _move(services, what)) for what in moves])


def read(folder: str) -> None:
    """Read all views of prod, say so, and again and again until an answer comes; once more."""
    project = VdeProject.load(folder)
    names = [node.name for node in project.files.graph if not node.model.kind.is_source]
    views = [environment_view(each, "prod", project.configuration.naming) for each in names]
    seen: Counter[tuple[str, ...]] = Counter()

    def look() -> None:
        shown = project.services.catalog.views(views)
        seen[tuple(sorted(each.target.name for each in shown.values()))] += 1

    look()
    _say("reading")
    stopped = threading.Event()

    def wait() -> None:
        _talk[0].recv()
        stopped.set()

    threading.Thread(target=wait, daemon=True).start()
    while not stopped.is_set():
        look()
    look()
    _say([{"targets": targets, "times": times} for targets, times in seen.items()])


def _move(services: Services, what: str) -> Plan:
    if what == "promote":
        return plan_promotion(services, "dev", "prod")
    return plan_rollback(services, "prod")


def _ended(services: Services, plan: Plan) -> str:
    try:
        apply_plan(services, plan, lambda _: None)
    except VdeError as error:
        return ending(error)
    return "done"


def _wait(said: str) -> None:
    _say(said)
    _talk[0].recv()


def _say(answer: object) -> None:
    _talk[0].send(answer)


JOBS: Final[dict[str, Callable[..., None]]] = {
    each.__name__: each for each in (compete, die, move, read)
}


def act(line: Connection, job: str, *arguments: str) -> None:
    """What the process does, with whom it talks about it."""
    _talk.append(line)
    JOBS[job](*arguments)


_talk: Final[list[Connection]] = []
"""The line of this process, once it has one."""
