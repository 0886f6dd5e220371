"""The options of `vde plan` and its --explain, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.promoted import edit, promote

BEST = Path("models", "mart", "best_customers.sql")


def planned(project: Path, *arguments: str, exit_code: int = 0) -> dict[str, Any]:
    return document("plan", *arguments, "--project", project, exit_code=exit_code)


@pytest.mark.parametrize(
    "arguments,text",
    [
        (["dev", "--start", "2024-01-05", "--end", "2024-01-03"], "is not after the start"),
        (["--start", "2024-01-05"], "use them with --restate-model"),
        (["--end", "2024-01-05"], "use them with --restate-model"),
        (["dev", "--skip-backfill", "--empty-backfill"], "choose one of them"),
        (["dev", "--skip-backfill", "--restate-model", "a.b"], "omit one of them"),
        (["dev", "--empty-backfill", "--restate-model", "a.b"], "omit one of them"),
        (["dev", "--skip-backfill", "--start", "2024-01-05"], "omit one of them"),
        (["dev", "--empty-backfill", "--no-gaps"], "omit one of them"),
        (["--empty-backfill"], "use it in another environment"),
        (["--no-include-unmodified"], "use it in another environment"),
        (["--auto-apply", "--explain"], "cannot be combined"),
        (["dev", "--start", "soon"], "'soon' is not a valid date or time"),
    ],
)
def test_options_that_make_no_sense_are_wrong_usage_and_nothing_is_read(
    tmp_path: Path, arguments: list[str], text: str
) -> None:
    done = call("plan", *arguments, "--project", tmp_path / "nowhere")
    assert done.exit_code == 2
    assert text in " ".join(done.stderr.split())


def test_every_contradiction_is_reported_at_once(tmp_path: Path) -> None:
    done = call(
        "plan", "--empty-backfill", "--no-gaps", "--no-include-unmodified", "--project", tmp_path
    )
    assert done.exit_code == 2
    for option in ("--no-gaps", "--empty-backfill records", "--no-include-unmodified"):
        assert option in done.stderr


def test_skipping_computes_nothing_and_says_so(project: Path) -> None:
    facts = planned(project, "dev", "--skip-backfill")
    assert all(each["missing"] == [] for each in facts["changes"])
    skipped = {each["name"] for each in facts["changes"] if each["skipped"]}
    assert skipped == {"staging.orders", "mart.revenue", "mart.best_customers"}


def test_explaining_lists_the_stages_and_does_nothing(project: Path) -> None:
    done = call("plan", "dev", "--explain", "--project", project)
    assert done.exit_code == 0, done.stderr
    steps = done.stdout.split("Applying it takes these steps, in order:\n")[1].splitlines()
    numbered = [line.split(". ", 1)[1] for line in steps if line[:1].isdigit()]
    assert [line.split(" ")[0] for line in numbered] == [
        "Reserve",
        "Store",
        "Compute",
        "Compute",
        "Create",
        "Point",
    ]
    assert "To apply it" not in done.stdout
    assert call("environments", "--project", project).stdout == ""


def test_the_stages_as_json(project: Path) -> None:
    facts = planned(project, "dev", "--explain")
    assert facts["applied"] is False
    stages = facts["stages"]
    assert [each["is"] for each in stages] == [
        "Reserve",
        "StoreSnapshots",
        "Backfill",
        "Backfill",
        "MakeView",
        "Promote",
    ]
    assert stages[0] == {"is": "Reserve", "environment": "dev", "base_revision": 0}
    assert stages[2]["model"] == "staging.orders"
    whole = {"start": "1970-01-01T00:00:00+00:00", "end": "9999-01-01T00:00:00+00:00"}
    assert stages[2]["intervals"] == stages[2]["batches"] == [whole]
    assert stages[5]["views"] == ["staging.orders", "mart.revenue", "mart.best_customers"]
    assert "stages" not in planned(project, "dev")


def test_an_empty_backfill_is_explained_as_such(project: Path) -> None:
    stages = planned(project, "dev", "--explain", "--empty-backfill")["stages"]
    # A seed's rows are in the project and a view has none of its own: both are made.
    assert [each["is"] for each in stages[2:-1]] == ["Backfill", "EmptyBackfill", "MakeView"]
    text = call("plan", "dev", "--explain", "--empty-backfill", "--project", project).stdout
    assert "Record mart.revenue" in text


def test_a_plan_without_work_is_explained_in_a_line(project: Path) -> None:
    promote(project)
    done = call("plan", "--explain", "--skip-backfill", "--project", project)
    assert done.stdout.endswith("Applying it does nothing.\n")


def test_an_applied_plan_without_work_starts_no_spark_and_hides_what_is_as_in_production(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    promote(project)
    edit(project / BEST, "SUM(orders)", "SUM(orders) + 1")
    options = ["--skip-backfill", "--no-include-unmodified", "--auto-apply"]
    done = call("plan", "dev", *options, "--project", project)
    assert done.exit_code == 0, done.stderr
    again = call("plan", "dev", *options, "--project", project)
    assert again.stdout.startswith("Nothing to do in this plan: dev waits for ")
    assert "Waits: mart.best_customers: mart.revenue lacks 2024-01-01" in again.stdout
    refused = call("query", "SELECT * FROM mart.revenue", "--env", "dev", "--project", project)
    assert refused.exit_code == 1
    assert "dev has no view of mart.revenue" in refused.stderr
