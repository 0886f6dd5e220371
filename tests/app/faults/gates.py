"""Evaluations in one process that wait at a point, each in a thread of its own."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from tests.app.faults.endings import ending
from tests.app.faults.lake import DAYS
from vde_dagster.app.apply.storing import store_plan
from vde_dagster.app.binding import Binding, bind_plan
from vde_dagster.app.evaluate.evaluation import evaluate
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.composition import VdeProject
from vde_dagster.core.errors import VdeError
from vde_dagster.core.model.kinds import Full
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval

POINTS: Final = {
    "pinned": ("engine", "stage", False),
    "staged": ("state", "record_staged", False),
    "recorded": ("catalog", "publish", False),
    "published": ("catalog", "publish", True),
    "finalized": ("state", "finalize", True),
}
"""Each point: a port, its method, and whether the process comes to it after the call."""
_PATIENCE: Final = 1200


@dataclass
class Gate:
    """A gate at which a thread waits until it is released."""

    reached: threading.Event = field(default_factory=threading.Event)
    open: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        self.reached.set()
        self.open.wait()


@dataclass(frozen=True)
class Gated:
    """A port with a gate before or after one method.

    In a process that holds the lock ``calls`` no call is under way: if it is stopped then, it holds
    no lock of a database.
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
class Evaluations:
    """What a process evaluates of a project, several models at once.

    ``calls`` is held by the thread that calls the state or the catalog. ``ended`` says of each
    model how it ended: ``done``, ``reused``, or the error's name.
    """

    project: VdeProject
    binding: Binding
    ttl: timedelta | None = None
    calls: threading.RLock = field(default_factory=threading.RLock)
    gates: list[Gate] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: str, ttl: timedelta | None = None) -> Evaluations:
        """For the project in its files now; without ``ttl`` leases last as they do for users."""
        project = VdeProject.load(folder)
        plan = plan_environment(project.services, project.files.graph, "prod")
        store_plan(project.services, plan)
        return cls(project, bind_plan(plan), ttl)

    def services(self, point: str = "") -> tuple[Services, Gate]:
        services, gate = self.project.services, Gate()
        if self.ttl is not None:
            services = replace(services, lease_ttl=self.ttl)
        port, method, after = POINTS.get(point, ("", "", False))
        gated: dict[str, Any] = {
            name: Gated(
                getattr(services, name), self.calls, method if name == port else "", after, gate
            )
            for name in ("state", "catalog")
        }
        if port == "engine":
            own = threading.RLock()  # this takes a while, and no other thread should wait for it
            gated["engine"] = Gated(services.engine, own, method, after, gate)
        return replace(services, **gated), gate

    def evaluate(self, services: Services, name: str, day: Interval, *, force: bool = False) -> str:
        """Evaluate a day of a model; a FULL one is computed from all days up to its end.

        Returns:
            How it ended.
        """
        model = ModelName("kept", name)
        is_full = isinstance(self.binding.node(model).model.kind, Full)
        interval = Interval(DAYS[0].start, day.end) if is_full else day
        try:
            done = evaluate(services, self.binding, model, interval, force=force)
        except VdeError as error:
            return ending(error)
        return "reused" if done.reused else "done"

    def hold(self, name: str, day: Interval, *, force: bool = False) -> None:
        ended = self.evaluate(self.services()[0], name, day, force=force)
        if ended != "done":
            sys.exit(f"{name} has not loaded {day}: {ended}")

    def begin(self, name: str, day: Interval, point: str) -> Gate:
        """Evaluate a day in a thread that waits at a point."""
        services, gate = self.services(point)

        def run() -> None:
            self.ended[name] = self.evaluate(services, name, day)

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        self.gates.append(gate)
        self.threads.append(thread)
        return gate

    def come_to(self, points: Mapping[str, str], day: Interval) -> None:
        """Return when each of some models is at its point of a day."""
        for name, point in points.items():
            gate = self.begin(name, day, point)
            if not gate.reached.wait(timeout=_PATIENCE):
                sys.exit(f"{name} did not come to {point}: {self.ended}")

    def come_into_write(self, name: str, day: Interval) -> Gate:
        """Return while the data files of a day are being written."""
        target = self.binding.key(ModelName("kept", name)).table
        folder = self.project.configuration.warehouse / target.namespace / target.name
        before = _data_files(folder)
        gate = self.begin(name, day, "staged")
        deadline = time.monotonic() + _PATIENCE
        while _data_files(folder) == before:
            if gate.reached.is_set() or time.monotonic() > deadline:
                sys.exit(f"{name} was not caught while it wrote")
            time.sleep(0.002)
        return gate

    def go_on(self) -> dict[str, str]:
        """Release all, and return how each ended."""
        for gate in self.gates:
            gate.open.set()
        for thread in self.threads:
            thread.join()
        return self.ended


def _data_files(folder: Path) -> set[Path]:
    return set(folder.glob("data/**/*.parquet"))
