"""A process that cleans up or works beside: ``python -m tests.app.faults.clean_up_driver``.

Its arguments are a job and what the job needs. Rows are computed by
`tests.app.faults.arrow_engine`, so no JVM starts. It says ``ready`` before what others compete
with, and goes on when it gets a line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

from tests.app.faults.arrow_engine import ArrowEngine
from tests.app.faults.endings import ending
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.clean_up.janitor import clean_up
from vde_dagster.app.clean_up.maintaining import maintain
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.promote.promotion import finish_promotions
from vde_dagster.app.promote.taking import plan_rollback
from vde_dagster.app.services import Services
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import VdeError
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.lakehouse.upkeep import maintenance as expiring
from vde_dagster.lakehouse.upkeep.reachable import Folder

Point = tuple[str, str, bool]
"""A port or a place in the catalog's adapter, its method, and whether it lies after the call."""

JANITOR: Final[dict[str, Point]] = {
    "before the lease": ("state", "acquire_lease", False),
    "after the lease": ("state", "acquire_lease", True),
    "before the sweep": ("state", "record_sweep", False),
    "after the sweep": ("state", "record_sweep", True),
    "before the drop is begun": ("state", "begin_drop", False),
    "after the drop is begun": ("state", "begin_drop", True),
    "after the table left the catalog": ("folder", "delete", False),
    "in the middle of the files": ("folder", "delete", True),
    "after the files": ("catalog", "drop_physical", True),
    "after the drop is finished": ("state", "finish_drop", True),
    "after the old records": ("state", "prune", True),
}
"""Ten points of the janitor and one more."""

MAINTAIN: Final[dict[str, Point]] = {
    "before the lease": ("state", "acquire_lease", False),
    "after the lease": ("state", "acquire_lease", True),
    "before the compaction": ("engine", "compact", False),
    "after the compaction": ("engine", "compact", True),
    "before the announcement": ("catalog", "announce_expiry", False),
    "after the announcement": ("catalog", "announce_expiry", True),
    "before the expiry": ("catalog", "expire_announced", False),
    "after the expiry in metadata": ("expiring", "_delete", False),
    "in the middle of the files": ("folder", "delete", True),
    "after the files": ("expiring", "_take_back", False),
    "after the expiry": ("catalog", "expire_announced", True),
    "before the stray files": ("catalog", "delete_files", False),
    "after the stray files": ("catalog", "delete_files", True),
}
"""Ten points of maintenance and three more."""


_PATIENCE: Final = 120.0
"""For how many seconds something is tried that others always come before."""


def services_of(project: VdeProject) -> Services:
    """The project's ports, with an engine that needs no JVM."""
    engine: Any = ArrowEngine(project.iceberg_catalog(), project.state.identity())
    return replace(project.services, engine=engine)


def planned(folder: str, environment: str = "prod", *restate: str) -> list[str]:
    """Plan a project's files and apply that: the models that were computed."""
    project = VdeProject.load(folder)
    services = services_of(project)
    finish_promotions(services, environment)
    options = PlanOptions(restate=restate)
    plan = plan_environment(services, project.files.graph, environment, options)
    done = apply_plan(services, plan, lambda _: None)
    return sorted(str(each.key.model) for each in done if not each.reused)


def cleaned(folder: str, what: str, services: Services | None = None) -> None:
    """Run the janitor, or maintenance, once."""
    project = VdeProject.load(folder)
    services = services or services_of(project)
    configuration = project.configuration
    if what == "janitor":
        clean_up(services, configuration.times)
    else:
        maintain(services, configuration.times, configuration.maintain)


def die(folder: str, what: str, point: str) -> None:
    """Clean up, and be killed at a point of it."""
    services = services_of(VdeProject.load(folder))
    place, method, after = {"janitor": JANITOR, "maintain": MAINTAIN}[what][point]
    if place == "folder":
        _die_in_files(first=1 if not after else 3)
    elif place == "expiring":
        setattr(expiring, method, _killed)
    else:
        deadly: dict[str, Any] = {place: _Deadly(getattr(services, place), method, after)}
        services = replace(services, **deadly)
    cleaned(folder, what, services)
    _say("it went on")


def work(folder: str, what: str, count: str, other: str, workers: str) -> None:
    """Do one thing again and again beside others, until it was done once: say how each time ended.

    Who applies goes on until all of these workers have done theirs once, since only then is there
    something to go back to; each leaves a file in the other folder that says so.

    ``apply`` plans the files of two folders in turn, ``rollback`` goes back, ``restate`` computes
    all again, ``janitor`` and ``maintain`` clean up.
    """
    todo: dict[str, Callable[[int], object]] = {
        "apply": lambda number: planned((folder, other)[number % 2]),
        "restate": lambda _: planned(folder, "prod", "kept.*"),
        "rollback": lambda _: _back(folder),
        "janitor": lambda _: cleaned(folder, "janitor"),
        "maintain": lambda _: cleaned(folder, "maintain"),
    }
    _say("ready")
    sys.stdin.readline()
    ended: list[str] = []
    latest = time.monotonic() + _PATIENCE
    marks = Path(other) / "done"
    marks.mkdir(exist_ok=True)

    def is_over() -> bool:
        own = "done" in ended
        every = what != "apply" or len([*marks.iterdir()]) == int(workers)
        return len(ended) >= int(count) and own and every

    while not is_over() and (len(ended) < int(count) or time.monotonic() < latest):
        ended.append(_ended(todo[what], len(ended)))
        if ended[-1] == "done":
            (marks / str(os.getpid())).touch()
    _say(ended)


def _back(folder: str) -> None:
    services = services_of(VdeProject.load(folder))
    finish_promotions(services, "prod")
    apply_plan(services, plan_rollback(services, "prod"), lambda _: None)


def _ended(do: Callable[[int], object], number: int) -> str:
    try:
        do(number)
    except VdeError as error:
        return ending(error)
    return "done"


class _Deadly:
    """A port at one of whose calls the process is killed."""

    def __init__(self, port: object, method: str, after: bool) -> None:
        self._port, self._method, self._after = port, method, after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if name != self._method:
            return found

        def call(*args: Any, **kwargs: Any) -> NoReturn:
            if self._after:
                found(*args, **kwargs)
            _killed()

        return call


def _die_in_files(*, first: int) -> None:
    """Let the process be killed when it is about to delete a file, the first or a later one."""
    delete = Folder.delete

    def deadly(self: Folder, paths: Iterable[str]) -> None:
        for number, path in enumerate(paths, start=1):
            if number == first:
                _killed()
            delete(self, [path])

    Folder.delete = deadly  # type: ignore[method-assign]


def _killed(*_: object, **__: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nothing happens after that")


def _say(answer: object) -> None:
    print(json.dumps(answer), flush=True)


JOBS: Final = {each.__name__: each for each in (die, work)}


if __name__ == "__main__":
    JOBS[sys.argv[1]](*sys.argv[2:])
