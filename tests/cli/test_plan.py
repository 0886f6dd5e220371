"""`vde plan` without Spark: real state and catalog in a temporary folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.terminal import on_terminal
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.composition import VdeProject

ROOT = Path(__file__).parents[2]
ADDED: dict[str, object] = {
    "kind": "model_added",
    "columns": [],
    "upstream": None,
    "read_by": [],
    "clauses": [],
    "function": "",
    "before": "",
    "after": "",
    "sentence": "new model",
}
"""The one reason of a new model."""


def planned(project: Path, *arguments: str) -> dict[str, Any]:
    return document("plan", *arguments, "--project", project)


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    """The flights example, nothing landed."""
    folder = tmp_path / "flights"
    ignored = shutil.ignore_patterns(".vde", "__pycache__")
    shutil.copytree(ROOT / "examples" / "nyc_flights", folder, ignore=ignored)
    return folder


@pytest.fixture
def up_to_date(tmp_path: Path) -> Path:
    """A project whose only model is a source: applying its plan needs no engine."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "vde.yaml").write_text("name: sources\n")
    (folder / "external_models.yaml").write_text("- name: raw.orders\n  columns: {id: bigint}\n")
    project = VdeProject.load(folder)
    plan = plan_environment(project.services, project.files.graph, "prod")
    assert apply_plan(project.services, plan, print) == ()
    return folder


def test_a_new_project_is_shown_and_not_applied_without_a_terminal(project: Path) -> None:
    done = call("plan", "--project", project)
    assert done.exit_code == 0
    for text in ("Plan for prod (new)", "staging.orders", "the whole table", "create the view"):
        assert text in done.stdout
    assert "To compute: 3 intervals in 3 models." in done.stdout
    assert done.stdout.endswith(f"To apply it: vde plan prod --auto-apply --project {project}\n")
    assert call("environments", "--project", project).stdout == ""


def test_a_plan_without_an_environment_goes_where_the_project_says(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDE_USER", "ana")
    with (project / "vde.yaml").open("a") as settings:
        settings.write("default_environment: dev_{user}\n")
    assert "Plan for dev_ana (new)" in call("plan", "--no-apply", "--project", project).stdout
    assert "Plan for prod (new)" in call("plan", "prod", "--no-apply", "--project", project).stdout
    for command in ("status", "run", "history"):
        assert "there is no environment prod" in call(command, "--project", project).stderr
    bounded = ("plan", "--empty-backfill", "--no-apply", "--project", project)
    assert "Plan for dev_ana" in call(*bounded).stdout, "in production that is wrong usage"


@pytest.mark.full
@pytest.mark.parametrize("arguments", [(), ("prod",), ("dev",)])
def test_nothing_is_applied_before_the_person_at_the_terminal_agrees(
    project: Path, arguments: tuple[str, ...]
) -> None:
    environment = arguments[0] if arguments else "prod"
    question = f"Apply this plan to {environment}? [y/N]"
    for answer in ("n\n", "\n"):
        said = on_terminal("plan", *arguments, "--project", project, answers=((question, answer),))
        assert said.code == 0
        assert call("environments", "--project", project).stdout == ""


def test_no_apply_only_shows(project: Path) -> None:
    done = call("plan", "--no-apply", "--project", project)
    assert done.exit_code == 0
    assert "To apply it" not in done.stdout


FIELDS: Final = """
version plan_id environment base_revision now changes promotes options views removed hidden
left_out not_restated gaps dropped_views lost_tables unfinished paced taken pauses effective_from
is_empty rebuilds warnings refused
missing_clock_sources undecided saved waits tests applied built
"""
"""What the document has, in this order."""
ALWAYS: Final = {
    "start": "1970-01-01T00:00:00+00:00", "end": "9999-01-01T00:00:00+00:00",
}  # fmt: skip
NEW_SEED: Final = {
    "name": "staging.orders", "kind": "SEED", "change": "added",
    "category": None, "decided_by": "automatic", "undecidable": False,
    "reasons": [ADDED],
    "columns_changed": ["order_id", "ordered_on", "customer", "amount"],
    "previous_version": None,
    "missing": [ALWAYS], "restated": [], "skipped": [], "intervals": 1,
    "reuse": None, "may_adopt": False, "behind": None, "staleness": None,
    "schema_changes": [], "identity_changes": [], "bounded": None,
}  # fmt: skip
"""What it says of a new model, but for its version and the time."""


def test_the_contract_of_the_json_document(project: Path) -> None:
    facts = planned(project, "dev")
    assert list(facts) == FIELDS.split()
    assert (facts["version"], facts["environment"], facts["base_revision"]) == (1, "dev", 0)
    assert (facts["is_empty"], facts["promotes"], facts["applied"]) == (False, True, False)
    assert (facts["missing_clock_sources"], facts["built"]) == ([], [])
    assert (facts["undecided"], facts["saved"]) == ([], None)
    seed = facts["changes"][0]
    told = {"version": seed["version"], "complete_to": facts["now"]}
    assert seed == NEW_SEED | told


def test_a_clock_without_time_names_its_sources_and_applies_nothing(flights: Path) -> None:
    facts = planned(flights)
    assert facts["now"] is None
    shown = call("plan", "--project", flights)
    assert shown.exit_code == 0
    assert "waits: its inputs have no data yet" in shown.stdout
    assert "To apply it" not in shown.stdout
    assert facts["missing_clock_sources"] == ["raw.departures", "raw.arrivals"]
    done = call("plan", "--auto-apply", "--project", flights)
    assert done.exit_code == 1
    assert "raw.departures, raw.arrivals are missing" in done.stderr
    assert "nothing was written" in done.stderr
    assert call("environments", "--project", flights).stdout == ""


def test_sources_are_not_counted_among_the_models_of_an_environment(up_to_date: Path) -> None:
    shown = call("environments", "--project", up_to_date).stdout.splitlines()
    (row,) = (line.split() for line in shown if "prod" in line)
    assert row[-2:] == ["0", "never"], "how many models it shows, and when it expires"


def test_a_project_without_late_data_has_no_sessions(up_to_date: Path) -> None:
    done = call("catch-up", "--project", up_to_date)
    assert (done.exit_code, done.stdout) == (0, "No model of prod has late data.\n")
    refused = call("catch-up", "raw.orders", "--project", up_to_date)
    assert refused.exit_code == 1
    assert "no late_data" in refused.stderr
