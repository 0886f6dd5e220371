"""An edit that keeps what reads the edited model: all that its new table has more reaches that.

A new table may begin earlier than the old one, end later, and get what is due in the same plan.
Expected rows are those that landed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest

from tests.app.memory_world import MemoryWorld, graph_of
from vde_dagster.app.apply.pausing import pause_models, resume_models
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.plan.fillers import HAS_MORE
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName

BY_TIME: Final = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
WITHIN: Final = "WHERE at BETWEEN @start_dt AND @end_dt"
READERS: Final = {
    "a copy": f"kind {BY_TIME}, cron '@daily'); SELECT id, at, amount FROM gen.m0 {WITHIN}",
    "a whole table": "kind FULL, cron '@daily'); SELECT id, at, amount FROM gen.m0",
}


def project(reader: str, *, column: bool, times: str = "") -> Graph:
    """Rows of each day, with one more column after the edit, and what reads them."""
    more = ", 5 AS more" if column else ""
    base = f"MODEL (name gen.m0, kind {BY_TIME}, cron '@daily'{times}); "
    query = f"SELECT id, at, amount{more} FROM raw.events {WITHIN}"
    return graph_of({"m0": base + query, "m1": f"MODEL (name gen.m1, {reader}"})


def is_up_to_date(world: MemoryWorld, environment: str) -> bool:
    return look_at_environment(world.services(), environment).is_up_to_date


@pytest.mark.parametrize("environment", ["prod", "dev"])
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("times", [", start '2024-01-02'", ", end '2024-01-01'"])
def test_rows_of_times_that_only_the_new_table_has(
    times: str, reader: str, environment: str
) -> None:
    """They were nowhere below the edited model, which was called up to date."""
    world = MemoryWorld.landed((1.5, 1), (26, 3), until=48)
    world.build(project(READERS[reader], column=False, times=times), environment)
    world.clock.advance(timedelta(minutes=1))
    world.build(project(READERS[reader], column=True), environment)
    schema = "gen" if environment == "prod" else "gen__dev"
    assert world.amounts(f"{schema}.m0") == [1, 3]
    assert world.amounts(f"{schema}.m1") == [1, 3]
    assert is_up_to_date(world, environment)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("times", [", start '2024-01-02'", ", end '2024-01-01'"])
def test_times_that_only_another_environment_has_are_named_until_they_are_promoted(
    times: str, reader: str
) -> None:
    """`dev` was called up to date, which showed production's reader without them."""
    world = MemoryWorld.landed((1.5, 1), (26, 3), until=48)
    world.build(project(READERS[reader], column=False, times=times))
    edited = project(READERS[reader], column=True)
    world.clock.advance(timedelta(minutes=1))
    world.build(edited, "dev")
    (behind,) = look_at_environment(world.services(), "dev").models
    assert str(behind.node.name) == "gen.m1"
    assert behind.staleness is not None
    assert behind.staleness.why_kept == (
        "dev has more of gen.m0 than prod, which computes downstream models once it has caught up"
    )
    assert is_up_to_date(world, "prod")
    world.build(edited)
    assert is_up_to_date(world, "dev")
    assert world.amounts("gen__dev.m1") == [1, 3]


@pytest.mark.parametrize("where", ["VIEW", "EMBEDDED", "a view between"])
def test_a_view_with_more_than_the_table_of_another_environment_is_named(where: str) -> None:
    """What is recorded was compared by names: of an embedded model, or of a view, it is not."""
    world = MemoryWorld.landed((1.5, 1), (26, 3), until=48)
    before, edited, name = in_place(where)
    world.build(graph_of(before))
    world.clock.advance(timedelta(minutes=1))
    world.build(graph_of(edited), "dev", decisions={name: Category.NON_BREAKING})
    (behind,) = look_at_environment(world.services(), "dev").models
    assert str(behind.node.name) == "gen.m1"
    assert behind.staleness is not None
    assert HAS_MORE in behind.staleness.why_kept


