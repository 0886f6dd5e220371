"""Tables of versions that are kept while their columns change (rule R11), in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.clean_up.between import Between
from tests.app.memory_world import (
    DEFAULTS,
    MemoryWorld,
    bound,
    graph_of,
    made_once,
    mismatches,
    there,
)
from vde_dagster.app.evaluate.evolution import evolve_tables
from vde_dagster.app.plan.planning import plan_environment
from vde_dagster.core.columns import Column
from vde_dagster.core.errors import Refused
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.ledger.schema_changes import ColumnWidened
from vde_dagster.core.model.snapshot import VersionKey
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.options import PlanOptions
from vde_dagster.ports.state import environment_resource

NAME = ModelName("m", "kept")
KINDS = {
    "by time": "INCREMENTAL_BY_TIME_RANGE (time_column at, forward_only true)",
    "by key": "INCREMENTAL_BY_UNIQUE_KEY (unique_key id, forward_only true)",
    "appended": "INCREMENTAL_UNMANAGED",
}
FIRST = "id AS id, at AS at, amount AS amount"
MORE = "id AS id, amount * 2 AS twice, at AS at"
KIND = KINDS["by time"]


def project(columns: str, kind: str = KIND, description: str = "") -> Graph:
    assert DEFAULTS.start is not None
    header = (
        f"MODEL (name m.kept, kind {kind}, on_destructive_change allow, cron '@daily', "
        f"description '{description}');"
    )
    query = f"SELECT {columns}\nFROM raw.events WHERE at BETWEEN @start_dt AND @end_dt"
    return graph_of({"kept": f"{header}\n{query}"})


def loaded(kind: str = KIND) -> tuple[MemoryWorld, VersionKey]:
    """A day of the first definition is loaded, and a second day has landed."""
    world = _loaded(kind)
    return world, world.bound().key(NAME)


@made_once
def _loaded(kind: str) -> MemoryWorld:
    world = MemoryWorld.landed((1, 10), (2, 20), until=24)
    world.clock.advance(timedelta(days=1))
    world.build(project(FIRST, kind))
    world.land((25, 30), until=48)
    world.clock.advance(timedelta(days=1))
    return world


def shown(world: MemoryWorld, sql: str = "SELECT * FROM m.kept") -> list[tuple[object, ...]]:
    _, rows = world.services().engine.fetch(sql, limit=99)
    return sorted(tuple(row) for row in rows)


WIDENED = ColumnWidened(column="amount", before="decimal(10,2)", after="decimal(12,2)")


@made_once
def narrow() -> MemoryWorld:
    """A table with a narrow column, which production writes, and another environment shows."""
    world = MemoryWorld.landed((1, 10), until=24)
    models = project("at AS at, CAST(amount AS DECIMAL(10, 2)) AS amount")
    for environment in ("prod", "dev"):
        world.build(models, environment)
    return world


def test_r11_views_have_the_wider_type_before_the_table_has() -> None:
    world, seen = narrow(), dict[str, str]()

    def look() -> None:
        view = there(world.catalog.view(TableName("m", "kept")))
        seen.update({each.name: each.type for each in view.columns})

    services = Between(world, "evolve", after=False, then=look).services()
    evolve_tables(services, bound(services), [(NAME, [WIDENED])])
    assert seen["amount"] == WIDENED.after


def test_r11_an_environment_that_only_shows_a_table_leaves_its_columns() -> None:
    world = narrow()
    key = world.bound().key(NAME)
    before = world.catalog.table(key.table)
    for environment in ("dev", "prod"):
        services = world.services()
        binding = world.bound(environment)
        assert binding.key(NAME) == key
        evolve_tables(services, binding, [(NAME, [WIDENED])])
        is_changed = world.catalog.table(key.table) != before
        assert is_changed == (environment == "prod")


def test_a_column_that_comes_back_with_a_wider_type_is_widened_in_the_table_that_kept_it() -> None:
    world, key = loaded()
    world.build(project("id AS id, at AS at"))
    wide = "id AS id, at AS at, CAST(amount AS DECIMAL(20, 0)) AS amount"
    kind = f"{KIND}, columns (id bigint, at timestamp, amount decimal(20, 0))"
    with pytest.raises(Refused, match=r"changes amount from bigint to decimal\(20,\s?0\)"):
        world.build(project(wide, kind))

    small = f"{KIND}, columns (id bigint, at timestamp, amount int)"
    world, key = loaded(small)
    world.build(project("id AS id, at AS at", KIND))
    world.land((49, 5_000_000_000), until=72)
    world.clock.advance(timedelta(days=1))
    world.build(project(FIRST, KIND))
    assert world.bound().key(NAME) == key
    assert shown(world, "SELECT id, amount FROM m.kept")[-2:] == [(3, None), (4, 5_000_000_000)]
    table = there(world.catalog.table(key.table))
    assert [each.type for each in table.columns] == ["bigint", "timestamp", "bigint"]
    assert mismatches(world.services(), NAME) == []


def promoted(world: MemoryWorld, graph: Graph, environment: str, *, forward_only: bool) -> None:
    options = PlanOptions(forward_only=forward_only)
    world.apply(plan_environment(world.services(), graph, environment, options))


OWN_TABLE = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
EDITED = "id AS id, at AS at, amount + 1 AS amount"


def test_production_gets_the_columns_of_a_definition_that_another_environment_stored() -> None:
    """It was stored for the table that production had then, and has no more when it comes."""
    world, key = loaded(OWN_TABLE)
    world.build(project(FIRST, OWN_TABLE))
    promoted(world, project(MORE, OWN_TABLE), "dev", forward_only=True)
    world.build(project(EDITED, OWN_TABLE))
    assert world.bound().key(NAME) != key
    world.build(project(MORE, OWN_TABLE))
    assert world.bound().key(NAME) == key
    assert [name for name, _ in _columns_of_view(world)] == ["id", "twice", "at"]
    assert shown(world, "SELECT id, twice FROM m.kept") == [(1, None), (2, None), (3, None)]
    world.land((49, 40), until=72)
    world.clock.advance(timedelta(days=1))
    world.build(project(MORE, OWN_TABLE))
    assert shown(world, "SELECT id, twice FROM m.kept")[-1] == (4, 80)
    assert mismatches(world.services(), NAME) == []


@pytest.mark.full
def test_other_environments_show_a_column_once_production_has_it() -> None:
    world, _ = loaded(OWN_TABLE)
    world.build(project(FIRST, OWN_TABLE))
    promoted(world, project(MORE, OWN_TABLE), "dev", forward_only=True)
    promoted(world, project(FIRST, OWN_TABLE), "other", forward_only=True)
    assert [name for name, _ in _columns_of_view(world, "m__dev")] == ["id", "at"]
    promoted(world, project(MORE, OWN_TABLE), "prod", forward_only=True)
    assert [name for name, _ in _columns_of_view(world, "m__dev")] == ["id", "twice", "at"]
    assert [name for name, _ in _columns_of_view(world, "m__other")] == ["id", "at", "amount"]
    assert shown(world, "SELECT id, twice FROM m__dev.kept") == [(1, None), (2, None), (3, None)]


def test_what_is_wrong_with_another_environment_keeps_nobody_from_promoting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world, _ = loaded(OWN_TABLE)
    world.build(project(FIRST, OWN_TABLE))
    for name in ("busy", "broken"):
        promoted(world, project(MORE, OWN_TABLE), name, forward_only=True)
    world.catalog.swap_views([], [TableName("m__broken", "kept")])
    world.catalog.create_table(TableName("m__broken", "kept"), [Column(name="id", type="int")])
    ttl = timedelta(hours=1)
    world.state.acquire_lease(environment_resource("busy"), holder="somebody", ttl=ttl)
    promoted(world, project(MORE, OWN_TABLE), "prod", forward_only=True)
    assert [name for name, _ in _columns_of_view(world)] == ["id", "twice", "at"]
    assert [name for name, _ in _columns_of_view(world, "m__busy")] == ["id", "at"]
    reported = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert len(reported) == 2
    assert "views of broken do not show" in reported[0]
    assert "views of busy do not show" in reported[1]


def test_only_the_owner_of_a_table_touches_views_of_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world, _ = loaded(OWN_TABLE)
    world.build(project(FIRST, OWN_TABLE))
    ttl = timedelta(hours=1)
    world.state.acquire_lease(environment_resource("prod"), holder="somebody", ttl=ttl)
    promoted(world, project(MORE, OWN_TABLE), "dev", forward_only=True)
    assert caplog.records == [], "production is not asked for"


def test_words_reach_the_table_and_the_view_without_an_evaluation() -> None:
    world, key = loaded()
    world.build(project(FIRST))
    made = world.plan(project(FIRST + " -- how much", description="told"))
    assert made.backfills == ()
    assert world.build(project(FIRST + " -- how much", description="told")) == ()
    table = there(world.catalog.table(key.table))
    assert table.properties["comment"] == "told"
    assert dict(_columns_of_view(world))["amount"] == "how much"


def _columns_of_view(world: MemoryWorld, namespace: str = "m") -> list[tuple[str, str]]:
    view = there(world.catalog.view(TableName(namespace, "kept")))
    return [(each.name, each.description) for each in view.columns]
