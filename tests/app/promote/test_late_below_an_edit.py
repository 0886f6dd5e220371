"""A late row and an edit that keeps what reads the edited model, in one plan: the row reaches all.

The new table of the edited model is computed with the late row, and the kept versions below it were
computed without (rules R10 and R14). Expected rows are those that landed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from tests.app.generated_models import Form, Made, edited, project
from tests.app.memory_world import MemoryWorld
from vde_dagster.app.inspect.status import look_at_environment

BASE: Final = Made(name="m0", form=Form.COPY, parents=("raw.events",), daily=True)
NEXT: Final = Made(name="m1", form=Form.COPY, parents=("gen.m0",), daily=True)
THIRD: Final = replace(NEXT, name="m2", parents=("gen.m1",))
CHAINS: Final = {
    "a copy": (BASE, NEXT, THIRD),
    "sessions": (BASE, NEXT, replace(THIRD, late=True)),
    "always computed": (replace(BASE, form=Form.CHANCE), NEXT, THIRD),
    "hourly": (replace(BASE, daily=False), replace(NEXT, daily=False), THIRD),
    "two below": (BASE, NEXT, THIRD, replace(THIRD, name="m3", parents=("gen.m2",))),
    "two above": (
        BASE,
        replace(NEXT, name="above"),
        replace(NEXT, parents=("gen.above",)),
        THIRD,
    ),
    "a whole table": (BASE, NEXT, replace(THIRD, form=Form.FULL)),
    "below a whole table": (BASE, replace(NEXT, form=Form.FULL), replace(THIRD, form=Form.FULL)),
}


@pytest.mark.parametrize("runs_between", [False, True])
@pytest.mark.parametrize("chain", CHAINS)
def test_late_rows_reach_what_an_edit_keeps(chain: str, runs_between: bool) -> None:
    models, world = CHAINS[chain], MemoryWorld()
    world.land((1.5, 1), (2.5, 2), until=48)
    world.build(project(models))
    world.clock.advance(timedelta(minutes=1))
    world.land((5.5, 7), until=48)
    if runs_between:
        world.build(project(models))
    new = tuple(edited(each, breaking=False) if each.name == "m1" else each for each in models)
    world.build(project(new))
    landed = [row[:3] for row in world.rows("raw.events")]
    assert len(landed) == 3
    for made in new:
        assert [row[:3] for row in world.rows(f"gen.{made.name}")] == landed, made.name
    assert look_at_environment(world.services(), "prod").is_up_to_date
