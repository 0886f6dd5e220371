"""Real flights with their real delays: after each tick all tables are as from scratch, in memory.

A tick runs the sessions of all models, as the sensor asks for them. What must be there is computed
from all that has landed, by other code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from tests.flights.expected import changed_hours, differences, expected_rows
from tests.flights.world import ARRIVALS, DEPARTURES, HOUR, MODELS, START, STATE, FlightsWorld
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.names import ModelName
from vde_dagster.core.time.intervals import Interval, common, merge


@dataclass
class Seen:
    """What the hours of a run of ticks held."""

    late: int = 0
    empty: int = 0
    overlapping: int = 0
    before: tuple[Interval, ...] = field(default=())


@dataclass
class Cost:
    """What ticks computed, and what else could have been computed to miss nothing.

    ``rows`` are those that the sessions of the two facts returned, ``lookback`` those that one of
    24 hours returns. ``hours`` are those that the stateful model computed, ``ideal`` those whose
    rows are others than before.
    """

    rows: int = 0
    lookback: int = 0
    hours: int = 0
    ideal: int = 0

    def add(self, done: Mapping[ModelName, Evaluated | NothingToLoad], until: datetime) -> None:
        first = max(START, until - 25 * HOUR)
        for name in (DEPARTURES, ARRIVALS):
            facts = done[name]
            self.rows += facts.rows if isinstance(facts, Evaluated) else 0
            self.lookback += expected_rows(name, first, until).num_rows
        state = done[STATE]
        if isinstance(state, Evaluated):
            times = merge(each.interval for each in state.entries)
            self.hours += sum((each.end - each.start) // HOUR for each in times)
        self.ideal += len(changed_hours(STATE, START, until - HOUR, until))


def run_ticks(first: datetime, count: int, cost: Cost | None = None) -> Seen:
    life, seen = FlightsWorld(), Seen()
    life.land(first)
    life.build()
    for number in range(1, count + 1):
        until = first + number * HOUR
        life.land(until)
        done = life.tick()
        if cost is not None:
            cost.add(done, until)
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
    cost = Cost()
    seen = run_ticks(START + HOUR, 14 * 24 - 1, cost)
    assert 0 < cost.rows <= 0.06 * cost.lookback
    assert 0 < cost.ideal <= cost.hours <= 1.2 * cost.ideal
    assert seen.late > 200
    assert seen.empty
    assert seen.overlapping > 100
