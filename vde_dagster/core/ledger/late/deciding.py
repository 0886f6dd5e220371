"""What a session does, from all that it is decided from: the same answer to the same question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from vde_dagster.core.ledger.late.decision import Decision, Load
from vde_dagster.core.ledger.late.question import (
    Question,
    StatefulQuestion,
    StatelessQuestion,
    WithoutTimes,
)
from vde_dagster.core.ledger.late.stateful import decide_stateful
from vde_dagster.core.ledger.late.stateless import decide_stateless, decide_without_times
from vde_dagster.core.time.intervals import Interval


def decide(asked: Question) -> Decision:
    """What the next session of a version does, or why it does nothing."""
    match asked:
        case StatelessQuestion(without_times=WithoutTimes() as rules):
            return decide_without_times(asked, rules)
        case StatelessQuestion():
            return decide_stateless(asked)
        case StatefulQuestion():
            return decide_stateful(asked)
        case unreachable:
            assert_never(unreachable)


def without_adding(load: Load, outgrown: Sequence[Interval]) -> Load:
    """The same session, if to these of the intervals no rows can be added: it overwrites them."""
    asked = load.question
    assert isinstance(asked, StatelessQuestion), "stateless sessions alone add rows"
    again = decide_stateless(replace(asked, outgrown=tuple(outgrown)))
    assert isinstance(again, Load), "it has something to load, as before"
    return again
