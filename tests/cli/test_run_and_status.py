"""`vde run` computes what is due and what is stale; `vde status` says what that is, and why."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call, facts, new_project
from tests.cli.changing import InMemory, write_files
from tests.cli.promoted import edit, promote
from tests.kept_folder import KeptFolder
from vde_dagster.app.apply import running
from vde_dagster.app.services import Services
from vde_dagster.composition import VdeProject
from vde_dagster.core.planning.plan import Plan
from vde_dagster.ports.state import environment_resource


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    folder = new_project(tmp_path_factory.mktemp("seed") / "shop")
    shutil.rmtree(folder / "models" / "mart")
    promote(folder, loaded=True)
    return KeptFolder.of(folder)


@pytest.fixture
def loaded(seed: KeptFolder) -> Path:
    """A seed, which is loaded in production."""
    return seed.put_back()


@pytest.fixture(scope="module")
def two_days(tmp_path_factory: pytest.TempPathFactory) -> tuple[KeptFolder, MemoryWorld]:
    folder = write_files(tmp_path_factory.mktemp("days") / "changing")
    with pytest.MonkeyPatch.context() as patch:
        changing = InMemory(folder, MemoryWorld()).serve(patch)
        changing.land((0.5, 10), (5.5, 5), (30.5, 10), (40.5, 2), until=48)
        done = call("plan", "--auto-apply", "--project", folder)
        assert done.exit_code == 0, done.stderr
    return KeptFolder.of(folder), changing.world


@pytest.fixture
def changing(two_days: tuple[KeptFolder, MemoryWorld], monkeypatch: pytest.MonkeyPatch) -> InMemory:
    """Two days, built; the amounts are 10 but for one hour of each day."""
    kept, world = two_days
    return InMemory(kept.put_back(), world.copied()).serve(monkeypatch)


def at(hours: float) -> str:
    return (datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=hours)).isoformat()


def stretch(first: float, last: float) -> list[dict[str, object]]:
    return [{"start": at(first), "end": at(last)}]


def status(folder: Path, *arguments: str) -> dict[str, Any]:
    return facts("status", *arguments, "--project", folder)


def behind(folder: Path) -> dict[str, Any]:
    return {each["node"]["name"]: each for each in status(folder)["models"]}


def run(folder: Path, *arguments: str, exit_code: int = 0) -> dict[str, Any]:
    return facts("run", *arguments, "--project", folder, exit_code=exit_code)


def built(folder: Path, *arguments: str) -> dict[str, int]:
    """How many intervals a run computed of each model; those that it kept do not count."""
    found = {each["model"]: each for each in run(folder, *arguments)["built"]}
    return {name: (each["intervals"] or 1) - each["kept"] for name, each in found.items()}


@pytest.mark.full
def test_the_document_of_an_environment_that_is_up_to_date(loaded: Path) -> None:
    before = datetime.now(UTC)
    found = status(loaded)
    assert before <= datetime.fromisoformat(found.pop("at")) <= datetime.now(UTC)
    promotion = found.pop("promotion")
    assert (promotion["revision"], promotion["taken"]) == (1, None)
    assert datetime.fromisoformat(found.pop("now")) <= datetime.now(UTC)
    assert found == {
        "version": 1,
        "environment": "prod",
        "looked_at": 1,
        "is_up_to_date": True,
        "is_behind": False,
        "is_promoting": False,
        "dropped_views": [],
        "models": [],
        "pauses": [],
        "failed": [],
        "stopped": [],
        "outdated": [],
        "pending": [],
        "leases": [],
        "bounded": [],
    }
    assert call("status", "--check", "--project", loaded).exit_code == 0


def test_what_excludes_each_other_is_wrong_usage(loaded: Path) -> None:
    done = call("run", "--no-stale", "--only-stale", "--project", loaded)
    assert done.exit_code == 2
    assert "--no-stale and --only-stale cannot be combined" in done.stderr
    bounds = ["--start", "2024-01-01"]
    for words, said in (
        (
            ["--only-stale", "--restate-model", "seeds.*"],
            "--only-stale and --restate-model cannot be combined",
        ),
        (bounds, "--start and --end limit what --restate-model recomputes in prod"),
        (["dev", *bounds, "--restate-model", "seeds.*"], "Elsewhere they limit a plan"),
    ):
        done = call("run", *words, "--project", loaded)
        assert (done.exit_code, said in " ".join(done.stderr.split())) == (2, True), done.stderr


def assert_one_late_hour_is_told(changing: InMemory, *, after: datetime) -> None:
    """A third day is due, and the sixth hour of the first one was changed ``after`` a time."""
    found = behind(changing.folder)
    since = found["staging.events"]["staleness"].pop("since")
    assert after <= datetime.fromisoformat(since) <= datetime.now(UTC)
    assert found["staging.events"]["staleness"] == {
        "intervals": stretch(5, 6),
        "reason": "its inputs from raw.events have changed since",
        "kept": [],
        "why_kept": "",
        "how": "",
        "merges": False,
        "following": [],
        "session": False,
        "inputs": ["raw.events"],
    }
    assert found["staging.events"]["due"] == stretch(48, 72)
    daily = found["mart.daily"]
    assert (daily["due"], daily["staleness"]["intervals"]) == (stretch(48, 72), stretch(0, 24))
    assert daily["staleness"]["following"] == stretch(0, 24)
    assert daily["staleness"]["since"] is None
    assert call("status", "--check", "--project", changing.folder).exit_code == 1

    text = " ".join(call("status", "--project", changing.folder).stdout.split())
    reported = datetime.fromisoformat(since).strftime("%Y-%m-%d %H:%M")
    assert (
        f"staging.events 1 hour, 2024-01-01 05:00 to 2024-01-01 06:00 (since {reported}): its "
        "inputs from raw.events have changed since"
    ) in text
    assert (
        f"(since {reported}): its inputs"
        in call("plan", "--no-apply", "--project", changing.folder).stdout
    )


@pytest.mark.full
def test_late_rows_are_reported_and_exactly_what_reads_them_is_computed(changing: InMemory) -> None:
    assert status(changing.folder)["is_up_to_date"]
    changing.land((50.5, 10), until=72)
    before = datetime.now(UTC).replace(microsecond=0)
    changing.land((5.25, 4), until=72)
    assert_one_late_hour_is_told(changing, after=before)
    found = behind(changing.folder).keys()
    explained = run(changing.folder, "--explain")
    assert explained["built"] == []
    assert not explained["up_to_date"]
    assert behind(changing.folder).keys() == found

    assert built(changing.folder, "--no-stale") == {
        "staging.events": 24,
        "mart.daily": 1,
        "mart.total": 1,
        "mart.best": 1,
    }
    left = behind(changing.folder)
    assert left["staging.events"]["staleness"]["intervals"] == stretch(5, 6)
    assert [each for each in left.values() if each["due"]] == []

    changing.land((72.5, 1), until=73)
    assert built(changing.folder, "--only-stale") == {
        "staging.events": 1,
        "mart.daily": 1,
        "mart.total": 1,
        "mart.best": 1,
    }
    left = behind(changing.folder)
    assert left.keys() == {"staging.events", "mart.total"}
    assert left["staging.events"]["due"] == stretch(72, 73)
    assert left["mart.total"]["staleness"]["reason"] == "it is downstream of staging.events"
    assert built(changing.folder) == {"staging.events": 1, "mart.total": 1}
    again = run(changing.folder)
    assert (again["built"], again["up_to_date"], again["busy"]) == ([], True, None)
    assert status(changing.folder)["is_up_to_date"]
    assert changing.rows("mart.daily") == [
        ["2024-01-01", 55],
        ["2024-01-02", 60],
        ["2024-01-03", 10],
    ]


@pytest.mark.full
def test_where_somebody_is_at_work_a_run_does_nothing_and_says_so(changing: InMemory) -> None:
    changing.land((5.25, 4), until=48)
    state = VdeProject.load(changing.folder).services.state
    resource, hour = environment_resource("prod"), timedelta(hours=1)
    lease = state.acquire_lease(resource, holder="somebody", ttl=hour)
    done = call("run", "--project", changing.folder)
    assert done.exit_code == 3
    assert "somebody" in done.stderr
    found = run(changing.folder, exit_code=3)
    assert "somebody" in found["busy"]
    assert found["built"] == []
    state.release_lease(lease)
    assert built(changing.folder)["staging.events"] == 1


@pytest.mark.full
def test_a_run_whose_environment_has_changed_since_it_was_planned_does_nothing_and_says_so(
    changing: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing.land((5.25, 4), until=48)
    plan_run = running.plan_run

    def late(services: Services, environment: str, *arguments: Any) -> Plan:
        made = plan_run(services, environment, *arguments)
        edit(changing.folder / "models" / "total.sql", "COUNT(*)", "COUNT(*) + 0")
        planned = call("plan", "prod", "--auto-apply", "--project", changing.folder)
        assert planned.exit_code == 0, planned.stderr
        return made

    with monkeypatch.context() as patch:
        patch.setattr(running, "plan_run", late)
        done = call("run", "--project", changing.folder)
    assert done.exit_code == 3, done.stderr
    assert "prod was changed since this plan was made" in done.stderr
    assert "`vde run prod`" in done.stderr
