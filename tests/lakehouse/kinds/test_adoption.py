"""Rule R6 on real Spark: downstream of an edit whose rows are equal, tables are adopted."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.lakehouse.kinds.projects import Folder, bound
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.names import ModelName

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.spark

EVENTS: Final = """MODEL (
  name m.events, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily'
);
SELECT id, at, amount FROM raw.events WHERE at BETWEEN @start_dt AND @end_dt
"""
MODELS: Final = {
    "m.events": EVENTS,
    "m.shown": """MODEL (name m.shown, kind VIEW);
SELECT id, at, amount * 2 AS amount FROM m.events
""",
    "m.doubled": """MODEL (
  name m.doubled, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily'
);
SELECT id, at, amount FROM m.shown WHERE at BETWEEN @start_dt AND @end_dt
""",
    "m.keyed": """MODEL (
  name m.keyed, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id, batch_size 1), cron '@daily'
);
SELECT id, amount FROM m.doubled WHERE at BETWEEN @start_dt AND @end_dt
""",
    "m.total": "MODEL (name m.total, kind FULL);\nSELECT SUM(amount) AS amount FROM m.keyed",
}
BELOW: Final = tuple(ModelName("m", name) for name in ("doubled", "keyed", "total"))


def versions(folder: Folder) -> dict[ModelName, str]:
    snapshots = bound(folder.project().services).snapshots
    return {name: snapshots[name].version for name in BELOW}


@pytest.mark.full  # in memory: tests/app/plan/test_adoption.py
@pytest.mark.usefixtures("spark")
def test_tables_downstream_of_an_edit_with_equal_rows_are_adopted(tmp_path: Path) -> None:
    folder = Folder.make(tmp_path / "project", f"lake_{uuid.uuid4().hex[:8]}", MODELS)
    for rows, until in (([(1, 1, 10), (2, 2, 20)], 24), ([(1, 25, 11), (3, 26, 5)], 48)):
        folder.land(rows, until=until)  # each day is loaded by itself
        folder.apply()
    before = versions(folder)
    text = EVENTS.replace("WHERE", "WHERE amount BETWEEN 0 AND 99 AND")
    (folder.path / "models" / "m.events.sql").write_text(text, encoding="utf-8")
    project, done = folder.project(), list[Evaluated]()
    plan = plan_environment(project.services, project.files.graph, "prod")
    apply_plan(project.services, plan, done.append)
    assert {each.key.model.name for each in done if not each.reused} == {"events", "shown"}
    assert versions(folder) == before
    assert folder.rows("m.keyed") == [(1, 22), (2, 40), (3, 10)]
    assert folder.rows("m.total") == [(72,)]
    folder.land([(2, 49, 7), (4, 50, 100)], until=72)
    folder.apply()
    assert versions(folder) == before
    assert folder.rows("m.keyed") == [(1, 22), (2, 14), (3, 10)]
    assert folder.rows("m.total") == [(46,)]
