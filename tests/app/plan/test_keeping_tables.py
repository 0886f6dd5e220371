"""Models that are forward-only by a pattern, and what is allowed to become of a kept table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.memory_world import DEFAULTS, RAW_COLUMNS, SOURCE, MemoryWorld, graph_of, there
from tests.app.shop_world import (
    AMOUNTS,
    EDITED,
    SALES,
    SALES_NAME,
    SHOP,
    change,
    shop_in_production,
    work,
)
from vde_dagster.app.inspect.verify import look_at_tables
from vde_dagster.app.promote.taking import plan_promotion, plan_rollback
from vde_dagster.core.errors import Place, Refused
from vde_dagster.core.graph.graph import Graph, build_graph
from vde_dagster.core.ledger.stored_types import grown, same_type
from vde_dagster.core.model.model import ModelSource
from vde_dagster.core.model.snapshot import Category
from vde_dagster.core.names import ModelName, TableName
from vde_dagster.core.planning.changes.reason_values import ReasonKind
from vde_dagster.core.planning.kept_tables import column_findings
from vde_dagster.core.planning.plan import Plan
from vde_dagster.core.planning.plan_text import totals
from vde_dagster.project.model_files import external_source, read_model

FORWARD = Category.FORWARD_ONLY


# By a pattern
def with_patterns(texts: dict[str, str], *patterns: str) -> Graph:
    defaults = replace(DEFAULTS, forward_only=patterns)
    place = Place(path=Path("external_models.yaml"))
    source = external_source(SOURCE, RAW_COLUMNS, place=place, defaults=defaults)
    written = [
        ModelSource(path=Path(f"models/{name}.sql"), text=text, defaults=defaults.as_texts())
        for name, text in texts.items()
    ]
    return build_graph([read_model(each) for each in (source, *written)])


def categories(plan: Plan) -> dict[str, Category | None]:
    return {each.name.name: each.category for each in plan.changes if each.category is not None}


def test_an_edit_of_a_model_that_a_pattern_means_keeps_its_table(world: MemoryWorld) -> None:
    before = world.bound().key(SALES_NAME)
    plan = world.plan(with_patterns(EDITED, "mart.sa*"))
    assert categories(plan)["sales"] is FORWARD
    assert work(plan) == {}
    world.apply(plan)
    assert world.bound().key(SALES_NAME) == before
    assert world.rows("mart.sales") == AMOUNTS
    assert world.plan(with_patterns(EDITED, "mart.sa*")).is_empty


def test_what_a_model_reads_does_not_move_it_if_a_pattern_means_it(world: MemoryWorld) -> None:
    plan = world.plan(with_patterns(EDITED, "mart.triple", "tag:none"))
    found = categories(plan)
    assert (found["sales"], found["triple"]) == (Category.BREAKING, FORWARD)
    assert found["total"] is Category.INDIRECT_NON_BREAKING
    assert {*work(plan)} == {"sales", "shown"}


def test_a_person_wins_over_a_pattern(world: MemoryWorld) -> None:
    decisions = {SALES_NAME: Category.BREAKING}
    graph = with_patterns(EDITED, "*")
    plan = world.plan(graph, decisions=decisions)
    assert categories(plan)["sales"] is Category.BREAKING
    own = {**EDITED, "sales": EDITED["sales"].replace("day)", "day, forward_only false)", 1)}
    plan = world.plan(with_patterns(own, "*"))
    assert categories(plan)["sales"] is Category.BREAKING


# What becomes of columns
TWO = SALES.replace("AS amount FROM", "AS amount, COUNT(*) AS n FROM")


def sales(text: str, rules: str = "") -> dict[str, str]:
    kept = text.replace("column day)", f"column day, forward_only true){rules}")
    return {**SHOP, "sales": kept}


def with_two() -> MemoryWorld:
    """Production shows sales with one more column, in a table that edits keep."""
    world = shop_in_production()
    world.build(graph_of(sales(TWO)))
    return world


def test_a_column_is_not_taken_out_of_a_kept_table_unless_its_model_allows_it() -> None:
    world = with_two()
    plan = world.plan(graph_of(sales(SALES)))
    (finding,) = column_findings(plan)
    assert finding.refuses
    with pytest.raises(Refused) as refused:
        world.apply(plan)
    said = str(refused.value)
    assert "models/sales.sql:2: mart.sales keeps its table and drops n (bigint)" in said
    assert "Write `on_destructive_change allow` (or warn) in the model" in said
    assert "or plan with --decide mart.sales=breaking, which creates a new table." in said
    assert said.endswith("Nothing was changed.")
    assert any(line.startswith("Cannot be applied: models/sales.sql:2") for line in totals(plan))
    assert len(world.rows("mart.sales")[0]) == 3


@pytest.mark.parametrize("rule,warned", [("allow", False), ("warn", True)])
def test_a_model_may_allow_that_columns_leave_its_views(rule: str, warned: bool) -> None:
    world = with_two()
    key = world.bound().key(SALES_NAME)
    plan = world.plan(graph_of(sales(SALES, f", on_destructive_change {rule}")))
    text = (
        "Warning: models/sales.sql:2: mart.sales keeps its table and drops n (bigint) "
        "(on_destructive_change warn)"
    )
    said = [each for each in totals(plan) if each.startswith("Warning: ")]
    assert said == ([text] if warned else [])
    world.apply(plan)
    assert world.bound().key(SALES_NAME) == key
    assert world.rows("mart.sales") == AMOUNTS


@pytest.mark.parametrize("how", ["", ", on_additive_change error", ", on_additive_change warn"])
def test_a_column_is_added_to_a_kept_table_unless_its_model_does_not_allow_it(how: str) -> None:
    world = shop_in_production()
    plan = world.plan(graph_of(sales(TWO, how)))
    assert [each.rule.value for each in column_findings(plan)] == (
        [how.rsplit(maxsplit=1)[-1]] if how else []
    )
    if "error" not in how:
        world.apply(plan)
        assert world.rows("mart.sales") == [(*row, None) for row in AMOUNTS]
        return
    with pytest.raises(Refused, match=r"adds n \(bigint\), but its on_additive_change does not"):
        world.apply(plan)
    assert world.rows("mart.sales") == AMOUNTS


def test_a_column_goes_with_a_new_table_as_the_refusal_advises() -> None:
    world = with_two()
    decisions = {SALES_NAME: Category.BREAKING}
    world.build(graph_of(sales(SALES)), decisions=decisions)
    assert world.rows("mart.sales") == AMOUNTS


def test_a_model_that_only_reads_what_was_edited_is_told_to_take_another_stamp_first(
    world: MemoryWorld,
) -> None:
    """Nothing can be decided about it: its own definition is as it was."""
    copy = (
        "MODEL (name mart.copy, kind INCREMENTAL_BY_TIME_RANGE (time_column day, "
        "forward_only true), on_additive_change error{});\n"
        "SELECT day AS day, amount AS amount FROM mart.sales\n"
        "WHERE day BETWEEN @start_ds AND @end_ds"
    )
    small = SALES.replace("SUM(amount) AS amount", "CAST(SUM(amount) AS INT) AS amount")
    world.build(graph_of({**SHOP, "sales": small, "copy": copy.format("")}))
    plan = world.plan(graph_of({**SHOP, "copy": copy.format("")}))
    (finding,) = column_findings(plan)
    assert "mart.copy keeps its table and widens amount from int to bigint" in str(finding)
    assert "write another `stamp` in it and plan with --decide mart.copy=breaking" in str(finding)
    stamped = {**SHOP, "copy": copy.format(", stamp 'two'")}
    world.build(graph_of(stamped), decisions={ModelName("mart", "copy"): Category.BREAKING})
    assert world.rows("mart.copy") == AMOUNTS


def test_another_environment_is_asked_before_it_shows_less(world: MemoryWorld) -> None:
    world = with_two()
    with pytest.raises(Refused, match=r"mart\.sales keeps its table and drops n"):
        world.build(graph_of(sales(SALES)), "dev")
    world.build(graph_of(sales(SALES, ", on_destructive_change warn")), "dev")
    promotion = plan_promotion(world.services(), "dev", "prod")
    assert [each.rule.value for each in column_findings(promotion)] == ["warn"]
    world.apply(promotion)
    assert world.rows("mart.sales") == AMOUNTS


def test_a_rollback_to_fewer_columns_is_never_refused() -> None:
    world = with_two()
    plan = plan_rollback(world.services(), "prod")
    assert change(plan, "mart.sales").schema_changes != ()
    assert [*column_findings(plan)] == []
    world.apply(plan)
    assert world.rows("mart.sales") == AMOUNTS


PAST = """
MODEL (name mart.past, kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns (amount)), cron '@daily');
SELECT id AS id, amount AS amount FROM raw.events
"""
NOW = PAST.replace("SCD_TYPE_2_BY_COLUMN (unique_key id, columns (amount))", "FULL")


@pytest.mark.parametrize(
    "before,after,ends",
    [
        (PAST, NOW, True),
        (PAST, PAST.replace("amount AS", "amount + 1 AS"), False),
        (PAST, PAST.replace("'@daily'", "'@hourly'"), False),
        (NOW, PAST, False),
    ],
    ids=["another kind", "forward-only", "metadata", "a history begins"],
)
def test_a_plan_says_that_a_history_ends(before: str, after: str, ends: bool) -> None:
    world = MemoryWorld.landed((1, 10), until=48)
    world.build(graph_of({"past": before}))
    for environment in ("prod", "dev"):
        plan = world.plan(graph_of({"past": after}), environment)
        reasons = {each.kind for each in change(plan, "mart.past").reasons}
        assert (ReasonKind.HISTORY_ENDS in reasons) == ends


# Fields of structs
WITH_STRUCT = SALES.replace(
    "cron '@daily')", "cron '@daily', columns (day date, amount bigint, s struct<a:bigint,z:int>))"
).replace("AS amount FROM", "AS amount, STRUCT(SUM(amount) AS a, 1 AS z) AS s FROM")


def with_struct(type_: str) -> dict[str, str]:
    return sales(WITH_STRUCT.replace("struct<a:bigint,z:int>", type_))


@pytest.fixture
def structs() -> MemoryWorld:
    """Production shows sales with a struct, in a table that edits keep."""
    world = shop_in_production()
    key = world.bound().key(SALES_NAME)
    world.build(graph_of(with_struct("struct<a:bigint,z:int>")))
    assert world.bound().key(SALES_NAME) == key
    return world


def stored(world: MemoryWorld, name: str) -> str:
    """The type that a column has in the table of production."""
    table = there(world.services().catalog.table(world.bound().key(SALES_NAME).table))
    type_ = next(each.type for each in table.columns if each.name == name)
    return grown(type_, type_)  # spelled in one way


@pytest.mark.parametrize(
    "type_,becomes",
    [
        ("struct<a:bigint,b:string,z:int>", "struct<a:bigint,z:int,b:string>"),
        ("struct<z:bigint,a:bigint>", "struct<a:bigint,z:bigint>"),
        ("struct<a:bigint,z:bigint,b:struct<`x y`:int>>",
         "struct<a:bigint,z:bigint,b:struct<`x y`:int>>"),
        ("struct<z:int,a:bigint>", "struct<a:bigint,z:int>"),
    ],
)  # fmt: skip
def test_r11_a_struct_of_a_kept_table_gets_fields_in_place(
    structs: MemoryWorld, type_: str, becomes: str
) -> None:
    structs.land((80, 4), until=96)
    structs.build(graph_of(with_struct("struct<a:bigint,z:int>")))
    structs.build(graph_of(with_struct(type_)))
    assert stored(structs, "s") == becomes
    (look,) = look_at_tables(structs.services(), structs.bound(), [SALES_NAME])
    assert look.schema == ()  # the rows were recorded with fewer fields


def test_r11_a_field_comes_back_with_the_type_that_it_had_alone(structs: MemoryWorld) -> None:
    """A rollback shows the earlier definition, and the table keeps what it has."""
    services = structs.services()
    structs.build(graph_of(with_struct("struct<a:bigint,z:int,b:string>")))
    structs.apply(plan_rollback(services, "prod"))
    assert stored(structs, "s") == "struct<a:bigint,z:int,b:string>"
    view = there(services.catalog.view(TableName("mart", "sales")))
    assert same_type(view.columns[-1].type, "struct<a:bigint,z:int>")
    other = structs.plan(graph_of(with_struct("struct<a:bigint,z:int,b:date>")))
    with pytest.raises(Refused, match=r"already has the column s of type .*, so it cannot become"):
        structs.apply(other)
    structs.build(graph_of(with_struct("struct<a:bigint,z:int,c:date,b:string>")))
    assert stored(structs, "s") == "struct<a:bigint,z:int,b:string,c:date>"


def test_a_view_model_that_reads_other_columns_keeps_no_type_from_being_widened(
    structs: MemoryWorld,
) -> None:
    """`mart.shown` reads the day and the amount."""
    whole = {
        **with_struct("struct<a:bigint,z:int>"),
        "shown": SHOP["shown"].replace("amount AS", "s AS s, amount AS"),
    }
    structs.build(graph_of(whole))
    wider = {**whole, "sales": with_struct("struct<a:bigint,z:int,b:date>")["sales"]}
    with pytest.raises(Refused, match=r"widens s from .*, but the VIEW mart\.shown reads it"):
        structs.apply(structs.plan(graph_of(wider)))