@pytest.mark.parametrize("kind", ["VIEW", "EMBEDDED", "MANAGED", "FULL"])
@pytest.mark.parametrize("reader", READERS)
def test_a_view_with_the_rows_of_the_table_of_another_environment_is_not(
    reader: str, kind: str
) -> None:
    """All that is read as a whole was said to lack times of a view, which has none, for good."""
    graph = project(READERS[reader], column=False)
    view = f"MODEL (name gen.m0, kind {kind}); SELECT id, at, amount FROM raw.events"
    texts = {"m0": view, "m1": f"MODEL (name gen.m1, {READERS[reader]}"}
    world = MemoryWorld.landed((1.5, 1), (26, 3), until=48)
    world.build(graph)
    world.clock.advance(timedelta(minutes=1))
    decided = {ModelName("gen", "m0"): Category.NON_BREAKING}
    world.build(graph_of(texts), "dev", decisions=decided)
    world.run()
    world.run("dev")
    assert world.amounts("gen__dev.m1") == [1, 3]
    assert is_up_to_date(world, "dev")


def in_place(where: str) -> tuple[dict[str, str], dict[str, str], ModelName]:
    """A table that begins late, a view in its place or below it, and which model that edits."""
    rows = f"SELECT id, at, amount FROM raw.events {WITHIN}"
    table = f"MODEL (name gen.m0, kind {BY_TIME}, cron '@daily', start '2024-01-02'); {rows}"
    read = "gen.v" if where == "a view between" else "gen.m0"
    reader = f"MODEL (name gen.m1, kind {BY_TIME}, cron '@daily'); "
    models = {"m0": table, "m1": f"{reader}SELECT id, at, amount FROM {read} {WITHIN}"}
    if where == "a view between":
        view = "MODEL (name gen.v, kind VIEW); SELECT id, at, amount FROM "
        edited = {**models, "v": f"{view}raw.events"}
        return {**models, "v": f"{view}gen.m0"}, edited, ModelName("gen", "v")
    view = f"MODEL (name gen.m0, kind {where}); SELECT id, at, amount FROM raw.events"
    return models, {**models, "m0": view}, ModelName("gen", "m0")


def test_what_is_due_with_the_edit_reaches_what_reads_all_of_it() -> None:
    """The day before had a total without the new day, and no run computed it again."""
    total = (
        f"kind {BY_TIME}, cron '@daily'); SELECT a.id, a.at, a.amount + b.total AS amount "
        "FROM raw.events AS a CROSS JOIN (SELECT SUM(amount) AS total FROM gen.m0) AS b "
        "WHERE a.at BETWEEN @start_dt AND @end_dt"
    )
    world = MemoryWorld.landed((1.5, 1), until=24)
    world.build(project(total, column=False))
    assert world.amounts("gen.m1") == [1 + 1]
    world.land((26, 10), until=48)
    world.build(project(total, column=True))
    assert world.amounts("gen.m1") == [1 + 11, 10 + 11]
    assert is_up_to_date(world, "prod")


def test_what_is_due_with_the_edit_reaches_a_table_that_is_not_due() -> None:
    monthly = "kind FULL, cron '@monthly'); SELECT id, at, amount FROM gen.m0"
    world = MemoryWorld.landed((1.5, 1), until=24 * 32)
    world.build(project(monthly, column=False))
    world.land((24 * 32.5, 9), until=24 * 33)
    world.build(project(monthly, column=True))
    assert world.amounts("gen.m1") == [1, 9]
    assert is_up_to_date(world, "prod")


def pause(world: MemoryWorld) -> None:
    pause_models(world.services(), "prod", [ModelName("gen", "m1")], reason="")


def land(world: MemoryWorld) -> None:
    world.land((5.5, 7), until=24)


@pytest.mark.parametrize("first", [(pause, land), (land, pause)], ids=["paused", "landed"])
def test_a_late_row_reaches_what_is_paused_during_the_edit(
    first: tuple[Callable[[MemoryWorld], None], ...],
) -> None:
    """It was said to be fresh against the new table, and nobody had compared it."""
    world = MemoryWorld.landed((1.5, 1), until=24)
    world.build(project(READERS["a copy"], column=False))
    world.clock.advance(timedelta(minutes=1))
    for each in first:
        each(world)
    world.build(project(READERS["a copy"], column=True))
    assert world.amounts("gen.m0") == [1, 7]
    resume_models(world.services(), "prod", [])
    assert not is_up_to_date(world, "prod")
    world.run()
    assert world.amounts("gen.m1") == [1, 7]
    assert is_up_to_date(world, "prod")
