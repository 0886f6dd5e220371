"""`vde plan`, `vde apply` and `vde run` evaluate as many models at once as they are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call
from tests.cli.changing import InMemory, write_files
from vde_dagster.app.apply import applying
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import Concurrency, Schedule, schedule_of


@pytest.fixture
def changing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InMemory:
    made = InMemory(write_files(tmp_path / "changing"), MemoryWorld()).serve(monkeypatch)
    made.land((0.5, 10), (5.5, 5), (30.5, 10), (40.5, 2), until=48)
    return made


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Concurrency]:
    """How many models each plan was to evaluate at once; those that evaluate one leave no trace."""
    found: list[Concurrency] = []

    def schedule(plan: Plan, concurrency: Concurrency) -> Schedule:
        found.append(concurrency)
        return schedule_of(plan, concurrency)

    monkeypatch.setattr(applying, "schedule_of", schedule)
    return found


def done(changing: InMemory, *words: str | Path) -> None:
    found = call(*words, "--project", changing.folder)
    assert found.exit_code == 0, found.stderr


def test_a_plan_and_a_run_take_the_number_from_the_command_line(
    changing: InMemory, told: list[Concurrency]
) -> None:
    done(changing, "plan", "--auto-apply", "--concurrency", "4")
    assert changing.rows("mart.total") == [[4, 10]]
    changing.land((49.5, 20), until=72)
    done(changing, "run", "--concurrency", "2", "--fail-fast")
    assert changing.rows("mart.total") == [[5, 20]]
    assert told == [Concurrency(models=4), Concurrency(models=2, fail_fast=True)]


@pytest.mark.full
def test_a_project_says_it_for_all_of_its_plans(
    changing: InMemory, told: list[Concurrency]
) -> None:
    file = changing.folder / "vde.yaml"
    file.write_text(f"{file.read_text('utf-8')}concurrency: 3\n")
    done(changing, "plan", "--auto-apply")
    changing.land((49.5, 20), until=72)
    saved = changing.folder / "reviewed.json"
    done(changing, "plan", "--save", saved)
    done(changing, "apply", saved)
    changing.land((73.5, 1), until=96)
    done(changing, "run", "--concurrency", "1")
    assert changing.rows("mart.total") == [[6, 20]]
    assert told == [Concurrency(models=3)] * 2, "one model after the other needs no schedule"
