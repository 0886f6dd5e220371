"""Models that a person has paused: an environment does not evaluate them until they are resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.names import ModelName, env_option


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Who paused a model in an environment, when and why; empty where that is not known."""

    environment: str
    model: ModelName
    paused_at: datetime
    author: str = ""
    reason: str = ""

    @property
    def resume(self) -> str:
        """The command that ends it."""
        return f"vde resume {self.model}{env_option(self.environment)}"

    def __str__(self) -> str:
        by = f" by {self.author}" if self.author else ""
        why = f": {self.reason}" if self.reason else ""
        return f"paused{by} at {self.paused_at:%Y-%m-%d %H:%M} UTC{why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedModel:
    """A paused model of a plan. ``waiting`` are those downstream that would be computed else."""

    pause: Pause
    waiting: tuple[ModelName, ...] = ()


def paused_models(
    graph: Graph, pauses: Mapping[ModelName, Pause], stopped: Iterable[ModelName]
) -> Iterator[PausedModel]:
    """The paused models of a plan, parents first, with what waits for each.

    Args:
        graph: The plan's models.
        pauses: Those of its environment; models that it does not have any more are left out.
        stopped: The models of which more would be computed if none was paused.
    """
    left = {name for name in stopped if name not in pauses}
    waiting: dict[ModelName, list[ModelName]] = {}
    upstream: dict[ModelName, int] = {}  # a bit for each paused one, in the order of `waiting`
    for node in graph:
        above = 0
        for each in node.model.parents:
            above |= upstream.get(each, 0)
        if node.name in pauses:
            above |= 1 << len(waiting)
            waiting[node.name] = []
        upstream[node.name] = above
        bits = f"{above:b}"[::-1] if node.name in left else ""
        for bit, found in zip(bits, waiting.values(), strict=False):
            if bit == "1":
                found.append(node.name)
    for name, found in waiting.items():
        yield PausedModel(pause=pauses[name], waiting=tuple(sorted(found)))
