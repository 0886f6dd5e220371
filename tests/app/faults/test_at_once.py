"""Models at once in one process, on Spark: each kind has its rows.

In the short form `tests/lakehouse/test_lanes.py` stages at once on Spark, and plans do in memory
(`tests/app/apply/test_concurrency.py`). `test_processes` has Ctrl-C.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.faults.driver import converge
from tests.app.faults.every_kind import KINDS
from tests.app.faults.lake import DAYS, EVENTS, OF_THE_FIRST_DAY, Kept, Lake
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.evaluate.evaluated import Evaluated
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.composition import VdeProject
from vde_dagster.core.planning.scheduling import Concurrency

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.full]


def at_once(project: VdeProject, models: int) -> tuple[Evaluated, ...]:
    plan = plan_environment(project.services, project.files.graph, "prod")
    concurrency = Concurrency(models=models)
    return apply_plan(project.services, plan, lambda _: None, concurrency=concurrency)


def test_kinds_that_are_evaluated_at_once_have_each_row_once(
    tmp_path: Path, spark: SparkSession
) -> None:
    del spark  # it is there
    kinds = tuple(KINDS)
    lake = Lake.make(tmp_path, {kind: Kept(kind=kind) for kind in kinds})
    for day, events in enumerate((OF_THE_FIRST_DAY, EVENTS[len(OF_THE_FIRST_DAY) :])):
        lake.land(events, until=DAYS[day].end)
        at_once(VdeProject.load(tmp_path), models=len(kinds))
    for kind in kinds:
        lake.assert_rows_are_exact(kind)
        assert max(lake.publications(kind).values()) == 1, "nothing is published twice"
    assert [*converge(str(tmp_path))] == [
        {"verified": dict.fromkeys(kinds, True), "left": []},
    ]
