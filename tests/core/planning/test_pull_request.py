"""The summary of a pull request, and its record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.app.memory_world import PROJECT, MemoryWorld, graph_of
from vde_dagster.app.promote.taking import plan_promotion
from vde_dagster.core.errors import Refused
from vde_dagster.core.planning.plan_markdown import plan_markdown
from vde_dagster.core.planning.pull_request import (
    BuiltRows,
    ComparedRows,
    PullRequest,
    read_request,
    request_markdown,
    write_request,
)

BUILT = PullRequest(
    environment="pr_42",
    target="prod",
    tests=3,
    built=(
        BuiltRows(model="mart.daily", intervals=2, rows=1_200),
        BuiltRows(model="mart.people", intervals=None, rows=None),
    ),
)
DAILY = ComparedRows(model="mart.daily", before=1_000, after=1_200, said="other rows in 2 days")


def test_a_record_is_read_as_it_was_written() -> None:
    failed = PullRequest(environment="pr_42", target="prod", failure="a `test` failed")
    for each in (BUILT, failed):
        assert (
            read_request(json.loads(json.dumps(write_request(each))), name="x", environment="pr_42")
            == each
        )


@pytest.mark.parametrize("content", [None, [], {}, {"environment": 1, "target": "prod"}])
def test_what_is_no_record_is_refused_with_its_name(content: Any) -> None:
    with pytest.raises(Refused, match=r"pr_42\.json is not a record of a pull request"):
        read_request(content, name="pr_42.json", environment="pr_42")


def test_the_summary_says_what_was_tested_built_and_compared() -> None:
    assert request_markdown(BUILT, None, [DAILY]) == (
        "## pr\\_42 is built and can be promoted to prod\n\n"
        "- Unit tests: 3 passed.\n"
        "- Computed in pr\\_42: 1,200 rows in 2 models.\n\n"
        "### Rows\n\n"
        "| model | in prod | in pr\\_42 | |\n"
        "| --- | ---: | ---: | --- |\n"
        "| `mart.daily` | 1,000 | 1,200 | other rows in 2 days |\n"
    )


def test_the_summary_has_the_plan_that_is_approved() -> None:
    world = MemoryWorld.landed((5.5, 10), (30.5, 1), until=48)
    world.build(graph_of(PROJECT))
    edited = PROJECT["daily"].replace("SUM(amount)", "SUM(amount) * 2")
    world.build(graph_of({**PROJECT, "daily": edited}), "pr_42")
    promotion = plan_promotion(world.services(), "pr_42", "prod")
    text = request_markdown(BUILT, promotion, [])
    assert plan_markdown(promotion) in text
    assert "changes column `amount`" in text


def test_a_failure_is_shown_as_it_is() -> None:
    failed = PullRequest(environment="pr_42", target="prod", failure="no ``` table\n| a |")
    text = request_markdown(failed, None, [])
    assert text == ("## pr\\_42 is not built\n\n````\nno ``` table\n| a |\n````\n"), (
        "a fence has more backticks than the text in it"
    )
