"""What is called fresh equals a build from scratch, in any story of any models."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.app.generated_models import OTHERS, Form, Made
from tests.app.memory_world import SOURCE
from tests.app.staleness.staleness_stories import (
    Correct,
    Edit,
    Land,
    Run,
    Step,
    Story,
    story,
    tell,
)

EVENTS: Final = str(SOURCE)
SHORT, LONG = (2,), (0, 1, *range(3, 60))


@pytest.mark.full
@pytest.mark.parametrize(
    "seed", [*SHORT, *(pytest.param(each, marks=pytest.mark.full) for each in LONG)]
)
def test_after_each_run_all_is_as_from_scratch_and_nothing_was_computed_for_nothing(
    seed: int,
) -> None:
    tell(story(seed))


# Stories that ended otherwise once
BY_KEY: Final = Made(name="by_key", form=Form.BY_KEY, parents=("gen.copy",), daily=True)
MORE: Final = Land(source=str(SOURCE), rows=(), until=46)


@pytest.mark.parametrize(
    "models, steps",
    [
        pytest.param(
            [Made(name="by_key", form=Form.BY_KEY, parents=(str(SOURCE),), daily=True)],
            [Correct(source=str(SOURCE), at=2, amount=7), Run()],
            id="what builds on itself reads a source by time",
        ),
        pytest.param(
            [Made(name="copy", form=Form.COPY, parents=(str(SOURCE),)), BY_KEY],
            [Edit(model="copy", how="column"), MORE, Run()],
            id="what builds on itself is kept downstream of an edit",
        ),
    ],
)
def test_what_was_found_is_as_from_scratch(models: list[Made], steps: list[Step]) -> None:
    tell(reported(*models, steps=tuple(steps)))


# The checks find what they are there for
def made(form: Form, parent: str, name: str = "", **more: Any) -> Made:
    return Made(name=name or form.name.lower(), form=form, parents=(parent,), **more)


FIRST: Final = (
    Land(source=EVENTS, rows=tuple((float(hour), hour + 1) for hour in range(6)), until=26),
    Land(source=str(OTHERS), rows=((0.0, 1), (4.0, 2)), until=26),
)
LATE: Final = Land(source=EVENTS, rows=((2.5, 100),), until=26)


def reported(*models: Made, steps: tuple[Step, ...] = (LATE, Run())) -> Story:
    return Story(models=models, steps=(*FIRST, *steps))
