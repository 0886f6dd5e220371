"""The command that applies a plan that was shown asks for the same plan."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.cli.promoted import edit, promote
from vde_dagster.cli.plans.deciding import decisions_of
from vde_dagster.cli.plans.plan import plan_command
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.option_table import words_of
from vde_dagster.core.planning.options import PlanOptions

OPTIONS = {
    "none": PlanOptions(),
    "bounds": PlanOptions(
        start=datetime(2024, 1, 1, tzinfo=UTC), end=datetime(2024, 2, 1, tzinfo=UTC)
    ),
    "an hour": PlanOptions(end=datetime(2024, 2, 1, 13, tzinfo=UTC)),
    "restating": PlanOptions(restate=("mart.a", "tag:b+"), allow_empty=True, no_gaps=True),
    "showing": PlanOptions(skip_backfill=True, accept_loss=True, include_unmodified=False),
    "empty": PlanOptions(empty_backfill=True, select=("+mart.a", "path:models/*")),
    "keeping": PlanOptions(
        forward_only=True,
        effective_from=datetime(2024, 1, 5, tzinfo=UTC),
        decisions={
            ModelName("mart", "a"): Category.FORWARD_ONLY,
            ModelName("mart", "b"): Category.NON_BREAKING,
        },
    ),
}


def read(words: list[str]) -> PlanOptions:
    """The options that `vde plan dev` understands."""
    given = plan_command.make_context("plan", ["dev", *words]).params
    own = {key: value for key, value in given.items() if key in PlanOptions.__dataclass_fields__}
    return PlanOptions(**own, decisions=decisions_of(given["decided"], catalog="lake"))


def test_each_option_of_a_plan_is_asked_for_in_one_of_these() -> None:
    every = {*PlanOptions.__dataclass_fields__} - {"strict_columns"}  # which vde.yaml says
    usual = PlanOptions()
    asked = {
        name
        for name in every
        for options in OPTIONS.values()
        if getattr(options, name) != getattr(usual, name)
    }
    assert asked == every


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_words_for_options_are_understood_as_these_options(options: PlanOptions) -> None:
    assert read(words_of(options)) == options


def test_what_is_advised_applies_what_was_shown(project: Path) -> None:
    promote(project)
    edit(project / "models" / "mart" / "revenue.sql", "SUM(amount)", "SUM(amount * 2)")
    wanted = ("--forward-only", "--select-model", "mart.revenue")
    done = call("plan", "dev", *wanted, "--project", project)
    assert done.stdout.splitlines()[-1] == (
        "To apply it: vde plan dev --forward-only --select-model mart.revenue --auto-apply "
        f"--project {project}"
    )


def test_how_many_models_are_evaluated_at_once_is_part_of_what_is_advised(project: Path) -> None:
    at_once = ("--concurrency", "3", "--fail-fast")
    done = call("plan", "dev", *at_once, "--project", project)
    assert done.stdout.splitlines()[-1] == (
        f"To apply it: vde plan dev --concurrency 3 --fail-fast --auto-apply --project {project}"
    )
    file = project / "reviewed.json"
    done = call("plan", "dev", *at_once, "--save", file, "--project", project)
    assert done.stdout.splitlines()[-1] == (
        f"Saved. To apply it: vde apply {file} --concurrency 3 --fail-fast --project {project}"
    )


@pytest.mark.parametrize("models", ["0", "65", "some"])
@pytest.mark.parametrize("words", [("plan", "dev"), ("apply", "x.json"), ("run",)])
def test_another_number_of_models_is_wrong_usage(
    tmp_path: Path, words: tuple[str, ...], models: str
) -> None:
    done = call(*words, "--concurrency", models, "--project", tmp_path)
    assert done.exit_code == 2
    assert "Invalid value for '--concurrency'" in done.stderr
