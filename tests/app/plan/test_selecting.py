"""Plans of some models, with few views, and of tables that are kept, on the ports in memory."""

from __future__ import annotations

import pytest

from tests.app.memory_world import MemoryWorld, bound, graph_of
from tests.app.shop_world import (
    AMOUNTS,
    DAYS,
    EDITED,
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
)
from vde_dagster.app.apply.applying import apply_plan
from vde_dagster.app.apply.filling import evaluate_range
from vde_dagster.core.errors import EvaluationFailed, ProjectInvalid, Refused
from vde_dagster.core.ledger.schema_changes import ColumnAdded, ColumnIncompatible
from vde_dagster.core.planning.changes.difference import Change

# Selecting
BOTH = {**EDITED, "total": TOTAL.replace("SUM(amount)", "SUM(amount) + 1")}


def test_only_what_is_selected_changes_with_what_reads_it(world: MemoryWorld) -> None:
    plan = world.plan(graph_of(BOTH), select=("mart.total",))
    assert plan.left_out == (SALES_NAME,)
    assert {str(each.name) for each in plan.changes if each.change is not Change.NONE} == {
        "mart.total"
    }
    world.apply(plan)
    assert world.rows("mart.sales") == AMOUNTS
    assert world.rows("mart.total") == [(67,)]
    rest = world.plan(graph_of(BOTH))
    assert change(rest, "mart.sales").change is Change.DIRECT
    assert change(rest, "mart.total").change is Change.INDIRECT


@pytest.mark.full
def test_a_first_plan_of_some_models_builds_these() -> None:
    world = MemoryWorld.landed((1, 10), until=24)
    with pytest.raises(ProjectInvalid, match=r"mart\.triple reads mart\.shown, which is new"):
        world.plan(graph_of(SHOP), select=("mart.triple",))
    world.build(graph_of(SHOP), select=("+mart.shown",))
    assert world.rows("mart.shown") == [(DAYS[0], 10)]
    with pytest.raises(EvaluationFailed):
        world.rows("mart.triple")
    world.build(graph_of(SHOP))
    assert world.rows("mart.total") == [(30,)]


@pytest.mark.full
def test_a_removed_model_stays_until_it_is_selected(world: MemoryWorld) -> None:
    fewer = graph_of({name: text for name, text in EDITED.items() if name != "total"})
    plan = world.plan(fewer, select=("mart.sales",))
    assert plan.left_out == (TOTAL_NAME,)
    assert plan.removed == ()
    world.apply(plan)
    assert world.rows("mart.total") == [(660,)]
    plan = world.plan(fewer, select=("mart.total",))
    assert (plan.removed, plan.left_out) == ((TOTAL_NAME,), ())
    world.apply(plan)
    with pytest.raises(EvaluationFailed):
        world.rows("mart.total")


@pytest.mark.full
def test_a_selected_model_is_bound_to_the_columns_that_are_shown(world: MemoryWorld) -> None:
    wider = {
        **SHOP,
        "sales": SALES.replace("SUM(amount) AS amount", "SUM(amount) AS amount, COUNT(*) AS n"),
        "shown": SHOWN.replace("amount AS amount", "amount AS amount, n AS n"),
    }
    with pytest.raises(ProjectInvalid, match=r"mart\.shown.*'n'") as refused:
        world.plan(graph_of(wider), "dev", select=("mart.shown",))
    assert "mart.sales" in str(refused.value)
    world.build(graph_of(wider), "dev", select=("+mart.shown",))
    assert world.rows("mart__dev.shown") == [(*row, 1) for row in AMOUNTS]


# Only what differs from production
@pytest.mark.full
def test_only_models_that_differ_from_production_get_views(world: MemoryWorld) -> None:
    edited = {**SHOP, "triple": TRIPLE.replace("* 3", "* 4")}
    plan = world.plan(graph_of(edited), "dev", include_unmodified=False)
    assert {str(name) for name in plan.views} == {"mart.triple", "mart.total"}
    assert {name.name for name in plan.hidden} >= {"sales", "shown", "events"}
    world.apply(plan)
    assert world.rows("mart__dev.total") == [(88,)]
    for name in ("sales", "shown"):
        with pytest.raises(EvaluationFailed):
            world.rows(f"mart__dev.{name}")
    assert world.plan(graph_of(edited), "dev", include_unmodified=False).is_empty
    world.land((80, 4), until=96)
    world.build(graph_of(edited))
    world.build(graph_of(edited), "dev", include_unmodified=False)
    assert world.bound("dev").key(SALES_NAME).model == SALES_NAME


def test_an_environment_without_views_of_all_models_evaluates_over_what_it_binds(
    world: MemoryWorld,
) -> None:
    edited = graph_of({**SHOP, "triple": TRIPLE.replace("* 3", "* 4")})
    world.build(edited, "dev", include_unmodified=False)
    done_now = evaluate_range(world.services(), world.bound("dev"), TRIPLE_NAME, day(2))
    assert [sum(entry.rows.rows for entry in each.entries) for each in done_now] == [1]


# Forward only


def test_r11_columns_of_a_kept_table_are_changed_in_place_by_its_owner_alone(
    world: MemoryWorld,
) -> None:
    services = world.services()
    wider = {**SHOP, "sales": SALES.replace("AS amount FROM", "AS amount, COUNT(*) AS n FROM")}
    key = bound(services).key(SALES_NAME)

    def columns() -> list[str]:
        table = services.catalog.table(key.table)
        assert table is not None
        return [each.name for each in table.columns]

    for environment, there in (("dev", ["day", "amount"]), ("prod", ["day", "amount", "n"])):
        plan = asked(services, graph_of(wider), environment, forward_only=True)
        added = (ColumnAdded(column="n", type="bigint"),)
        assert change(plan, "mart.sales").schema_changes == added
        apply_plan(services, plan, lambda _: None)
        assert bound(services, environment).key(SALES_NAME) == key
        assert columns() == there
    # dev has the definition that returns the column, and shows it now that the table has it.
    for view in ("mart__dev.sales", "mart.sales"):
        assert world.rows(view) == [(*each, None) for each in AMOUNTS]


def test_r11_a_type_that_loses_values_is_refused_for_good(world: MemoryWorld) -> None:
    other = {**SHOP, "sales": SALES.replace("SUM(amount)", "CAST(SUM(amount) AS STRING)")}
    plan = world.plan(graph_of(other), forward_only=True)
    (found,) = change(plan, "mart.sales").schema_changes
    assert isinstance(found, ColumnIncompatible)
    with pytest.raises(Refused, match=r"mart\.sales .*rule R11.* changes amount from"):
        world.apply(plan)
    assert world.rows("mart.sales") == AMOUNTS


def test_r11_a_table_that_was_never_made_has_no_columns_to_change() -> None:
    world = MemoryWorld()
    world.build(graph_of(SHOP))  # nothing is complete yet
    wider = {**SHOP, "sales": SALES.replace("AS amount FROM", "AS amount, COUNT(*) AS n FROM")}
    plan = world.plan(graph_of(wider), forward_only=True)
    assert change(plan, "mart.sales").schema_changes == ()
    world.land((1, 10), until=24)
    world.build(graph_of(wider), forward_only=True)
    assert world.rows("mart.sales") == [(DAYS[0], 10, 1)]
