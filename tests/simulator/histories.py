"""The history of a seed: a project, and single steps and scenes of what happens to it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from random import Random
from typing import Final

from tests.app.generated_models import BY_SESSIONS
from tests.simulator.projects import SOURCES, invented
from tests.simulator.scenes import scene
from tests.simulator.single import Drawing
from tests.simulator.steps import Act, History, Land, Step

FIRST: Final = 3
"""With how many steps every history begins: rows, and a plan of production."""
_SINGLE: Final = 0.6
"""How often a single step comes instead of a scene of some five."""


def history(seed: int, *, length: int = 40) -> History:
    """The history of a seed; it begins with rows and a plan of production.

    A longer one begins with the same steps.
    """
    chance = Random(seed)
    models = invented(chance)
    sessions = any(each.form in BY_SESSIONS for each in models)
    first = tuple(
        Land(
            source=source,
            rows=((0.0, 1), *((chance.uniform(0, 30), chance.randrange(100)) for _ in range(8))),
            hours=30 if source == SOURCES[0] else 0,
        )
        for source in SOURCES
    )
    steps = islice(_drawn(seed, sessions=sessions), length)
    return History(models=models, steps=(*first, Act(what="plan", environment="prod"), *steps))


def _drawn(seed: int, *, sessions: bool) -> Iterator[Step]:
    for number in count():
        drawing = Drawing(Random(f"{seed} {number}"), sessions)
        if drawing.chance.random() < _SINGLE:
            yield drawing.step()
        else:
            yield from scene(drawing)
