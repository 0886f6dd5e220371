"""Who decides the category of an edit: nobody, the command line, or a person on a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call, new_project
from tests.cli.calling import facts as document
from tests.cli.promoted import edit, promote
from tests.cli.terminal import Said, on_terminal
from tests.kept_folder import KeptFolder

PYTHON = '''"""A table in Python."""

from vde_dagster import model


@model("mart.scores", kind="FULL", columns={"score": "bigint"}, depends_on=[])
def scores(context, **_):
    return context.spark.range(3).selectExpr("id AS score")
'''
READER = "MODEL (name mart.best, kind FULL);\nSELECT MAX(score) AS best FROM mart.scores\n"
REVENUE = Path("models", "mart", "revenue.sql")
SCORES = Path("models", "mart", "scores.py")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    folder = new_project(tmp_path_factory.mktemp("modes") / "shop")
    (folder / SCORES).write_text(PYTHON)
    (folder / "models" / "mart" / "best.sql").write_text(READER)
    promote(folder, loaded=True)
    edit(folder / SCORES, "range(3)", "range(4)")
    return KeptFolder.of(folder)


@pytest.fixture
def shop(template: KeptFolder) -> Path:
    """Production shows it and has all that is due; then a Python model was edited."""
    return template.put_back()


def both_edited(shop: Path) -> Path:
    edit(shop / REVENUE, "SUM(amount)", "SUM(amount * 2)")
    return shop


def facts(shop: Path, *arguments: str) -> dict[str, Any]:
    found = document("plan", *arguments, "--project", shop)
    return found | {"by_name": {each["name"]: each for each in found["changes"]}}


def categories(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        name: (each["category"], each["decided_by"])
        for name, each in found["by_name"].items()
        if each["category"]
    }


def asked(shop: Path, *words: str | Path, answers: tuple[tuple[str, str], ...]) -> Said:
    """What a person who answers is asked and told."""
    return on_terminal("plan", *words, "--project", shop, answers=answers)


NOT_APPLIED = ("Apply this plan to prod?", "n\n")


# Automatic
@pytest.mark.full
def test_by_default_what_is_not_known_is_breaking(shop: Path) -> None:
    found = facts(shop)
    assert categories(found) == {
        "mart.scores": ("breaking", "automatic"),
        "mart.best": ("indirect_breaking", "automatic"),
    }
    assert found["by_name"]["mart.scores"]["undecidable"]
    assert found["undecided"] == []
    assert "mart.scores  changed, breaking (undecidable)" in call("plan", "--project", shop).stdout


# The command line decides
def test_a_decision_is_taken_and_followed_below(shop: Path) -> None:
    found = facts(shop, "--decide", "lake.Mart.Scores=Non-Breaking")
    assert categories(found) == {
        "mart.scores": ("non_breaking", "person"),
        "mart.best": ("indirect_non_breaking", "automatic"),
    }
    best = found["by_name"]["mart.best"]
    assert best["version"] == best["previous_version"]
    assert found["options"]["decisions"] == {"mart.scores": "non_breaking"}


@pytest.mark.parametrize(
    "written,reported",
    [
        ("mart.scores", "write MODEL=CATEGORY"),
        ("mart.scores=", "not a category that you can choose"),
        ("mart.scores=braking", "Did you mean breaking?"),
        ("mart.scores=metadata", "Choose one of breaking, non_breaking, forward_only."),
        ("mart.scores=indirect_breaking", "not a category that you can choose"),
        ("a.b.c.d=breaking", "4 parts"),
        ("=breaking", "''"),
    ],
)
def test_what_is_no_decision_is_wrong_usage(shop: Path, written: str, reported: str) -> None:
    done = call("plan", "--decide", written, "--project", shop)
    assert done.exit_code == 2
    assert reported in done.stderr


def test_two_decisions_about_one_model_are_wrong_usage(shop: Path) -> None:
    two = ("--decide", "mart.scores=breaking", "--decide", "lake.mart.scores=non_breaking")
    done = call("plan", *two, "--project", shop)
    assert done.exit_code == 2
    assert "mart.scores is decided to be breaking and non_breaking: choose one." in done.stderr


@pytest.mark.parametrize(
    "written,reported",
    [
        ("mart.score=breaking", "Did you mean mart.scores?"),
        ("mart.best=breaking", "only models upstream changed"),
        ("mart.revenue=breaking", "it did not change"),
    ],
)
def test_what_cannot_be_decided_is_refused(shop: Path, written: str, reported: str) -> None:
    done = call("plan", "--decide", written, "--project", shop)
    assert done.exit_code == 1
    assert reported in done.stderr
    assert done.stdout == ""


def test_always_asks_for_each_edited_model(shop: Path) -> None:
    both_edited(shop)
    done = call("plan", "--categorize", "always", "--format", "json", "--project", shop)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "2 models need a decision" in done.stderr
    answered = ("--decide", "mart.scores=breaking", "--decide", "mart.revenue=non_breaking")
    found = facts(shop, "--categorize", "always", *answered)
    assert found["undecided"] == []
    assert categories(found)["mart.revenue"] == ("non_breaking", "person")


def test_what_is_only_shown_names_the_open_questions(shop: Path) -> None:
    done = call("plan", "--categorize", "ask", "--no-apply", "--project", shop)
    assert done.exit_code == 0
    assert "--decide mart.scores=" in done.stderr
    assert "mart.scores  changed, breaking (undecidable)" in done.stdout
    found = facts(shop, "--categorize", "ask", "--no-apply")
    assert found["undecided"] == ["mart.scores"]


@pytest.mark.full
def test_the_setting_asks_and_the_option_wins(shop: Path) -> None:
    with (shop / "vde.yaml").open("a") as file:
        file.write("\ncategorize: ask\nenvironments: {dev: {categorize: automatic}}\n")
    refused = call("plan", "prod", "--project", shop)
    assert refused.exit_code == 1
    assert "mart.scores" in refused.stderr
    assert call("plan", "dev", "--project", shop).exit_code == 0
    assert call("plan", "prod", "--categorize", "automatic", "--project", shop).exit_code == 0


def test_an_unchanged_project_asks_nothing(project: Path) -> None:
    promote(project)
    assert facts(project, "--categorize", "always")["undecided"] == []


# On a terminal
@pytest.mark.full
def test_a_person_is_asked_with_what_follows_from_each_answer(shop: Path) -> None:
    answers = (("forward_only [breaking]: ", "non\n"), NOT_APPLIED)
    said = asked(shop, "--categorize=ask", answers=answers)
    assert said.code == 0
    before = said.text.split("Plan for prod")[0]
    assert "mart.scores (1 of 1): the effect of this edit is unknown" in before
    reported = dict(line.split(maxsplit=1) for line in before.splitlines() if " computes " in line)
    assert reported == {
        "breaking": "computes 2 intervals of mart.scores, mart.best",
        "non_breaking": "computes 1 interval of mart.scores",
        "forward_only": "computes nothing of this model or downstream",
    }
    assert "mart.scores  changed, non-breaking (decided by a user)" in said.text
    assert "1 downstream keeps its version" in said.text
    assert "To compute: 1 interval in 1 model." in said.text


@pytest.mark.full
def test_an_answer_that_changes_the_table_in_place_says_so(shop: Path) -> None:
    edit(shop / SCORES, "range(4)", "range(3)")
    edit(shop / REVENUE, "AS revenue -- Their sum", "AS revenue, -- Their sum\n  1 AS one")
    answers = (("[non_breaking]: ", "\n"), NOT_APPLIED)
    text = asked(shop, "--categorize=always", answers=answers).text
    computes = "computes nothing of this model or downstream; adds one (int) in place"
    assert f"forward_only  {computes}" in text


def test_a_wrong_answer_is_asked_again_and_return_takes_what_is_offered(shop: Path) -> None:
    answers = (("[breaking]: ", "perhaps\n"), ("[breaking]: ", "\n"), NOT_APPLIED)
    said = asked(shop, "--categorize=ask", answers=answers)
    assert said.code == 0
    assert "'perhaps' is not one of breaking, non_breaking, forward_only" in said.text
    assert "mart.scores  changed, breaking (decided by a user)" in said.text


@pytest.mark.full
def test_each_edited_model_is_asked_for_in_turn(shop: Path) -> None:
    saved = both_edited(shop) / "p.json"
    answers = (("(1 of 2)", "n\n"), ("(2 of 2)", "f\n"))
    said = asked(shop, "--categorize=always", "--save", saved, answers=answers)
    assert said.code == 0, said.text
    written = json.loads(saved.read_text())["plan"]["options"]["decisions"]
    assert sorted(written) == ["mart.revenue", "mart.scores"]
    assert sorted(written.values()) == ["forward_only", "non_breaking"]
    assert "Saved." in said.text


def test_who_stops_at_a_question_has_written_nothing(shop: Path) -> None:
    saved = shop / "p.json"
    answers = (("[breaking]: ", "\x04"),)
    said = asked(shop, "--categorize=ask", "--save", saved, answers=answers)
    assert said.code == 1
    assert "Aborted!" in said.text
    assert not saved.exists()
