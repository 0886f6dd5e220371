"""Changes next to a plan that shows a version again: before it is applied, and within it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.app.memory_world import (
    EVENTS,
    RAW,
    Fuse,
    MemoryWorld,
    PowerCut,
    graph_of,
    hour_of,
    made_once,
    there,
)
from tests.app.shop_world import EVENTS_NAME, change, day, done, work
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.catch_up.sessions import catch_up
from vde_dagster.app.services import Services
from vde_dagster.core.errors import Conflict
from vde_dagster.core.names import ModelName

Models = dict[str, str]


def by_day(name: str, source: str, *, options: str = "") -> str:
    """A model that reads another one day by day."""
    return (
        f"MODEL (name mart.{name}, kind INCREMENTAL_BY_TIME_RANGE (time_column at{options}), "
        f"cron '@daily');\nSELECT id AS id, at AS at, amount AS amount FROM {source} "
        "WHERE at BETWEEN @start_dt AND @end_dt"
    )


def full(name: str, source: str) -> str:
    columns = "id AS id, at AS at, amount AS amount"
    return f"MODEL (name mart.{name}, kind FULL, cron '@daily');\nSELECT {columns} FROM {source}"


def by_key(name: str, source: str) -> str:
    kind = "INCREMENTAL_BY_UNIQUE_KEY (unique_key id)"
    return (
        f"MODEL (name mart.{name}, kind {kind}, cron '@daily');\n"
        f"SELECT id AS id, at AS at, amount AS amount FROM {source} "
        "WHERE at BETWEEN @start_dt AND @end_dt"
    )


def twice(models: Models, name: str) -> Models:
    """The same models, one of them with a breaking edit."""
    return {**models, name: models[name].replace("amount AS", "amount * 2 AS")}


def wider(models: Models, name: str) -> Models:
    """The same models, one of them with a further column, a non-breaking edit."""
    return {**models, name: models[name].replace("amount AS amount", "amount AS amount, 1 AS n")}


@made_once
def world_of(*models: Models) -> MemoryWorld:
    """Production over two days, which showed all of these models one after the other."""
    world = MemoryWorld.landed((1, 10), (30, 5), until=48)
    for each in models:
        world.build(graph_of(each))
    return world


@made_once
def with_late_row(models: Models) -> MemoryWorld:
    """Production that showed these models, shows another version of what reads, and gets a row."""
    world = world_of(models, twice(models, "read"))
    world.land((1.5, 100), until=48)
    return world


# Between a plan and its promotion

READS_RAW = {"read": by_day("read", "raw.events")}
READS_FULL = {"base": full("base", "raw.events"), "read": by_day("read", "mart.base")}
LOADED = {"events": EVENTS}


@pytest.mark.parametrize("models", [READS_RAW, READS_FULL], ids=["a source", "a FULL table"])
def test_r15_a_restatement_while_a_plan_waits_is_not_taken_away(models: Models) -> None:
    world = world_of(models, twice(models, "read"))
    plan = world.plan(graph_of(models))
    world.land((1.5, 100), until=48)
    again = ("mart.base",) if "base" in models else ("mart.read",)
    world.build(graph_of(twice(models, "read")), restate=again)
    with pytest.raises(Conflict, match=r"got new rows of mart\.read .* plan prod again"):
        world.apply(plan)
    assert world.amounts("mart.read") == [10, 20, 200]
    world.build(graph_of(models))
    assert world.amounts("mart.read") == [5, 10, 100]


def test_r15_late_rows_that_are_loaded_while_a_plan_waits_are_not_taken_away() -> None:
    other = {"events": EVENTS.replace("amount AS", "amount * 2 AS")}
    world = world_of(LOADED, other)
    plan = world.plan(graph_of(LOADED))
    world.land((1.5, 100), until=48)
    world.catch_up(EVENTS_NAME)
    with pytest.raises(Conflict, match=r"got new rows of staging\.events"):
        world.apply(plan)
    world.build(graph_of(LOADED))
    assert world.amounts("staging.events") == [5, 10, 100]


def test_late_rows_that_nobody_loaded_do_not_keep_a_plan_from_being_applied() -> None:
    other = {"events": EVENTS.replace("amount AS", "amount * 2 AS")}
    world = world_of(LOADED, other)
    plan = world.plan(graph_of(LOADED))
    world.land((1.5, 100), until=48)
    world.apply(plan)
    assert world.amounts("staging.events") == [5, 10]


# What an earlier process began, and the plan finishes

CHAIN = {"base": by_day("base", "raw.events"), "read": by_day("read", "mart.base")}


def cut_at(
    call: str, make: Callable[[], MemoryWorld], do: Callable[[MemoryWorld, Services], object]
) -> MemoryWorld:
    """A world in which work was begun, and the power was cut before its first such call."""
    world = make()
    with pytest.raises(PowerCut):
        do(world, world.services(Fuse(cut_name=call)))
    world.reboot()
    return world


@pytest.mark.parametrize("call", ["stage", "publish"])
def test_r15_a_restatement_that_stopped_is_read_by_what_comes_back(call: str) -> None:
    other = twice(CHAIN, "read")

    def restate(_: MemoryWorld, services: Services) -> None:
        done(services, graph_of(other), "prod", restate=("mart.base",))

    world = cut_at(call, lambda: with_late_row(CHAIN), restate)
    world.build(graph_of(CHAIN))
    assert world.amounts("mart.base") == world.amounts("mart.read") == [5, 10, 100]
    assert world.plan(graph_of(CHAIN)).is_up_to_date


def test_r15_an_interval_that_was_staged_by_hand_is_read_by_what_comes_back() -> None:
    def evaluate(world: MemoryWorld, services: Services) -> None:
        evaluate_range(services, world.bound(), ModelName("mart", "base"), day(1))

    world = cut_at("publish", lambda: with_late_row(CHAIN), evaluate)
    world.build(graph_of(CHAIN))
    assert world.amounts("mart.base") == world.amounts("mart.read") == [5, 10, 100]


def test_r15_a_session_that_stopped_is_read_by_what_comes_back() -> None:
    models = {**LOADED, "read": by_day("read", "staging.events")}

    def session(world: MemoryWorld, services: Services) -> None:
        catch_up(services, world.bound(), EVENTS_NAME)

    world = cut_at("stage", lambda: with_late_row(models), session)
    world.build(graph_of(models))
    assert world.amounts("staging.events") == world.amounts("mart.read") == [5, 10, 100]


# What the plan computes again of other models

LOOKING_BACK = {**CHAIN, "base": by_day("base", "raw.events", options=", lookback 2")}
WITH_SUM = {
    "base": by_key("base", "raw.events"),
    "read": (
        "MODEL (name mart.read, kind INCREMENTAL_BY_TIME_RANGE (time_column at), cron '@daily');\n"
        "SELECT e.id AS id, e.at AS at, (SELECT SUM(amount) FROM mart.base) * 1 AS amount "
        "FROM raw.events AS e WHERE e.at BETWEEN @start_dt AND @end_dt"
    ),
}


def test_r15_what_is_looked_at_again_is_read_by_what_comes_back() -> None:
    world = world_of(LOOKING_BACK, twice(LOOKING_BACK, "read"))
    world.land((1.5, 100), (50, 7), until=72)
    world.build(graph_of(LOOKING_BACK))
    assert world.amounts("mart.base") == world.amounts("mart.read") == [5, 7, 10, 100]


def test_r15_a_table_that_is_read_as_a_whole_and_merged_into_is_read_by_what_comes_back() -> None:
    other = {**WITH_SUM, "read": WITH_SUM["read"].replace("* 1 AS", "* 2 AS")}
    world = world_of(WITH_SUM, other)
    world.land((50, 7), until=72)
    world.build(graph_of(WITH_SUM))
    assert world.amounts("mart.read") == [22, 22, 22]


# Readers that stay, of a table that is replaced

FORBIDDEN = ", disable_restatement true"
REPLACED = {
    "FULL": full("base", "raw.events"),
    "by key": by_key("base", "raw.events"),
    "disable_restatement": by_day("base", "raw.events", options=FORBIDDEN),
}


@pytest.mark.full
@pytest.mark.parametrize("base", REPLACED.values(), ids=REPLACED)
def test_what_reads_a_table_of_any_kind_that_is_rebuilt_has_its_late_rows(base: str) -> None:
    models = {"base": base, "read": by_day("read", "mart.base")}
    world = world_of(models)
    world.land((1.5, 100), until=48)
    world.build(graph_of(wider(models, "base")))
    assert world.amounts("mart.base") == world.amounts("mart.read") == [5, 10, 100]


def without_the_first_day(world: MemoryWorld) -> None:
    table = world.catalog.tables[RAW]
    head = there(world.catalog.table(RAW))
    rows: list[Any] = list(table.rows_at(head.iceberg_snapshot_id))
    world.catalog.delete(RAW, [row for row in rows if row[1] >= hour_of(24)])


@pytest.mark.parametrize("late", [(), ((31.0, 9),)], ids=["no late row", "a late row"])
def test_a_reader_keeps_rows_that_its_replaced_parent_cannot_have_any_more(
    late: tuple[tuple[float, int], ...],
) -> None:
    models = {"base": by_day("base", "raw.events"), "read": by_key("read", "mart.base")}
    world = world_of(models)
    without_the_first_day(world)
    if late:
        world.land(*late, until=48)
    plan = world.plan(graph_of(wider(models, "base")))
    if late:
        assert "It keeps its rows" in change(plan, "mart.read").behind.reason
    assert "read" not in work(plan)
    world.apply(plan)
    assert world.amounts("mart.read") == [5, 10]
