"""`vde verify`: what is as it was recorded, what is not, and what to do about it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import Result

from tests.app.memory_world import MemoryWorld, bound
from tests.cli.calling import call
from tests.cli.changing import serve
from tests.cli.conftest import WithoutJava
from tests.cli.promoted import begun, promote
from vde_dagster.composition import VdeProject
from vde_dagster.core.ledger.unit_of_work import Publication
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName

DAYS = """MODEL (
  name staging.days,
  kind INCREMENTAL_BY_TIME_RANGE (time_column day),
  cron '@daily', start '2024-01-01', end '2024-01-02'
);
SELECT day, number
FROM VALUES (DATE '2024-01-01', 1), (DATE '2024-01-01', 2), (DATE '2024-01-02', 3) AS t(day, number)
WHERE day BETWEEN @start_date AND @end_date
"""
DAYS_NAME = ModelName("staging", "days")


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """A project of one model."""
    folder = tmp_path / "days"
    (folder / "models").mkdir(parents=True)
    (folder / "vde.yaml").write_text("name: days\n")
    (folder / "models" / "days.sql").write_text(DAYS)
    return folder


def verify(folder: Path, *arguments: str) -> Result:
    return call("verify", *arguments, "--project", folder)


def facts(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(verify(folder, "--format", "json").stdout)
    return found


def key_of(folder: Path) -> VersionKey:
    return bound(VdeProject.load(folder).services).key(DAYS_NAME)


@dataclass(frozen=True)
class Tables:
    """What others do to the tables of a project in memory."""

    world: MemoryWorld

    def remove(self, folder: Path, number: int) -> int:
        """Take a row out without asking anybody; the Iceberg snapshot after that."""
        name = key_of(folder).table
        table = self.world.catalog.tables[name]
        kept = [each for each in table.rows_at(table.head) if each[1] != number]
        return self.world.catalog.delete(name, kept)

    def roll_back(self, folder: Path) -> None:
        """Roll the table back to the Iceberg snapshot before its current one."""
        name = key_of(folder).table
        self.world.catalog.roll_back(name, self.world.catalog.line(name)[1])


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    world = MemoryWorld()
    world.land(until=48)  # its clock has passed both days
    serve(world, monkeypatch)
    return Tables(world)


def record(folder: Path, snapshot: int) -> None:
    """Let the state say that the table is as it was recorded at this Iceberg snapshot."""
    services, key = VdeProject.load(folder).services, key_of(folder)
    publication = Publication(iceberg_snapshot_id=snapshot, changes=(), columns=())
    base = services.state.heads([key])[key]
    with begun(services, key, base=base) as (work_id, lease):
        services.state.record_staged(work_id, publication, lease=lease)
        services.state.finalize(work_id, lease=lease)


def follow(folder: Path, found: Result) -> None:
    """Run the command that was advised."""
    advised = re.search(r"`vde (repair .*?)`", " ".join(found.stdout.split()))
    assert advised is not None, found.stdout
    assert advised[1].endswith(f"--project {folder}")
    done = call(*advised[1].split())
    assert done.exit_code == 0, done.stderr


A_ROW_OF_A_DAY_IS_GONE: Final = {
    "rows": 2,
    "entries": 2,
    "mismatches": [
        {
            "interval": {"start": "2024-01-01T00:00:00+00:00", "end": "2024-01-02T00:00:00+00:00"},
            "recorded": {"rows": 2},
            "found": {"rows": 1},
        }
    ],
    "missing_table": False,
    "foreign_write": "",
    "holds": False,
}


def test_rows_that_are_gone_are_found_and_the_advice_brings_them_back(
    tables: Tables, days: Path
) -> None:
    done = call("plan", "prod", "--auto-apply", "--project", days)
    assert done.exit_code == 0, done.stderr
    version = key_of(days).version
    done = verify(days)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"staging.days ({version[:8]}): 3 rows as recorded\n"

    # A commit of somebody else: what was recorded is still there, and readers see other rows.
    tables.remove(days, 1)
    done = verify(days)
    assert done.exit_code == 1
    assert "nother program wrote to it" in done.stdout
    follow(days, done)
    assert verify(days).exit_code == 0

    # A rollback of somebody else, over rows that were published by two units of work.
    again = ("--restate-model", "staging.days", "--auto-apply")
    assert call("plan", "prod", *again, "--project", days).exit_code == 0
    tables.roll_back(days)
    done = verify(days)
    assert done.exit_code == 1
    assert "rolled it back" in done.stdout
    follow(days, done)
    assert verify(days).exit_code == 0

    # The rows that were recorded are not there: the interval is named, and the whole is exact.
    record(days, tables.remove(days, 2))
    done = verify(days, "staging.days")
    assert done.exit_code == 1
    assert f"staging.days ({version[:8]}): not as recorded" in done.stdout
    assert "[2024-01-01, 2024-01-02) has 1 rows, 2 were recorded" in done.stdout
    assert "[2024-01-02" not in done.stdout
    assert "vde run prod --restate-model staging.days" in " ".join(done.stdout.split())
    found = facts(days)
    assert (found["environment"], found["holds"]) == ("prod", False)
    (model,) = found["models"]
    assert model.pop("key")["version"] == version
    assert model == A_ROW_OF_A_DAY_IS_GONE
    done = call("run", "prod", "--restate-model", "staging.days", "--project", days)
    assert done.exit_code == 0, done.stderr
    assert verify(days).exit_code == 0


@pytest.mark.full
def test_where_nothing_is_loaded_nothing_is_started(
    project: Path, without_java: WithoutJava
) -> None:
    promote(project)
    done = without_java("verify", "--project", str(project))
    assert (done.returncode, done.stdout) == (0, "")
    fills = f"`vde plan prod --project {project}` loads them."
    assert f"No model that stores rows has any yet. {fills}" in done.stderr
    assert facts(project) == {"version": 1, "environment": "prod", "holds": True, "models": []}
