"""`vde savings`: what was not computed, from the state alone."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.conftest import WithoutJava
from tests.cli.landed import build_project, make_source, write_project
from tests.cli.promoted import promote
from tests.cli.test_docs import CLI
from tests.kept_folder import KeptFolder
from vde_dagster.app.binding import bind_environment
from vde_dagster.composition import VdeProject
from vde_dagster.core.ledger.savings import Saved, Saving, SavingKind
from vde_dagster.core.names import ModelName

DAILY, TOTALS = ModelName("mart", "daily"), ModelName("mart", "totals")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    folder = write_project(tmp_path_factory.mktemp("savings") / "landed")
    make_source(folder)
    build_project(folder, until=48)
    return KeptFolder.of(folder)


@pytest.fixture
def built(template: KeptFolder) -> Path:
    """Two days in production, and nothing kept."""
    return template.put_back()


@pytest.fixture
def kept(built: Path) -> Path:
    """The same; two evaluations kept something, one of them a table whose seconds are not known."""
    keep(built, "e1", DAILY, Saved(intervals=30, time=timedelta(days=30), rows=1200, seconds=90.25))
    keep(built, "e2", TOTALS, Saved(intervals=1, rows=1, untimed=1))
    return built


def keep(folder: Path, occasion: str, name: ModelName, saved: Saved) -> None:
    services = VdeProject.load(folder).services
    binding = bind_environment(services, "prod")
    assert binding is not None
    services.state.record_saving(
        Saving(
            occasion=occasion,
            key=binding.key(name),
            environment="prod",
            kind=SavingKind.REUSED,
            saved=saved,
        )
    )


def shown(folder: Path, *arguments: str) -> dict[str, Any]:
    done = call("savings", *arguments, "--project", folder, "--format", "json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.full
def test_the_contract_of_the_json_document(kept: Path) -> None:
    facts = shown(kept)
    fields = ["version", "environment", "since", "recorded_since", "savings", "totals"]
    assert list(facts) == fields
    assert (facts["version"], facts["environment"], facts["since"]) == (1, None, None)
    assert datetime.fromisoformat(facts["recorded_since"]) <= datetime.now(UTC)
    daily = {"intervals": 30, "hours": 720.0, "rows": 1200, "seconds": 90.25, "untimed": 0}
    totals = {"intervals": 1, "hours": None, "rows": 1, "seconds": None, "untimed": 1}
    named = {"environment": "prod", "saving": "reused"}
    assert facts["savings"] == [
        {**named, "model": "mart.daily", **daily},
        {**named, "model": "mart.totals", **totals},
    ]
    total = {"intervals": 31, "hours": 720.0, "rows": 1201, "seconds": 90.25, "untimed": 1}
    assert facts["totals"] == [{"saving": "reused", **total}]


def test_every_field_is_documented(kept: Path) -> None:
    (row,) = re.findall(r"^\| `savings` \| (.*) \|$", CLI, flags=re.MULTILINE)
    facts = shown(kept)
    fields = {*facts, *facts["savings"][0], *facts["totals"][0]} - {"version"}
    assert fields <= set(re.findall(r"`([a-z_]+)`", row))


@pytest.mark.full
def test_what_is_shared_is_listed_with_what_was_reused(kept: Path) -> None:
    promote(kept, "dev")
    facts = shown(kept, "dev")
    assert {each["environment"] for each in facts["savings"]} == {"dev"}
    assert [(each["model"], each["saving"], each["hours"]) for each in facts["savings"]] == [
        ("mart.daily", "shared", 48.0),
        ("mart.totals", "shared", None),
        ("staging.events", "shared", 48.0),
    ]
    assert [each["saving"] for each in shown(kept)["totals"]] == ["reused", "shared"]


def test_people_get_a_table_with_totals_and_since_when_it_is_recorded(kept: Path) -> None:
    done = call("savings", "prod", "--project", kept)
    assert done.exit_code == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0] == ["Not", "computed", "in", "prod"]
    assert ["prod", "mart.daily", "reused", "30", "720", "1,200", "90.2"] in lines
    assert ["prod", "mart.totals", "reused", "1", "1", "unknown"] in lines
    assert ["total", "reused", "31", "720", "1,201", "90.2"] in lines
    assert "What is reused and adopted is recorded since 20" in done.stdout
    assert done.stdout.endswith("Of 1 intervals it is not known how long they took.\n")


def test_where_nothing_is_saved_it_says_so_and_since_when(built: Path) -> None:
    done = call("savings", "--project", built)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("Nothing was reused, adopted or shared. What is reused and")
    facts = shown(built)
    assert (facts["savings"], facts["totals"]) == ([], [])


@pytest.mark.parametrize("ago", ["2 days ago", "1 hour 30 minutes ago", "999999 weeks ago"])
def test_a_time_before_now_is_looked_back_to(ago: str, kept: Path) -> None:
    facts = shown(kept, "--since", ago)
    assert len(facts["savings"]) == 2
    assert datetime.fromisoformat(facts["since"]) < datetime.now(UTC)


def test_an_instant_bounds_what_is_summed_up(kept: Path) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    facts = shown(kept, "--since", tomorrow)
    assert (facts["since"], facts["savings"]) == (f"{tomorrow}T00:00:00+00:00", [])
    assert len(shown(kept, "--since", "2013-01-04")["savings"]) == 2
    done = call("savings", "--since", tomorrow, "--project", kept)
    assert f"shared since {tomorrow} UTC. What" in done.stderr


@pytest.mark.parametrize("text", ["yesterday", "ago", "2 days", "2 months ago", ""])
def test_what_is_no_time_is_wrong_usage(text: str, built: Path) -> None:
    done = call("savings", "--since", text, "--project", built)
    assert done.exit_code == 2
    assert "is no date or time; write it like 2013-01-04 or '2 days ago'" in done.stderr


def test_an_environment_that_nobody_knows_is_refused(built: Path) -> None:
    done = call("savings", "tset", "--project", built)
    assert done.exit_code == 1
    assert "there is no environment tset" in done.stderr


def test_no_java_is_needed(kept: Path, without_java: WithoutJava) -> None:
    promote(kept, "dev")
    done = without_java("savings", "--project", str(kept))
    assert done.returncode == 0, done.stderr
    assert "mart.daily" in done.stdout
