"""Rule R6: an edit with equal output lets downstream models keep their existing tables."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

import pytest

from tests.app.faults.every_kind import KINDS, model
from tests.app.memory_world import Fuse, MemoryWorld, bound, graph_of
from tests.app.shop_world import (
    AMOUNTS,
    DAYS,
    SALES,
    SALES_NAME,
    SHOP,
    SHOWN,
    TOTAL,
    TOTAL_NAME,
    TRIPLE,
    TRIPLE_NAME,
    asked,
    change,
    day,
    done,
    entries,
    versions,
    work,
)
from vde_dagster.app.apply.applying import promote_followed
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.app.apply.visitor import applying
from vde_dagster.app.plan.adoption import has_rows_of
from vde_dagster.app.promote.taking import plan_rollback
from vde_dagster.core.errors import Refused
from vde_dagster.core.model.snapshot import Category, DecidedBy
from vde_dagster.core.names import ModelName
from vde_dagster.core.planning.adoption import compared_parents
from vde_dagster.core.planning.changes.reason_values import sentences
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_text import totals
from vde_dagster.core.planning.stages import Backfill, Promote, stages_of

SMALL = "AND amount < 100 GROUP BY"
SAME = {**SHOP, "sales": SALES.replace("GROUP BY", SMALL)}
"""Another query of `mart.sales`, whose rows are the same as long as no amount is 100 or more."""
BELOW = (TRIPLE_NAME, TOTAL_NAME)
ROWS = [(at, 3 * amount) for at, amount in AMOUNTS]


def adopters(world: MemoryWorld, environment: str) -> set[ModelName]:
    snapshots = world.bound(environment).snapshots
    return {name for name, each in snapshots.items() if each.decided_by is DecidedBy.DATA}


def staged(world: MemoryWorld, texts: dict[str, str], environment: str) -> list[str]:
    """Plan and apply; the models that the engine computed."""
    fuse = Fuse()
    did = done(world.services(fuse), graph_of(texts), environment)
    computed = [each.key.model.name for each in did if not each.reused and each.key.model.name]
    assert fuse.names.count("stage") == len([each for each in computed if each != "shown"])
    return [each for each in computed if each != "shown"]


@pytest.mark.full
@pytest.mark.parametrize("environment", ["prod", "dev"])
def test_models_downstream_of_an_edit_with_equal_output_get_their_tables_back(
    world: MemoryWorld, environment: str
) -> None:
    before = versions(world, "prod")
    ledgers = {name: entries(world, "prod", name) for name in BELOW}
    plan = world.plan(graph_of(SAME), environment)
    assert set(plan.may_adopt) == set(BELOW)
    assert staged(world, SAME, environment) == ["sales"]
    after = versions(world, environment)
    assert {name: after[name] for name in BELOW} == {name: before[name] for name in BELOW}
    assert after[SALES_NAME] != before[SALES_NAME]
    assert adopters(world, environment) == set(BELOW)
    assert {name: entries(world, environment, name) for name in BELOW} == ledgers
    schema = "mart" if environment == "prod" else "mart__dev"
    assert world.rows(f"{schema}.triple") == ROWS
    assert world.rows(f"{schema}.total") == [(66,)]
    assert world.plan(graph_of(SAME), environment).is_empty


def why_kept(plan: Plan, name: ModelName) -> tuple[Category | None, str]:
    found = next(each for each in plan.changes if each.name == name)
    return found.category, sentences(found.reasons)[-1]


def test_who_only_shares_an_adopted_table_is_not_called_forward_only(world: MemoryWorld) -> None:
    """Dev follows production to a definition with equal rows, and goes back from it."""
    world.build(graph_of(SHOP), "dev")
    world.build(graph_of(SAME))
    shared = (
        Category.INDIRECT_NON_BREAKING,
        "it keeps its table, because the rows turned out to be equal",
    )
    there = world.plan(graph_of(SAME), "dev")
    assert why_kept(there, TRIPLE_NAME) == shared
    world.apply(there)
    back = plan_rollback(world.services(), "dev")
    assert why_kept(back, TRIPLE_NAME) == shared
    assert work(back) == {}
    assert all("forward-only" not in line for line in totals(back))
    world.apply(back)
    assert versions(world, "dev")[TRIPLE_NAME] == versions(world, "prod")[TRIPLE_NAME]
    assert not any(each.drifted for each in world.bound("dev").snapshots.values())


def test_a_model_whose_source_is_declared_otherwise_is_computed(world: MemoryWorld) -> None:
    names = "MODEL (name mart.names, kind FULL);\nSELECT CAST(id AS STRING) AS id FROM raw.events"
    world.build(graph_of({"names": names}))
    plan = world.plan(graph_of({"names": names}, id="decimal(20,0)"))
    found = change(plan, "mart.names")
    assert (found.category, found.may_adopt) == (Category.INDIRECT_BREAKING, False)


@pytest.mark.parametrize("sales", [SALES, SAME["sales"]], ids=["alone", "with its parent"])
def test_r6_a_model_below_a_view_that_was_edited_is_computed(
    world: MemoryWorld, sales: str
) -> None:
    shown = SHOWN.replace("amount AS", "amount + 1 AS")
    assert {"triple", "total"} <= {*staged(world, {**SHOP, "sales": sales, "shown": shown}, "dev")}
    assert world.rows("mart__dev.triple") == [(at, 3 * amount + 3) for at, amount in AMOUNTS]


@pytest.mark.full
def test_what_was_adopted_is_given_back_when_it_has_other_rows(world: MemoryWorld) -> None:
    world.build(graph_of(SAME), "dev")
    theirs = versions(world, "prod")
    world.land((73, 500), until=96)
    world.build(graph_of(SHOP))
    plan = world.plan(graph_of(SAME), "dev")
    assert set(plan.may_adopt) == set(BELOW)
    assert work(plan)["triple"] == [day(1, 4)]
    assert any("adopted" in each for each in sentences(change(plan, "mart.triple").reasons))
    assert staged(world, SAME, "dev") == ["sales", "triple", "total"]
    assert adopters(world, "dev") == set()
    assert all(versions(world, "dev")[name] != theirs[name] for name in BELOW)
    assert world.rows("mart__dev.triple") == ROWS
    assert world.rows("mart__dev.total") == [(66,)]
    assert world.rows("mart.total") == [(66 + 1500,)]
    assert world.plan(graph_of(SAME), "dev").is_empty


@pytest.mark.parametrize("name", BELOW)
def test_r6_rows_that_are_to_be_computed_again_are_none_to_adopt_a_table_for(
    world: MemoryWorld, name: ModelName
) -> None:
    services = world.services()
    found = bound(services)

    def is_equal() -> bool:
        return has_rows_of(services, found.graph, found.snapshots, found.key(name))

    assert is_equal()
    (parent,) = compared_parents(found.graph, name)
    lease = services.state.acquire_lease("x", holder="h", ttl=timedelta(minutes=5))
    services.state.outdate({found.key(parent): [day(2)]}, reason="restated", lease=lease)
    assert not is_equal()


def test_what_was_adopted_stays_so_while_new_rows_are_equal(world: MemoryWorld) -> None:
    world.build(graph_of(SAME), "dev")
    world.land((73, 9), until=96)
    world.build(graph_of(SHOP))
    assert staged(world, SAME, "dev") == ["sales"]
    assert adopters(world, "dev") == set(BELOW)
    assert versions(world, "dev")[TRIPLE_NAME] == versions(world, "prod")[TRIPLE_NAME]
    assert world.rows("mart__dev.total") == [(66 + 27,)]
    assert world.plan(graph_of(SAME), "dev").is_empty


def test_what_its_owner_has_not_computed_yet_is_computed_where_it_is_planned(
    world: MemoryWorld,
) -> None:
    world.land((73, 9), until=96)
    assert staged(world, SAME, "dev") == ["sales", "triple", "total"]
    assert world.rows("mart__dev.total") == [(66 + 27,)]


def test_what_was_loaded_before_the_views_move_is_compared_once_more(world: MemoryWorld) -> None:
    services, theirs = world.services(), versions(world, "prod")
    plan = asked(services, graph_of(SAME), "dev")
    with applying(services, plan) as apply:
        for stage in stages_of(plan):
            if isinstance(stage, Promote):
                assert apply.plan.snapshots[TRIPLE_NAME].version == theirs[TRIPLE_NAME]
                world.land((2, 500), until=72)
                for name, times in ((SALES_NAME, day(1)), (TRIPLE_NAME, day(1))):
                    evaluate_range(services, bound(services), name, times, force=True)
            list(apply.visit(stage))
    assert adopters(world, "dev") == {TOTAL_NAME}  # nobody has computed it since
    assert world.rows("mart__dev.triple") == ROWS
    assert world.rows("mart__dev.total") == [(66,)]
    assert world.rows("mart.triple")[0] == (DAYS[0], 3 * 510)


@pytest.mark.full
@pytest.mark.parametrize("last", ["mart.triple", "mart.shown3"], ids=["directly", "by a view"])
def test_what_was_computed_from_a_table_that_is_given_back_is_computed_again(last: str) -> None:
    view = "MODEL (name mart.shown3, kind VIEW);\nSELECT day, amount FROM mart.triple"
    models = {**SHOP, "shown3": view, "total": TOTAL.replace("mart.triple", last)}
    world = MemoryWorld.landed((1, 10), (30, 5), (50, 7), until=72)
    world.build(graph_of(models))
    services = world.services()
    plan = world.plan(graph_of({**models, "sales": SAME["sales"]}), "dev")
    with applying(services, plan) as apply:
        for stage in stages_of(plan):
            if isinstance(stage, Backfill) and stage.model == TOTAL_NAME:
                world.land((2, 500), until=72)
                for name in (SALES_NAME, TRIPLE_NAME):
                    evaluate_range(services, world.bound(), name, day(1), force=True)
            list(apply.visit(stage))
    assert world.rows("mart__dev.triple") == ROWS
    assert world.rows("mart__dev.total") == [(66,)]


def test_a_run_that_follows_the_files_compares_what_was_adopted_once_more(
    world: MemoryWorld,
) -> None:
    world.build(graph_of(SAME), "dev")
    owned = {**SAME, "triple": TRIPLE.replace("cron", "owner me, cron")}
    services = world.services()
    plan = world.plan(graph_of(owned), "dev")
    assert plan.promotes
    world.land((73, 500), until=96)
    world.build(graph_of(SHOP))
    with pytest.raises(Refused, match=r"^mart\.triple would show.*No view was moved"):
        promote_followed(services, plan)
    shown = services.state.environment("dev")
    assert shown is not None
    assert (shown.revision, shown.promoting) == (1, False)


@pytest.mark.full
@pytest.mark.parametrize(
    "texts", [SHOP, {**SHOP, "triple": TRIPLE.replace("cron", "owner x, cron")}]
)
def test_what_was_written_since_for_another_definition_is_not_taken_for_its_own(
    world: MemoryWorld, texts: dict[str, str]
) -> None:
    world.build(graph_of(SAME))
    world.land((73, 500), (74, 4), until=96)
    world.build(graph_of(SAME))
    assert world.rows("mart.triple")[3][1] == 12
    world.build(graph_of(texts))
    assert [amount for _, amount in world.rows("mart.triple")] == [30, 15, 21, 3 * 504]
    assert world.rows("mart.total") == [(66 + 3 * 504,)]


def test_an_edit_of_metadata_keeps_what_was_adopted(world: MemoryWorld) -> None:
    world.build(graph_of(SAME), "dev")
    owned = {**SAME, "triple": TRIPLE.replace("cron", "owner me, cron")}
    plan = world.plan(graph_of(owned), "dev")
    assert (work(plan), change(plan, "mart.triple").category) == ({}, Category.METADATA)
    world.build(graph_of(owned), "dev")
    assert adopters(world, "dev") == set(BELOW)


# Every kind
OPTIONS = {
    "unmanaged": ("UNMANAGED", "UNMANAGED (forward_only false)"),
    "unique_key": ("unique_key bucket", "unique_key bucket, batch_size 1"),
    "by_partition": ("PARTITION", "PARTITION (forward_only false)"),
    "history": (
        "disable_restatement false",
        "disable_restatement false, forward_only false, batch_size 1",
    ),
    "changes": ("disable_restatement false", "disable_restatement false, forward_only false"),
}
"""An edit of what these read is not forward-only, and they take one day after the other."""


def downstream(kind: str) -> str:
    return model(kind, source="kept.base").replace(*OPTIONS.get(kind, ("", "")), 1)


PARENT = model("time_range", "base")
EQUAL = PARENT.replace("WHERE", "WHERE amount > -1 AND")
LESS = PARENT.replace("WHERE", "WHERE amount <> 20 AND")


def in_two_days(kind: str) -> MemoryWorld:
    """A model of a kind over a parent, loaded day by day."""
    return _in_two_days(kind).copied()


@cache
def _in_two_days(kind: str) -> MemoryWorld:
    world = MemoryWorld()
    graph = graph_of({"base": PARENT, kind: downstream(kind)})
    for events, until in ((((1, 10), (2, 20), (3, 5)), 24), (((25, 7), (26, 9)), 48)):
        world.land(*events, until=until)
        world.build(graph)
    return world


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edit,adopts", [(EQUAL, True), (LESS, False)], ids=["equal", "less"])
def test_every_kind_is_adopted_where_all_that_it_reads_is_equal(
    kind: str, edit: str, adopts: bool
) -> None:
    world, name = in_two_days(kind), ModelName("kept", kind)
    graph = graph_of({"base": edit, kind: downstream(kind)})
    before, rows = versions(world, "prod")[name], world.rows(f"kept.{kind}")
    fuse = Fuse()
    did = done(world.services(fuse), graph, "dev")
    assert {each.key.model for each in did if each.reused} == ({name} if adopts else set())
    assert (versions(world, "dev")[name] == before) is adopts
    # Of each key the rows of the second day count, and what is left out came on the first.
    are_equal = adopts or kind in ("unique_key", "in_order")
    assert (world.rows(f"kept__dev.{kind}") == rows) is are_equal
    assert world.rows(f"kept.{kind}") == rows
