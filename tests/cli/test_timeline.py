"""`vde timeline` shows what a plan or run spent its time on: as text and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call
from tests.cli.changing import InMemory, write_files
from vde_dagster.app.apply import applying, timelines
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.composition import VdeProject
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.orchestration import jobs

CLI: Final = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")


def _kept(
    project: VdeProject, plan: Plan, report: applying.Report, *, concurrency: Concurrency
) -> tuple[Evaluated, ...]:
    """What `run_plan` does without Dagster, with its timeline."""
    home = project.configuration.home

    def units() -> Iterator[Evaluated]:
        with (
            timelines.kept_timeline(home, plan, concurrency) as recording,
            applying.walking(
                project.services,
                plan,
                concurrency=concurrency,
                report=report,
                recording=recording,
            ) as walk,
        ):
            yield from walk.rest()

    return tuple(units())


@pytest.fixture
def changing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InMemory:
    """A project of which a plan was applied."""
    made = InMemory(write_files(tmp_path / "changing"), MemoryWorld()).serve(monkeypatch)
    monkeypatch.setattr(jobs, "run_plan", _kept)
    made.land((0.5, 10), (5.5, 5), (30.5, 10), (40.5, 2), until=48)
    done = call("plan", "--auto-apply", "--concurrency", "2", "--project", made.folder)
    assert done.exit_code == 0, done.stderr
    return made


def shown(changing: InMemory, *words: str | Path) -> str:
    done = call("timeline", *words, "--project", changing.folder)
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.mark.full
def test_the_last_plan_is_shown_with_a_bar_for_each_model(changing: InMemory) -> None:
    lines = shown(changing).splitlines()
    assert re.match(r"Plan \w{8} of prod: .* UTC, .* s, up to 2 models at once", lines[0])
    rows = [line[2:].split("|")[0].strip() for line in lines if "|" in line]
    models = ["mart.best", "mart.daily", "mart.total", "staging.events"]
    assert [rows[0], *sorted(rows[1:-1]), rows[-1]] == ["before models", *models, "after models"]
    assert lines[-1].startswith("* decided how long it took: before models, then staging.events")


def test_a_timeline_is_named_by_its_plan_or_a_unit_of_work(changing: InMemory) -> None:
    facts = json.loads(shown(changing, "--format", "json"))
    work = facts["rows"][1]["works"][0]
    for named in (facts["plan_id"], facts["plan_id"][:10], work):
        assert shown(changing, named) == shown(changing)
    done = call("timeline", "nobody", "--project", changing.folder)
    assert done.exit_code == 1
    assert "there is no timeline of a plan, run or unit of work nobody" in done.stderr


def test_what_json_has_is_in_the_table(changing: InMemory) -> None:
    facts: dict[str, Any] = json.loads(shown(changing, "--format", "json"))
    (row,) = re.findall(r"^\| `timeline` \| (.*) \|$", CLI, flags=re.MULTILINE)
    fields = {*facts} | {field for each in facts["rows"] for field in each}
    fields |= {kind for each in facts["rows"] for kind in each["totals"]}
    assert fields - {"version"} <= set(re.findall(r"`([a-z_]+)`", row))


@pytest.mark.full
def test_long_lists_are_cut_where_that_is_asked_for(changing: InMemory) -> None:
    assert "5 more took less time." in shown(changing, "--rows", "1")


def test_without_a_plan_it_is_said_what_makes_one(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "changing")
    done = call("timeline", "--project", folder)
    assert done.exit_code == 1
    assert "there is no timeline yet" in done.stderr
