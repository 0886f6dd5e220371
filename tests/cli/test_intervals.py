"""`vde intervals`: what is loaded and what is missing, from the state alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call
from tests.cli.calling import facts as document
from tests.cli.landed import complete_until, kept_project, make_source, write_project
from tests.cli.promoted import edit
from tests.kept_folder import KeptFolder

ALWAYS = {"start": "1970-01-01T00:00:00+00:00", "end": "9999-01-01T00:00:00+00:00"}
EVENTS = Path("models", "staging", "events.sql")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    return kept_project(tmp_path_factory.mktemp("intervals") / "landed", until=78)


@pytest.fixture
def landed(template: KeptFolder) -> Path:
    """Built to the end of the second day; the source went on for 30 more hours."""
    return template.put_back()


def at(text: str) -> str:
    return f"2024-01-{text}:00:00+00:00"


def spans(text: str) -> list[dict[str, str]]:
    """One interval by the days and hours of its ends; none for an empty text."""
    return [dict(zip(("start", "end"), map(at, text.split()), strict=True))] if text else []


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
    names = [each["node"]["name"] for each in facts["models"]]
    assert names == ["staging.events", "mart.daily", "mart.people", "mart.totals"]
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
        "loaded": spans("01T00 03T00"),
        "empty": [],
        "missing": spans("03T00 04T06"),
        "complete_to": at("04T06"),
        "next_due": at("04T07"),
        "waits": [],
        "accepted": [],
        "intervals": 30,
    }


def test_each_kind_counts_in_its_own_way(landed: Path) -> None:
    found = models(landed)
    assert found["mart.daily"]["missing"] == spans("03T00 04T00")
    assert found["mart.people"]["loaded"] == [ALWAYS]
    assert found["mart.people"]["missing"] == []
    assert found["mart.totals"]["loaded"] == spans("01T00 03T00")
    assert len(found["mart.totals"]["missing"]) == 1


@pytest.mark.full
@pytest.mark.parametrize(
    "name, start, end, loaded, missing",
    [
        ("staging.events", "2024-01-02T20:00", "2024-01-03", "02T20 03T00", "03T00 04T00"),
        ("staging.events", "2024-01-01", "2024-01-03T00:00", "01T00 03T00", ""),
        # An interval that a range cuts is shown whole; what starts at its end does not overlap it.
        ("mart.daily", "2024-01-02T12:00", "2024-01-03T12:00", "02T00 03T00", "03T00 04T00"),
        ("mart.daily", "2024-01-02T12:00", "2024-01-03T00:00", "02T00 03T00", ""),
        ("mart.totals", "2024-01-02", "2024-01-02", "01T00 03T00", "01T00 04T00"),
        ("mart.totals", "2024-01-04", "2024-01-05", "", ""),
    ],
)
def test_a_range_shows_the_intervals_that_overlap_it(
    landed: Path, name: str, start: str, end: str, loaded: str, missing: str
) -> None:
    found = models(landed, name, "--start", start, "--end", end)[name]
    assert (found["loaded"], found["missing"]) == (spans(loaded), spans(missing))


@pytest.mark.full
def test_an_edited_file_holds_nothing_yet_and_what_the_environment_shows_still_does(
    landed: Path,
) -> None:
    edit(landed / EVENTS, "amount AS amount", "amount * 2 AS amount")
    edited, promoted = models(landed)["staging.events"], models(landed, "--env", "prod")
    assert edited["loaded"] == []
    assert edited["missing"] == spans("01T00 04T06")
    assert promoted["staging.events"]["loaded"] == spans("01T00 03T00")
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
    assert facts["models"][0]["loaded"] == spans("01T00 03T00")
    assert call("environments", "--project", landed).stdout.count("feature") == 0


def test_only_the_models_that_are_named(landed: Path) -> None:
    assert list(models(landed, "mart.totals", "MART.PEOPLE")) == ["mart.people", "mart.totals"]


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


NO_TIME: dict[str, object] = {
    "reason": "clock", "name": "raw.events", "start": None, "end": None, "certain": True,
    "filler": None,
}  # fmt: skip


def test_what_waits_for_data_says_so(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "empty")
    assert models(folder)["staging.events"]["complete_to"] is None
    text = call("intervals", "--project", folder).stdout
    said = "Intervals of the files, planned for prod (the project's clock is not set yet)"
    assert said in " ".join(text.split())
    found = models(folder)
    assert found["staging.events"]["waits"] == [
        NO_TIME | {"text": "the project's clock is not set yet: raw.events gives no time"}
    ]
    assert found["mart.people"]["waits"] == [
        NO_TIME
        | {"reason": "model", "name": "mart.daily", "start": at("01T00"), "end": at("02T00")}
        | {"text": "mart.daily lacks 2024-01-01 to 2024-01-02"}
    ]
    assert "waits: mart.daily lacks 2024-01-01 to" in text


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
    assert found["staging.events"]["missing"] == spans("01T00 02T06")
    for waiting in ("staging.events", "mart.daily", "mart.totals"):
        assert found[waiting]["waits"] == [
            NO_TIME
            | {"reason": "source", "start": at("02T06")}
            | {"text": "raw.events is complete only up to 2024-01-02 06:00"}
        ]


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (["mart.total"], 1, "prod has no model mart.total. Did you mean mart.totals?"),
        (["raw.events"], 1, "raw.events is a source, written outside"),
        (["a.b.c.d"], 2, "Error:"),
        (["--start", "soon"], 2, "'soon' is not a valid date or time"),
        (["--end", "9999-12-31"], 2, "is the last possible day"),
        (["--start", "2024-01-02", "--end", "2024-01-01"], 2, "--end is not after --start"),
        (["--env", "!!"], 2, "is not a valid environment name"),
    ],
)
def test_wrong_input(landed: Path, arguments: list[str], code: int, said: str) -> None:
    done = call("intervals", *arguments, "--project", landed)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in " ".join(done.stderr.split())
