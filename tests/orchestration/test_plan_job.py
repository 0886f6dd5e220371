"""A plan from the launchpad: shown, applied, refused, saved, and executed again."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest

from tests.app.memory_world import PROJECT, RAW, TOTALS
from tests.orchestration.launchpad import Launchpad, Make, failure, run_of, shown, written
from vde_dagster.ports.state import environment_resource

SECOND: Final = timedelta(seconds=1)

DOUBLED = ("SUM(amount)", "SUM(amount) * 2")
LIVE = "MODEL (name mart.live, kind MANAGED);\nSELECT COUNT(*) AS n FROM raw.events"
AUDITED = TOTALS.replace("cron '@daily'", "cron '@daily', audits (not_null(columns := (days)))")


@pytest.fixture
def shop(make: Make) -> Launchpad:
    return make({**PROJECT, "totals": AUDITED})


@pytest.mark.full
def test_every_project_has_the_jobs_that_it_can_use(make: Make) -> None:
    always = {"vde_plan", "vde_apply", "vde_automation", "vde_janitor", "vde_maintain"}
    assert make(PROJECT).jobs() == make(PROJECT).jobs("dev") == always
    live = make({"live": LIVE})
    assert live.jobs() == always
    for job in always:  # Dagster's pages list the runs of a project by it
        tags = live.definitions("dev").resolve_job_def(job).tags
        assert tags["vde/project"] == live.project().configuration.name
        assert tags.get("vde/environment", "dev") == "dev"


@pytest.mark.full
def test_a_plan_is_only_shown_unless_it_is_asked_for_more(shop: Launchpad) -> None:
    shop.edit("daily", *DOUBLED)
    result = shop.start("vde_plan")
    assert written(result) == set()
    assert shop.world.rows("mart.totals") == [(2, 11)]
    found = shown(result)
    assert found["vde/applied"] is False
    text = found["vde/plan"]
    assert text.startswith("## Plan for prod at 2024-01-03\n")
    assert "| `mart.daily` | changed, breaking |" in text
    assert "| `mart.totals` | changed upstream, indirect breaking |" in text
    assert "### Why" in text
    run = run_of(shop.instance, result.run_id)
    assert run.tags["vde/environment"] == "prod"
    assert run.tags["vde/plan"]


@pytest.mark.full
def test_an_applied_plan_shows_what_it_wrote_and_then_there_is_nothing_to_do(
    shop: Launchpad,
) -> None:
    shop.edit("daily", *DOUBLED)
    result = shop.start("vde_plan", {"apply": True})
    assert written(result) == {
        ("mart/daily", "2024-01-01"),
        ("mart/daily", "2024-01-02"),
        ("mart/totals", None),
        ("mart/people", None),
    }
    assert shop.world.rows("mart.totals") == [(2, 22)]
    found = shown(result)
    assert found["vde/applied"] is True
    assert found["vde/rows_written"] == 3  # two days and one row of totals
    state = shop.project().services.state.environment("prod")
    run = run_of(shop.instance, result.run_id)
    assert state is not None
    assert run.tags["vde/plan"] == state.plan_id
    (check,) = result.get_asset_check_evaluations()
    assert (check.asset_key.to_user_string(), check.passed) == ("mart/totals", True)
    again = shown(shop.start("vde_plan", {"apply": True}))
    assert again["vde/applied"] is False
    assert "Nothing to do: prod is up to date." in again["vde/plan"]


UNIT_TEST = """\
amounts_are_added_up:
  model: mart.totals
  inputs:
    mart.daily:
      - {day: 2024-01-01, amount: 10}
      - {day: 2024-01-02, amount: 1}
  outputs:
    query: [{days: 2, amount: 11}]
