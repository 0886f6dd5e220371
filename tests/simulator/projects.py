"""Generated projects: models of all forms, some with seeds, audits, signals and late data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from tests.app.generated_models import (
    LOOKED_THROUGH,
    ORDERED,
    OTHERS,
    WHOLE_TABLES,
    Form,
    Made,
    generated,
)
from tests.app.memory_world import SOURCE

SOURCES: Final = (str(SOURCE), str(OTHERS))
SEED: Final = "s0"
_FOLLOWING: Final = {Form.COPY, Form.SUMS, Form.JOIN, Form.UNION, Form.RECENT}
"""Forms that may follow late rows by sessions in stateful mode."""
_COUNTS: Final = (1, 2, 2, 3, 3, 4, 6)
"""How many models a project has: most of what goes wrong takes two or three."""
_MOST: Final = (60, 90, 97, 300)


def invented(chance: Random) -> tuple[Made, ...]:
    """The models of a new project, parents first."""
    models = [*generated(chance, _COUNTS)]
    if chance.random() < 0.4:
        reading = [at for at, made in enumerate(models) if _may_read_seed(made)]
        if reading:
            at = chance.choice(reading)
            parents = (*models[at].parents[:-1], f"gen.{SEED}")
            models[at] = replace(models[at], parents=parents)
            models.insert(0, Made(name=SEED, form=Form.SEED, parents=()))
    return tuple(_adorned(made, models, chance) for made in models)


def _may_read_seed(made: Made) -> bool:
    return made.form in (Form.LOOKUP, Form.FULL)


def _adorned(made: Made, models: Sequence[Made], chance: Random) -> Made:
    """A model with some of the properties that its form may have."""
    if made.form is Form.SEED or made.form in LOOKED_THROUGH:
        return made
    if made.form is Form.UNMANAGED and made.parents[0] in SOURCES and chance.random() < 0.6:
        made = replace(made, form=Form.ADDED_LATE)
    if made.form is Form.HISTORY and chance.random() < 0.4:
        made = replace(made, form=Form.HISTORY_BY_TIME)
    tracked = {*SOURCES, *(f"gen.{each.name}" for each in models if each.is_by_time)}
    may_follow = made.form in _FOLLOWING and tracked.issuperset(made.parents)
    if may_follow and made.form in (Form.COPY, Form.SUMS) and chance.random() < 0.3:
        made = replace(made, form=Form.RUNNING, late=True, lookback=0)
        return replace(made, ranges=chance.random() < 0.25)
    if may_follow and chance.random() < 0.35:
        made = replace(made, late=True, lookback=0)
    if made.form in (Form.KEPT, Form.BY_KEY):
        made = replace(made, lookback=chance.choice((0, 0, 2)))
    is_feed = made.form in ORDERED and made.has_sessions
    any_time, stops = (is_feed and chance.random() < often for often in (0.4, 0.2))
    made = replace(made, any_time=any_time, stops=stops)
    if made.late or made.form is Form.SESSIONS:
        made = replace(made, threshold=chance.choice((0, 0, 12)), stops=chance.random() < 0.2)
    if made.late:
        made = replace(made, ranges=chance.random() < 0.25)
    if chance.random() < 0.12:
        made = replace(made, most=chance.choice(_MOST))
    if made.form not in WHOLE_TABLES and chance.random() < 0.12:
        made = replace(made, waits=True)
    if made.may_be_in_python(models) and chance.random() < 0.25:
        return replace(made, in_python=True)
    if (made.is_by_time or made.form in WHOLE_TABLES) and made.form is not Form.SESSIONS:
        made = replace(made, above=chance.choice((None, None, 1)))
    return made
