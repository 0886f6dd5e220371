"""`vde promote`, `vde rollback` and `vde history`: plans of what environments show or showed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.promoted import edit, promote
from vde_dagster.composition import VdeProject

REVENUE = Path("models", "mart", "revenue.sql")


@pytest.fixture
def edited(project: Path) -> Path:
    """Production shows the project as it was, dev with another revenue that nobody computed."""
    promote(project, loaded=True)
    edit(project / REVENUE, "SUM(amount)", "SUM(amount * 1.2)")
    promote(project, "dev")
    return project


def facts(*words: str, project: Path) -> dict[str, Any]:
    return document(*words, "--project", project)


def versions(project: Path, environment: str) -> dict[str, str]:
    shown = VdeProject.load(project).services.state.environment(environment)
    assert shown is not None
    return {str(name): each.version for name, each in shown.snapshots.items()}


@pytest.mark.full
def test_a_person_sees_what_is_taken_and_how_to_apply_it(edited: Path) -> None:
    before = versions(edited, "prod")
    done = call("promote", "dev", "--project", edited)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Promotion of revision 1 of dev to prod at ")
    assert "~ mart.revenue  changed, breaking" in done.stdout
    assert f"To apply it: vde promote dev prod --auto-apply --project {edited}" in done.stdout
    assert versions(edited, "prod") == before != versions(edited, "dev")


@pytest.mark.full
def test_a_person_sees_where_a_rollback_goes(edited: Path) -> None:
    first = versions(edited, "prod")
    promote(edited)
    edit(edited / REVENUE, "SUM(amount * 1.2)", "SUM(amount * 3)")
    done = call("rollback", "prod", "--project", edited)
    assert done.stdout.startswith("Rollback to revision 1 of prod at "), done.stderr
    assert "To apply it: vde rollback prod --to 1 --auto-apply" in done.stdout
    found = facts("rollback", "prod", "--no-apply", project=edited)
    assert {each["name"]: each["version"] for each in found["changes"]} == first


@pytest.mark.full
def test_history_says_who_when_and_what(edited: Path) -> None:
    promote(edited)
    done = call("history", "--project", edited)
    assert done.exit_code == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if re.match(r"\s+\d+ ", line)]
    assert len(lines) == 2
    assert re.match(r"\s+2 +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d +not known +[0-9a-f]{8} ", lines[0])
    assert "another version of mart.best_customers, mart.revenue" in lines[0]
    (newest,) = facts("history", "--limit", "1", project=edited)["revisions"]
    assert newest["versions"] == ["mart.best_customers", "mart.revenue"]
    assert tuple(newest["shown"][key] for key in ("revision", "author", "taken")) == (2, "", None)


@pytest.mark.full
def test_two_environments_are_compared(edited: Path) -> None:
    done = call("diff", "prod", "dev", "--project", edited)
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "prod (revision 1) -> dev (revision 1)"
    assert "~ mart.revenue  breaking" in lines
    assert lines[-1] == "2 differ, 1 are the same."
    found = facts("diff", "prod", "dev", project=edited)["models"]
    assert {each["node"]["name"]: each["rows"] for each in found} == {
        "staging.orders": "one table",
        "mart.revenue": "rows not compared",
        "mart.best_customers": "rows not compared",
    }


def test_a_begun_promotion_is_given_up(project: Path) -> None:
    promote(project)
    edit(project / REVENUE, "SUM(amount)", "SUM(amount * 1.2)")
    promote(project, "dev")
    services, before = VdeProject.load(project).services, versions(project, "prod")
    dev = services.state.environment("dev")
    assert dev is not None
    lease = services.state.acquire_lease("environment:prod", holder="test", ttl=services.lease_ttl)
    services.state.begin_promotion(
        "prod",
        expected_revision=1,
        plan_id="cut",
        snapshots=tuple(dev.snapshots.values()),
        lease=lease,
    )
    services.state.release_lease(lease)
    told = call("status", "prod", "--project", project).stdout
    assert "Unfinished promotion\n  revision 2  started at " in told
    assert f"`vde run prod --project {project}` finishes it, or reports what blocks it." in told
    checked = call("state", "check", "--project", project).stdout
    assert f"`vde rollback prod --give-up --project {project}` gives it up" in checked
    assert call("rollback", "prod", "--give-up", "--to", "1", "--project", project).exit_code == 2
    found = facts("rollback", "prod", "--give-up", project=project)
    assert found == {
        "version": 1,
        "environment": "prod",
        "revision": 3,
        "shows": "revision 1 of prod",
    }
    assert versions(project, "prod") == before
    done = call("rollback", "prod", "--give-up", "--project", project)
    assert (done.exit_code, "nothing to give up" in done.stderr) == (1, True)
