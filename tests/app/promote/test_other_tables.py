"""What an edit keeps and lets read another table than before: rows that only that has reach it.

A model became a view, was renamed, or what reads it reads its source from then on. By rule R10 what
is kept is as fresh against the new table as against the old one, and no fresher. Expected rows are
those that landed.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import pytest

from tests.app.memory_world import RAW, MemoryWorld, graph_of
from tests.app.shop_world import day
from vde_dagster.app.inspect.status import look_at_environment
from vde_dagster.app.promote.taking import plan_promotion
from vde_dagster.app.staleness.version_behind import UNCOVERED
from vde_dagster.core.graph.graph import Graph
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName

WITHIN: Final = "WHERE at BETWEEN @start_dt AND @end_dt"
BY_TIME: Final = "INCREMENTAL_BY_TIME_RANGE (time_column at)"
LATER: Final = ", start '2024-01-02'"
READERS: Final = {
    "rows that are added": "INCREMENTAL_UNMANAGED",
    "partitions": "INCREMENTAL_BY_PARTITION, partitioned_by (days(at))",
    "by time": "INCREMENTAL_BY_TIME_RANGE (time_column at, forward_only true)",
}
"""Kinds that keep their table when they, or what they read, are edited."""
BY_A_PERSON: Final = {
    ModelName("gen", name): Category.NON_BREAKING for name in ("m0", "m1", "m2", "v")
}


def table(name: str, of: str = "raw.events", kind: str = BY_TIME, more: str = "") -> str:
    header = f"MODEL (name gen.{name}, kind {kind}, cron '@daily'{more}); "
    return f"{header}SELECT id, at, amount FROM {of} {WITHIN}"


def wider(text: str) -> str:
    return text.replace("amount FROM", "amount, 5 AS more FROM")


def only(decided: dict[ModelName, Category], *names: str) -> dict[ModelName, Category]:
    return {name: each for name, each in decided.items() if name.name in names}


def inlined(kind: str = "VIEW", of: str = "raw.events", name: str = "m0") -> str:
    return f"MODEL (name gen.{name}, kind {kind}); SELECT id, at, amount FROM {of}"


def filled(models: dict[str, str]) -> MemoryWorld:
    """A world with a row on each of two days, which the project has loaded."""
    world = MemoryWorld.landed((1.5, 1), (26, 3), until=48)
    world.build(graph_of(models))
    return world


def land_late(world: MemoryWorld) -> None:
    world.clock.advance(timedelta(minutes=1))
    world.land((2.5, 7), until=48)
    world.clock.advance(timedelta(minutes=1))


def apply(world: MemoryWorld, edited: Graph, when: str, **options: Any) -> None:
    """A late row lands, and an edit is applied."""
    if when == "before the plan":
        land_late(world)
        assert not is_up_to_date(world)
        world.build(edited, **options)
    elif when == "before it is applied":
        plan = world.plan(edited, **options)
        land_late(world)
        world.apply(plan)
    else:
        world.build(edited, "dev", **options)
        land_late(world)
        world.apply(plan_promotion(world.services(), "dev", "prod"))


def is_up_to_date(world: MemoryWorld) -> bool:
    return look_at_environment(world.services(), "prod").is_up_to_date


def amounts_in_the_end(world: MemoryWorld, view: str = "gen.m1") -> list[int]:
    """What a view shows once status calls production up to date."""
    for _ in range(3):
        if is_up_to_date(world):
            return world.amounts(view)
        world.run()
    raise AssertionError("runs do not end")


@pytest.mark.parametrize("kind", ["VIEW", "EMBEDDED"])
@pytest.mark.parametrize("reader", ["rows that are added", "partitions"])
@pytest.mark.parametrize("when", ["before the plan", "before it is applied", "in dev"])
def test_a_table_that_becomes_a_view(when: str, reader: str, kind: str) -> None:
    m1 = table("m1", "gen.m0", READERS[reader])
    world = filled({"m0": table("m0"), "m1": m1})
    apply(world, graph_of({"m0": inlined(kind), "m1": m1}), when)
    assert amounts_in_the_end(world) == [1, 3, 7]


@pytest.mark.parametrize("kind", ["VIEW", "EMBEDDED"])
def test_a_table_that_becomes_a_view_as_a_person_decided(kind: str) -> None:
    m1 = table("m1", "gen.m0")
    world = filled({"m0": table("m0"), "m1": m1})
    edited = graph_of({"m0": inlined(kind), "m1": m1})
    apply(world, edited, "before the plan", decisions=only(BY_A_PERSON, "m0"))
    assert amounts_in_the_end(world) == [1, 3, 7]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("when", ["before the plan", "before it is applied"])
def test_a_model_with_another_name(when: str, reader: str) -> None:
    kind = READERS[reader]
    world = filled({"m0": table("m0"), "m1": table("m1", "gen.m0", kind)})
    edited = graph_of({"other": table("other"), "m1": table("m1", "gen.other", kind)})
    apply(world, edited, when)
    assert world.amounts("gen.other") == [1, 3, 7]
    assert amounts_in_the_end(world) == [1, 3, 7]


@pytest.mark.parametrize("reader", READERS)
def test_the_source_in_place_of_a_model(reader: str) -> None:
    kind = READERS[reader]
    world = filled({"m0": table("m0"), "m1": table("m1", "gen.m0", kind)})
    edited = graph_of({"m0": table("m0"), "m1": table("m1", "raw.events", kind)})
    apply(world, edited, "before it is applied")
    assert amounts_in_the_end(world) == [1, 3, 7]


def test_a_view_between_that_reads_the_source_in_place_of_a_model() -> None:
    m1 = table("m1", "gen.v")
    world = filled({"m0": table("m0"), "v": inlined(of="gen.m0", name="v"), "m1": m1})
    edited = graph_of({"m0": table("m0"), "v": inlined(name="v"), "m1": m1})
    apply(world, edited, "before it is applied", forward_only=True)
    assert amounts_in_the_end(world) == [1, 3, 7]


BOTH: Final = (
    f"MODEL (name gen.m1, kind {BY_TIME}, cron '@daily', start '2024-01-02'); "
    f"SELECT id, at, amount FROM gen.m0 {WITHIN} "
    "UNION ALL SELECT id, at + INTERVAL 1 DAY AS at, amount FROM gen.v "
    "WHERE at BETWEEN @start_dt - INTERVAL 1 DAY AND @end_dt - INTERVAL 1 DAY"
)
"""Rows of a day, and by a view those of the day before."""


def test_a_table_that_is_still_read_where_a_view_leads_to_it_no_more() -> None:
    """Only the names of all that is read were compared."""
    m0 = table("m0")
    world = MemoryWorld.landed((1.5, 1), (26, 3), (50, 4), until=72)
    world.build(graph_of({"m0": m0, "v": inlined(of="gen.m0", name="v"), "m1": BOTH}))
    world.clock.advance(timedelta(minutes=1))
    edited = graph_of({"m0": m0, "v": inlined(name="v"), "m1": BOTH})
    plan = world.plan(edited, decisions=only(BY_A_PERSON, "v"))
    world.land((27, 7), until=72)
    world.clock.advance(timedelta(minutes=1))
    world.apply(plan)
    assert amounts_in_the_end(world) == [1, 3, 3, 4, 7, 7]


def test_a_day_that_only_the_view_has_beside_a_table_that_is_still_read() -> None:
    m0 = table("m0", more=LATER)
    world = filled({"m0": m0, "v": inlined(of="gen.m0", name="v"), "m1": BOTH})
    world.clock.advance(timedelta(minutes=1))
    edited = graph_of({"m0": m0, "v": inlined(name="v"), "m1": BOTH})
    world.build(edited, decisions=only(BY_A_PERSON, "v"))
    assert amounts_in_the_end(world) == [1, 3]


@pytest.mark.parametrize("becomes", ["a view", "another name", "the source"])
@pytest.mark.parametrize("kind", [BY_TIME, READERS["rows that are added"]])
def test_days_that_an_edited_model_between_has_of_another_table(kind: str, becomes: str) -> None:
    m1, m2 = table("m1", "gen.m0"), table("m2", "gen.m1", kind)
    before = {"m0": table("m0", more=LATER), "m1": m1, "m2": m2}
    edited = {
        "a view": {"m0": inlined(), "m1": wider(m1), "m2": m2},
        "another name": {"n": table("n"), "m1": wider(table("m1", "gen.n")), "m2": m2},
        "the source": {"m0": before["m0"], "m1": wider(table("m1")), "m2": m2},
    }[becomes]
    world = filled(before)
    world.clock.advance(timedelta(minutes=1))
    decided = only(BY_A_PERSON, "m1", *(["m0"] if becomes == "a view" else []))
    world.build(graph_of(edited), decisions=decided)
    assert world.amounts("gen.m1") == [1, 3]
    assert amounts_in_the_end(world, "gen.m2") == [1, 3]


def test_a_late_row_reaches_all_of_edited_and_kept_models_in_turn() -> None:
    """What is kept above an edited model was taken for unchanged by what is below that."""
    m1, m3 = table("m1", "gen.m0"), table("m3", "gen.m2")
    m0, m2 = table("m0"), table("m2", "gen.m1")
    world = filled({"m0": m0, "m1": m1, "m2": m2, "m3": m3})
    edited = graph_of({"m0": wider(m0), "m1": m1, "m2": wider(m2), "m3": m3})
    apply(world, edited, "before the plan")
    assert [world.amounts(f"gen.m{number}") for number in range(4)] == [[1, 3, 7]] * 4
    assert is_up_to_date(world)


def test_only_the_days_that_the_table_before_lacks_are_computed() -> None:
    m1 = table("m1", "gen.m0")
    world = filled({"m0": table("m0", more=LATER), "m1": m1})
    plan = world.plan(graph_of({"m0": inlined(), "m1": m1}), decisions=only(BY_A_PERSON, "m0"))
    (change,) = (each for each in plan.changes if str(each.name) == "gen.m1")
    assert change.to_evaluate == (day(1),)
    assert change.behind is not None
    assert change.behind.reason.startswith("it is downstream of gen.m0: ")


def test_a_seed_in_place_of_a_table_that_is_stale() -> None:
    m1 = table("m1", "gen.m0", READERS["rows that are added"])
    rows = "1,2024-01-01 01:30:00,1\n2,2024-01-02 02:00:00,3\n3,2024-01-01 02:30:00,7\n"
    columns = "columns (id bigint, at timestamp, amount bigint)"
    seed = f"MODEL (name gen.m0, kind SEED (path 'm0.csv'), {columns})"
    world = filled({"m0": table("m0"), "m1": m1})
    files = {"m0": {"m0.csv": f"id,at,amount\n{rows}"}}
    edited = graph_of({"m0": seed, "m1": m1}, files=files)
    apply(world, edited, "before the plan", decisions=only(BY_A_PERSON, "m0"))
    assert amounts_in_the_end(world) == [1, 3, 7]


@pytest.mark.parametrize("becomes", ["a view", "another name"])
@pytest.mark.parametrize("reader", ["rows that are added", "partitions"])
def test_days_before_the_first_one_of_the_table_before(reader: str, becomes: str) -> None:
    """No row is late: the day is nowhere below the table that it began after."""
    kind = READERS[reader]
    m1 = table("m1", "gen.m0", kind)
    world = filled({"m0": table("m0", more=LATER), "m1": m1})
    assert world.amounts("gen.m1") == [3]
    world.clock.advance(timedelta(minutes=1))
    edited = {"m0": inlined(), "m1": m1}
    if becomes == "another name":
        edited = {"other": table("other"), "m1": table("m1", "gen.other", kind)}
    world.build(graph_of(edited))
    assert world.amounts("gen.m1") == [1, 3]
    assert is_up_to_date(world)


@pytest.mark.parametrize("never", ["true", "false"])
def test_a_history_takes_the_row_or_is_said_to_keep_what_it_has(never: str) -> None:
    kind = f"SCD_TYPE_2_BY_TIME (unique_key id, updated_at_name at, disable_restatement {never})"
    m1 = table("m1", "gen.m0", kind)
    world = filled({"m0": table("m0"), "m1": m1})
    apply(world, graph_of({"m0": inlined(), "m1": m1}), "before the plan")
    world.run()
    assert is_up_to_date(world) == (never == "false")
    assert world.amounts("gen.m1") == ([1, 3] if never == "true" else [1, 3, 7])


def test_what_a_session_loads() -> None:
    def project(parent: str) -> dict[str, str]:
        late = f", late_data (mode stateful, sources (gen.{parent}))"
        header = f"MODEL (name gen.m1, kind {BY_TIME}, cron '@daily'{late}); "
        sums = "SELECT 1 AS id, CAST(@start_dt AS TIMESTAMP) AS at, SUM(amount) AS amount "
        return {parent: table(parent), "m1": f"{header}{sums}FROM gen.{parent} {WITHIN}"}

    world = filled(project("m0"))
    apply(world, graph_of(project("other")), "before the plan", forward_only=True)
    assert amounts_in_the_end(world) == [3, 8]


@pytest.mark.parametrize("below", ["gen.m0", "gen.next"])
def test_what_reads_that(below: str) -> None:
    """Two steps below the view, and below a model in between that gets a new table itself."""
    kind = READERS["rows that are added"]
    last = {"m1": table("m1", below, kind), "m2": table("m2", "gen.m1")}
    between = table("next", "gen.m0")
    world = filled({"m0": table("m0"), "next": between, **last})
    edited = graph_of({"m0": inlined(), "next": wider(between), **last})
    apply(world, edited, "before the plan", decisions=only(BY_A_PERSON, "m0"))
    assert amounts_in_the_end(world, "gen.next") == [1, 3, 7]
    assert world.amounts("gen.m2") == [1, 3, 7]


@pytest.mark.parametrize("reader", READERS)
def test_without_news_what_is_kept_is_not_computed_again(reader: str) -> None:
    """A look at other tables alone makes nothing stale (rule R10)."""
    kind = READERS[reader]
    world = filled({"m0": table("m0"), "m1": table("m1", "gen.m0", kind)})
    edited = graph_of({"other": table("other"), "m1": table("m1", "gen.other", kind)})
    plan = world.plan(edited)
    assert [str(each.name) for each in plan.backfills] == ["gen.other"]
    world.apply(plan)
    assert is_up_to_date(world)
    assert world.amounts("gen.m1") == [1, 3]
    land_late(world)
    assert amounts_in_the_end(world) == [1, 3, 7]


@pytest.mark.parametrize("reader", READERS)
def test_what_was_due_and_is_computed_from_the_other_table_is_fresh(reader: str) -> None:
    """Days that only the new table has make nothing stale that was computed from it."""
    kind = READERS[reader]
    world = filled({"m0": table("m0"), "m1": table("m1", "gen.m0", kind)})
    world.land((50, 9), until=72)
    world.build(graph_of({"other": table("other"), "m1": table("m1", "gen.other", kind)}))
    assert world.plan_run().is_empty
    assert world.amounts("gen.m1") == [1, 3, 9]


def test_rows_that_the_source_has_lost_stay() -> None:
    kind = READERS["by time"]
    world = filled({"m0": table("m0"), "m1": table("m1", "gen.m0", kind)})
    world.clock.advance(timedelta(minutes=1))
    world.catalog.delete(RAW, [row for row in world.rows("raw.events") if row[2] != 1])
    edited = graph_of({"other": table("other"), "m1": table("m1", "gen.other", kind)})
    plan = world.plan(edited)
    (change,) = (each for each in plan.changes if str(each.name) == "gen.m1")
    assert change.behind is not None
    assert UNCOVERED in change.behind.reason
    assert not change.to_evaluate
    world.apply(plan)
    assert (world.amounts("gen.other"), world.amounts("gen.m1")) == ([3], [1, 3])
