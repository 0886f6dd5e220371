"""Edits of a generated project, and whose rows depend on when they were computed since."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from tests.app.generated_models import (
    KEEPING_BY_THEMSELVES,
    ONLY_AT_THE_END,
    SEQUENTIAL,
    Form,
    Made,
    downstream,
    edited,
    generated,
    is_bounded,
)
from tests.simulator.steps import SOURCES, Edit

Models = tuple[Made, ...]
_SIMPLE: Final = (Form.COPY, Form.RECENT, Form.SUMS, Form.FULL_UNTIL, Form.FULL, Form.VIEW)
KEEPING: Final = frozenset({*KEEPING_BY_THEMSELVES, Form.KEPT})
"""Forms whose rows stay when they or what they read are edited."""


def edit(models: Models, step: Edit, earlier: Sequence[Models]) -> Models:
    """A project after an edit; as it was where that edit makes no sense in it.

    Args:
        models: The project.
        step: What somebody does.
        earlier: Every project that there was.
    """
    chance = Random(step.chance)
    if step.how == "revert":
        return chance.choice(earlier)
    made = models[step.model % len(models)]
    return _EDITS[step.how](models, made, chance)


def meanings(models: Sequence[Made]) -> Iterator[tuple[Made, object]]:
    """Each model with what it and all that it reads compute."""
    known: dict[str, object] = {}
    for made in models:
        meaning = (replace(made, columns=0), *(known.get(each, each) for each in made.parents))
        known[f"gen.{made.name}"] = meaning
        yield made, meaning


def _replaced(models: Models, made: Made, new: Made) -> Models:
    return tuple(new if each is made else each for each in models)


def _removed(models: Models, made: Made, _: Random) -> Models:
    is_read = len([*downstream(made, models)]) > 1
    return models if is_read else tuple(each for each in models if each is not made) or models


def _added(models: Models, _: Made, chance: Random) -> Models:
    known = {f"gen.{each.name}": each for each in models}
    late = any(each.form is Form.SESSIONS for each in models)
    for new in generated(chance):
        read = [known[each] for each in new.parents if each in known]
        is_fitting = (
            f"gen.{new.name}" not in known
            and known.keys() | {*SOURCES} >= {*new.parents}
            and not (late and new.form is Form.SESSIONS)
            and not any(each.form in ONLY_AT_THE_END for each in read)
            and (new.form not in SEQUENTIAL or is_bounded(new.parents[0], models))
        )
        if is_fitting:
            return (*models, new)
    return models


def _of_another_form(models: Models, made: Made, chance: Random) -> Models:
    readers = [each for each in downstream(made, models) if each.name != made.name]
    is_read_by_time = any(each.form in SEQUENTIAL for each in readers)
    if made.form not in _SIMPLE or is_read_by_time:
        return models
    return _replaced(models, made, replace(made, form=chance.choice(_SIMPLE), hours=2, lookback=0))


_EDITS: Final[Mapping[str, Callable[[Models, Made, Random], Models]]] = {
    "breaking": lambda models, made, _: _replaced(models, made, edited(made, breaking=True)),
    "column": lambda models, made, _: _replaced(models, made, edited(made, breaking=False)),
    "remove": _removed,
    "add": _added,
    "form": _of_another_form,
}
