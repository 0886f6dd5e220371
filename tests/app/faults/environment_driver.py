"""A process that moves an environment's views: a fork that calls `act`.

It gets a job and what the job needs. It computes nothing, so it starts no Spark. It says ``ready``
before what others compete with, and goes on when it gets an answer.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from multiprocessing.connection import Connection
from typing import Any, Final

from tests.app.faults.endings import ending
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.app.services import Services
from vde_dagster.cli.looks.query import ask
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import VdeError
from vde_dagster.core.names import TableName, environment_view
from vde_dagster.core.planning.plan import Plan
from vde_dagster.lakehouse.catalogs.views import SqlViews
from vde_dagster.lakehouse.iceberg.view_metadata import MetadataFiles

POINTS: Final[dict[str, tuple[type, str, bool]]] = {
    "in the middle of the files of the views": (MetadataFiles, "write", True),
    "after the files of the views": (SqlViews, "_commit", False),
    "in the transaction of the views": (SqlViews, "_apply", True),
    "after the transaction of the views": (SqlViews, "_commit", True),
}
"""Points inside of the swap of the views: a class, its method, and whether it lies after the call.

Those between the calls of ports are told in memory, by generated histories.
"""
_A_WHILE: Final = 0.01
_CALLS: Final = {"write": 2}
"""At which call of a method in the adapter the process is killed, if not at the first."""


def die(folder: str, what: str, point: str) -> None:
    """Promote dev to prod, or roll prod back, and be killed at a point of it."""
    services = VdeProject.load(folder).services
    plan = _move(services, what)
    _die_inside(*POINTS[point])
    _ended(services, plan)
    _say("it went on")


def _die_inside(place: type, method: str, after: bool) -> None:
    """Let the process be killed at a call of a method of the adapter."""
    calls, found = count(1), getattr(place, method)

    def deadly(*args: Any, **kwargs: Any) -> Any:
        is_last = next(calls) == _CALLS.get(method, 1)
        done = None if is_last and not after else found(*args, **kwargs)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    setattr(place, method, deadly)


def move(folder: str, first: str, times: str) -> None:
    """Promote dev to prod and roll prod back in turn, beginning with one of both."""
    services = VdeProject.load(folder).services
    begun = ("promote", "rollback").index(first)
    moves = [("promote", "rollback")[(begun + number) % 2] for number in range(int(times))]
    _wait("ready")
    _say([_ended(services, _move(services, what)) for what in moves])


def read(folder: str) -> None:
    """Read all views of prod, say so, and again and again until an answer comes; once more.

    They are looked up, and a query reads a row of each, as `vde query` does. Each look at the
    catalog takes a while, so that promotions come between two of them.
    """
    _slow_down()
    project = VdeProject.load(folder)
    names = [node.name for node in project.files.graph if not node.model.kind.is_source]
    views = [environment_view(each, "prod", project.configuration.naming) for each in names]
    columns = ", ".join(f"{each.name}.x AS {each.name}" for each in names)
    query = f"SELECT {columns} FROM {' CROSS JOIN '.join(map(str, names))}"
    seen: Counter[tuple[str, ...]] = Counter()
    rows: Counter[tuple[object, ...]] = Counter()

    def look() -> None:
        shown = project.services.catalog.views(views)
        seen[tuple(sorted(each.target.name for each in shown.values()))] += 1
        (row,) = ask(project, query, environment="prod", limit=9, engine="duckdb").rows
        rows[row] += 1

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
    _say({"targets": [*seen.items()], "rows": [*rows.items()]})


def _slow_down() -> None:
    found = SqlViews._entries

    def slow(self: SqlViews, names: Sequence[TableName]) -> Any:
        entries = found(self, names)
        time.sleep(_A_WHILE)
        return entries

    SqlViews._entries = slow  # type: ignore[method-assign]


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


def _wait(said: object) -> None:
    _say(said)
    _talk[0].recv()


def _say(answer: object) -> None:
    _talk[0].send(answer)


JOBS: Final[dict[str, Callable[..., None]]] = {each.__name__: each for each in (die, move, read)}


def act(line: Connection, job: str, *arguments: str) -> None:
    """What the process does, with whom it talks about it."""
    _talk.append(line)
    JOBS[job](*arguments)


_talk: Final[list[Connection]] = []
"""The line of this process, once it has one."""
