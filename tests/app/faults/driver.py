"""A process of its own that evaluates a project: ``python -m tests.app.faults.driver FOLDER JOB``.

``JOB`` is JSON. ``{"then": "run"}`` plans, applies and verifies, and prints what was found.
``{"then": "read"}`` reads all models in Spark, says how many rows each has, waits for a line, and
does so again until the line is ``run``.
``{"then": "kill" or "stop", "parked": {model: point}, "writing": model}`` holds the first day of
these models, brings each of them to a point of its second day, and the last one into its write;
then the process kills or stops itself. A process that was stopped goes on with all of them when it
is woken, and prints how each ended. With ``"wait"`` it says ``ready`` and waits for a line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from tests.app.faults.lake import DAYS
from vde_dagster.app.apply import apply_plan, store_plan
from vde_dagster.app.binding import Binding, bind_environment, bind_plan
from vde_dagster.app.evaluate import evaluate
from vde_dagster.app.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.app.verify import verify
from vde_dagster.app.world import VdeProject
from vde_dagster.core.errors import VdeError
from vde_dagster.core.intervals import Interval
from vde_dagster.core.kind import Full
from vde_dagster.core.names import ModelName

TTL: Final = timedelta(seconds=2)
POINTS: Final = {
    "audited": ("state", "record_audits", False),
    "staged": ("state", "record_staged", False),
    "recorded": ("catalog", "publish", False),
    "published": ("catalog", "publish", True),
    "booked": ("state", "finalize", True),
}
"""Each point: a port, its method, and whether the process comes to it after the call."""


@dataclass
class Gate:
    """Where a thread waits at its point until it is let on."""

    reached: threading.Event = field(default_factory=threading.Event)
    open: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        self.reached.set()
        self.open.wait()


@dataclass(frozen=True)
class Gated:
    """A port with a gate before or after one method.

    No call is under way in a process that holds ``calls``: what is stopped holds no lock of a
    database then.
    """

    port: object
    calls: threading.RLock
    method: str = ""
    after: bool = False
    gate: Gate = field(default_factory=Gate)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.port, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if name == self.method and not self.after:
                self.gate.wait()
            with self.calls:
                result = found(*args, **kwargs)
            if name == self.method and self.after:
                self.gate.wait()
            return result

        return call


@dataclass
class Faulty:
    """A process at several points at once, each in a thread of its own."""

    project: VdeProject
    binding: Binding
    calls: threading.RLock = field(default_factory=threading.RLock)
    gates: list[Gate] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)

    def services(self, point: str = "") -> tuple[Services, Gate]:
        services, gate = replace(self.project.services, lease_ttl=TTL), Gate()
        port, method, after = POINTS.get(point, ("", "", False))
        gated: dict[str, Any] = {
            name: Gated(
                getattr(services, name), self.calls, method if name == port else "", after, gate
            )
            for name in ("state", "catalog")
        }
        return replace(services, **gated), gate

    def evaluate(self, services: Services, name: str, day: Interval) -> None:
        """Make a model hold a day; a FULL one is made of all days up to its end."""
        model = ModelName("kept", name)
        whole = isinstance(self.binding.node(model).model.kind, Full)
        interval = Interval(DAYS[0].start, day.end) if whole else day
        evaluate(services, self.binding, model, interval)

    def begin(self, name: str, point: str = "") -> Gate:
        """Evaluate the second day in a thread that comes to a point."""
        services, gate = self.services(point)

        def run() -> None:
            try:
                self.evaluate(services, name, DAYS[1])
                self.ended[name] = "done"
            except VdeError as error:
                self.ended[name] = type(error).__name__

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        self.gates.append(gate)
        self.threads.append(thread)
        return gate

    def come_to(self, name: str, point: str) -> None:
        gate = self.begin(name, point)
        if not gate.reached.wait(timeout=120):
            sys.exit(f"{name} did not come to {point}: {self.ended}")

    def come_into_write(self, name: str) -> Gate:
        """Return while the data files of the second day are being written."""
        target = self.binding.key(ModelName("kept", name)).table
        folder = self.project.configuration.warehouse / target.namespace / target.name
        before = _data_files(folder)
        gate = self.begin(name, "staged")
        deadline = time.monotonic() + 120
        while _data_files(folder) == before:
            if gate.reached.is_set() or time.monotonic() > deadline:
                sys.exit(f"{name} was not caught while it wrote")
            time.sleep(0.002)
        return gate

    def go_on(self) -> None:
        for gate in self.gates:
            gate.open.set()
        for thread in self.threads:
            thread.join()


def _data_files(folder: Path) -> set[Path]:
    return set(folder.glob("data/**/*.parquet"))


def fail(project: VdeProject, then: str, parked: Mapping[str, str], writing: str = "") -> object:
    plan = plan_environment(project.services, project.files.graph, "prod")
    store_plan(project.services, plan)
    faulty = Faulty(project, bind_plan(plan))
    services, _ = faulty.services()
    for name in filter(None, (*parked, writing)):
        faulty.evaluate(services, name, DAYS[0])
    for name, point in parked.items():
        faulty.come_to(name, point)
    if then == "wait":
        say("ready")
        sys.stdin.readline()
        faulty.go_on()
        return {"ended": faulty.ended}
    gate = faulty.come_into_write(writing)
    if then == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    with faulty.calls:
        caught = not gate.reached.is_set()
        os.killpg(os.getpgid(0), signal.SIGSTOP)
    faulty.go_on()
    return {"ended": faulty.ended, "caught": caught}


def run(project: VdeProject) -> object:
    services = replace(project.services, lease_ttl=TTL)
    plan = plan_environment(services, project.files.graph, "prod")
    apply_plan(services, plan, lambda _: None)
    again = plan_environment(services, project.files.graph, "prod")
    binding = bind_environment(services, "prod")
    assert binding is not None
    verified = {str(each.key.model): each.holds for each in verify(services, binding)}
    return {"verified": verified, "left": [str(each.name) for each in again.backfills]}


def read(project: VdeProject) -> object:
    """What a session of its own sees, each time that it is asked."""
    plan = plan_environment(project.services, project.files.graph, "prod")
    binding, session = bind_plan(plan), project.open_spark()
    catalog = project.configuration.catalog.name
    line = ""
    while line.strip() != "run":
        kept = [node.name for node in plan.graph if node.name.schema == "kept"]
        tables = {name.name: binding.table(name) for name in kept}
        counts = {
            name: session.table(f"{catalog}.{table.namespace}.{table.name}").count()
            for name, table in tables.items()
        }
        say(json.dumps(counts))
        line = sys.stdin.readline()
    session.stop()
    return run(VdeProject.load(project.configuration.folder))


def say(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    folder, job = sys.argv[1], json.loads(sys.argv[2])
    project = VdeProject.load(folder)
    then = job.pop("then")
    match then:
        case "run":
            found = run(project)
        case "read":
            found = read(project)
        case _:
            found = fail(project, then, **job)
    say(json.dumps(found))


if __name__ == "__main__":
    main()
