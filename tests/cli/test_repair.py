"""`vde repair`: what it says and exits with, in text and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.memory_world import MemoryWorld, bound
from tests.cli.calling import call
from tests.cli.changing import serve
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName, TableName

DAYS = """MODEL (
  name staging.days,
  kind INCREMENTAL_BY_TIME_RANGE (time_column day),
  cron '@daily', start '2024-01-01', end '2024-01-02'
);
SELECT day, number
FROM VALUES (DATE '2024-01-01', 1), (DATE '2024-01-02', 3) AS t(day, number)
WHERE day BETWEEN @start_date AND @end_date
"""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> MemoryWorld:
    found = MemoryWorld()
    found.land(until=48)
    serve(found, monkeypatch)
    return found


@pytest.fixture
def days(tmp_path: Path, world: MemoryWorld) -> Path:
    folder = tmp_path / "days"
    (folder / "models").mkdir(parents=True)
    (folder / "vde.yaml").write_text("name: days\n")
    (folder / "models" / "days.sql").write_text(DAYS)
    assert call("plan", "prod", "--auto-apply", "--project", folder).exit_code == 0
    return folder


def table_of(folder: Path) -> TableName:
    return bound(VdeProject.load(folder).services).key(ModelName("staging", "days")).table


def test_a_sound_model_is_left_as_it_is(days: Path) -> None:
    done = call("repair", "staging.days", "--project", days)
    assert (done.exit_code, done.stdout) == (
        0,
        "staging.days is as recorded: nothing to repair.\n",
    )


def test_what_is_wrong_is_said_first_and_repaired_then(days: Path, world: MemoryWorld) -> None:
    table = table_of(days)
    recorded = world.catalog.tables[table].head
    world.catalog.append(table, [])
    tried = call("repair", "staging.days", "--dry-run", "--project", days)
    assert tried.exit_code == 1
    assert f"It would be at the Iceberg snapshot {recorded} again; no row is lost." in tried.stdout
    done = call("repair", "staging.days", "--project", days)
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"It is at the Iceberg snapshot {recorded} again; no row is lost." in done.stdout
    assert world.catalog.tables[table].head == recorded


def test_what_needs_a_plan_is_named_with_its_command(days: Path, world: MemoryWorld) -> None:
    table = table_of(days)
    world.catalog.drop_table(table)
    done = call("repair", "staging.days", "--format", "json", "--project", days)
    assert done.exit_code == 1
    advice = "The next `vde run prod` computes its rows again, or reports why it cannot."
    assert json.loads(done.stdout) == {
        "version": 1,
        "environment": "prod",
        "model": "staging.days",
        "table": str(table),
        "dry_run": False,
        "sound": False,
        "finished": 0,
        "repaired": None,
        "restored_to": None,
        "left": f"staging.days: its table {table} does not exist: it was dropped outside vde, "
        "with its rows",
        "dropped_view": None,
        "advice": advice,
    }
    said = call("repair", "staging.days", "--project", days).stdout
    assert f"`vde run prod --project {days}` computes its rows again" in said
    ran = call("run", "prod", "--project", days)
    assert ran.exit_code == 0
    assert "Tables dropped outside vde, to be computed again: staging.days." in ran.stdout
    assert call("repair", "staging.days", "--project", days).exit_code == 0
