"""Paused models: the contract of the state, on every adapter."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.state.builders import RAW, SALES, START
from tests.state.conftest import Store
from vde_dagster.core.planning.pauses import Pause

HELD = Pause(environment="prod", model=SALES, paused_at=START, author="ann", reason="näher")
OTHER = replace(HELD, model=RAW, author="", reason="")


def test_pauses_are_of_an_environment_and_kept_whole(store: Store) -> None:
    state = store.state
    assert state.pauses("prod") == {}
    state.pause([HELD, OTHER])
    state.pause([replace(HELD, environment="dev")])
    assert state.pauses("prod") == {RAW: OTHER, SALES: HELD}
    state.resume("prod", [SALES, SALES])
    state.resume("prod", [SALES])
    assert state.pauses("prod") == {RAW: OTHER}
    assert list(state.pauses("dev")) == [SALES]


def test_who_paused_last_is_known(store: Store) -> None:
    later = replace(HELD, author="ben", paused_at=START + timedelta(hours=1))
    store.state.pause([HELD])
    store.state.pause([later])
    assert store.state.pauses("prod") == {SALES: later}
