"""A power cut anywhere in a session of a dimension: the next one loses and doubles nothing (R5)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Final

import pytest

from tests.app.catch_up.lifecycle import CANCELS, PLANS, REQUESTS, SIGNUPS, STATE, Lifecycle
from tests.app.catch_up.test_sequential import from_scratch, loaded
from tests.app.memory_world import Fuse, PowerCut, bound, mismatches
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.ledger.unit_of_work import UnitOfWorkState


def late_for_the_dimension() -> Lifecycle:
    """The facts of hour 6 and late ones of the hours 2 and 3 are loaded; the dimension is not."""
    made = _made_once()
    return Lifecycle(world=made.world.copied(), graph=made.graph, made=True)


@cache
def _made_once() -> Lifecycle:
    life = loaded()
    life.at(7)
    for table in ("signups", "plans"):
        life.land(table, (20, 2.2), (30, 3.2), (60, 6.2), until=7)
    for table in ("requests", "cancels"):
        life.land(table, until=7)
    for fact in (SIGNUPS, PLANS, REQUESTS, CANCELS):
        life.catch_up(fact)
    return life


def session(life: Lifecycle, fuse: Fuse) -> Evaluated | NothingToLoad:
    services = replace(life.world.services(fuse), clock_sources=())
    return catch_up(services, bound(services), STATE)


def changing_calls() -> list[int]:
    """The numbers of the calls of a session that change something."""
    fuse = Fuse()
    session(late_for_the_dimension(), fuse)
    return fuse.changing


CALLS: Final = changing_calls()


@pytest.mark.full
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", CALLS)
def test_the_next_session_finishes_what_a_power_cut_left(number: int, after: bool) -> None:
    life = late_for_the_dimension()
    fuse = Fuse(cut_at=number, after=after)
    with suppress(PowerCut):
        session(life, fuse)
    assert fuse.blown
    life.world.reboot()
    life.catch_up(STATE)
    assert life.rows(STATE) == from_scratch(life, 7)
    assert mismatches(life.services(), STATE) == []
    assert isinstance(life.decided(STATE), NothingToLoad)
    key = bound(life.services()).key(STATE)
    works = life.services().state.sessions(key, limit=9)
    done = [each for each in works if each.state is UnitOfWorkState.DONE]
    assert len(done) == 2, "the first load and one repair, however often it was begun"


def test_the_same_session_twice_loads_once() -> None:
    life = late_for_the_dimension()
    first = life.catch_up(STATE)
    assert isinstance(first, Evaluated)
    assert isinstance(life.catch_up(STATE), NothingToLoad)
    assert life.rows(STATE) == from_scratch(life, 7)
