"""Texts about options of the command line, as the launchpad shows them."""

from __future__ import annotations

import pytest

from vde_dagster.orchestration.plan_config import launchpad_words


@pytest.mark.parametrize(
    "written, shown",
    [
        ("pass --skip-backfill", "pass skip_backfill"),
        ("`--decide mart.daily=breaking`", "`decide: {mart.daily: breaking}`"),
        ("or --categorize automatic.", "or categorize: automatic."),
    ],
)
def test_options_have_their_names_in_the_launchpad(written: str, shown: str) -> None:
    assert launchpad_words(written) == shown


def test_whole_commands_stay_as_they_are_given_in_a_terminal() -> None:
    publish = "`vde publish 3d2d --accept accepted_range --reason TEXT`"
    text = f"Correct the rows with --restate-model, or publish them all the same: {publish}."
    shown = f"Correct the rows with restate_model, or publish them all the same: {publish}."
    assert launchpad_words(text) == shown
