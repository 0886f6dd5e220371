"""Models that a person has paused: an environment does not evaluate them until they are resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    paused = [node.name for node in graph if node.name in pauses]
    waiting: dict[ModelName, list[ModelName]] = {name: [] for name in paused}
    for name, places in _paused_upstream(graph, paused):
        for place in _bits(places) if name in left else ():
            waiting[paused[place]].append(name)
    for name, found in waiting.items():
        yield PausedModel(pause=pauses[name], waiting=tuple(sorted(found)))


def _paused_upstream(graph: Graph, paused: Sequence[ModelName]) -> Iterator[tuple[ModelName, int]]:
    """Each model with the paused ones among it and those upstream of it.

    These are a number whose bits are places in ``paused``, so that each edge of the graph is one
    step however many there are.
    """
    own = {name: 1 << place for place, name in enumerate(paused)}
    found: dict[ModelName, int] = {}
    for node in graph:
        places = own.get(node.name, 0)
        for parent in node.model.parents:
            places |= found.get(parent, 0)
        found[node.name] = places
        yield node.name, places


def _bits(number: int) -> Iterator[int]:
    """The places of the bits that a number has."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
