"""Real flights with their real delays: after each tick all tables are as from scratch, in memory.

A tick runs the sessions of all models, as the sensor asks for them. What must be there is computed
from all that has landed, by other code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from tests.flights.expected import differences
from tests.flights.world import DEPARTURES, HOUR, MODELS, START, STATE, FlightsWorld
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.time.intervals import Interval, common


@dataclass
class Seen:
    """What the hours of a run of ticks held."""

    late: int = 0
    empty: int = 0
    overlapping: int = 0
    before: tuple[Interval, ...] = field(default=())


def run_ticks(first: datetime, count: int) -> Seen:
    life, seen = FlightsWorld(), Seen()
    life.land(first)
    life.build()
    for number in range(1, count + 1):
        until = first + number * HOUR
        life.land(until)
        done = life.tick()
        for name in MODELS:
            assert differences(name, life.rows(name), START, until) == [], (name, until)
        facts, state = done[DEPARTURES], done[STATE]
        late = facts.session.loaded if isinstance(facts, Evaluated) and facts.session else ()
        again = state.session.late if isinstance(state, Evaluated) and state.session else ()
        seen.late += bool(late)
        seen.empty += not isinstance(facts, Evaluated) or not facts.rows
        seen.overlapping += bool(common(again, seen.before))
        seen.before = again
    return seen


@pytest.mark.full
def test_every_table_is_as_from_scratch_after_each_of_36_hours() -> None:
    seen = run_ticks(START + timedelta(hours=8), 36)
    assert seen.late
    assert seen.empty
    assert seen.overlapping


@pytest.mark.full
@pytest.mark.story
def test_every_table_is_as_from_scratch_after_each_hour_of_14_days() -> None:
    seen = run_ticks(START + HOUR, 14 * 24 - 1)
    assert seen.late > 200
    assert seen.empty
    assert seen.overlapping > 100
