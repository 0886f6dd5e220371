"""The demo, once; then the projects that it and `vde init` leave behind.

In the full form it runs as a person runs it: in a process that starts Spark, with three days of
flights. In the short one it runs in this process, on the shared session, with one day.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import expected
import landing
import pytest
from demo_story import EARLY_IS_NO_DELAY, SCHEDULED_HOUR

from tests.cli.calling import NO_JAVA, call, run_vde
from tests.cli.conftest import WithoutJava
from tests.cli.telling import call_demo, run_demo
from tests.depth import is_full
from tests.lakehouse.interpreted import interpreted_in_short_form
from vde_dagster.cli.printing import as_json
from vde_dagster.cli.projects.copying import copy_project

pytestmark = pytest.mark.spark

FIRST_DAY = datetime(2013, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """Where it was built, of how many days, and what it said."""

    folder: Path
    days: int
    facts: dict[str, Any]
    progress: str

    @property
    def until(self) -> datetime:
        return FIRST_DAY + timedelta(days=self.days)

    @property
    def hours(self) -> int:
        return 24 * self.days


@pytest.fixture(scope="module")
def demo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("demo") / "nyc_flights"
    with ExitStack() as stack:
        if not is_full():
            spark = request.getfixturevalue("spark")
            stack.enter_context(interpreted_in_short_form(spark, adaptive=True))
            take_catalog(folder)
        days, asked = (3, []) if is_full() else (1, ["--until", "2013-01-02"])
        facts, progress = told(folder, "--no-story", *asked)
        yield Demo(folder=folder, days=days, facts=facts, progress=progress)


def take_catalog(folder: Path) -> None:
    """Give the demo a catalog that no other test of this process has; it keeps what is edited."""
    copy_project(Path(landing.__file__).parent, folder)
    with (folder / "vde.yaml").open("a", encoding="utf-8") as settings:
        settings.write(f"catalog: {{name: demo_{uuid.uuid4().hex[:8]}}}\n")


def told(folder: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    """Its document and its progress."""
    command: list[str | Path] = [folder, *arguments, "--format", "json"]
    if is_full():
        done = run_demo(*command)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr
    here = call_demo(*command)
    assert here.exit_code == 0, here.stderr
    return json.loads(here.stdout), here.stderr


def unordered(rows: Iterable[Iterable[object]]) -> list[list[object]]:
    return sorted(([as_json(value) for value in row] for row in rows), key=json.dumps)


def test_every_query_result_equals_the_computation_over_the_csv_files(demo: Demo) -> None:
    wanted = expected.query_rows(demo.until)
    assert [each["file"] for each in demo.facts["queries"]] == sorted(wanted)
    for each in demo.facts["queries"]:
        rows = wanted[each["file"]]
        assert each["columns"] == list(rows.columns)
        assert each["rows"] == [[as_json(value) for value in row] for row in rows.rows]
        assert not each["more"]


def test_it_sums_up_what_was_built(demo: Demo) -> None:
    assert demo.facts["version"] == 1
    built = {each["model"]: each for each in demo.facts["models"]}
    assert len(built) == 9
    staged = {built[f"staging.{name}"]["intervals"] for name in ("departures", "arrivals")}
    assert staged == {demo.hours}
    assert built["mart.carrier_delays"]["intervals"] == demo.days
    assert built["mart.punctuality"]["intervals"] is None
    assert built["mart.delays_by_airline"]["rows"] is None
    for each in built.values():
        assert len(each["dsha"]) == 64
        assert each["seconds"] is not None
    assert demo.facts["ui"]["address"] == "http://127.0.0.1:3000"
    assert demo.facts["ui"]["command"] == f"vde ui --project {demo.folder}"


def test_a_second_plan_has_nothing_to_do_and_needs_no_java(
    demo: Demo, without_java: WithoutJava
) -> None:
    done = without_java("plan", "prod", "--auto-apply", "--project", demo.folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Nothing to do: prod is up to date.\n"


def test_catch_up_has_nothing_to_load_and_says_why(demo: Demo, without_java: WithoutJava) -> None:
    done = without_java("catch-up", "--format", "json", "--project", demo.folder)
    assert done.returncode == 0, done.stderr
    sessions = json.loads(done.stdout)["sessions"]
    assert {each["model"]: each["decision"]["is"] for each in sessions} == {
        "staging.arrivals": "NothingToLoad",
        "staging.departures": "NothingToLoad",
    }


def test_the_readme_shows_true_output(demo: Demo) -> None:
    """It shows three days; of one day only the versions are those."""
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    table = [line.split() for line in readme.splitlines() if line.startswith("  ")]
    for each in demo.facts["models"]:
        kind = {"VIEW": "view"}.get(each["kind"], "whole")
        cells = [each["model"], each["version"][:8], str(each["intervals"] or kind)]
        cells += [f"{each['rows']:,}"] if each["rows"] is not None else []
        shown = [*cells, each["dsha"][:12]] if demo.days == 3 else cells[:2]
        assert shown in [line[: len(shown)] for line in table]


@pytest.mark.full  # what it writes loads and plans: tests/cli/test_init.py
def test_a_project_of_init_builds_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    assert call("init", folder).exit_code == 0
    done = run_vde("plan", "prod", "--auto-apply", "--format", "json", "--project", folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["applied"]
    rows = {each["model"]: each["rows"] for each in facts["built"]}
    assert rows == {"staging.orders": 6, "mart.revenue": 6, "mart.best_customers": None}


@pytest.fixture(scope="module")
def story(demo: Demo) -> dict[str, Any]:
    """The demo that goes on with its six chapters, so it comes after what asks for whole days."""
    facts, _ = told(demo.folder)
    return facts


def computed(facts: dict[str, Any], chapter: int) -> dict[str, Any]:
    """The rows that a chapter computed, by model; views have none."""
    return {each["model"]: each["rows"] for each in facts["chapters"][chapter - 1]["computed"]}


@pytest.mark.full  # the same with an engine in memory: tests/app/apply
def test_each_chapter_computes_what_it_says(demo: Demo, story: dict[str, Any]) -> None:
    assert [each["skipped"] for each in story["chapters"]] == [False] * 6
    assert computed(story, 1) == {}
    edited = story["chapters"][1]["computed"]
    assert {each["model"] for each in edited} == {"mart.carrier_delays", "mart.delays_by_airline"}
    assert sum(each["intervals"] or 0 for each in edited) == demo.days
    assert computed(story, 3) == {}
    late = {each["model"]: each["intervals"] for each in story["late"]}
    assert late["mart.carrier_delays"] == late["mart.airport_delays"] == 1
    assert late["core.flights"] < demo.hours
    assert story["late"] == story["chapters"][3]["computed"]
    assert {name for name, rows in computed(story, 5).items() if rows} == {"core.flights"}
    assert computed(story, 6) == {}


@pytest.mark.full
def test_it_tells_the_whole_story_and_says_how_long_each_part_of_it_took(
    story: dict[str, Any],
) -> None:
    assert [(each["title"], each["commands"]) for each in story["chapters"]] == [
        ("A dev environment, without a copy", ["vde plan dev"]),
        ("An edit, built next to production", ["vde plan dev"]),
        ("Promotion", ["vde promote dev"]),
        ("Late flights", ["vde run prod"]),
        ("A refactoring that changes no row", ["vde plan dev", "vde promote dev"]),
        ("Rollback", ["vde rollback prod"]),
    ]
    seconds = story["seconds"]
    parts = ["landing", "planning and building", "querying", "story"]
    assert list(seconds) == [*parts, "total"]
    rounded = 0.001 * len(story["chapters"])
    assert sum(each["seconds"] for each in story["chapters"]) <= seconds["story"] + rounded
    assert sum(seconds[each] for each in parts) <= seconds["total"] + rounded


@pytest.mark.full
def test_in_the_end_the_files_are_what_prod_shows(demo: Demo, story: dict[str, Any]) -> None:
    assert story["project"] == str(demo.folder)
    done = run_vde("plan", "prod", "--auto-apply", "--project", demo.folder, **NO_JAVA)
    assert (done.returncode, done.stdout) == (0, "Nothing to do: prod is up to date.\n")
    assert SCHEDULED_HOUR.before in (demo.folder / SCHEDULED_HOUR.file).read_text("utf-8")
    assert EARLY_IS_NO_DELAY.after in (demo.folder / EARLY_IS_NO_DELAY.file).read_text("utf-8")
