"""A forward-only change is tried in a table of its own, and then made in the one that is kept."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.app.memory_world import bound, build
from tests.app.shop_world import done
from tests.lakehouse.conftest import Lake
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.inspect.verify import verify
from vde_dagster.app.promote.taking import plan_promotion
from vde_dagster.core.names import ModelName

pytestmark = pytest.mark.spark

SOURCE = {"rows": {"id": "int", "at": "timestamp", "price": "decimal(5,2)"}}
BEFORE = """MODEL (name {s}.kept, start '2024-01-01', kind
  INCREMENTAL_BY_TIME_RANGE (time_column at, forward_only true));
SELECT id, at, price FROM {s}.rows WHERE at BETWEEN @start_dt AND @end_dt"""
AFTER = BEFORE.replace("id, at, price", "id, at, price, 'new' AS fresh")
TOTAL = """MODEL (name {s}.total, kind FULL);
SELECT SUM(price) AS price, COUNT(fresh) AS fresh FROM {s}.kept"""


def test_a_preview_leaves_the_kept_table_alone_and_its_promotion_changes_a_part(
    lake: Lake,
) -> None:
    lake.source(
        "rows",
        id=pa.array([1, 2, 3], pa.int32()),
        at=pa.array([datetime(2024, 1, day, 5, tzinfo=UTC) for day in (1, 2, 2)]),
        price=pa.array([Decimal("1.5"), Decimal("2.5"), Decimal("3.5")], pa.decimal128(5, 2)),
    )
    build(lake.services(), lake.graph(SOURCE, kept=BEFORE))
    kept = bound(lake.services()).key(ModelName(lake.schema, "kept"))
    before = lake.table(kept.table)

    edited = lake.graph(SOURCE, kept=AFTER, total=TOTAL)
    done(lake.services(), edited, effective_from=datetime(2024, 1, 2, tzinfo=UTC))
    assert lake.table(kept.table).metadata_location == before.metadata_location
    shown = f"SELECT id, fresh FROM {lake.schema}__dev.kept ORDER BY id"
    assert lake.rows(shown) == [(2, "new"), (3, "new")]
    total = "SELECT CAST(price AS STRING), fresh FROM {s}.total"
    assert lake.rows(total.format(s=f"{lake.schema}__dev")) == [("6.00", 2)]
    preview = bound(lake.services(), "dev").key(kept.model)
    assert preview != kept

    services = lake.services()
    apply_plan(services, plan_promotion(services, "dev", "prod"), lambda _: None)
    after = lake.table(kept.table)
    assert bound(lake.services()).key(kept.model) == kept
    assert after.current_snapshot() != before.current_snapshot()
    assert lake.rows(f"SELECT id, fresh FROM {lake.schema}.kept ORDER BY id") == [
        (1, None),
        (2, "new"),
        (3, "new"),
    ]
    assert lake.rows(total.format(s=lake.schema)) == [("7.50", 2)]
    assert lake.rows(shown) == [(2, "new"), (3, "new")]
    assert all(each.holds for each in verify(lake.services(), bound(lake.services())))
