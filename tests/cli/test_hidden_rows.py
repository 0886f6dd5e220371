"""Deletes of keyed models are shown by no command, whoever answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.memory_world import MemoryWorld
from tests.cli.calling import call, facts
from tests.cli.changing import InMemory, write_models

KIND = "INCREMENTAL_BY_UNIQUE_KEY (unique_key thing, sequence_by (at, id), delete_when amount = 0)"
CURRENT = f"""\
MODEL (name a.current, kind {KIND}, cron '@hourly',
late_data (mode stateless, sources (raw.events)));
SELECT id % 3 AS thing, id, at, amount FROM raw.events
"""


@pytest.fixture
def keyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InMemory:
    """Three things in production, of which one is deleted."""
    folder = write_models(tmp_path / "keyed", {"current": CURRENT})
    found = InMemory(folder, MemoryWorld()).serve(monkeypatch)
    found.land((0.2, 10), (0.4, 20), (0.6, 30), (1.5, 0), until=2)
    assert call("plan", "--auto-apply", "--project", folder).exit_code == 0
    return found


def test_a_query_that_spark_answers_leaves_deletes_out(keyed: InMemory) -> None:
    sql = "SELECT c.amount FROM a.current AS c JOIN a.current USING (thing) ORDER BY 1"
    found = facts("query", sql, "--engine", "spark", "--project", keyed.folder)
    assert found["rows"] == [[20], [30]]


def test_rows_of_two_environments_are_compared_without_deletes(keyed: InMemory) -> None:
    path = keyed.folder / "models" / "current.sql"
    path.write_text(path.read_text().replace("id, at, amount", "id, at, 2 * amount AS amount"))
    assert call("plan", "dev", "--auto-apply", "--project", keyed.folder).exit_code == 0
    asked = ("table-diff", "prod", "dev", "a.current", "--engine", "spark")
    rows = facts(*asked, "--project", keyed.folder)["diff"]["rows"]
    assert (rows["before"], rows["after"], rows["changed"]) == (2, 2, 2)
