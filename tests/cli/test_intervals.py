"""`vde intervals`: what is loaded and what is missing, from the state alone."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.conftest import WithoutJava
from tests.cli.landed import build_project, complete_until, make_source, write_project
from tests.kept_folder import KeptFolder

ALWAYS = {"start": "1970-01-01T00:00:00+00:00", "end": "9999-01-01T00:00:00+00:00"}
HOUR = timedelta(hours=1)
EVENTS = Path("models", "staging", "events.sql")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    folder = write_project(tmp_path_factory.mktemp("intervals") / "landed")
    make_source(folder)
    build_project(folder, until=48)
    complete_until(folder, 78)
    return KeptFolder.of(folder)


@pytest.fixture
def landed(template: KeptFolder) -> Path:
    """Built to the end of the second day; the source went on for 30 more hours."""
    return template.put_back()


def at(text: str) -> str:
    return f"2024-01-{text}:00:00+00:00"


def shown(folder: Path, *arguments: str) -> dict[str, Any]:
    return document("intervals", *arguments, "--project", folder)


def models(folder: Path, *arguments: str) -> dict[str, Any]:
    return {each["node"]["name"]: each for each in shown(folder, *arguments)["models"]}


@pytest.mark.full
def test_the_contract_of_the_json_document(landed: Path) -> None:
    facts = shown(landed)
    assert list(facts) == ["version", "environment", "now", "models"]
    assert (facts["version"], facts["environment"]) == (1, "prod")
    assert facts["now"] == at("04T06")
    assert [each["node"]["name"] for each in facts["models"]] == [
        "staging.events",
        "mart.daily",
        "mart.people",
        "mart.totals",
    ]
    events = facts["models"][0]
    assert len(events["version"]) == 32
    assert events == {
        "node": {
            "name": "staging.events",
            "kind": "INCREMENTAL_BY_TIME_RANGE",
            "unit": "hour",
            "cron": "@hourly",
            "cron_tz": "UTC",
            "start": at("01T00"),
            "end": None,
        },
        "version": events["version"],
        "loaded": [{"start": at("01T00"), "end": at("03T00")}],
        "empty": [],
        "missing": [{"start": at("03T00"), "end": at("04T06")}],
        "complete_to": at("04T06"),
        "next_due": at("04T07"),
        "waits": [],
        "accepted": [],
        "intervals": 30,
    }


def test_each_kind_counts_in_its_own_way(landed: Path) -> None:
    found = models(landed)
    day = [{"start": at("03T00"), "end": at("04T00")}]
    assert found["mart.daily"]["missing"] == day
    assert found["mart.people"]["loaded"] == [ALWAYS]
    assert found["mart.people"]["missing"] == []
    assert found["mart.totals"]["loaded"] == [{"start": at("01T00"), "end": at("03T00")}]
    assert len(found["mart.totals"]["missing"]) == 1


INCREMENTAL = {
    "by_key": "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)",
    "by_partition": "INCREMENTAL_BY_PARTITION, partitioned_by (id)",
    "unmanaged": "INCREMENTAL_UNMANAGED",
    "by_updates": "SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at)",
    "by_columns": "SCD_TYPE_2_BY_COLUMN (unique_key id, columns (amount))",
}


@pytest.mark.full
def test_every_incremental_kind_is_counted_by_interval_as_a_plan_counts_it(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "kinds")
    for name, kind in INCREMENTAL.items():
        (folder / "models" / f"{name}.sql").write_text(
            f"MODEL (name mart.{name}, kind {kind}, cron '@daily');\n"
            "SELECT id, at, amount FROM raw.events\n"
        )
    make_source(folder)
    complete_until(folder, 16 * 24)
    sixteen_days = [{"start": at("01T00"), "end": at("17T00")}]
    planned = json.loads(call("plan", "--no-apply", "--project", folder, "--format", "json").stdout)
    to_compute = {each["name"]: each["missing"] for each in planned["changes"]}
    reported = models(folder)
    for name in INCREMENTAL:
        assert reported[f"mart.{name}"]["missing"] == sixteen_days
        assert to_compute[f"mart.{name}"] == sixteen_days
        for command in ("intervals", "plan"):
            text = call(command, "--project", folder).stdout
            (line,) = (each for each in text.splitlines() if f"mart.{name} " in each)
            assert "16 days, 2024-01-01 to" in line
    # A FULL table is made at once, and so is one interval.
    assert reported["mart.totals"]["missing"] == sixteen_days


@pytest.mark.full
def test_what_is_made_at_once_is_shown_whole_where_a_range_overlaps_it(landed: Path) -> None:
    totals = models(landed, "--start", "2024-01-02", "--end", "2024-01-02")["mart.totals"]
    assert totals["loaded"] == [{"start": at("01T00"), "end": at("03T00")}]
    assert totals["missing"] == [{"start": at("01T00"), "end": at("04T00")}]
    later = models(landed, "--start", "2024-01-04", "--end", "2024-01-05")["mart.totals"]
    assert (later["loaded"], later["missing"]) == ([], [])


@pytest.mark.full
def test_start_and_end_limit_what_is_shown(landed: Path) -> None:
    found = models(landed, "--start", "2024-01-02T20:00", "--end", "2024-01-03")
    assert found["staging.events"]["loaded"] == [{"start": at("02T20"), "end": at("03T00")}]
    assert found["staging.events"]["missing"] == [{"start": at("03T00"), "end": at("04T00")}]
    assert found["mart.people"]["loaded"] == [ALWAYS]
    exclusive = models(landed, "--end", "2024-01-03T00:00")["staging.events"]
    assert exclusive["missing"] == []


@pytest.mark.full
def test_a_range_that_cuts_an_interval_shows_it_whole(landed: Path) -> None:
    found = models(landed, "mart.daily", "--start", "2024-01-03T12:00")
    assert found["mart.daily"]["missing"] == [{"start": at("03T00"), "end": at("04T00")}]
    noon_to_noon = ("--start", "2024-01-02T12:00", "--end", "2024-01-03T12:00")
    daily = models(landed, "mart.daily", *noon_to_noon)["mart.daily"]
    assert daily["loaded"] == [{"start": at("02T00"), "end": at("03T00")}]
    assert daily["missing"] == [{"start": at("03T00"), "end": at("04T00")}]
    # A range ends before its end: what starts there does not overlap it.
    before = ("--start", "2024-01-02T12:00", "--end", "2024-01-03T00:00")
    assert models(landed, "mart.daily", *before)["mart.daily"]["missing"] == []


@pytest.mark.full
def test_an_edited_file_holds_nothing_yet_and_what_the_environment_shows_still_does(
    landed: Path,
) -> None:
    text = (landed / EVENTS).read_text()
    (landed / EVENTS).write_text(text.replace("amount AS amount", "amount * 2 AS amount"))
    edited, promoted = models(landed)["staging.events"], models(landed, "--env", "prod")
    assert edited["loaded"] == []
    assert edited["missing"] == [{"start": at("01T00"), "end": at("04T06")}]
    assert promoted["staging.events"]["loaded"] == [{"start": at("01T00"), "end": at("03T00")}]
    assert promoted["staging.events"]["version"] != edited["version"]


@pytest.mark.full
def test_an_environment_does_not_need_the_files(landed: Path) -> None:
    before = shown(landed, "--env", "prod")
    (landed / EVENTS).write_text("SELECT FROM")
    assert shown(landed, "--environment", "PROD") == before
    assert call("intervals", "--project", landed).exit_code == 1


def test_a_new_environment_holds_what_it_shares_with_production(landed: Path) -> None:
    facts = shown(landed, "--env", "Feature/ABC-12")
    assert facts["environment"] == "feature_abc_12"
    assert facts["models"][0]["loaded"] == [{"start": at("01T00"), "end": at("03T00")}]
    assert call("environments", "--project", landed).stdout.count("feature") == 0


def test_only_the_models_that_are_named(landed: Path) -> None:
    assert list(models(landed, "mart.totals", "MART.PEOPLE")) == ["mart.people", "mart.totals"]


@pytest.mark.full
def test_a_table_for_people(landed: Path) -> None:
    text = call("intervals", "--project", landed).stdout
    for word in (
        "Intervals of the files, planned for prod at 2024-01-04 06:00",
        "2024-01-01 to 2024-01-03",
        "30 hours, 2024-01-03 to",
        "1 day, 2024-01-03 to",
        "made",
    ):
        assert word in text


@pytest.mark.full
@pytest.mark.parametrize(
    "arguments,title",
    [
        (("--env", "prod"), "what prod shows at 2024-01-04 06:00"),
        (("--env", "new"), "the files, planned for new at 2024-01-04 06:00"),
        (
            ("--env", "prod", "--start", "2024-01-02", "--end", "2024-01-03T12:00"),
            "what prod shows at 2024-01-04 06:00, from 2024-01-02, to 2024-01-03 12:00",
        ),
    ],
)
def test_the_table_is_titled_for_what_it_shows(
    landed: Path, arguments: tuple[str, ...], title: str
) -> None:
    text = call("intervals", *arguments, "--project", landed).stdout
    heading = " ".join(text.split("unit")[0].split())
    assert heading.removesuffix(" model") == f"Intervals of {title}"


def test_what_waits_for_data_says_so(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "empty")
    assert models(folder)["staging.events"]["complete_to"] is None
    text = call("intervals", "--project", folder).stdout
    said = "Intervals of the files, planned for prod (the project's clock has no time yet)"
    assert said in " ".join(text.split())
    found = models(folder)
    assert found["staging.events"]["waits"] == [
        {
            "reason": "clock",
            "name": "raw.events",
            "start": None,
            "end": None,
            "certain": True,
            "filler": None,
            "text": "the project's clock has no time yet: raw.events says none",
        }
    ]
    assert found["mart.people"]["waits"] == [
        {
            "reason": "model",
            "name": "mart.daily",
            "start": at("01T00"),
            "end": at("02T00"),
            "certain": True,
            "filler": None,
            "text": "mart.daily lacks 2024-01-01 to 2024-01-02",
        }
    ]
    assert "waits: mart.daily lacks 2024-01-01 to" in text


@pytest.mark.full
def test_what_is_not_due_yet_says_when_it_will_be(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "whole")
    make_source(folder)
    complete_until(folder, 78)
    build_project(folder, until=78)
    found = models(folder)
    due = {name: each["next_due"] for name, each in found.items()}
    assert due == {
        "staging.events": at("04T07"),
        "mart.daily": at("05T00"),
        "mart.people": None,
        "mart.totals": at("05T00"),
    }
    assert all(each["missing"] == [] for each in found.values())
    text = " ".join(call("intervals", "mart.daily", "--project", folder).stdout.split())
    assert "nothing; next due 2024-01-05" in text


# Berlin goes from +1 to +2 at 2024-03-31 01:00Z, so 02:30 of that day is left out; the clock on the
# wall says 03:00 then, which is 01:00Z.
@pytest.mark.full
@pytest.mark.parametrize(
    "name, cron, now, missing, following",
    [
        ("by_day", "@daily", "2024-03-31T01:00", "30T00", "2024-03-31T22:00"),
        ("by_hour", "@hourly", "2024-03-31T01:00", "31T01", "2024-03-31T02:00"),
        ("at_night", "30 2 * * *", "2024-03-31T01:00", "31T00", "2024-04-01T00:30"),
        ("at_night", "30 2 * * *", "2024-03-31T00:59", "30T00", "2024-03-31T01:00"),
    ],
)
def test_a_zone_moves_only_the_moment_of_being_due(
    tmp_path: Path, name: str, cron: str, now: str, missing: str, following: str
) -> None:
    folder = write_project(tmp_path / "zones")
    (folder / "models" / f"{name}.sql").write_text(
        f"MODEL (name mart.{name}, kind INCREMENTAL_BY_TIME_RANGE (time_column at), "
        f"start '2024-03-28', cron '{cron}', cron_tz 'Europe/Berlin');\n"
        "SELECT id, at FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt\n"
    )
    make_source(folder)
    complete_until(folder, (datetime.fromisoformat(now) - datetime(2024, 1, 1)) / HOUR)
    found = models(folder)[f"mart.{name}"]
    assert (found["node"]["cron"], found["node"]["cron_tz"]) == (cron, "Europe/Berlin")
    (whole,) = found["missing"]
    assert (whole["start"], whole["end"]) == (
        "2024-03-28T00:00:00+00:00",
        f"2024-03-{missing}:00:00+00:00",
    )
    assert found["next_due"] == f"{following}:00+00:00"


def test_a_version_that_another_environment_fills_says_so(landed: Path) -> None:
    facts = models(landed, "--env", "dev")
    assert facts["staging.events"]["missing"] == []
    (wait,) = facts["staging.events"]["waits"]
    assert wait["text"] == "the environment prod fills this version, with `vde run prod`"
    assert (wait["name"], wait["filler"]["words"]) == ("prod", ["run", "prod"])


@pytest.mark.full
def test_what_its_sources_hold_back_says_up_to_when_they_are_complete(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "held_back")
    (folder / "vde.yaml").write_text("name: a\ndefaults: {start: 2024-01-01}\n")  # the wall clock
    make_source(folder)
    complete_until(folder, 30)
    found = models(folder)
    assert found["staging.events"]["missing"] == [{"start": at("01T00"), "end": at("02T06")}]
    for waiting in ("staging.events", "mart.daily", "mart.totals"):
        assert found[waiting]["waits"] == [
            {
                "reason": "source",
                "name": "raw.events",
                "start": at("02T06"),
                "end": None,
                "certain": True,
                "filler": None,
                "text": "raw.events is complete only to 2024-01-02 06:00",
            }
        ]


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (["mart.total"], 1, "prod has no model mart.total. Did you mean mart.totals?"),
        (["raw.events"], 1, "raw.events is a source: others write it"),
        (["a.b.c.d"], 2, "Error:"),
        (["--start", "soon"], 2, "'soon' is no date or time"),
        (["--end", "9999-12-31"], 2, "is the last day of all"),
        (["--start", "2024-01-02", "--end", "2024-01-01"], 2, "--end is not after --start"),
        (["--env", "!!"], 2, "is no name for an environment"),
    ],
)
def test_wrong_input(landed: Path, arguments: list[str], code: int, said: str) -> None:
    done = call("intervals", *arguments, "--project", landed)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in " ".join(done.stderr.split())


def test_no_java_is_needed(landed: Path, without_java: WithoutJava) -> None:
    done = without_java("intervals", "--project", landed)
    assert done.returncode == 0, done.stderr
