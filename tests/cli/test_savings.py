"""`vde savings`: what was not computed, from the state alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.landed import kept_project
from tests.cli.promoted import promote
from tests.cli.test_docs import documented
from tests.kept_folder import KeptFolder


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    return kept_project(tmp_path_factory.mktemp("savings") / "landed")


@pytest.fixture
def built(template: KeptFolder) -> Path:
    """Two days in production, computed just now."""
    return template.put_back()


def shown(folder: Path, *arguments: str) -> dict[str, Any]:
    return document("savings", *arguments, "--project", folder)


def test_what_is_kept_and_shared_is_listed_by_model(built: Path) -> None:
    promote(built, "dev")
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    facts = shown(built, "--since", tomorrow)
    assert list(facts) == ["version", "environment", "since", "savings"]
    assert (facts["environment"], facts["since"]) == (None, f"{tomorrow}T00:00:00+00:00")
    listed = [(s["environment"], s["saving"], s["model"], s["hours"]) for s in facts["savings"]]
    assert listed == [
        (environment, saving, *model)
        for environment, saving in (("dev", "shared"), ("prod", "kept"))
        for model in (("mart.daily", 48.0), ("mart.totals", None), ("staging.events", 48.0))
    ]
    assert all(each["seconds"] is not None for each in facts["savings"])
    assert {*facts, *facts["savings"][0]} - {"version"} <= documented("`environments`, `savings`")


def test_people_get_a_table(built: Path) -> None:
    done = call("savings", "prod", "--since", "2999-01-01", "--project", built)
    assert done.exit_code == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0] == ["Not", "computed", "since", "2999-01-01T00:00:00+00:00"]
    assert lines[1] == [
        *("environment", "model", "saving", "intervals", "hours", "rows", "seconds")
    ]
    assert any(line[:5] == ["prod", "mart.daily", "kept", "2", "48.0"] for line in lines)


@pytest.mark.parametrize("ago", [(), ("--since", "2 days ago"), ("--since", "999999 weeks ago")])
def test_what_was_computed_since_then_is_not_kept(ago: tuple[str, ...], built: Path) -> None:
    assert shown(built, *ago)["savings"] == []
    done = call("savings", *ago, "--project", built)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("Nothing has been kept since ")


@pytest.mark.parametrize("text", ["yesterday", "ago", "2 days", "2 months ago", ""])
def test_what_is_no_time_is_wrong_usage(text: str, built: Path) -> None:
    done = call("savings", "--since", text, "--project", built)
    assert done.exit_code == 2
    assert "is not a date or time; write it like 2013-01-04 or '2 days ago'" in done.stderr