"""


@pytest.fixture
def tested(shop: Launchpad) -> Launchpad:
    """A project with a unit test of its totals, in which the totals are edited."""
    (shop.folder / "tests").mkdir()
    (shop.folder / "tests/totals.yaml").write_text(UNIT_TEST, encoding="utf-8")
    shop.edit("totals", *DOUBLED)
    return shop


@pytest.mark.full
@pytest.mark.parametrize("config", [{"apply": True}, {"save": "reviewed.json"}])
def test_where_a_unit_test_fails_nothing_is_applied_or_saved(
    tested: Launchpad, config: dict[str, object]
) -> None:
    result = tested.start("vde_plan", config, fails=True)
    said = failure(result)
    assert said.startswith("1 unit test: 1 failed (1 on DuckDB). Nothing was written.")
    assert "FAILED  tests/totals.yaml::amounts_are_added_up  (mart.totals)" in said
    assert said.endswith("Correct the models or the tests; --skip-tests plans anyway.")
    assert "- 1 changed, 3 unchanged; 1 source." in shown(result)["vde/plan"]
    assert shown(result)["vde/unit_tests"] == "1 unit test: 1 failed (1 on DuckDB)."
    assert tested.world.rows("mart.totals") == [(2, 11)]
    assert not (tested.folder / "reviewed.json").exists()


@pytest.mark.full
def test_a_plan_is_shown_beside_the_unit_tests_that_fail(tested: Launchpad) -> None:
    found = shown(tested.start("vde_plan"))
    assert found["vde/unit_tests"] == "1 unit test: 1 failed (1 on DuckDB)."
    assert found["vde/applied"] is False


def test_a_plan_is_applied_after_unit_tests_that_pass_or_are_skipped(tested: Launchpad) -> None:
    found = shown(tested.start("vde_plan", {"apply": True, "skip_tests": True}))
    assert (found["vde/applied"], found.get("vde/unit_tests")) == (True, None)
    tested.edit("totals", "SUM(amount) * 2", "SUM(amount) + 0")
    found = shown(tested.start("vde_plan", {"apply": True}))
    said = "1 unit test: 1 passed (1 on DuckDB)."
    assert (found["vde/applied"], found["vde/unit_tests"]) == (True, said)


def test_wrong_values_are_refused_all_at_once_and_nothing_is_written(shop: Launchpad) -> None:
    shop.edit("daily", *DOUBLED)
    config = {
        "apply": True,
        "save": "plan.json",
        "start": "soon",
        "end": "2024-02-30",
        "skip_backfill": True,
        "empty_backfill": True,
        "include_unmodified": False,
        "categorize": "sometimes",
        "decide": {"mart.daily": "braking", "a.b.c.d": "breaking"},
    }
    lines = failure(shop.start("vde_plan", config, fails=True)).splitlines()
    assert lines[0] == "start: 'soon' is not a valid date or time; write it like 2013-01-04"
    assert lines[1] == "end: '2024-02-30' is not a valid date or time; write it like 2013-01-04"
    assert lines[2].startswith(
        "decide mart.daily: 'braking' is not a category that you can choose."
    )
    assert "Did you mean breaking?" in lines[2]
    assert lines[3].startswith("decide: ")
    assert lines[4:6] == [
        "apply and save cannot be combined.",
        "categorize: 'sometimes' is not one of automatic, ask, always.",
    ]
    assert lines[6].startswith(
        "--skip-backfill leaves missing intervals missing and --empty-backfill"
    )
    assert lines[7].startswith("--empty-backfill records intervals without rows")
    assert lines[8].startswith(
        "--no-include-unmodified excludes models that are the same as in prod"
    )
    assert len(lines) == 9
    assert not (shop.folder / "plan.json").exists()
    assert shop.world.rows("mart.totals") == [(2, 11)]


def test_the_options_of_the_launchpad_take_effect(shop: Launchpad) -> None:
    shop.world.land((5.7, 100), until=48)
    shop.edit("daily", *DOUBLED)
    restated = {"restate_model": ["staging.events"], "start": "2024-01-02", "end": "2024-01-02"}
    unedited = {"select_model": ["staging.events"]}
    found = shown(shop.start("vde_plan", {**restated, **unedited}))["vde/plan"]
    assert "again: 24 hours, 2024-01-02 to 2024-01-03" in found
    assert "Unchanged, because not selected: mart.daily" in found
    decided = shop.start("vde_plan", {"decide": {"mart.daily": "non_breaking"}})
    assert "| changed, non-breaking, decided by a person |" in shown(decided)["vde/plan"]


def test_a_saved_plan_is_applied_as_it_was_reviewed(shop: Launchpad) -> None:
    shop.edit("daily", *DOUBLED)
    saved = shown(shop.start("vde_plan", {"save": "reviewed.json"}))
    assert (saved["vde/saved"], saved["vde/applied"]) == ("reviewed.json", False)
    shop.edit("daily", DOUBLED[1], "SUM(amount) * 3")  # not reviewed
    other = failure(
        shop.start("vde_apply", {"file": "reviewed.json"}, environment="dev", fails=True)
    )
    assert "is a plan for prod, and this code location serves dev" in other
    done = shop.start("vde_apply", {"file": "reviewed.json"})
    assert shop.world.rows("mart.totals") == [(2, 22)]
    assert shown(done)["vde/plan"].startswith("## Plan for prod")
    again = shown(shop.start("vde_apply", {"file": "reviewed.json"}))
    assert again["vde/reason"] == "this plan is already applied: prod shows its versions"
    missing = failure(shop.start("vde_apply", {"file": "none.json"}, fails=True))
    assert "file not found" in missing


def test_a_new_model_is_reported_before_the_code_location_is_loaded_again(shop: Launchpad) -> None:
    shop.definitions()
    (shop.folder / "models/more.sql").write_text(
        "MODEL (name mart.more, kind FULL);\nSELECT COUNT(*) AS n FROM mart.daily"
    )
    assert written(shop.start("vde_plan", {"apply": True})) == {("mart/more", None)}


def test_what_waits_for_another_environment_is_named_by_the_jobs(shop: Launchpad) -> None:
    shop.apply("dev")
    shop.world.land((50.5, 3), until=72)
    waits = "the environment prod fills this version, with `vde run prod`"
    planned = shown(shop.start("vde_plan", environment="dev"))["vde/plan"]
    run = shown(shop.start("vde_automation", environment="dev"))
    for text, first in ((planned, "dev waits for"), (run["vde/plan"], "dev has nothing to")):
        assert first in text
        assert waits in text
        assert "up to date" not in text
    assert waits in run["vde/reason"]


def test_a_plan_without_a_time_of_the_clock_is_shown_and_not_applied(shop: Launchpad) -> None:
    shop.edit("daily", *DOUBLED)
    shop.world.catalog.drop_table(RAW)
    only_shown = shop.start("vde_plan")
    logged = [each.user_message for each in shop.instance.all_logs(only_shown.run_id)]
    waits = "the project's clock is not set yet: raw.events"
    assert any(line.startswith(waits) for line in logged)
    for config in ({"apply": True}, {"save": "plan.json"}):
        refused = failure(shop.start("vde_plan", config, fails=True))
        assert refused.startswith(f"nothing was written: {waits}")
    assert not (shop.folder / "plan.json").exists()


def test_a_promotion_that_was_begun_is_finished_before_a_plan_is_made(shop: Launchpad) -> None:
    state = shop.world.services().state
    found = state.environment("prod")
    assert found is not None
    lease = state.acquire_lease(environment_resource("prod"), holder="gone", ttl=SECOND)
    snapshots = [*found.snapshots.values()]
    state.begin_promotion(
        "prod", expected_revision=found.revision, plan_id="cut", snapshots=snapshots, lease=lease
    )
    state.release_lease(lease)
    result = shop.start("vde_plan")
    logged = [each.user_message for each in shop.instance.all_logs(result.run_id)]
    assert "finished an interrupted promotion of prod." in logged
    ended = state.environment("prod")
    assert ended is not None
    assert (ended.revision, ended.promoting) == (found.revision + 1, False)
