"""What came of a check: only what is to be mended has an advice."""

from __future__ import annotations

import pytest

from vde_dagster.core.doctor.results import (
    CheckResult,
    Outcome,
    broken,
    is_healthy,
    left_out,
    not_tried,
    ok,
    warning,
)


@pytest.mark.parametrize("outcome", Outcome)
def test_an_advice_goes_with_what_is_to_be_mended_and_with_nothing_else(outcome: Outcome) -> None:
    to_mend = outcome in (Outcome.WARNING, Outcome.BROKEN)
    wrong = "" if to_mend else "do it"
    with pytest.raises(ValueError, match="advice"):
        CheckResult(check="x", outcome=outcome, message="y", advice=wrong)


def test_only_what_is_broken_makes_it_unhealthy() -> None:
    fine = [ok("a", "x"), warning("b", "x", "y"), not_tried("c", ["b"]), left_out("d", "x")]
    assert is_healthy(fine)
    assert not is_healthy([*fine, broken("e", "x", "y")])


def test_what_a_part_needs_is_named() -> None:
    assert not_tried("views", ["catalog"]).message == "needs catalog"
    assert not_tried("x", ["Spark", "catalog"]).message == "needs Spark and catalog"


def test_what_works_can_be_used_and_what_was_not_tried_cannot() -> None:
    assert ok("a", "x").usable
    assert warning("a", "x", "y").usable
    assert not warning("a", "x", "y", usable=False).usable
    assert not broken("a", "x", "y").usable
    assert not not_tried("a", ["b"]).usable
    assert not left_out("a", "x").usable
