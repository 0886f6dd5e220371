"""Edits of a generated project, and whose rows depend on when they were computed since."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from tests.app.generated_models import (
    KEEPING_BY_THEMSELVES,
    LOOKED_THROUGH,
    ONLY_AT_THE_END,
    SEQUENTIAL,
    Form,
    Made,
    downstream,
    edited,
    may_read,
)
from tests.simulator.projects import SOURCES, invented
from tests.simulator.steps import Edit

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
    if step.how == "back":
        return earlier[-2] if len(earlier) > 1 else models
    made = models[step.model % len(models)]
    return _EDITS[step.how](models, made, chance)


def meanings(models: Sequence[Made]) -> Iterator[tuple[Made, object]]:
    """Each model with what it and all that it reads compute, whatever their names are."""
    known: dict[str, object] = {}
    for made in models:
        bare = made  # of Python all counts
        if not made.in_python:
            bare = replace(made, columns=0, most=None, waits=False, layout="", same=0)
        bare = replace(bare, name="", parents=())
        meaning = (bare, *(known.get(each, each) for each in made.parents))
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
    for new in invented(chance):
        read = [known[each] for each in new.parents if each in known]
        is_fitting = (
            f"gen.{new.name}" not in known
            and known.keys() | {*SOURCES} >= {*new.parents}
            and not (late and new.form is Form.SESSIONS)
            and not any(each.form in ONLY_AT_THE_END for each in read)
            and all(may_read(new.form, each, models) for each in new.parents)
            and (not new.in_python or new.may_be_in_python(models))
        )
        if is_fitting:
            return (*models, new)
    return models


def _of_another_form(models: Models, made: Made, chance: Random) -> Models:
    readers = [each for each in downstream(made, models) if each.name != made.name]
    is_read_by_time = any(each.form in SEQUENTIAL for each in readers)
    if made.form not in _SIMPLE or is_read_by_time or made.late:
        return models
    form = chance.choice(_SIMPLE)
    if form in LOOKED_THROUGH and any(each.in_python for each in readers):
        return models
    bare = replace(made, form=form, hours=2, lookback=0, waits=False, most=None, in_python=False)
    bare = replace(bare, begins=0, ends=None, layout="", above=None, same=0)
    return _replaced(models, made, bare)


def _renamed(models: Models, made: Made, _: Random) -> Models:
    """One model under another name, also where others read it."""
    name = f"{made.name}r"
    if any(each.name == name for each in models):
        return models
    old, new = f"gen.{made.name}", f"gen.{name}"
    renamed = _replaced(models, made, replace(made, name=name))
    return tuple(
        replace(each, parents=tuple(new if one == old else one for one in each.parents))
        for each in renamed
    )


def _of_late_rows(models: Models, made: Made, _: Random) -> Models:
    tracked = {*SOURCES, *(f"gen.{each.name}" for each in models if each.is_by_time)}
    if made.form not in (Form.COPY, Form.SUMS, Form.JOIN) or not tracked.issuperset(made.parents):
        return models
    return _replaced(
        models,
        made,
        replace(made, late=not made.late, lookback=0, threshold=0, ranges=False, stops=False),
    )


def _audited(models: Models, made: Made, chance: Random) -> Models:
    if made.form in LOOKED_THROUGH or made.form in (Form.SEED, Form.RUNNING):
        return models
    return _replaced(models, made, replace(made, most=chance.choice((None, None, 60, 90, 300))))


def _of_another_cadence(models: Models, made: Made, _: Random) -> Models:
    """Hours become days, or days hours, also of the intervals that are loaded."""
    has_none = made.form in LOOKED_THROUGH or made.form in (Form.SEED, Form.FULL)
    if has_none or made.form is Form.SESSIONS or made.late:
        return models
    return _replaced(models, made, replace(made, daily=not made.daily))


def _of_other_times(models: Models, made: Made, chance: Random) -> Models:
    """It begins later or earlier, or ends: rows of other times may stay where they are."""
    is_by_time = made.is_by_time and made.form not in (Form.KEPT, Form.RUNNING)
    if not (is_by_time or made.form is Form.BY_KEY):
        return models
    begins, ends = chance.choice((0, 0, 3, 24, 30)), chance.choice((None, None, 20, 30, 55))
    is_start = made.form is Form.BY_KEY or chance.random() < 0.5
    new = replace(made, begins=begins) if is_start else replace(made, ends=ends)
    return _replaced(models, made, new)


def _rewritten(models: Models, made: Made, _: Random) -> Models:
    """From SQL to Python, or back."""
    if not made.may_be_in_python(models):
        return models
    return _replaced(models, made, replace(made, in_python=not made.in_python))


def _the_same(models: Models, made: Made, _: Random) -> Models:
    """Another text that gives the same rows."""
    if made.form is Form.SEED or made.in_python or made.same:
        return models
    return _replaced(models, made, replace(made, same=1))


def _laid_out(models: Models, made: Made, chance: Random) -> Models:
    if not made.is_by_time:
        return models
    layout = chance.choice(("", "days(at)", "hours(at)", "(bucket(4, id), days(at))", "id"))
    return _replaced(models, made, replace(made, layout=layout))


_EDITS: Final[Mapping[str, Callable[[Models, Made, Random], Models]]] = {
    "breaking": lambda models, made, _: _replaced(models, made, edited(made, breaking=True)),
    "column": lambda models, made, _: _replaced(models, made, edited(made, breaking=False)),
    "remove": _removed,
    "add": _added,
    "form": _of_another_form,
    "rename": _renamed,
    "cadence": _of_another_cadence,
    "late": _of_late_rows,
    "audit": _audited,
    "times": _of_other_times,
    "layout": _laid_out,
    "rewrite": _rewritten,
    "same": _the_same,
}
