"""Which options make sense together, and where."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from tests.core.time.scheduled_models import utc
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.options import (
    DEFAULT_OPTIONS,
    OptionsRefused,
    PlanOptions,
    refuse_senseless,
)
from vde_dagster.core.time.intervals import END_OF_TIME, Interval

FIRST, LAST = utc("2024-01-01"), utc("2024-02-01")
GIVEN: dict[str, Any] = {
    "start": FIRST,
    "end": LAST,
    "restate": ("mart.revenue",),
    "forward_only": True,
    "skip_backfill": True,
    "empty_backfill": True,
    "no_gaps": True,
    "select": ("mart.*",),
    "include_unmodified": False,
    "strict_columns": True,
    "decisions": {ModelName("mart", "revenue"): Category.BREAKING},
}
SENSELESS = {
    frozenset(pair)
    for pair in [
        ("skip_backfill", "empty_backfill"),
        ("skip_backfill", "restate"),
        ("empty_backfill", "restate"),
        ("skip_backfill", "start"),
        ("skip_backfill", "end"),
        ("empty_backfill", "no_gaps"),
    ]
}
NOT_IN_PRODUCTION = {"empty_backfill", "include_unmodified"}
BOUNDS = {"start", "end"}


def refusals(environment: str, *names: str) -> list[str]:
    try:
        refuse_senseless(PlanOptions(**{name: GIVEN[name] for name in names}), environment)
    except OptionsRefused as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize("pair", list(combinations(sorted(GIVEN), 2)), ids="+".join)
def test_any_two_options_go_together_but_those_that_contradict_each_other(
    pair: tuple[str, str],
) -> None:
    assert bool(refusals("dev", *pair)) is (frozenset(pair) in SENSELESS)


@pytest.mark.parametrize("pair", list(combinations(sorted(GIVEN), 2)), ids="+".join)
def test_production_takes_fewer_options(pair: tuple[str, str]) -> None:
    unbounded = BOUNDS & {*pair} and "restate" not in pair
    refused = frozenset(pair) in SENSELESS or NOT_IN_PRODUCTION & {*pair} or unbounded
    assert bool(refusals("prod", *pair)) is bool(refused)


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_every_option_goes_alone_outside_of_production(name: str) -> None:
    assert refusals("dev", name) == []


def test_all_reasons_are_reported_at_once() -> None:
    reported = refusals("prod", *GIVEN)
    assert len(reported) == 6  # four contradictions, and two options that production has not
    for option in ("--skip-backfill", "--empty-backfill", "--no-gaps", "--no-include-unmodified"):
        assert any(option in line for line in reported)


@pytest.mark.parametrize("end,is_refused", [(FIRST, True), (utc("2023-12-31"), True),
                                            (utc("2024-01-01T00:01"), False)])  # fmt: skip
def test_an_end_is_after_its_start(end: Any, is_refused: bool) -> None:
    options = PlanOptions(start=FIRST, end=end)
    if is_refused:
        with pytest.raises(OptionsRefused, match="is not after the start, 2024-01-01"):
            refuse_senseless(options, "dev")
    else:
        refuse_senseless(options, "dev")


@pytest.mark.parametrize("category", sorted(Category, key=str))
def test_a_person_chooses_among_three_categories(category: Category) -> None:
    options = PlanOptions(decisions={ModelName("mart", "revenue"): category})
    chosen = (Category.BREAKING, Category.NON_BREAKING, Category.FORWARD_ONLY)
    if category in chosen:
        refuse_senseless(options, "prod")
    else:
        with pytest.raises(OptionsRefused, match=rf"mart\.revenue .* {category.value}: choose"):
            refuse_senseless(options, "prod")


def test_no_options_ask_for_everything() -> None:
    refuse_senseless(DEFAULT_OPTIONS, "prod")
    assert not DEFAULT_OPTIONS.bounds_backfills
    assert DEFAULT_OPTIONS.include_unmodified
    assert DEFAULT_OPTIONS.asked.contains(Interval(utc("0001-01-01"), END_OF_TIME))
    assert PlanOptions(start=FIRST).asked == Interval(FIRST, END_OF_TIME)
    assert PlanOptions(end=LAST).asked.end == LAST


def test_the_rules_of_a_comparison_are_those_of_the_options() -> None:
    decisions = {ModelName("mart", "revenue"): Category.NON_BREAKING}
    rules = PlanOptions(strict_columns=True, forward_only=True, decisions=decisions).rules
    assert (rules.strict_columns, rules.forward_only) == (True, True)
    assert rules.decisions == decisions
