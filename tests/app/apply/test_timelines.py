"""Timelines are kept as files of the project: the newest ones, whatever becomes of the plan."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.app.memory_world import MemoryWorld, graph_of, plan
from vde_dagster.app.apply import timelines as kept
from vde_dagster.app.apply.applying import walking
from vde_dagster.app.apply.timelines import KEPT, kept_timeline, timeline_named, timelines
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict, EvaluationFailed, Refused
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import Concurrency
from vde_dagster.core.planning.timeline import CLOSING, OPENING, Timeline
from vde_dagster.core.spans import Kind
from vde_dagster.ports.state import environment_resource

TWO = Concurrency(models=2)
FULL = "MODEL (name mart.{}, kind FULL);\nSELECT {} AS amount FROM {}"


def carried_out(home: Path, world: MemoryWorld, concurrency: Concurrency, **models: str) -> None:
    services = world.services()
    _walk(home, services, plan(services, graph_of(models)), concurrency)


def _walk(home: Path, services: Services, made: Plan, concurrency: Concurrency) -> None:
    with (
        kept_timeline(home, made, concurrency, run_id="run-of-dagster") as recording,
        walking(services, made, concurrency=concurrency, recording=recording) as walk,
    ):
        list(walk.rest())


@pytest.fixture
def world() -> MemoryWorld:
    world = MemoryWorld()
    world.land((1, 10), (2.5, 20), until=24)
    return world


@pytest.mark.full
@pytest.mark.parametrize("models", [1, 2])
def test_a_plan_leaves_a_timeline_with_a_row_for_each_model(
    tmp_path: Path, world: MemoryWorld, models: int
) -> None:
    concurrency = Concurrency(models=models)
    carried_out(
        tmp_path,
        world,
        concurrency,
        a=FULL.format("a", "SUM(amount)", "raw.events"),
        b=FULL.format("b", "amount * 2", "mart.a"),
        c=FULL.format("c", "MAX(amount)", "raw.events"),
    )
    found = timeline_named(tmp_path, "")
    names = [row.name for row in found.rows]
    assert (names[0], *sorted(names[1:-1]), names[-1]) == (
        OPENING,
        *("mart.a", "mart.b", "mart.c"),
        CLOSING,
    )
    assert (found.environment, found.models, found.run_id) == ("prod", models, "run-of-dagster")
    rows = {row.name: row for row in found.rows}
    assert rows["mart.b"].awaits == ("mart.a",)
    assert rows["mart.b"].began >= rows["mart.a"].ended
    assert rows[CLOSING].began >= max(rows[name].ended for name in names[:-1])
    assert found.totals[Kind.STATE]
    assert len(rows["mart.a"].works) == 1
    assert found.longest[0] == OPENING
    assert found.longest[-1] == CLOSING


def test_a_plan_that_fails_leaves_one_too(tmp_path: Path, world: MemoryWorld) -> None:
    with pytest.raises(EvaluationFailed):
        carried_out(
            tmp_path,
            world,
            TWO,
            a=FULL.format("a", "CAST('x' AS BIGINT)", "raw.events"),
            b=FULL.format("b", "amount", "mart.a"),
            c=FULL.format("c", "MAX(amount)", "raw.events"),
        )
    rows = {row.name: row.error for row in timeline_named(tmp_path, "").rows}
    assert rows == {OPENING: "", "mart.a": "EvaluationFailed", "mart.c": ""}


def test_one_is_found_by_its_units_of_work_and_nothing_else_is(
    tmp_path: Path, world: MemoryWorld
) -> None:
    carried_out(tmp_path, world, TWO, a=FULL.format("a", "SUM(amount)", "raw.events"))
    (found,) = timelines(tmp_path)
    (work,) = found.rows[1].works
    assert timeline_named(tmp_path, work) == found
    assert timeline_named(tmp_path, "run-of") == found
    with pytest.raises(Refused, match="there is no timeline of a plan, run or unit of work xyz"):
        timeline_named(tmp_path, "xyz")


def test_without_any_it_is_said_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no timeline yet"):
        timeline_named(tmp_path, "")


def test_a_plan_that_evaluates_no_model_leaves_none(tmp_path: Path, world: MemoryWorld) -> None:
    """Otherwise runs that find their environment reserved would push out all that say something."""
    full = {"a": FULL.format("a", "SUM(amount)", "raw.events")}
    services = world.services()
    made = plan(services, graph_of(full))
    lease = services.state.acquire_lease(
        environment_resource("prod"), holder="another", ttl=services.lease_ttl
    )
    with pytest.raises(Conflict):
        _walk(tmp_path, services, made, TWO)
    assert list(timelines(tmp_path)) == []
    services.state.release_lease(lease)
    _walk(tmp_path, services, made, TWO)
    assert len(list(timelines(tmp_path))) == 1


def test_nobody_else_can_read_one_and_it_is_there_as_a_whole(
    tmp_path: Path, world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out(tmp_path, world, TWO, a=FULL.format("a", "SUM(amount)", "raw.events"))
    folder = tmp_path / "timelines"
    (file,) = folder.iterdir()
    assert (file.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)

    def ended(half: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", ended)
    with pytest.raises(KeyboardInterrupt):
        carried_out(tmp_path, world, TWO, b=FULL.format("b", "SUM(amount)", "raw.events"))
    assert list(folder.iterdir()) == [file]


def test_what_goes_wrong_with_one_changes_nothing_about_the_plan(
    tmp_path: Path,
    world: MemoryWorld,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(timeline: Timeline) -> dict[str, object]:
        raise LookupError("a row is missing")

    monkeypatch.setattr(kept, "as_json", fails)
    carried_out(tmp_path, world, TWO, a=FULL.format("a", "SUM(amount)", "raw.events"))
    assert world.rows("mart.a") == [(30,)]
    assert "could not be kept: LookupError: a row is missing" in caplog.text


def test_what_did_nothing_leaves_none(tmp_path: Path, world: MemoryWorld) -> None:
    made = plan(world.services(), graph_of({"a": FULL.format("a", "amount", "raw.events")}))
    with kept_timeline(tmp_path, made, TWO):
        pass
    assert list(timelines(tmp_path)) == []


def test_only_the_newest_are_kept_and_what_is_no_timeline_is_passed_over(
    tmp_path: Path, world: MemoryWorld
) -> None:
    folder, begun = tmp_path / "timelines", datetime(2024, 1, 1, tzinfo=UTC)
    folder.mkdir()
    for number in range(KEPT + 5):
        at = begun + timedelta(minutes=number)
        (folder / f"{at:%Y%m%dT%H%M%S%f}_{number:012}.json").write_text('{"format": 0}')
    carried_out(tmp_path, world, TWO, a=FULL.format("a", "SUM(amount)", "raw.events"))
    files = sorted(folder.iterdir())
    assert len(files) == KEPT
    assert [each.environment for each in timelines(tmp_path)] == ["prod"]
    files[-1].write_text(files[-1].read_text("utf-8")[:100], "utf-8")
    assert list(timelines(tmp_path)) == [], "it was cut off"


def test_a_file_has_nothing_but_times_and_names(tmp_path: Path, world: MemoryWorld) -> None:
    carried_out(tmp_path, world, TWO, a=FULL.format("a", "SUM(amount)", "raw.events"))
    (file,) = (tmp_path / "timelines").iterdir()
    stored = json.loads(file.read_text("utf-8"))
    assert "amount" not in json.dumps(stored)
    assert {each["name"] for each in stored["rows"]} == {OPENING, "mart.a", CLOSING}


def test_where_none_can_be_written_the_plan_goes_on(
    tmp_path: Path, world: MemoryWorld, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    home.write_text("a file, where a folder is to be")
    carried_out(home, world, TWO, a=FULL.format("a", "SUM(amount)", "raw.events"))
    assert world.rows("mart.a") == [(30,)]
    assert "the timeline of this plan could not be kept" in caplog.text
