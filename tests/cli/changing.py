"""A project over one source, in memory: rows land, late ones too."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tests.app.memory_world import MemoryWorld
from tests.depth import is_full
from vde_dagster.app.apply.applying import Report, apply_plan
from vde_dagster.app.binding import Binding
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.services import Services
from vde_dagster.cli.printing import as_json
from vde_dagster.composition import VdeProject
from vde_dagster.core.ledger.late.decision import NothingToLoad
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.scheduling import ONE_AT_A_TIME, Concurrency
from vde_dagster.orchestration.jobs import runs as jobs

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
SOURCES: Final = """\
- name: raw.events
  columns: {id: bigint, at: timestamp, amount: bigint}
"""
EVENTS: Final = """\
MODEL (name staging.events, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@hourly');
SELECT id AS id, at AS at, amount AS amount FROM raw.events
WHERE at BETWEEN @start_dt AND @end_dt
"""
DAILY: Final = """\
MODEL (name mart.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT CAST(at AS DATE) AS day, CAST(SUM(
  CAST(CASE WHEN amount = 0 THEN 'none' ELSE '100' END AS INT) DIV amount
) AS BIGINT) AS shares FROM staging.events
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY CAST(at AS DATE)
"""
BEST: Final = """\
MODEL (name mart.best, kind FULL, cron '@daily');
SELECT MAX(shares) AS best FROM mart.daily
"""
TOTAL: Final = """\
MODEL (name mart.total, kind FULL, cron '@daily');
SELECT COUNT(*) AS events, MAX(amount) AS highest FROM staging.events
"""


@dataclass(frozen=True)
class InMemory:
    """The project's folder, and a world in memory with its state, catalog and engine."""

    folder: Path
    world: MemoryWorld

    def land(self, *events: tuple[float, int], until: float) -> None:
        """Rows of (hour of the event, amount) arrive; the source is complete to ``until`` hours."""
        self.world.clock.advance(datetime.now(UTC) - self.world.clock.now())
        self.world.land(*events, until=until)

    def rows(self, view: str) -> list[list[Any]]:
        """What a reader of a view finds, in order."""
        return [[as_json(value) for value in row] for row in self.world.rows(view)]

    def serve(self, patch: pytest.MonkeyPatch, *, with_dagster: bool = False) -> InMemory:
        """Let commands that open a project work with this world; see `serve`."""
        serve(self.world, patch, with_dagster=with_dagster)
        return self


def serve(world: MemoryWorld, patch: pytest.MonkeyPatch, *, with_dagster: bool = False) -> None:
    """Let each project that is opened have its state, catalog and engine in this world.

    Args:
        world: The world.
        patch: Undoes it.
        with_dagster: Whether the short form, too, applies plans and loads late rows in runs of
            Dagster. Each takes seconds. Without them the same is done:
            tests/orchestration/test_plan_runs.py.
    """

    def services(project: VdeProject) -> Services:
        return replace(world.services(), models=project.models)

    patch.setattr(VdeProject, "services", property(services))
    if not with_dagster:
        leave_dagster_out(patch)


def leave_dagster_out(patch: pytest.MonkeyPatch) -> None:
    """Let commands of the short form do without Dagster what its runs do; see `serve`."""
    if not is_full():
        patch.setattr(jobs, "run_plan", apply_here)
        patch.setattr(jobs, "run_catch_up", catch_up_here)


def apply_here(
    project: VdeProject,
    plan: Plan,
    report: Report,
    *,
    concurrency: Concurrency = ONE_AT_A_TIME,
) -> tuple[Evaluated, ...]:
    """What a run of Dagster does that applies a plan."""
    return apply_plan(project.services, plan, report, concurrency=concurrency)


def catch_up_here(
    project: VdeProject, binding: Binding, name: ModelName, *, reload: bool = False
) -> Evaluated | NothingToLoad:
    """What a run of Dagster does that runs a session."""
    return catch_up(project.services, binding, name, reload=reload)


def write_files(folder: Path) -> Path:
    """The project's files, with a catalog that no other test has."""
    models = {"events": EVENTS, "daily": DAILY, "best": BEST, "total": TOTAL}
    return write_models(folder, models, f"catalog: {{name: lake_{uuid.uuid4().hex[:8]}}}\n")


def write_models(folder: Path, texts: Mapping[str, str], settings: str = "") -> Path:
    """Models by the names of their files, over one source that has the project's clock."""
    (folder / "models").mkdir(parents=True)
    (folder / "vde.yaml").write_text(
        "name: changing\ndefaults: {start: 2024-01-01}\nclock: {valid_to: [raw.events]}\n"
        + settings
    )
    (folder / "external_models.yaml").write_text(SOURCES)
    for name, text in texts.items():
        (folder / "models" / f"{name}.sql").write_text(text)
    return folder
