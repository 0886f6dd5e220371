"""A release whose fingerprints have another scheme takes over what an earlier one has filled."""

from __future__ import annotations

import pytest

from tests.app.memory_world import PROJECT, MemoryWorld, graph_of
from tests.app.shop_world import versions
from vde_dagster.core.model import fingerprint
from vde_dagster.core.names import ModelName

MODELS = {
    **PROJECT,
    "keyed": """MODEL (
  name mart.keyed, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key day), cron '@daily'
);
SELECT day, amount || '' AS amount FROM mart.daily
WHERE day BETWEEN @start_date AND @end_date
""",
    "parted": """MODEL (
  name mart.parted, kind INCREMENTAL_BY_PARTITION, partitioned_by day, cron '@daily'
);
SELECT day, amount FROM mart.daily
""",
    "history": """MODEL (
  name mart.history, kind SCD_TYPE_2_BY_COLUMN (unique_key day, columns (amount)), cron '@daily'
);
SELECT day, amount FROM mart.daily
""",
    "base": """MODEL (name mart.base, kind EMBEDDED);
SELECT id, at, amount FROM staging.events WHERE NOT amount = 5
""",
    "hours": """MODEL (
  name mart.hours,
  kind INCREMENTAL_BY_TIME_RANGE (time_column hour, forward_only true),
  cron '@daily'
);
SELECT DATE_TRUNC('DAY', at) AS hour, COUNT(1) AS n FROM mart.base
WHERE at BETWEEN @start_dt AND @end_dt GROUP BY 1
""",
}
EDITED = {**MODELS, "daily": MODELS["daily"].replace("SUM(amount) AS", "SUM(amount) + 0 AS")}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> MemoryWorld:
    """Three days of events, which a release with another scheme has built."""
    found = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    with monkeypatch.context() as earlier:
        earlier.setattr(fingerprint, "SCHEME", "earlier")
        found.build(graph_of(MODELS))
    return found


def test_nothing_is_computed_and_no_view_moves_after_an_upgrade(world: MemoryWorld) -> None:
    stored = versions(world)
    found = world.plan(graph_of(MODELS))
    assert [str(each.name) for each in found.changes if each.to_evaluate] == []
    assert not found.promotes
    assert not found.views
    assert {name: each.version for name, each in found.snapshots.items()} == stored


@pytest.mark.full
def test_an_edit_after_an_upgrade_rebuilds_only_what_it_reaches(world: MemoryWorld) -> None:
    stored = versions(world)
    found = world.plan(graph_of(EDITED))
    moved = {name for name, each in found.snapshots.items() if each.version != stored[name]}
    downstream = ("daily", "totals", "people", "keyed")  # histories and partitions are forward-only
    assert moved == {ModelName("mart", each) for each in downstream}


def test_an_environment_made_after_an_upgrade_shares_what_production_has(
    world: MemoryWorld,
) -> None:
    stored = versions(world)
    world.build(graph_of(MODELS), "dev")
    assert versions(world, "dev") == stored
