"""Something that happens in the middle of what a process does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.app.memory_world import MemoryWorld
from vde_dagster.app.services import Services


class Between:
    """A process that lets something else happen at its first call of a method, or a later one."""

    def __init__(
        self,
        world: MemoryWorld,
        method: str,
        *,
        after: bool,
        then: Callable[[], object],
        call: int = 1,
    ) -> None:
        self.world, self.method, self.after, self.then = world, method, after, then
        self.left = call

    def services(self, found: Services | None = None) -> Services:
        found = found or self.world.services()
        wired: dict[str, Any] = {
            "state": Halted(self, found.state),
            "catalog": Halted(self, found.catalog),
            "engine": Halted(self, found.engine),
        }
        return replace(found, **wired)

    def happen(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.then()

    @property
    def came(self) -> bool:
        """Whether it has happened."""
        return self.left <= 0


class Halted:
    def __init__(self, between: Between, port: object) -> None:
        self._between, self._port = between, port

    def __getattr__(self, name: str) -> Any:
        between, found = self._between, getattr(self._port, name)
        if name != between.method:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if not between.after:
                between.happen()
            result = found(*args, **kwargs)
            if between.after:
                between.happen()
            return result

        return call
