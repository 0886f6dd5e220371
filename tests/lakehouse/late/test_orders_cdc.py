"""The example orders_cdc: what its README says after each delivery."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

import pytest

from tests.lakehouse.kinds.projects import bound
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.running import Wanted, plan_run
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.app.services import Services
from vde_dagster.composition import VdeProject
from vde_dagster.core.names import ModelName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.full]

EXAMPLE: Final = Path(__file__).parents[3] / "examples" / "orders_cdc"
START: Final = datetime(2024, 3, 1, tzinfo=UTC)
Lived = list[tuple[str, float, float | None]]
"""The states of an order: from and up to which hour."""


@pytest.fixture(scope="module")
def landing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("orders_landing", EXAMPLE / "landing.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def lives(services: Services, order: int) -> Lived:
    """The history of an order as a reader of its view sees it."""
    query = (
        "SELECT status, valid_from, valid_to FROM orders.history "
        f"WHERE order_id = {order} ORDER BY valid_from"
    )
    _, rows = services.engine.fetch(query, limit=100)
    return [(str(status), _hour(since), _hour(until)) for status, since, until in rows]  # type: ignore[misc] # the first is none


def _hour(time: object) -> float | None:
    assert time is None or isinstance(time, datetime)
    return None if time is None else (time - START) / timedelta(hours=1)


def current(services: Services) -> list[int]:
    _, rows = services.engine.fetch("SELECT order_id FROM orders.current ORDER BY 1", limit=100)
    return [int(str(row[0])) for row in rows]


def run(services: Services) -> None:
    apply_plan(services, plan_run(services, "prod", Wanted.DUE_AND_STALE), lambda _: None)


def test_the_state_and_the_history_do_not_depend_on_when_a_change_came(
    tmp_path: Path, spark: SparkSession, landing: ModuleType
) -> None:
    del spark  # it is there, and the engine finds it
    folder = tmp_path / "orders"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    catalog = "catalog: {name: lake_orders_cdc}\n"
    (folder / "vde.yaml").write_text((folder / "vde.yaml").read_text("utf-8") + catalog)
    project = VdeProject.load(folder)
    services, raw = project.services, project.iceberg_catalog()
    landing.land(raw, "first")
    plan = plan_environment(services, project.files.graph, "prod")
    apply_plan(services, plan, lambda _: None)
    assert lives(services, 1) == [("placed", 9, 20), ("shipped", 20, None)]
    assert current(services) == [1, 2, 3]

    landing.land(raw, "late")
    run(services)
    assert lives(services, 1) == [("placed", 9, 12), ("paid", 12, 20), ("shipped", 20, None)]
    assert lives(services, 3) == [("placed", 30, 34), ("paid", 34, 40)]
    assert current(services) == [1, 2, 4]

    key = bound(services).key(ModelName("orders", "current"))
    before = [each.digest for each in services.state.ledger([key])[key]]
    landing.land(raw, "older")
    run(services)
    assert lives(services, 3) == [("placed", 30, 32), ("placed", 32, 34), ("paid", 34, 40)]
    assert current(services) == [1, 2, 4]
    assert [each.digest for each in services.state.ledger([key])[key]] == before
