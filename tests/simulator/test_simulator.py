"""Generated histories of a project: what is shown and told is true after each step."""

from __future__ import annotations

import pytest

from tests.simulator.simulation import tell
from tests.simulator.steps import history

SHORT, LONG = range(60), range(60, 160)


@pytest.mark.parametrize(
    "seed", [*SHORT, *(pytest.param(each, marks=pytest.mark.full) for each in LONG)]
)
def test_what_is_shown_and_told_is_true_after_each_step(seed: int) -> None:
    tell(history(seed, length=40))
